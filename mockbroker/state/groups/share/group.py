"""A share group as it runs: its members, what they shall read, and which share partitions it has.

Source: ShareGroup, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import ClassVar

from mockbroker.state.groups.kind import TopicsOf
from mockbroker.state.groups.modern.group import ModernGroup, Timer
from mockbroker.state.groups.modern.subscriptions import Counts, count_names
from mockbroker.state.groups.share import records
from mockbroker.state.groups.share.members import ShareMember
from mockbroker.state.groups.share.records import StatePartitions
from mockbroker.state.image.coordinator_records import CoordinatorRecord
from protocol.embedded.share_group_log import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
)


@dataclass(slots=True, eq=False)
class ShareGroup(ModernGroup[ShareMember]):
    """A group of KIP-932. ``partitions`` are its share partitions."""

    kind: ClassVar[str] = "share"
    replaces_empty_classic: ClassVar[bool] = False
    expires_without_offsets: ClassVar[bool] = False
    protocol_type: ClassVar[str | None] = "share"
    partitions: StatePartitions = field(default_factory=StatePartitions)

    # records

    def apply(self, record: CoordinatorRecord) -> None:
        APPLY[type(record.key)](self, record)

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.no_group(self.id, sorted(self.members))

    def put_member(self, member: ShareMember) -> None:
        """A member is as this one says from now on."""
        before = self.members.get(member.id)
        self.members[member.id] = member
        if before is not None:
            count_names(self.counts, before.topics, -1)
        count_names(self.counts, member.topics, 1)

    def drop_member(self, member_id: str) -> None:
        """A member is gone."""
        member = self.members.pop(member_id, None)
        if member is not None:
            count_names(self.counts, member.topics, -1)

    def counts_after(self, before: ShareMember | None, after: ShareMember | None) -> Counts:
        """How many subscribe to each topic once a member has changed, come or gone."""
        counts = dict(self.counts)
        if before is not None:
            count_names(counts, before.topics, -1)
        if after is not None:
            count_names(counts, after.topics, 1)
        return counts

    # what admins ask

    @property
    def assignor_name(self) -> str:
        """The only one there is."""
        return "simple"

    @property
    def state_name(self) -> str:
        """Empty or Stable."""
        return "Stable" if self.members else "Empty"

    def subscribed_topics(self, topics_of: TopicsOf) -> Collection[str]:
        """Refuse to delete offsets, of which the group has none. Raises ApiError: GROUP_ID_NOT_FOUND."""
        raise self.without_offsets()

    def expires(self, committed_ms: int, oldest_ms: int) -> bool:
        """Share groups have no offsets that could be too old."""
        return False

    # time

    def on_timer(self, timer: Timer, member_id: str, now_ms: int) -> None:
        """A member's session has ended: it is put out of the group."""
        self.fence(self.members[member_id])

    def fence(self, member: ShareMember) -> None:
        """Put a member out."""
        self.cancel_timers_of(member.id)
        epoch = self.epoch + 1
        gone = records.no_member(self.id, member.id)
        metadata_hash = self.context.topics.hash_of(self.counts_after(member, None))
        gone.append(records.group_epoch(self.id, epoch, metadata_hash))
        if len(self.members) == 1:
            gone.append(records.target_epoch(self.id, epoch, 0))
        self.write(gone)


def _set_epoch(group: ShareGroup, record: CoordinatorRecord) -> None:
    if record.value is not None:
        group.epoch, group.metadata_hash = record.value.epoch, record.value.metadata_hash


def _set_member(group: ShareGroup, record: CoordinatorRecord) -> None:
    member_id = record.key.member_id
    if record.value is None:
        group.drop_member(member_id)
    else:
        group.put_member((group.members.get(member_id) or ShareMember(id=member_id)).with_metadata(record.value))


def _set_assignment(group: ShareGroup, record: CoordinatorRecord) -> None:
    member_id = record.key.member_id
    before = group.members.get(member_id)
    if record.value is not None:
        group.put_member((before or ShareMember(id=member_id)).with_assignment(record.value))
    elif before is not None:
        group.put_member(replace(before, epoch=-1, previous_epoch=-1, assigned={}))


def _set_target(group: ShareGroup, record: CoordinatorRecord) -> None:
    if record.value is None:
        group.targets.pop(record.key.member_id, None)
    else:
        group.targets[record.key.member_id] = {
            one.topic_id: frozenset(one.partitions) for one in record.value.topic_partitions
        }


def _set_target_epoch(group: ShareGroup, record: CoordinatorRecord) -> None:
    value = record.value
    group.assignment_epoch = -1 if value is None else value.assignment_epoch
    group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp


def _set_partitions(group: ShareGroup, record: CoordinatorRecord) -> None:
    group.partitions = records.recorded_partitions(record.value)


APPLY: dict[type, Callable[[ShareGroup, CoordinatorRecord], None]] = {
    ShareGroupMetadataKey: _set_epoch,
    ShareGroupMemberMetadataKey: _set_member,
    ShareGroupCurrentMemberAssignmentKey: _set_assignment,
    ShareGroupTargetAssignmentMemberKey: _set_target,
    ShareGroupTargetAssignmentMetadataKey: _set_target_epoch,
    ShareGroupStatePartitionMetadataKey: _set_partitions,
}
