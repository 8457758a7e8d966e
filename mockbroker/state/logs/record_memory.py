"""An optional limit on the size of all logs: above it, the oldest segments are deleted.

Kafka stores records on disks and has no such setting.
"""

from __future__ import annotations

import heapq
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mockbroker.state.settings import RECORDS_LIMIT

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition

SEGMENTS = 64
"""The limit divided by the maximum segment size, so that one deletion removes a small part of all records."""
MIN_SEGMENT_BYTES = 1 << 16
log = logging.getLogger("mockbroker")


@dataclass(slots=True, eq=False)
class RecordMemory:
    """The limit of a cluster's logs; ``dropped_bytes`` counts from the start.

    Internal topics count too, but their segments are never dropped.
    """

    cluster: Cluster
    limit_bytes: int
    dropped_bytes: int = 0

    @property
    def segment_bytes(self) -> int:
        """Maximum size of a segment."""
        return max(MIN_SEGMENT_BYTES, self.limit_bytes // SEGMENTS)

    @property
    def size_bytes(self) -> int:
        """The size of all logs."""
        return sum(one.log.size_bytes for one in self.cluster.filled_partitions())

    def appended(self, now_ms: int) -> None:
        """Drop segments above the limit."""
        if self.size_bytes > self.limit_bytes:
            self._drop(now_ms)

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
