"""JoinGroup (key 11), Heartbeat (12), LeaveGroup (13), SyncGroup (14): membership in a group of the classic protocol.

They read and write cluster.groups. A join waits for the other members, a sync for the leader's assignment; the group
has timers for both, so neither wait has its own deadline.
Errors: NOT_COORDINATOR, INVALID_GROUP_ID, and those of ``Groups``; LeaveGroup v3 and later return one per member.
Source: KIP-62, KIP-345, KIP-394, KIP-559, KIP-814; KafkaApis and GroupCoordinatorService, Apache Kafka 4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call, Wait
from mockbroker.groups.classic.members import GroupJoin, GroupSync, JoinAnswer, PendingAnswer, SyncAnswer
from mockbroker.groups.coordinator import check_group_id
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.state.errors import ApiError
from mockbroker.state.security.access import may_see_of
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
MEMBER_ID_REQUIRED_VERSION = 4
NULL_PROTOCOL_VERSION = 7
SKIP_ASSIGNMENT_VERSION = 9
SYNC_PROTOCOL_VERSION = 5  # of SyncGroup: protocol type and name are required
LEAVE_BATCH_VERSION = 3

Answer = TypeVar("Answer", JoinAnswer, SyncAnswer)
Reply = TypeVar("Reply")


@handles(JoinGroupRequest, access=Needs(group="Read"), errors=Errors(failed={"protocol_name": None}))
def join_group(call: Call, request: JoinGroupRequest) -> JoinGroupResponse | Wait:
    """Join the next generation of a group; the answer comes when all members have joined."""
    has_rebalance_timeout = call.version >= REBALANCE_TIMEOUT_VERSION
    joining = GroupJoin(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=call.session.client_id or "",
        client_host=f"/{call.session.address}",
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms if has_rebalance_timeout else request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple((protocol.name, protocol.metadata) for protocol in request.protocols),
        requires_member_id=call.version >= MEMBER_ID_REQUIRED_VERSION,
        skips_assignment=call.version >= SKIP_ASSIGNMENT_VERSION,
        may_see=may_see_of(call.cluster, call.session.principal, call.session.address),
    )
    member_id = request.member_id
    try:
        call.cluster.groups.check_joining(request.group_id, request.session_timeout_ms)
        check_coordinator(call, request.group_id)
        parked = call.cluster.groups.join(request.group_id, joining, call.now_ms, call.rng)
    except ApiError as error:
        code = ErrorCode(error.code)
        if code in (ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_SERVER_ERROR):
            member_id = ""  # as Kafka does without a coordinator, and for exceptions that it does not expect
        return join_response(call.version, JoinAnswer(member_id, code))
    return when_answered(parked, partial(join_response, call.version))


def join_response(version: int, answer: JoinAnswer) -> JoinGroupResponse:
    no_protocol = None if version >= NULL_PROTOCOL_VERSION else ""
    return JoinGroupResponse(
        error_code=answer.error,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name or no_protocol,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponse.Member(
                member_id=member.id, group_instance_id=member.instance_id, metadata=member.metadata
            )
            for member in answer.members
        ],
    )


@handles(SyncGroupRequest, access=Needs(group="Read"))
def sync_group(call: Call, request: SyncGroupRequest) -> SyncGroupResponse | Wait:
    """Return the member's assignment, once the group's leader has sent all of them."""
    if call.version >= SYNC_PROTOCOL_VERSION and None in (request.protocol_type, request.protocol_name):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    check_group_id(request.group_id)
    check_coordinator(call, request.group_id)
    syncing = GroupSync(
        request.member_id,
        request.group_instance_id,
        request.generation_id,
        request.protocol_type,
        request.protocol_name,
        {assignment.member_id: assignment.assignment for assignment in request.assignments},
    )
    return when_answered(call.cluster.groups.sync(request.group_id, syncing, call.now_ms), sync_response)


def sync_response(answer: SyncAnswer) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=answer.error,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name,
        assignment=answer.assignment,
    )


def when_answered(parked: PendingAnswer[Answer], respond: Callable[[Answer], Reply]) -> Reply | Wait:
    """The response to a pending call, or a Wait for the group's answer."""
    if parked.answer is None:
        return Wait(until_ms=None, on=(parked,), then=lambda _: when_answered(parked, respond))
    return respond(parked.answer)


@handles(HeartbeatRequest, access=Needs(group="Read"))
def heartbeat(call: Call, request: HeartbeatRequest) -> HeartbeatResponse:
    """Extend the member's session; REBALANCE_IN_PROGRESS makes it join again."""
    check_group_id(request.group_id)
    check_coordinator(call, request.group_id)
    call.cluster.groups.heartbeat(
        request.group_id, request.member_id, request.group_instance_id, request.generation_id, call.now_ms
    )
    return HeartbeatResponse()


@handles(LeaveGroupRequest, access=Needs(group="Read"))
def leave_group(call: Call, request: LeaveGroupRequest) -> LeaveGroupResponse:
    """Remove one member, since v3 any number."""
    batch = call.version >= LEAVE_BATCH_VERSION
    leaving: list[tuple[str, str | None]] = [(request.member_id, None)]
    if batch:
        leaving = [(member.member_id, member.group_instance_id) for member in request.members]
    check_group_id(request.group_id)
    check_coordinator(call, request.group_id)
    errors = call.cluster.groups.leave(request.group_id, leaving, call.now_ms)
    if not batch:
        return LeaveGroupResponse(error_code=errors[0])
    return LeaveGroupResponse(
        members=[
            LeaveGroupResponse.Member(member_id=member_id, group_instance_id=instance_id, error_code=error)
            for (member_id, instance_id), error in zip(leaving, errors, strict=True)
        ]
    )
