"""Log cleanup: deletes old segments, compacts keyed records, expires idle producers.

Kafka checks all logs every ``log.retention.check.interval.ms``, compacted ones every ``log.cleaner.backoff.ms``, and
producers every ``producer.id.expiration.check.interval.ms``. Here each partition that may have something to clean has
the deadline of the next check; other partitions are not checked. Ages use the wall clock; after the clock jumps,
everything overdue is cleaned at once.

Kafka stores records on disks; an optional limit on the size of all logs (``records.max.bytes``) deletes the oldest
segments above it.

Source: LogManager.cleanupLogs, LogCleaner and ProducerStateManager.removeExpiredProducers, Apache Kafka 4.4.
"""

from __future__ import annotations

import heapq
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.configs.definitions import BROKER, TOPIC
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.compaction import Cleaning, cleanable_range, last_offsets, merged
from mockbroker.state.settings import RECORDS_LIMIT
from mockbroker.state.timers import Timers, next_multiple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition


SEGMENTS = 64
"""The limit divided by the maximum segment size, so that one deletion removes a small part of all records."""
MIN_SEGMENT_BYTES = 1 << 16
UNCOUNTED = 1 << 62
log = logging.getLogger("mockbroker")


@dataclass(slots=True, eq=False)
class LogCleanup:
    """Deadlines by partition: ``looks`` for its segments, ``expiries`` for its producers.

    ``memory`` limits the size of all logs, None for no limit.
    """

    cluster: Cluster
    looks: Timers[Partition] = field(init=False)
    expiries: Timers[Partition] = field(init=False)
    memory: RecordMemory | None = field(init=False)

    def __post_init__(self) -> None:
        limit_bytes = self.cluster.settings[RECORDS_LIMIT]
        self.memory = None if limit_bytes < 0 else RecordMemory(self.cluster, limit_bytes)
        timers = self.cluster.timers
        self.looks = timers.subsystem("log cleanup", self.look)
        self.expiries = timers.subsystem("producer expiry", self.expire_producers)
        self.cluster.configs.on_change(self._config_changed)

    def appended(self, partition: Partition, now_ms: int) -> None:
        """Set deadlines after records were appended to a partition's log."""
        if self.memory is not None:
            self.memory.appended(partition, now_ms)
        self._watch([partition], now_ms)

    def _watch(self, partitions: Iterable[Partition], now_ms: int) -> None:
        """Set the missing deadlines of partitions."""
        for partition in partitions:
            if partition not in self.looks:
                self.schedule(partition, now_ms)
            if partition not in self.expiries:
                self._schedule_expiry(partition, now_ms)

    def watch_all(self, now_ms: int) -> None:
        """Set the deadlines of all partitions with records, after a restart or a config change."""
        for partition in list(self.looks):
            self.looks.cancel(partition)
        self._watch(self.cluster.filled_partitions(), now_ms)

    def _config_changed(self, kind: str, _resource: str, _names: frozenset[str]) -> None:
        if kind in (TOPIC, BROKER):
            self.watch_all(self.cluster.now_ms)

    def forget(self, partitions: Iterable[Partition]) -> None:
        """Cancel the deadlines of deleted partitions."""
        gone = list(partitions)
        if self.memory is not None:
            self.memory.forget(gone)
        self.looks.forget(gone)
        self.expiries.forget(gone)

    def clock_jumped(self, now_ms: int) -> None:
        """Clean everything overdue after the wall clock was moved."""
        for partition in list(self.looks):
            self.look(partition, now_ms)
        for partition in list(self.expiries):
            self.expire_producers(partition, now_ms)

    # segments

    def look(self, partition: Partition, now_ms: int) -> None:
        """Delete and compact what is due by now, and set the next deadline."""
        self.looks.cancel(partition)
        log, topic = partition.log, partition.topic
        if not log.segments:
            return
        wall_ms = self.cluster.clock.at(now_ms)
        policy = topic.config("cleanup.policy")
        changed = "compact" in policy and self._compact(partition, wall_ms)
        size_bytes, retention_ms = self._limits(partition)
        oldest_ms = None if retention_ms is None else wall_ms - retention_ms
        if log.delete_old_segments(partition.high_watermark, wall_ms, size_bytes, oldest_ms) or changed:
            partition.producers.transactions.forget_before(log.start_offset)
            self.cluster.notify(partition)
        self.schedule(partition, now_ms)

    def schedule(self, partition: Partition, now_ms: int) -> None:
        """Set the deadline of the next check, if it may find something to clean."""
        log, configs = partition.log, self.cluster.configs
        segments = log.segments
        compacts = "compact" in partition.topic.config("cleanup.policy")
        has_cleanable = len(segments) > 1 and (compacts or segments[1].base_offset <= log.start_offset)
        has_limited = bool(segments) and segments[0].size_bytes > 0 and self._limits(partition) != (None, None)
        if has_cleanable or has_limited:
            interval_ms = "log.cleaner.backoff.ms" if compacts else "log.retention.check.interval.ms"
            first_ms = 0 if compacts else int(configs.broker(None, "log.initial.task.delay.ms"))
            since_first_ms = max(0, now_ms + 1 - first_ms)
            next_ms = first_ms + next_multiple(since_first_ms, max(1, int(configs.broker(None, interval_ms))))
            self.looks.set(partition, next_ms)

    def _limits(self, partition: Partition) -> tuple[int | None, int | None]:
        """retention.bytes and retention.ms of a partition, None for no limit."""
        topic = partition.topic
        if "delete" not in topic.config("cleanup.policy"):
            return None, None
        size_bytes, retention_ms = int(topic.config("retention.bytes")), int(topic.config("retention.ms"))
        return (None if size_bytes < 0 else size_bytes, None if retention_ms < 0 else retention_ms)

    # compaction

    def _compact(self, partition: Partition, wall_ms: int) -> bool:
        """Compact a log if due; returns True if it was compacted."""
        log, config = partition.log, partition.topic.config
        stable = partition.last_stable_offset(partition.high_watermark)
        dirty_offset = max(log.cleaned_offset, log.start_offset)
        found = cleanable_range(log.segments, dirty_offset, stable, wall_ms, config)
        if not found.is_due:
            return False
        start, end = found.first_dirty_offset, found.end_offset
        segments = [one for one in log.segments[:-1] if one.base_offset < end]
        end_of_segments = log.segments[len(segments)].base_offset
        try:
            batches = [one for one in log.batches(segments[0].base_offset) if one.base_offset < end_of_segments]
        except ApiError:
            return False  # the disk cannot be read
        aborted = partition.producers.transactions.aborted
        keys = last_offsets((one for one in batches if one.last_offset >= start), start, end, aborted)
        retention_ms = int(config("delete.retention.ms"))
        cleaning = Cleaning(keys, end - 1, wall_ms, retention_ms, partition.high_watermark, partition.producers.is_last)
        cleaned, needed = cleaning.clean(batches, aborted)
        made = merged(segments, int(config("segment.bytes")), cleaned)
        try:
            log.compact(cleaned, made, end_of_segments)
        except ApiError:
            return True  # the disk is full: the next check tries again
        aborted[:] = [one for one in aborted if one.last_offset >= end_of_segments or one.last_offset in needed]
        log.cleaned_offset = end
        return True

    # producers

    def expire_producers(self, partition: Partition, now_ms: int) -> None:
        """Remove producers that have written nothing for producer.id.expiration.ms."""
        expiration_ms = int(self.cluster.configs.broker(None, "producer.id.expiration.ms"))
        partition.producers.expire(self.cluster.clock.at(now_ms) - expiration_ms)
        self._schedule_expiry(partition, now_ms)

    def _schedule_expiry(self, partition: Partition, now_ms: int) -> None:
        if partition.producers.by_id:
            interval_ms = int(self.cluster.configs.broker(None, "producer.id.expiration.check.interval.ms"))
            self.expiries.set(partition, next_multiple(now_ms + 1, max(1, interval_ms)))
        else:
            self.expiries.cancel(partition)


@dataclass(slots=True, eq=False)
class RecordMemory:
    """The limit on the size of a cluster's logs; ``dropped_bytes`` counts from the start.

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
