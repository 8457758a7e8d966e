"""Heartbeats of share group members: joining, staying, leaving, and the coordinator's assignment.

Source: GroupMetadataManager.shareGroupHeartbeat and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import replace

from kafka_rack.assignment import Member, in_hash_order
from mockbroker.groups.coordinator import Groups
from mockbroker.groups.kind import Sender
from mockbroker.groups.modern.group import check_filled
from mockbroker.groups.modern.members import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    MemberState,
    Partitions,
    changed,
    messages_of,
)
from mockbroker.share_groups.groups.group import ShareGroup, ShareMember
from mockbroker.share_groups.groups.simple_assignor import assign
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from protocol.apis.share_group import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from protocol.error_codes import ErrorCode

Assignment = ShareGroupHeartbeatResponse.Assignment


def check_heartbeat(beat: ShareGroupHeartbeatRequest) -> None:
    """Check the fields of a heartbeat. Raises ApiError: INVALID_REQUEST."""
    check_filled(beat, "member_id", "group_id", "rack_id")
    if beat.member_epoch == JOIN_EPOCH:
        if not beat.subscribed_topic_names:
            raise ApiError(ErrorCode.INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")
    elif beat.member_epoch < LEAVE_EPOCH:
        raise ApiError(ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid.")


def take_heartbeat(
    groups: Groups, beat: ShareGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> tuple[ShareGroupHeartbeatResponse, ShareGroup]:
    """Handle a heartbeat; returns the response and the updated group.

    Raises ApiError: GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH.
    """
    if beat.member_epoch == LEAVE_EPOCH:
        group = groups.get_as(ShareGroup, beat.group_id)
        group.leave(beat.member_id, None, LEAVE_EPOCH, now_ms)
        return ShareGroupHeartbeatResponse(member_id=beat.member_id, member_epoch=beat.member_epoch), group
    joins = beat.member_epoch == JOIN_EPOCH
    group = groups.find_or_make(ShareGroup, beat.group_id, create=joins)
    group.check_capacity(beat.member_id)
    before, _ = group.member_of(beat.member_id, None, beat.member_epoch, lambda _: True)
    topics = None if beat.subscribed_topic_names is None else frozenset(beat.subscribed_topic_names)
    changes = {"rack": beat.rack_id, "topics": topics, "client_id": sender.client_id, "client_host": sender.client_host}
    member = changed(before, changes)
    written: list[CoordinatorRecord] = []
    is_new = member.id not in group.members
    if is_new or member != before:
        written.append(group.member_record(member))
    raises_epoch = member.topics != before.topics
    if group.assignment_epoch >= group.epoch:
        raises_epoch = raises_epoch or has_unassigned(group)
    epoch = group.next_epoch(group.counts_after(None if is_new else before, member), written, has_changed=raises_epoch)
    raises_epoch = epoch != group.epoch
    target_epoch, target = new_target(group, epoch, member, written, now_ms)
    member = reconciled(group, member, target_epoch, target, written, has_changed=raises_epoch)
    group.write(written)
    groups.register(group)
    group.extend_session(member.id, now_ms)
    response = ShareGroupHeartbeatResponse(
        member_id=member.id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=group.config("share.heartbeat.interval.ms"),
    )
    if joins or beat.subscribed_topic_names is not None or member.assigned != before.assigned:
        response.assignment = Assignment(topic_partitions=messages_of(Assignment.TopicPartitions, member.assigned))
    return response, group


def has_unassigned(group: ShareGroup) -> bool:
    """True if initialized share partitions of subscribed topics are not assigned to any member yet."""
    if not group.members:
        return False
    targeted: dict[bytes, set[int]] = {}
    for target in group.targets.values():
        for topic_id, numbers in target.items():
            targeted.setdefault(topic_id, set()).update(numbers)
    return any(
        topic.name in group.counts and targeted.get(topic_id, set()) != set(topic.partitions)
        for topic_id, topic in (group.initialized or {}).items()
    )


def new_target(
    group: ShareGroup, epoch: int, member: ShareMember, written: list[CoordinatorRecord], now_ms: int
) -> tuple[int, Partitions]:
    """The member's target assignment and its epoch; computed for all members after the assignment interval."""
    if group.assignment_epoch >= epoch or not group.may_assign(now_ms):
        return group.assignment_epoch, group.target_of(member.id)
    topics = group.groups.topics
    members = {**group.members, member.id: member}
    in_order = in_hash_order([Member(one.id, sorted(one.topics)) for one in members.values()])
    subscriptions = {one.member_id: frozenset(topics.ids_of(members[one.member_id].topics)) for one in in_order}
    assignable: Partitions = {topic_id: topic.partitions for topic_id, topic in (group.initialized or {}).items()}
    targets = assign(subscriptions, assignable, group.targets)
    written += group.target_records(epoch, targets, group.targets, now_ms)
    return epoch, targets[member.id]


def reconciled(
    group: ShareGroup,
    member: ShareMember,
    target_epoch: int,
    target: Partitions,
    written: list[CoordinatorRecord],
    *,
    has_changed: bool,
) -> ShareMember:
    """The member with its target assigned at once: no other member has to revoke anything first."""
    if not has_changed and member.is_reconciled(target_epoch):
        return member
    subscribed = group.groups.topics.ids_of(member.topics)
    assigned = {topic_id: numbers for topic_id, numbers in target.items() if topic_id in subscribed}
    after = replace(member, assigned=assigned)
    if target_epoch != member.epoch:
        after = replace(after, epoch=target_epoch, previous_epoch=member.epoch, state=MemberState.STABLE)
    if after != member:
        written.append(group.assignment_record(after))
    return after
