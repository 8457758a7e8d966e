"""Heartbeats of share group members: joining, staying, leaving, and the coordinator's assignment.

Source: GroupMetadataManager.shareGroupHeartbeat and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafka_rack.assignment import Member, in_hash_order
from mockbroker.groups.coordinator import Groups
from mockbroker.groups.kind import Sender
from mockbroker.groups.modern.heartbeat import MemberUpdate, check_epoch, check_filled
from mockbroker.groups.modern.members import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    MemberState,
    Partitions,
    messages_of,
)
from mockbroker.share_groups.groups.group import ShareGroup, ShareMember
from mockbroker.share_groups.groups.simple_assignor import assign
from mockbroker.state.errors import invalid_request
from protocol.apis.share_group import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

Assignment = ShareGroupHeartbeatResponse.Assignment


def check_heartbeat(request: ShareGroupHeartbeatRequest) -> None:
    """Check the fields of a heartbeat. Raises ApiError: INVALID_REQUEST."""
    check_filled(request, "member_id", "group_id", "rack_id")
    if request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        raise invalid_request("SubscribedTopicNames must be set in first request.")
    check_epoch(request, LEAVE_EPOCH)


def take_heartbeat(
    groups: Groups, request: ShareGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ShareGroupHeartbeatResponse:
    """Handle a heartbeat; the share partitions of subscribed topics are initialized after it.

    Raises ApiError: GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH.
    """
    if request.member_epoch == LEAVE_EPOCH:
        groups.get_as(ShareGroup, request.group_id).leave(request, now_ms)
        return ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
    joins = request.member_epoch == JOIN_EPOCH
    group = groups.find_or_make(ShareGroup, request.group_id, create=joins)
    group.check_capacity(request.member_id)
    update = ShareUpdate(group, now_ms)
    before = update.member(request.member_id, None, request.member_epoch, lambda _: True)
    member = before.after_request(request, sender)
    is_new = member.id not in group.members
    if is_new or member != before:
        update.records.append(group.member_record(member))
    has_changed = member.topics != before.topics or (group.assignment_epoch >= group.epoch and has_unassigned(group))
    members, _ = update.members_and_targets(member)
    epoch = group.next_epoch(members.values(), update.records, has_changed=has_changed)
    member = update.reconciled(member, *update.assign(member, epoch, update.targets), has_changed=epoch != group.epoch)
    update.write(member)
    group.begin_subscribed()
    response = ShareGroupHeartbeatResponse(
        member_id=member.id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=group.config("share.heartbeat.interval.ms"),
    )
    if joins or request.subscribed_topic_names is not None or member.assigned != before.assigned:
        response.assignment = Assignment(topic_partitions=messages_of(Assignment.TopicPartitions, member.assigned))
    return response


def has_unassigned(group: ShareGroup) -> bool:
    """True if initialized share partitions of subscribed topics are not assigned to any member yet."""
    targeted = frozenset().union(*group.targets.values())
    subscribed = group.topics_read_by(group.members.values())
    missing = (group.initialized or frozenset()) - targeted
    return any(group.groups.topics.name_of(topic_id) in subscribed for topic_id, _ in missing)


class ShareUpdate(MemberUpdate[ShareMember]):
    """The effect of a heartbeat."""

    group: ShareGroup

    def targets(
        self, members: Mapping[str, ShareMember], old_targets: Mapping[str, Partitions]
    ) -> dict[str, Partitions]:
        """The targets of members."""
        group, topics = self.group, self.group.groups.topics
        in_order = in_hash_order([Member(one.id, sorted(one.topics)) for one in members.values()])
        subscriptions = {one.member_id: frozenset(topics.ids_of(members[one.member_id].topics)) for one in in_order}
        return assign(subscriptions, group.initialized or frozenset(), old_targets)

    def reconciled(
        self, member: ShareMember, target_epoch: int, target: Partitions, *, has_changed: bool
    ) -> ShareMember:
        """The member with its target assigned at once: no other member has to revoke anything first."""
        if not has_changed and member.is_reconciled(target_epoch):
            return member
        subscribed = self.group.groups.topics.ids_of(member.topics)
        assigned = frozenset(at for at in target if at[0] in subscribed)
        after = replace(member, assigned=assigned)
        if target_epoch != member.epoch:
            after = replace(after, epoch=target_epoch, previous_epoch=member.epoch, state=MemberState.STABLE)
        return self.moved(member, after)
