"""What coordinators write while fewer replicas of their partition are in sync than ``min.insync.replicas``.

The transaction coordinator writes with acks=all, so it is refused, and nothing changes. Group and share coordinators
write to the leader alone: they go on with what they wrote, whoever asked waits for the replicas, readers see what there
was before, and once there are enough replicas in sync again all of it counts.

Source: CoordinatorRuntime, CoordinatorPartitionWriter, TransactionStateManager.appendTransactionToLog and
Partition.maybeIncrementLeaderHW, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from mockbroker.state.errors import ApiError
from mockbroker.state.image.coordinator_records import CoordinatorRecord
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from mockbroker.state.topics.topic import NO_LEADER, Partition
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.groups.kind import CoordinatedGroup
    from mockbroker.state.image.image import TopicPartition
    from protocol.embedded.group_log import OffsetCommitValue


@dataclass(slots=True, frozen=True)
class CommittedGroups:
    """The groups of a partition as readers see them: what there was before the first write that is not replicated."""

    groups: dict[str, CoordinatedGroup] = field(default_factory=dict)
    offsets: dict[str, dict[TopicPartition, OffsetCommitValue]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class UnreplicatedWrites:
    """The partitions of coordinators' topics that have too few replicas in sync, and which of those were written to."""

    cluster: Cluster
    _short: set[Partition] = field(default_factory=set)
    _behind: dict[Partition, CommittedGroups] = field(default_factory=dict)

    def isr_changed(self, partition: Partition) -> None:
        """A partition of a coordinators' topic may have more or fewer replicas in sync."""
        if partition.leader == NO_LEADER:
            self._short.discard(partition)
        elif len(partition.isr) < partition.effective_min_isr():
            self._short.add(partition)
        else:
            self._short.discard(partition)
            if self._behind.pop(partition, None) is not None:
                self.cluster.notify(partition)
        self.listen()

    def forget(self, partitions: Iterable[Partition]) -> None:
        """Partitions are gone."""
        for partition in partitions:
            self._short.discard(partition)
            self._behind.pop(partition, None)
        self.listen()

    def listen(self) -> None:
        """Be told of what is about to be written, where that may have to wait, or its topic to be made."""
        is_asked = self._short or self.cluster.is_durable
        self.cluster.writer.before_coordinator_records = self._before if is_asked else None

    def is_short(self, partition: Partition) -> bool:
        """Whether what is written to a partition would not be replicated."""
        return partition in self._short

    @property
    def any_behind(self) -> bool:
        """Whether there is any partition with something that is not replicated yet."""
        return bool(self._behind)

    def is_behind(self, partition: Partition) -> bool:
        """Whether something was written to a partition that is not replicated yet."""
        return partition in self._behind

    def committed(self, partition: Partition) -> CommittedGroups | None:
        """What readers see of the groups in a partition, None where that is what there is."""
        return self._behind.get(partition)

    def begin(self, partition: Partition) -> None:
        """Something is written to a partition that has too few replicas in sync."""
        if partition in self._short and partition not in self._behind:
            is_groups = partition.topic.name == OFFSETS_TOPIC
            self._behind[partition] = self._committed_groups(partition) if is_groups else CommittedGroups()

    def _before(self, records: Iterable[object]) -> None:
        """Records are about to be written. Raises ApiError: COORDINATOR_NOT_AVAILABLE, they are a transaction's."""
        for record in records:
            if isinstance(record, CoordinatorRecord):
                partition = self.cluster.internal_topics.place_of(record)
                if partition not in self._short:
                    continue
                assert partition is not None
                if partition.topic.name == TRANSACTIONS_TOPIC:
                    raise ApiError(
                        ErrorCode.COORDINATOR_NOT_AVAILABLE,
                        f"expected {partition.effective_min_isr()} replicas of {TRANSACTIONS_TOPIC}-{partition.index} "
                        f"in sync, got {len(partition.isr)}",
                    )
                self.begin(partition)

    def _committed_groups(self, partition: Partition) -> CommittedGroups:
        cluster, image = self.cluster, self.cluster.image
        committed = CommittedGroups()
        for group_id in sorted(image.groups.keys() | image.modern_groups.keys() | image.offsets.keys()):
            if cluster.internal_topics.partition_of(OFFSETS_TOPIC, group_id) is not partition:
                continue
            group = cluster.groups.find(group_id)
            if group is not None:
                committed.groups[group_id] = group if group.kind == "classic" else as_now(group)
            if group_id in image.offsets:
                committed.offsets[group_id] = dict(image.offsets[group_id])
        return committed


def as_now(group: Any) -> CoordinatedGroup:
    """A group that stays as this one is now; its members are values that do not change."""
    copied = copy(group)
    for one in fields(group):
        value = getattr(group, one.name)
        if isinstance(value, (dict, list, set)):
            setattr(copied, one.name, copy(value))
    kept: CoordinatedGroup = copied
    return kept
