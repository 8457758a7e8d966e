"""The authorization of calls: what every API needs, and the refusal of a whole call or of a part of it.

Most APIs need only the operations beside their handlers; ``access_rules.py`` has the others.
``core/faults/errors.py`` places the errors in the answer, as it does for faults.
Source: KafkaApis, ControllerApis and AuthHelper, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mockbroker.access_control.authorizer import PrincipalAccess
from mockbroker.api import OPERATIONS, served_api
from mockbroker.call import Call, Verdict, Wait
from mockbroker.core.faults.errors import PARTLY, hand_over, inject_error, with_field
from mockbroker.core.faults.matching import Hit
from mockbroker.handlers.error_responses import entries_for, error_response
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import Operation
from mockbroker.subjects import names_in, subjects_of
from protocol.error_codes import ErrorCode

TOPIC_FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
CLUSTER_FAILED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
GROUP_FAILED = ErrorCode.GROUP_AUTHORIZATION_FAILED
ID_FAILED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

Refusal = Verdict | Wait | None


def check_needs(call: Call, access: PrincipalAccess) -> Refusal:
    """Refuse a client that lacks an operation that the API needs, in Kafka's order."""
    needs = served_api(call.api_key).access
    verdict = None
    if needs.cluster:
        verdict = check_cluster(call, access, *(OPERATIONS[one] for one in (needs.cluster, needs.or_cluster) if one))
    if verdict is None and needs.transactional_id:
        operation = OPERATIONS[needs.transactional_id]
        verdict = check_transactional_id(call, access, call.request.transactional_id, operation)
    if verdict is None and needs.group:
        verdict = check_groups(call, access, OPERATIONS[needs.group])
    if verdict is not None or not needs.topic:
        return verdict
    if needs.every_topic and access.may_cluster(OPERATIONS[needs.every_topic]):
        return None
    return check_topics(call, access, OPERATIONS[needs.topic])


def refuse_all(call: Call, code: ErrorCode, message: str | None = None) -> Verdict:
    """Answer a whole call with an error; close the connection if the answer has no error field."""
    response = error_response(call.request, call.version, ApiError(code, message))
    return Verdict(closes=code.meaning) if response is None else Verdict(response)


def check_cluster(call: Call, access: PrincipalAccess, *operations: int) -> Refusal:
    """Refuse a client that has none of these operations on the cluster."""
    if any(map(access.may_cluster, operations)):
        return None
    in_words = served_api(call.api_key).access.in_words
    return refuse_all(call, CLUSTER_FAILED, CLUSTER_FAILED.meaning if in_words else None)


def check_transactional_id(
    call: Call, access: PrincipalAccess, name: str | None, operation: int = Operation.WRITE
) -> Refusal:
    """Refuse a client that lacks an operation on a transactional id."""
    return None if access.may_transactional_id(operation, name or "") else refuse_all(call, ID_FAILED)


def check_groups(call: Call, access: PrincipalAccess, operation: int) -> Refusal:
    """Refuse the groups on which the client lacks an operation."""
    denied = tuple(name for name in subjects_of(call).groups if not access.may_group(operation, name))
    if not denied:
        return None
    if names_in(served_api(call.api_key).request, call.version).group:
        return refuse_all(call, GROUP_FAILED)
    return refuse_part(call, GROUP_FAILED, Hit(groups=denied))


def check_topics(call: Call, access: PrincipalAccess, operation: int) -> Refusal:
    """Refuse the topics on which the client lacks an operation."""
    denied = denied_topics(access, operation, subjects_of(call).topics)
    return refuse_part(call, TOPIC_FAILED, Hit(topics=dict.fromkeys(denied))) if denied else None


def denied_topics(access: PrincipalAccess, operation: int, names: Iterable[str]) -> list[str]:
    """The topics on which the client lacks an operation."""
    return [name for name in names if not access.may_topic(operation, name)]


def refuse_part(call: Call, code: ErrorCode, hit: Hit) -> Refusal:
    """Answer the part of a call that ``hit`` selects with an error."""
    verdict = inject_error(call, code, hit)
    return None if verdict is PARTLY else verdict


def unless(allowed: bool, code: ErrorCode, message: str | None = None) -> ApiError | None:
    """The error of an operation that is not allowed."""
    return None if allowed else ApiError(code, message)


def split(
    call: Call,
    field: str,
    error_of: Callable[[Any], ApiError | None],
    *,
    complete: Callable[[Any, Any], None] = lambda _element, _entry: None,
    after_checks: bool = False,
) -> Refusal:
    """Answer the elements of a request's list that have an error, and pass the others to the handler.

    Args:
        field: the list.
        error_of: the error of an element.
        complete: called with an element that has an error, and its entry of the answer.
        after_checks: the handler sees the request even if nothing is left of it; an error of the whole answer, such as
            that of the group, replaces those of elements.
    """
    api, request = served_api(call.api_key), call.request
    answered = api.parts(call.version)[0].answered
    rest: list[Any] = []
    entries: list[Any] = []
    for element in getattr(request, field):
        error = error_of(element)
        if error is None:
            rest.append(element)
            continue
        own = with_field(request, field, [element])
        (entry,) = entries_for(api, own, call.version, error.code, error.message)
        complete(element, entry)
        entries.append(entry)
    if not entries:
        return None
    if not rest and not after_checks:
        return Verdict(api.response(**{answered: entries}))

    def add(response: Any) -> None:
        if not (after_checks and response.error_code):
            getattr(response, answered).extend(entries)

    hand_over(call, field, rest)
    call.amend(add)
    return None
