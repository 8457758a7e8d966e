"""JoinGroup and SyncGroup while what they write would not be replicated, or stands behind something that is not.

Two of them are to be replicated before they count: the leader's assignment, and the new id of a static member that has
come back to a settled group. All others that wait for their group do so no longer than for what is not replicated.

Reads cluster.internal_topics and cluster.groups; writes a group whose leader's assignment could not be kept.
Errors: COORDINATOR_NOT_AVAILABLE, once ``offsets.commit.timeout.ms`` is over.
Source: GroupMetadataManager.classicGroupSync and updateStaticMemberThenRebalanceOrCompleteJoin, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from mockbroker.call import Call, Wait
from mockbroker.handlers.coordinator_writes import after_writes, is_refused, timeout_ms
from mockbroker.handlers.error_responses import error_response
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.classic.answers import JoinAnswer, PendingAnswer, SyncAnswer
from mockbroker.state.groups.classic.group import ClassicGroup
from mockbroker.state.groups.classic.members import NO_MEMBER_ID, GroupJoin, vote
from mockbroker.state.groups.classic.states import ClassicGroupState
from mockbroker.state.groups.classic.timers import GroupTimer
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from mockbroker.state.topics.topic import Partition
from protocol.apis.classic_group import SyncGroupRequest
from protocol.error_codes import ErrorCode

Answer = TypeVar("Answer", JoinAnswer, SyncAnswer)
Respond = Callable[[Answer], Any]


def join_in_short_partition(
    call: Call, group_id: str, joining: GroupJoin, again: Callable[[Call], Any], respond: Respond[JoinAnswer]
) -> Wait | None:
    """What becomes of a static member that has come back, where its new id would not be replicated; else None.

    Args:
        again: takes the request in once there are enough replicas.
    """
    found = group_in_short_partition(call, group_id)
    if found is None or not would_replace(found[1], joining):
        return None
    partition, group = found
    refused = JoinAnswer(
        NO_MEMBER_ID,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
    )

    def give_up(late: Call) -> Any:
        member = group.members.get(group.static_ids.get(joining.instance_id or "", NO_MEMBER_ID))
        if member is not None:  # it was a sign of life
            session = (group.id, GroupTimer.SESSION, member.id)
            group.timers.set(session, late.now_ms + member.session_timeout_ms)
        return respond(refused)

    return held_back(call, partition, again, give_up)


def sync_in_short_partition(
    call: Call, request: SyncGroupRequest, again: Callable[[Call], Any], respond: Respond[SyncAnswer]
) -> Wait | None:
    """What becomes of the leader's assignment, where that would not be replicated; else None."""
    found = group_in_short_partition(call, request.group_id)
    if found is None or not would_assign(found[1], request.member_id, request.generation_id):
        return None
    partition, group = found

    def give_up(late: Call) -> Any:
        if would_assign(group, request.member_id, request.generation_id):
            group.assignment_failed(late.now_ms)
        return respond(SyncAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE))

    return held_back(call, partition, again, give_up)


def group_in_short_partition(call: Call, group_id: str) -> tuple[Partition, ClassicGroup] | None:
    group = call.cluster.groups.find(group_id)
    if not isinstance(group, ClassicGroup):
        return None
    partition = call.cluster.internal_topics.partition_of(OFFSETS_TOPIC, group_id)
    return (partition, group) if call.cluster.internal_topics.writes.is_short(partition) else None


def would_replace(group: ClassicGroup, joining: GroupJoin) -> bool:
    """Whether a static member has come back to a settled group, and nobody has to join again for it."""
    member = group.members.get(group.static_ids.get(joining.instance_id or "", NO_MEMBER_ID))
    if member is None or joining.member_id != NO_MEMBER_ID or group.state is not ClassicGroupState.STABLE:
        return False
    returned = replace(member, protocols=joining.protocols)
    members = [returned if one is member else one for one in group.members.values()]
    return bool(joining.protocols) and vote(members) == group.protocol_name


def would_assign(group: ClassicGroup, member_id: str, generation: int) -> bool:
    """Whether it is the leader's assignment that the group waits for."""
    return (group.state, group.leader_id, group.generation) == (ClassicGroupState.COMPLETING, member_id, generation)


def held_back(call: Call, partition: Partition, again: Callable[[Call], Any], give_up: Callable[[Call], Any]) -> Wait:
    """Put a request off until enough replicas are in sync, or give it up."""
    writes = call.cluster.internal_topics.writes
    writes.begin(partition)
    until_ms = timeout_ms(call)

    def look(later: Call) -> Any:
        if not writes.is_short(partition):
            return again(later)
        return give_up(later) if later.now_ms >= until_ms else wait

    wait = Wait(until_ms=until_ms, on=(partition,), then=look)
    return wait


def when_answered(call: Call, request: Any, parked: PendingAnswer[Answer], respond: Respond[Answer]) -> Any:
    """The response to a parked call, or a Wait for the group's answer.

    Members of a group of the consumer protocol wait for what is not replicated, too, once they have their answer.
    """
    topics = call.cluster.internal_topics
    if not topics.writes.any_behind:
        return answered_by(call, request, parked, respond, None)
    partition = topics.partition_of(OFFSETS_TOPIC, request.group_id)
    if not topics.writes.is_behind(partition):
        return answered_by(call, request, parked, respond, None)
    if parked.answer is None or isinstance(call.cluster.groups.find(request.group_id), ClassicGroup):
        return answered_by(call, request, parked, respond, timeout_ms(call))
    response = respond(parked.answer)
    return response if is_refused(response) else after_writes(call, request, response, partition)


def answered_by(
    call: Call, request: Any, parked: PendingAnswer[Answer], respond: Respond[Answer], until_ms: int | None
) -> Any:
    """The response to a parked call, COORDINATOR_NOT_AVAILABLE once it has taken too long."""
    if parked.answer is not None:
        return respond(parked.answer)
    if until_ms is not None and call.now_ms >= until_ms:
        return error_response(request, call.version, ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    return Wait(
        until_ms=until_ms, on=(parked,), then=lambda again: answered_by(again, request, parked, respond, until_ms)
    )
