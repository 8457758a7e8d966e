"""The offsets that a group has committed, and those pending in open transactions: read access, and their records.

Source: OffsetMetadataManager, Apache Kafka 4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mockbroker.state.coordinator_shard import NEVER, NO_PRODUCER_ID, CoordinatorRecord, CoordinatorShard
from mockbroker.state.image import TopicPartition
from protocol.embedded.group_log import OffsetCommitKey, OffsetCommitValue

NO_OFFSET = -1
NO_LEADER_EPOCH = -1
NO_EPOCH = -1  # of a producer
NO_TOPIC_ID = bytes(16)


@dataclass(slots=True, frozen=True)
class Committed:
    """A committed offset of one partition; ``leader_epoch`` is the last record's, -1 if the client sent none.

    ``expires_ms`` is its expiry by the wall clock, if the client set a retention (until version 4
    of OffsetCommit). ``topic_id`` is the topic's, if known.
    """

    offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    expires_ms: int = NEVER
    topic_id: bytes = field(default=NO_TOPIC_ID, compare=False)

    @property
    def metadata_length(self) -> int:
        """The length of the metadata in UTF-16 code units, as in Java: a supplementary character counts twice."""
        return len(self.metadata) if self.metadata.isascii() else len(self.metadata.encode("utf-16-le")) // 2


NOTHING_COMMITTED = Committed(NO_OFFSET)


@dataclass(slots=True, eq=False)
class GroupOffsets:
    """Offsets of one group by topic and partition, from its shard.

    >>> shard = CoordinatorShard()
    >>> shard.replay(commits("readers", {("orders", 0): Committed(7)}, now_ms=0))
    >>> offsets = GroupOffsets(shard, "readers")
    >>> offsets.get(("orders", 0)).offset, offsets.get(("orders", 1)).offset
    (7, -1)
    """

    shard: CoordinatorShard
    group_id: str

    def get(self, partition: TopicPartition) -> Committed:
        """The committed offset of a partition, ``NOTHING_COMMITTED`` if there is none."""
        value = self.shard.value(OffsetCommitKey, self.group_id, *partition)
        if value is None:
            return NOTHING_COMMITTED
        return Committed(value.offset, value.leader_epoch, value.metadata, value.expire_timestamp, value.topic_id)

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


def commits(
    group_id: str,
    offsets: Mapping[TopicPartition, Committed],
    now_ms: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_EPOCH,
) -> list[CoordinatorRecord]:
    """The records of a commit; with a producer id they take effect when its transaction is committed."""
    return [
        CoordinatorRecord(
            OffsetCommitKey(group=group_id, topic=topic, partition=index),
            OffsetCommitValue(
                offset=committed.offset,
                leader_epoch=committed.leader_epoch,
                metadata=committed.metadata,
                commit_timestamp=now_ms,
                expire_timestamp=committed.expires_ms,
                topic_id=committed.topic_id,
            ),
            producer_id,
            producer_epoch,
        )
        for (topic, index), committed in offsets.items()
    ]


def deletions(group_id: str, partitions: Iterable[TopicPartition]) -> list[CoordinatorRecord]:
    """The records that delete offsets, pending ones included."""
    return [
        CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=index), None)
        for topic, index in partitions
    ]
