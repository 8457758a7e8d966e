"""A share group at its coordinator: its members, their assignment, and its share partitions.

Source: ShareGroup, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from mockbroker.share_groups.groups import records
from mockbroker.share_groups.groups.members import ShareMember
from mockbroker.share_groups.groups.records import StatePartitions
from mockbroker.share_groups.share_states import share_of
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.groups.kind import TopicsOf
from mockbroker.state.groups.modern.group import MemberTimer, ModernGroup
from mockbroker.state.groups.modern.subscriptions import count_names
from protocol.embedded.share_group_log import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
)

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster


@dataclass(slots=True, eq=False)
class ShareGroup(ModernGroup[ShareMember]):
    """A group of KIP-932. ``partitions`` are its share partitions, None before the first record of them."""

    kind: ClassVar[str] = "share"
    member_class: ClassVar[type[ShareMember]] = ShareMember
    replaces_empty_classic: ClassVar[bool] = False
    expires_without_offsets: ClassVar[bool] = False
    protocol_type: ClassVar[str | None] = "share"
    partitions: StatePartitions = field(default_factory=StatePartitions)
    has_partitions_record: bool = False

    # records

    def apply(self, record: CoordinatorRecord) -> None:
        APPLY[type(record.key)](self, record)

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.no_group(self.id, sorted(self.members))

    def member_changed(self, before: ShareMember | None, after: ShareMember | None) -> None:
        if before is not None:
            count_names(self.counts, before.topics, -1)
        if after is not None:
            count_names(self.counts, after.topics, 1)

    # admin requests

    @property
    def assignor_name(self) -> str:
        """The only assignor of share groups."""
        return "simple"

    @property
    def state_name(self) -> str:
        """Empty or Stable."""
        return "Stable" if self.members else "Empty"

    def subscribed_topics(self, topics_of: TopicsOf) -> Collection[str]:
        """Raises ApiError: GROUP_ID_NOT_FOUND, because share groups have no offsets that OffsetDelete could delete."""
        raise self.without_offsets()

    def begun_offsets(self, cluster: Cluster) -> list[tuple[str, int, int, int | None]]:
        """The start offset and lag of the group in each partition that its members have read."""
        return share_of(cluster).offsets_of(self)

    def retention_begun_ms(self, committed_ms: int) -> int | None:
        """None: share groups have no committed offsets that could expire."""
        return None

    # time

    def on_timer(self, timer: MemberTimer, member_id: str, now_ms: int) -> None:
        """Remove a member whose session has expired."""
        self.fence(self.members[member_id])

    def fence(self, member: ShareMember) -> None:
        """Remove a member."""
        self.cancel_timers_of(member.id)
        epoch = self.epoch + 1
        gone = records.no_member(self.id, member.id)
        metadata_hash = self.groups.topics.hash_of(self.counts_after(member, None))
        gone.append(records.group_epoch(self.id, epoch, metadata_hash))
        if len(self.members) == 1:
            gone.append(records.target_epoch(self.id, epoch, 0))
        self.write(gone)


def _set_partitions(group: ShareGroup, record: CoordinatorRecord) -> None:
    group.partitions = records.recorded_partitions(record.value)
    group.has_partitions_record = record.value is not None


APPLY: dict[type, Callable[[ShareGroup, CoordinatorRecord], None]] = {
    ShareGroupMetadataKey: ShareGroup.apply_group_epoch,
    ShareGroupMemberMetadataKey: ShareGroup.apply_member,
    ShareGroupCurrentMemberAssignmentKey: ShareGroup.apply_assignment,
    ShareGroupTargetAssignmentMemberKey: ShareGroup.apply_target,
    ShareGroupTargetAssignmentMetadataKey: ShareGroup.apply_target_epoch,
    ShareGroupStatePartitionMetadataKey: _set_partitions,
}
