"""The offsets that a group has committed, and those pending in open transactions: read access, and their records.

Source: OffsetMetadataManager, Apache Kafka 4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mockbroker.state.coordinator_shard import NO_PRODUCER_ID, CoordinatorRecord, CoordinatorShard
from mockbroker.state.image import TopicPartition
from protocol.embedded.group_log import OffsetCommitKey, OffsetCommitValue

NO_EPOCH = -1  # of a producer
NOTHING_COMMITTED = OffsetCommitValue(offset=-1)


@dataclass(slots=True, eq=False)
class GroupOffsets:
    """Offsets of one group by topic and partition, from its shard.

    >>> shard = CoordinatorShard()
    >>> shard.replay(offset_records("readers", {("orders", 0): OffsetCommitValue(offset=7)}))
    >>> offsets = GroupOffsets(shard, "readers")
    >>> offsets.get(("orders", 0)).offset, offsets.get(("orders", 1)).offset
    (7, -1)
    """

    shard: CoordinatorShard
    group_id: str

    def get(self, partition: TopicPartition) -> OffsetCommitValue:
        """The committed offset of a partition, ``NOTHING_COMMITTED`` if there is none."""
        return self.shard.value(OffsetCommitKey, self.group_id, *partition) or NOTHING_COMMITTED

    def committed(self) -> dict[TopicPartition, OffsetCommitValue]:
        """The committed values by partition."""
        records = self.shard.records.get(self.group_id, {})
        return {at[2:]: replayed.value for at, replayed in records.items() if at[0] is OffsetCommitKey}

    def partitions(self) -> list[TopicPartition]:
        """The partitions that have an offset, sorted."""
        return sorted(self.committed())

    def all_partitions(self) -> list[TopicPartition]:
        """The partitions that have an offset or may get one from an open transaction, sorted."""
        pending = (at[2:] for by_group in self.shard.pending.values() for at in by_group.get(self.group_id, ()))
        return sorted(set(self.committed()).union(pending))

    def is_unstable(self, partition: TopicPartition) -> bool:
        """True if an open transaction may commit another offset for the partition."""
        at = (OffsetCommitKey, self.group_id, *partition)
        return any(at in by_group.get(self.group_id, ()) for by_group in self.shard.pending.values())


def offset_records(
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetCommitValue | None],
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_EPOCH,
) -> list[CoordinatorRecord]:
    """The records of a commit; with a producer id they take effect when its transaction is committed.

    A value of None deletes an offset, a pending one too.
    """
    return [
        CoordinatorRecord(
            OffsetCommitKey(group=group_id, topic=topic, partition=index), value, producer_id, producer_epoch
        )
        for (topic, index), value in offsets.items()
    ]
