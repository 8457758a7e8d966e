"""The authorization stage of a call's path: refuses unauthorized requests as Kafka does.

It runs only if brokers have an authorizer. ``authorizer.py`` decides on each operation. The operations that most APIs
need are beside their handlers; ``core/faults/errors.py`` places the errors in the answer, as it does for faults. Odd
APIs have a function here, or authorize in their handlers.
Source: KIP-11, KIP-140, KIP-430; KafkaApis, ControllerApis, AuthHelper, AclApis and ConfigHelper, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable

from mockbroker.access_control.authorizer import PrincipalAccess, access_of
from mockbroker.api import OPERATIONS, served_api
from mockbroker.call import Call, Verdict, Wait
from mockbroker.core.faults.errors import PARTLY, inject_error
from mockbroker.core.faults.matching import Hit
from mockbroker.handlers.error_responses import error_response
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import Operation, ResourceType
from mockbroker.subjects import names_in, subjects_of
from protocol.error_codes import ErrorCode

TOPIC_FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
CLUSTER_FAILED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
ID_FAILED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
GROUP_FAILED = ErrorCode.GROUP_AUTHORIZATION_FAILED

Refusal = Verdict | Wait | None
Rule = Callable[[Call, PrincipalAccess], Refusal]

VERIFYING_VERSION = 4  # of AddPartitionsToTxn


def check_access(call: Call) -> Refusal:
    """Refuse the unauthorized part of a call, or all of it."""
    access = access_of(call.cluster, call.session.principal, call.session.address)
    if access is None or access.is_super:
        return None
    try:
        return RULES.get(call.api_key, check_needs)(call, access)
    except ApiError as error:
        response = error_response(call.request, call.version, error)
        return Verdict(closes=ErrorCode(error.code).meaning) if response is None else Verdict(response)


# what most APIs need


def check_needs(call: Call, access: PrincipalAccess) -> Refusal:
    """Refuse a client that lacks an operation that the API needs, in Kafka's order, unless the handler does."""
    needs = served_api(call.api_key).access
    if needs.handler == "all":
        return None
    if needs.cluster:
        check_cluster(call, access, *(OPERATIONS[one] for one in (needs.cluster, needs.or_cluster) if one))
    if needs.transactional_id:
        check_transactional_id(access, call.request.transactional_id, OPERATIONS[needs.transactional_id])
    verdict = check_groups(call, access, OPERATIONS[needs.group]) if needs.group else None
    if verdict is not None or not needs.topic or needs.handler == "topics":
        return verdict
    if needs.every_topic and access.may_cluster(OPERATIONS[needs.every_topic]):
        return None
    return check_topics(call, access, OPERATIONS[needs.topic])


def check_cluster(call: Call, access: PrincipalAccess, *operations: int) -> None:
    """Raises ApiError: CLUSTER_AUTHORIZATION_FAILED for a client that has none of these operations on the cluster."""
    if not any(map(access.may_cluster, operations)):
        in_words = served_api(call.api_key).access.in_words
        raise ApiError(CLUSTER_FAILED, CLUSTER_FAILED.meaning if in_words else None)


def check_transactional_id(access: PrincipalAccess, name: str | None, operation: int = Operation.WRITE) -> None:
    """Raises ApiError: TRANSACTIONAL_ID_AUTHORIZATION_FAILED for a client that lacks an operation on the id."""
    if not access.may_transactional_id(operation, name):
        raise ApiError(ID_FAILED)


def check_groups(call: Call, access: PrincipalAccess, operation: int) -> Refusal:
    """Refuse the groups on which the client lacks an operation."""
    denied = tuple(name for name in subjects_of(call).groups if not access.may_group(operation, name))
    if not denied:
        return None
    if "group_id" in names_in(served_api(call.api_key).request, call.version).groups:
        raise ApiError(GROUP_FAILED)
    return refuse_part(call, GROUP_FAILED, Hit(groups=denied))


def check_topics(call: Call, access: PrincipalAccess, operation: int) -> Refusal:
    """Refuse the topics on which the client lacks an operation."""
    denied = [name for name in subjects_of(call).topics if not access.may_topic(operation, name)]
    return refuse_part(call, TOPIC_FAILED, Hit(topics=dict.fromkeys(denied))) if denied else None


def refuse_part(call: Call, code: ErrorCode, hit: Hit) -> Refusal:
    """Answer the part of a call that ``hit`` selects with an error."""
    verdict = inject_error(call, code, hit)
    return None if verdict is PARTLY else verdict


# the odd APIs


def fetch(call: Call, access: PrincipalAccess) -> Refusal:
    """A follower needs ClusterAction instead of Read."""
    if max(call.request.replica_id, call.request.replica_state.replica_id) < 0:  # the version lacks one of them
        return check_topics(call, access, Operation.READ)
    return None if access.may_cluster(Operation.CLUSTER_ACTION) else refuse_part(call, TOPIC_FAILED, Hit())


def init_producer_id(call: Call, access: PrincipalAccess) -> None:
    """An idempotent producer needs IdempotentWrite, or Write on any topic; two-phase commits need one more."""
    name = call.request.transactional_id
    if name is None:
        if not (access.may_cluster(Operation.IDEMPOTENT_WRITE) or access.may_any(Operation.WRITE, ResourceType.TOPIC)):
            raise ApiError(CLUSTER_FAILED)
        return
    check_transactional_id(access, name)
    if call.request.enable2_pc:
        check_transactional_id(access, name, Operation.TWO_PHASE_COMMIT)


def add_partitions(call: Call, access: PrincipalAccess) -> None:
    """Since v4 for brokers; before, the handler authorizes the topics."""
    if call.version >= VERIFYING_VERSION:
        check_cluster(call, access, Operation.CLUSTER_ACTION)
    else:
        check_transactional_id(access, call.request.v3_and_below_transactional_id)


RULES: dict[int, Rule] = {1: fetch, 22: init_producer_id, 24: add_partitions}
"""By API key: the APIs of which the declared operations are not all."""
