"""JoinGroup (key 11), Heartbeat (12), LeaveGroup (13), SyncGroup (14): membership in a group of the classic protocol.

They read and write cluster.groups. A join waits for the other members, a sync for the leader's assignment; the group
has timers for both, so neither wait has its own deadline.
Errors: NOT_COORDINATOR, INVALID_GROUP_ID, and those of ``Groups``; LeaveGroup v3 and later return one per member.
Source: KIP-62, KIP-345, KIP-394, KIP-559, KIP-814; KafkaApis and GroupCoordinatorService, Apache Kafka 4.0.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call, Wait
from mockbroker.groups.classic.members import Answer, PendingAnswer, refused_join
from mockbroker.handlers.find_coordinator import check_coordinator, check_group, sender_of
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import Operation
from protocol.apis.classic_group import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocol.error_codes import ErrorCode

REBALANCE_TIMEOUT_VERSION = 1  # of JoinGroup: earlier versions use the session timeout for both
NULL_PROTOCOL_VERSION = 7
SYNC_PROTOCOL_VERSION = 5  # of SyncGroup: protocol type and name are required
LEAVE_BATCH_VERSION = 3


@handles(JoinGroupRequest, access=Needs(group="Read"), errors=Errors(failed={"protocol_name": None}))
def join_group(call: Call, request: JoinGroupRequest) -> JoinGroupResponse | Wait:
    """Join the next generation of a group; the answer comes when all members have joined."""
    if call.version < REBALANCE_TIMEOUT_VERSION:
        request.rebalance_timeout_ms = request.session_timeout_ms
    try:
        call.cluster.groups.check_joining(request.group_id, request.session_timeout_ms)
        check_coordinator(call, request.group_id)
        parked = call.cluster.groups.join(request, sender_of(call), call.now_ms, call.rng)
    except ApiError as error:
        # without a coordinator, and for exceptions that it does not expect, Kafka leaves the id out
        is_unexpected = error.code in (ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_SERVER_ERROR)
        parked = PendingAnswer(refused_join("" if is_unexpected else request.member_id, ErrorCode(error.code)))
    return when_answered(parked, call.version)


@handles(SyncGroupRequest, access=Needs(group="Read", handler="all"))
def sync_group(call: Call, request: SyncGroupRequest) -> SyncGroupResponse | Wait:
    """Return the member's assignment, once the group's leader has sent all of them."""
    if call.version >= SYNC_PROTOCOL_VERSION and None in (request.protocol_type, request.protocol_name):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not call.access.may_group(Operation.READ, request.group_id):
        raise ApiError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    check_group(call, request.group_id)
    return when_answered(call.cluster.groups.of_members(request.group_id).sync(request, call.now_ms), call.version)


def when_answered(parked: PendingAnswer[Answer], version: int) -> Answer | Wait:
    """The response to a pending call, or a Wait for the group's answer."""
    answer = parked.answer
    if answer is None:
        return Wait(until_ms=None, on=(parked,), then=lambda _: when_answered(parked, version))
    if isinstance(answer, JoinGroupResponse) and not answer.protocol_name:
        answer.protocol_name = None if version >= NULL_PROTOCOL_VERSION else ""
    return answer


@handles(HeartbeatRequest, access=Needs(group="Read"))
def heartbeat(call: Call, request: HeartbeatRequest) -> HeartbeatResponse:
    """Extend the member's session; REBALANCE_IN_PROGRESS makes it join again."""
    check_group(call, request.group_id)
    call.cluster.groups.of_members(request.group_id).heartbeat(request, call.now_ms)
    return HeartbeatResponse()


@handles(LeaveGroupRequest, access=Needs(group="Read"))
def leave_group(call: Call, request: LeaveGroupRequest) -> LeaveGroupResponse:
    """Remove one member, since v3 any number."""
    batch = call.version >= LEAVE_BATCH_VERSION
    leaving: list[tuple[str, str | None]] = [(request.member_id, None)]
    if batch:
        leaving = [(member.member_id, member.group_instance_id) for member in request.members]
    check_group(call, request.group_id)
    errors = call.cluster.groups.leave(request.group_id, leaving, call.now_ms)
    if not batch:
        return LeaveGroupResponse(error_code=errors[0])
    return LeaveGroupResponse(
        members=[
            LeaveGroupResponse.Member(member_id=member_id, group_instance_id=instance_id, error_code=error)
            for (member_id, instance_id), error in zip(leaving, errors, strict=True)
        ]
    )
