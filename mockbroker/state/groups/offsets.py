"""The offsets that a group has committed, and those that open transactions would commit: read, and as records.

Source: OffsetMetadataManager, Apache Kafka 4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mockbroker.state.coordinator_shard import NO_PRODUCER_ID, CoordinatorRecord, CoordinatorShard
from mockbroker.state.image.image import TopicPartition
from protocol.embedded.group_log import OffsetCommitKey, OffsetCommitValue

NO_OFFSET = -1
NO_LEADER_EPOCH = -1
NO_EPOCH = -1  # of a producer
NEVER = -1  # when an offset goes that is kept as long as the broker keeps offsets
NO_TOPIC_ID = bytes(16)


@dataclass(slots=True, frozen=True)
class Committed:
    """Where a group resumes in one partition; ``leader_epoch`` is the last record's, -1 if the client gave none.

    ``expires_ms`` is when it goes by the wall clock, where the client said how long it is to be kept (until version 4
    of OffsetCommit). ``topic_id`` is the topic's, where it was known.
    """

    offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    expires_ms: int = NEVER
    topic_id: bytes = field(default=NO_TOPIC_ID, compare=False)

    @property
    def metadata_length(self) -> int:
        """How long the metadata is in Java's eyes: what lies beyond the basic plane counts twice."""
        return len(self.metadata) if self.metadata.isascii() else len(self.metadata.encode("utf-16-le")) // 2


NOTHING_COMMITTED = Committed(NO_OFFSET)


@dataclass(slots=True, eq=False)
class GroupOffsets:
    """Offsets of one group by topic and partition, as its shard has them.

    >>> shard = CoordinatorShard()
    >>> shard.replay(commits("readers", {("orders", 0): Committed(7)}, now_ms=0))
    >>> offsets = GroupOffsets(shard, "readers")
    >>> offsets.get(("orders", 0)).offset, offsets.get(("orders", 1)).offset
    (7, -1)
    """

    shard: CoordinatorShard
    group_id: str

    def get(self, partition: TopicPartition) -> Committed:
        """What is committed for a partition, ``NOTHING_COMMITTED`` if nothing is."""
        value = self.shard.value(OffsetCommitKey, self.group_id, *partition)
        if value is None:
            return NOTHING_COMMITTED
        return Committed(value.offset, value.leader_epoch, value.metadata, value.expire_timestamp, value.topic_id)

    def committed(self) -> dict[TopicPartition, OffsetCommitValue]:
        """The values by partition."""
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
        """Whether an open transaction may yet commit another offset for the partition."""
        at = (OffsetCommitKey, self.group_id, *partition)
        return any(at in by_group.get(self.group_id, ()) for by_group in self.shard.pending.values())


def commits(
    group_id: str,
    offsets: Mapping[TopicPartition, Committed],
    now_ms: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_EPOCH,
) -> list[CoordinatorRecord]:
    """A group commits offsets; with a producer id they count once its transaction is committed."""
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
    """A group loses offsets, those that are pending too."""
    return [
        CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=index), None)
        for topic, index in partitions
    ]
