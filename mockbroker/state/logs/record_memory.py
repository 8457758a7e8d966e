"""An optional limit on the size of all logs: above it, the oldest segments are deleted.

Kafka stores records on disks and has no such setting.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.settings import RECORDS_LIMIT

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition

SEGMENTS = 64
"""The limit divided by the maximum segment size, so that one deletion removes a small part of all records."""
MIN_SEGMENT_BYTES = 1 << 16
UNCOUNTED = 1 << 62
log = logging.getLogger("mockbroker")


@dataclass(slots=True, eq=False)
class RecordMemory:
    """The limit of a cluster's logs; ``dropped_bytes`` counts from the start.

    Internal topics count too, but their segments are never dropped. ``most_bytes`` is at least the size of all logs:
    that of the last count, and what was appended since; before the first count it is above any limit.
    """

    cluster: Cluster
    limit_bytes: int
    dropped_bytes: int = 0
    most_bytes: int = UNCOUNTED
    _counted: dict[Partition, int] = field(default_factory=dict)

    @property
    def segment_bytes(self) -> int:
        """Maximum size of a segment."""
        return max(MIN_SEGMENT_BYTES, self.limit_bytes // SEGMENTS)

    @property
    def size_bytes(self) -> int:
        """The size of all logs."""
        return sum(one.log.size_bytes for one in self.cluster.filled_partitions())

    def appended(self, partition: Partition, now_ms: int) -> None:
        """Count appended records; above the limit, drop segments."""
        size = partition.log.size_bytes
        self.most_bytes += size - self._counted.get(partition, 0)
        self._counted[partition] = size
        if self.most_bytes > self.limit_bytes:
            self._count()
            if self.most_bytes > self.limit_bytes:
                self._drop(now_ms)
                self._count()

    def forget(self, partitions: Iterable[Partition]) -> None:
        """Let go of deleted partitions."""
        for one in partitions:
            self._counted.pop(one, None)

    def _count(self) -> None:
        self._counted = {one: one.log.size_bytes for one in self.cluster.filled_partitions()}
        self.most_bytes = sum(self._counted.values())

    def _drop(self, now_ms: int) -> None:
        """Drop the segments with the oldest last write, until a tenth of the limit is free."""
        before = size = self.size_bytes
        oldest = [
            (one.log.segments[0].modified_ms, place, one)
            for place, one in enumerate(self.cluster.filled_partitions())
            if not one.topic.is_internal
        ]
        heapq.heapify(oldest)
        while oldest and size > self.limit_bytes - self.limit_bytes // 10:
            _, place, partition = heapq.heappop(oldest)
            dropped = self._drop_segment(partition, now_ms)
            size -= dropped
            if dropped and partition.log.segments[0].size_bytes:
                heapq.heappush(oldest, (partition.log.segments[0].modified_ms, place, partition))
        self.dropped_bytes += before - size
        log.warning(
            "the oldest segments go: records take %d bytes, and %s is %d", before, RECORDS_LIMIT, self.limit_bytes
        )

    def _drop_segment(self, partition: Partition, now_ms: int) -> int:
        """Drop a log's oldest segment; returns its size, 0 if replicas have not fetched it yet."""
        its_log = partition.log
        before = its_log.size_bytes
        left_bytes = before - its_log.segments[0].size_bytes
        if its_log.delete_old_segments(partition.high_watermark, self.cluster.clock.at(now_ms), left_bytes):
            partition.producers.transactions.forget_before(its_log.start_offset)
            self.cluster.notify(partition)
            self.cluster.log_cleanup.schedule(partition, now_ms)
        return before - its_log.size_bytes
