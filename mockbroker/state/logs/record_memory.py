"""An optional limit on the size of all logs: above it, the oldest segments are deleted.

Kafka stores records on disks and has no such setting.
"""

from __future__ import annotations

import heapq
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.settings import RECORDS_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition

SEGMENTS = 64
"""The limit divided by the maximum segment size, so that one deletion removes a small part of all records."""
MIN_SEGMENT_BYTES = 1 << 16
log = logging.getLogger("mockbroker")


@dataclass(slots=True, eq=False)
class RecordMemory:
    """The size of a cluster's logs, and the count of dropped bytes.

    ``size_bytes`` is from the last count, plus later appends; it includes internal topics, whose segments are never
    dropped. ``dropped_bytes`` counts from the start.
    """

    cluster: Cluster
    limit_bytes: int
    size_bytes: int = 0
    dropped_bytes: int = 0
    _sizes: dict[Partition, int] = field(default_factory=dict)

    @property
    def segment_bytes(self) -> int:
        """Maximum size of a segment."""
        return max(MIN_SEGMENT_BYTES, self.limit_bytes // SEGMENTS)

    def appended(self, partition: Partition, now_ms: int) -> None:
        """Add appended records to the size; above the limit, drop segments."""
        size = partition.log.size_bytes
        self.size_bytes += size - self._sizes.get(partition, 0)
        self._sizes[partition] = size
        if self.size_bytes > self.limit_bytes:
            self.recount()
            if self.size_bytes > self.limit_bytes:
                self._drop(now_ms)

    def recount(self) -> None:
        """Count the size of all logs again: segments and topics may have been deleted."""
        self._sizes = {one: one.log.size_bytes for one in self._partitions()}
        self.size_bytes = sum(self._sizes.values())

    def forget(self, partitions: Iterable[Partition]) -> None:
        """Subtract the size of deleted partitions."""
        for one in partitions:
            self.size_bytes -= self._sizes.pop(one, 0)

    def _partitions(self) -> Iterator[Partition]:
        """The partitions with records."""
        topics = self.cluster.topic_by_id
        for topic_id, index in self.cluster.log_store.filled():
            if topic_id in topics:
                yield topics[topic_id].partitions[index]

    def _drop(self, now_ms: int) -> None:
        """Drop the segments with the oldest last write, until a tenth of the limit is free."""
        wall_ms = self.cluster.clock.at(now_ms)
        before = self.size_bytes
        target = self.limit_bytes - self.limit_bytes // 10
        oldest = [
            (one.log.segments[0].modified_ms, place, one)
            for place, one in enumerate(self._sizes)
            if not one.topic.is_internal and one.log.segments
        ]
        heapq.heapify(oldest)
        while oldest and self.size_bytes > target:
            _, place, partition = heapq.heappop(oldest)
            if self._drop_segment(partition, wall_ms, now_ms) and partition.log.segments[0].size_bytes:
                heapq.heappush(oldest, (partition.log.segments[0].modified_ms, place, partition))
        dropped = before - self.size_bytes
        self.dropped_bytes += dropped
        log.warning(
            "the oldest segments go: records take %d bytes, and %s is %d", before, RECORDS_LIMIT, self.limit_bytes
        )

    def _drop_segment(self, partition: Partition, wall_ms: int, now_ms: int) -> bool:
        """Drop a log's oldest segment; returns False if replicas have not fetched it yet."""
        its_log = partition.log
        size = its_log.size_bytes - its_log.segments[0].size_bytes
        if not its_log.delete_old_segments(before=partition.high_watermark, now_ms=wall_ms, size_bytes=size):
            return False
        self.size_bytes += its_log.size_bytes - self._sizes[partition]
        self._sizes[partition] = its_log.size_bytes
        partition.producers.transactions.forget_before(its_log.start_offset)
        self.cluster.notify(partition)
        self.cluster.log_cleanup.schedule(partition, now_ms)
        return True
