"""Members of share groups join, stay and leave, and the coordinator assigns.

Source: GroupMetadataManager.shareGroupHeartbeat and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kafka_rack.assignment import Member, in_hash_order
from mockbroker.share_groups.groups import records
from mockbroker.share_groups.groups.group import ShareGroup
from mockbroker.share_groups.groups.members import ShareMember
from mockbroker.share_groups.groups.simple_assignor import assign
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.coordinator import Groups
from mockbroker.state.groups.modern.members import JOIN_EPOCH, LEAVE_EPOCH, MemberState, Partitions
from mockbroker.state.image.coordinator_records import CoordinatorRecord
from protocol.error_codes import ErrorCode


class ShareHeartbeat(NamedTuple):
    """What a member says of itself; None stands for what it said before."""

    group_id: str
    member_id: str
    epoch: int
    rack: str | None
    topics: Sequence[str] | None
    client_id: str
    client_host: str


class ShareHeartbeatAnswer(NamedTuple):
    """A member's epoch and when it is to be heard of again; its partitions where it has to be told of them."""

    member_id: str
    epoch: int
    interval_ms: int = 0
    assigned: Partitions | None = None


def check_heartbeat(beat: ShareHeartbeat) -> None:
    """Refuse what makes no sense. Raises ApiError: INVALID_REQUEST."""
    for value, name in ((beat.member_id, "MemberId"), (beat.group_id, "GroupId"), (beat.rack, "RackId")):
        if value is not None and not value.strip():
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{name} can't be empty.")
    if beat.epoch == JOIN_EPOCH:
        if not beat.topics:
            raise ApiError(ErrorCode.INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")
    elif beat.epoch < LEAVE_EPOCH:
        raise ApiError(ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid.")


def take_heartbeat(groups: Groups, beat: ShareHeartbeat, now_ms: int) -> tuple[ShareHeartbeatAnswer, ShareGroup]:
    """Take a heartbeat in; gives the answer, and the group as it is then.

    Raises ApiError: GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH.
    """
    if beat.epoch == LEAVE_EPOCH:
        group = groups.get_as(ShareGroup, beat.group_id)
        group.fence(group.member(beat.member_id))
        return ShareHeartbeatAnswer(beat.member_id, beat.epoch), group
    joins = beat.epoch == JOIN_EPOCH
    group = groups.find_or_make(ShareGroup, beat.group_id, create=joins)
    before = member_of(group, beat)
    member = replace(
        before,
        rack=before.rack if beat.rack is None else beat.rack,
        topics=before.topics if beat.topics is None else frozenset(beat.topics),
        client_id=beat.client_id,
        client_host=beat.client_host,
    )
    written: list[CoordinatorRecord] = []
    is_new = member.id not in group.members
    if is_new or member != before:
        written.append(records.member_metadata(group.id, member))
    raises_epoch = member.topics != before.topics
    if group.assignment_epoch >= group.epoch:
        raises_epoch = raises_epoch or has_unassigned(group)
    epoch = group.epoch
    counts = group.counts_after(None if is_new else before, member)
    if raises_epoch or group.metadata_expired():
        metadata_hash = group.context.topics.hash_of(counts)
        raises_epoch = raises_epoch or metadata_hash != group.metadata_hash
        if raises_epoch:
            epoch += 1
            written.append(records.group_epoch(group.id, epoch, metadata_hash))
        group.metadata_refreshed()
    target_epoch, target = new_target(group, epoch, member, written, now_ms)
    member = reconciled(group, member, target_epoch, target, written, has_changed=raises_epoch)
    group.write(written)
    groups.register(group)
    group.put_off_session(member.id, now_ms)
    is_told = joins or beat.topics is not None or member.assigned != before.assigned
    interval_ms = group.context.configs.group(group.id, "share.heartbeat.interval.ms")
    return ShareHeartbeatAnswer(member.id, member.epoch, interval_ms, member.assigned if is_told else None), group


def member_of(group: ShareGroup, beat: ShareHeartbeat) -> ShareMember:
    """The member as it was, a new one where it joins.

    Raises ApiError: GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH.
    """
    known = group.members.get(beat.member_id)
    max_size = group.context.configs.broker("group.share.max.size")
    if known is None and len(group.members) >= max_size:
        problem = f"The share group has reached its maximum capacity of {max_size} members."
        raise ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, problem)
    if beat.epoch == JOIN_EPOCH:
        return known or ShareMember(id=beat.member_id)
    member = group.member(beat.member_id)
    if beat.epoch > member.epoch or beat.epoch not in (member.epoch, member.previous_epoch):
        size = "greater" if beat.epoch > member.epoch else "smaller"
        problem = (
            f"The share group member has a {size} member epoch ({beat.epoch}) than the one known by the group "
            f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
        )
        raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, problem)
    return member


def has_unassigned(group: ShareGroup) -> bool:
    """Whether share partitions have begun that members subscribe to and nobody is to read yet."""
    if not group.members:
        return False
    targeted: dict[bytes, set[int]] = {}
    for target in group.targets.values():
        for topic_id, numbers in target.items():
            targeted.setdefault(topic_id, set()).update(numbers)
    return any(
        topic.name in group.counts and targeted.get(topic_id, set()) != set(topic.partitions)
        for topic_id, topic in group.partitions.initialized.items()
    )


def new_target(
    group: ShareGroup, epoch: int, member: ShareMember, written: list[CoordinatorRecord], now_ms: int
) -> tuple[int, Partitions]:
    """What the member is to read and since which epoch; worked out anew for all members where it is time."""
    if group.assignment_epoch >= epoch or not group.may_assign(now_ms):
        return group.assignment_epoch, group.target_of(member.id)
    topics = group.context.topics
    members = {**group.members, member.id: member}
    in_order = in_hash_order([Member(one.id, sorted(one.topics)) for one in members.values()])
    subscriptions = {one.member_id: frozenset(topics.ids_of(members[one.member_id].topics)) for one in in_order}
    assignable: Partitions = {topic_id: topic.partitions for topic_id, topic in group.partitions.initialized.items()}
    targets = assign(subscriptions, assignable, group.targets)
    written += [
        records.target(group.id, member_id, partitions)
        for member_id, partitions in sorted(targets.items())
        if group.targets.get(member_id) != partitions
    ]
    written.append(records.target_epoch(group.id, epoch, group.context.clock.at(now_ms)))
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
    """The member with what it is to read, at once: nobody has to give up anything first."""
    if not has_changed and member.is_reconciled(target_epoch):
        return member
    subscribed = group.context.topics.ids_of(member.topics)
    assigned = {topic_id: numbers for topic_id, numbers in target.items() if topic_id in subscribed}
    after = replace(member, assigned=assigned)
    if target_epoch != member.epoch:
        after = replace(after, epoch=target_epoch, previous_epoch=member.epoch, state=MemberState.STABLE)
    if after != member:
        written.append(records.member_assignment(group.id, after))
    return after
