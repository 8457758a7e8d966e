"""The offsets that a group has committed, and those that open transactions would commit.

Source: OffsetMetadataManager, Apache Kafka 4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

NO_OFFSET = -1
NO_LEADER_EPOCH = -1

TopicPartition = tuple[str, int]


@dataclass(slots=True, frozen=True)
class Committed:
    """Where a group resumes in one partition; ``leader_epoch`` is the last record's, -1 if the client gave none."""

    offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""


NOTHING_COMMITTED = Committed(NO_OFFSET)


@dataclass(slots=True, eq=False)
class GroupOffsets:
    """Offsets of one group by topic and partition.

    >>> offsets = GroupOffsets()
    >>> offsets.commit({("orders", 0): Committed(7)})
    >>> offsets.get(("orders", 0)).offset, offsets.get(("orders", 1)).offset
    (7, -1)
    """

    _committed: dict[TopicPartition, Committed] = field(default_factory=dict)
    _staged: dict[int, dict[TopicPartition, Committed]] = field(default_factory=dict)  # by producer id

    def get(self, partition: TopicPartition) -> Committed:
        """What is committed for a partition, ``NOTHING_COMMITTED`` if nothing is."""
        return self._committed.get(partition, NOTHING_COMMITTED)

    def partitions(self) -> list[TopicPartition]:
        """The partitions that have an offset, sorted."""
        return sorted(self._committed)

    def commit(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        self._committed.update(offsets)

    def delete(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._committed.pop(partition, None)

    def forget_topic(self, topic: str) -> None:
        """Drop everything about a deleted topic, so that a new one of its name starts afresh."""
        for offsets in (self._committed, *self._staged.values()):
            for partition in [partition for partition in offsets if partition[0] == topic]:
                del offsets[partition]

    # transactions

    def stage(self, producer_id: int, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Keep offsets until the producer's transaction ends."""
        self._staged.setdefault(producer_id, {}).update(offsets)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """Commit or drop what the producer's transaction staged."""
        staged = self._staged.pop(producer_id, {})
        if committed:
            self._committed.update(staged)

    def is_unstable(self, partition: TopicPartition) -> bool:
        """Whether an open transaction may yet commit another offset for the partition."""
        return any(partition in staged for staged in self._staged.values())
