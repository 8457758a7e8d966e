"""Refusals of unauthorized clients: of a whole call or a part of it, with the errors of each API.

``core/faults/errors.py`` places the errors in the answer, as it does for faults.
Source: KafkaApis, ControllerApis and AuthHelper, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mockbroker.access_control.authorizer import PrincipalAccess
from mockbroker.api import api_of
from mockbroker.call import Call, Verdict, Wait
from mockbroker.core.faults.errors import hand_over, inject_error, injected_into
from mockbroker.core.faults.matching import Hit
from mockbroker.handlers.error_responses import error_response
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import GROUP, TRANSACTIONAL_ID, WRITE
from mockbroker.subjects import names_in, subjects_of
from protocol.error_codes import ErrorCode
from protocol.registry import message_class

TOPIC_FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
CLUSTER_FAILED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
GROUP_FAILED = ErrorCode.GROUP_AUTHORIZATION_FAILED
ID_FAILED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def response_class(call: Call) -> Any:
    """The class of a call's response."""
    return message_class(call.api_key, "response")


def amend(call: Call, change: Any) -> None:
    """Register a function that changes the answer before it is encoded."""
    injected_into(call).amend.append(change)


def refuse_all(call: Call, code: ErrorCode, message: str | None = None) -> Verdict:
    """Answer a whole call with an error; close the connection if the answer has no error field."""
    response = error_response(call.request, call.version, ApiError(code, message))
    return Verdict(closes=code.meaning) if response is None else Verdict(response)


def check_cluster(call: Call, access: PrincipalAccess, *operations: int) -> Verdict | Wait | None:
    """Refuse a client that has none of these operations on the cluster."""
    if any(map(access.may_cluster, operations)):
        return None
    api = api_of(call.api_key)
    in_words = api is not None and api.access.in_words
    return refuse_all(call, CLUSTER_FAILED, CLUSTER_FAILED.meaning if in_words else None)


def check_transactional_id(
    call: Call, access: PrincipalAccess, name: str | None, operation: int = WRITE
) -> Verdict | Wait | None:
    """Refuse a client that lacks an operation on a transactional id."""
    if access.may(operation, TRANSACTIONAL_ID, name or ""):
        return None
    return refuse_all(call, ID_FAILED)


def check_groups(call: Call, access: PrincipalAccess, operation: int) -> Verdict | Wait | None:
    """Refuse the groups on which the client lacks an operation."""
    denied = tuple(name for name in subjects_of(call).groups if not access.may(operation, GROUP, name))
    if not denied:
        return None
    return (
        refuse_all(call, GROUP_FAILED)
        if names_in(message_class(call.api_key, "request"), call.version).group
        else refuse_part(call, GROUP_FAILED, Hit(groups=denied))
    )


def check_topics(call: Call, access: PrincipalAccess, operation: int) -> Verdict | Wait | None:
    """Refuse the topics on which the client lacks an operation."""
    denied = denied_topics(access, operation, subjects_of(call).topics)
    return refuse_part(call, TOPIC_FAILED, Hit(topics=dict.fromkeys(denied))) if denied else None


def denied_topics(access: PrincipalAccess, operation: int, names: Iterable[str]) -> list[str]:
    """The topics on which the client lacks an operation."""
    return [name for name in names if not access.may_topic(operation, name)]


def refuse_part(call: Call, code: ErrorCode, hit: Hit) -> Verdict | Wait | None:
    """Answer the part of a call that ``hit`` selects with an error."""
    injected = inject_error(call, code, hit)
    return None if injected is None else injected.verdict


def split(call: Call, field: str, rest: list[Any], failed: list[Any], answers: str) -> Verdict | Wait | None:
    """Pass the rest of a request's list to the handler, and append the failed entries to its answer.

    Without a rest, the answer has only the failed entries.
    """
    if not failed:
        return None
    if not rest:
        return Verdict(response_class(call)(**{answers: failed}))
    hand_over(call, field, rest)
    amend(call, lambda response: getattr(response, answers).extend(failed))
    return None
