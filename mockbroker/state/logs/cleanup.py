"""Log cleanup: deletes old segments, compacts keyed records, expires idle producers.

As in Kafka, all logs are checked every ``log.retention.check.interval.ms``, compacted ones every
``log.cleaner.backoff.ms``, and producers every ``producer.id.expiration.check.interval.ms``; but only while a check may
find something. Ages use the wall clock; after the clock jumps, everything overdue is cleaned at once.

Kafka stores records on disks; an optional limit on the size of all logs (``records.max.bytes``) deletes the oldest
segments above it.

Source: LogManager.cleanupLogs, LogCleaner and ProducerStateManager.removeExpiredProducers, Apache Kafka 4.4.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

from mockbroker.state.configs.definitions import BROKER, TOPIC
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.compaction import Cleaning, cleanable_end, last_offsets, merged
from mockbroker.state.logs.log import UNBOUNDED
from mockbroker.state.settings import RECORDS_LIMIT
from mockbroker.state.timers import Timers, next_multiple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition


RETENTION, COMPACTION = "log.retention.check.interval.ms", "log.cleaner.backoff.ms"
PRODUCERS = "producer.id.expiration.check.interval.ms"
"""The checks, named by the configs that have their intervals."""
SEGMENTS = 64
"""The limit divided by the maximum segment size, so that one deletion removes a small part of all records."""
MIN_SEGMENT_BYTES = 1 << 16
UNCOUNTED = 1 << 62
logger = logging.getLogger("mockbroker")


@dataclass(slots=True, eq=False)
class LogCleanup:
    """The deadlines of the checks of all logs. ``memory`` limits the size of all logs."""

    cluster: Cluster
    checks: Timers[str] = field(init=False)
    memory: RecordMemory = field(init=False)

    def __post_init__(self) -> None:
        limit_bytes = self.cluster.settings[RECORDS_LIMIT]
        self.memory = RecordMemory(self.cluster, UNBOUNDED if limit_bytes < 0 else limit_bytes)
        self.checks = self.cluster.timers.subsystem("log cleanup", self.check)
        self.cluster.configs.on_change(self._config_changed)

    def appended(self, partition: Partition, now_ms: int) -> None:
        """Set deadlines after records were appended to a partition's log."""
        self.memory.appended(partition, now_ms)
        self.schedule([partition], now_ms)

    def schedule(self, partitions: Iterable[Partition], now_ms: int) -> None:
        """Set the missing deadlines of checks that may find something in these partitions."""
        for partition in partitions:
            check = cleaned_by(partition)
            if check not in self.checks and self._has_cleanable(partition):
                self._set(check, now_ms)
            if PRODUCERS not in self.checks and partition.producers.by_id:
                self._set(PRODUCERS, now_ms)

    def _set(self, check: str, now_ms: int) -> None:
        value = self.cluster.configs.broker
        first_ms = int(value(None, "log.initial.task.delay.ms")) if check == RETENTION else 0
        since_first_ms = max(0, now_ms + 1 - first_ms)
        self.checks.set(check, first_ms + next_multiple(since_first_ms, max(1, int(value(None, check)))))

    def schedule_all(self, now_ms: int) -> None:
        """Set all deadlines, after a restart or a config change."""
        for check in list(self.checks):
            self.checks.cancel(check)
        self.schedule(self.cluster.filled_partitions(), now_ms)

    def _config_changed(self, kind: str, _resource: str, _names: frozenset[str]) -> None:
        if kind in (TOPIC, BROKER):
            self.schedule_all(self.cluster.now_ms)

    def clock_jumped(self, now_ms: int) -> None:
        """Clean everything overdue after the wall clock was moved."""
        for check in list(self.checks):
            self.checks.cancel(check)
            self.check(check, now_ms)

    def check(self, check: str, now_ms: int) -> None:
        """Clean what is due by now in all partitions, and set the next deadline."""
        wall_ms = self.cluster.clock.at(now_ms)
        partitions = self.cluster.filled_partitions()
        for partition in partitions:
            if check == PRODUCERS:
                expiration_ms = int(self.cluster.configs.broker(None, "producer.id.expiration.ms"))
                partition.producers.expire(wall_ms - expiration_ms)
            elif check == cleaned_by(partition):
                self.clean(partition, wall_ms)
        self.schedule(partitions, now_ms)

    # segments

    def clean(self, partition: Partition, wall_ms: int) -> None:
        """Delete and compact the segments that are due."""
        log = partition.log
        changed = cleaned_by(partition) == COMPACTION and self._compact(partition, wall_ms)
        size_bytes, retention_ms = limits(partition)
        oldest_ms = None if retention_ms is None else wall_ms - retention_ms
        if log.delete_old_segments(partition.high_watermark, wall_ms, size_bytes, oldest_ms) or changed:
            partition.producers.transactions.forget_before(log.start_offset)
            self.cluster.notify(partition)

    def _has_cleanable(self, partition: Partition) -> bool:
        """True if a later check may find something to clean."""
        log, segments = partition.log, partition.log.segments
        if len(segments) > 1 and (cleaned_by(partition) == COMPACTION or segments[1].base_offset <= log.start_offset):
            return True
        return segments[0].size_bytes > 0 and limits(partition) != (None, None)

    # compaction

    def _compact(self, partition: Partition, wall_ms: int) -> bool:
        """Compact a log if due; returns True if it was compacted."""
        log, config = partition.log, partition.topic.config
        stable = partition.last_stable_offset(partition.high_watermark)
        start = max(log.cleaned_offset, log.start_offset)
        end, is_due = cleanable_end(log.segments, start, stable, wall_ms, config)
        if not is_due:
            return False
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
        except ApiError as error:
            logger.warning("%s; the log is not compacted", error.message)
            return True  # the disk is full: the next check tries again
        aborted[:] = [one for one in aborted if one.last_offset >= end_of_segments or one.last_offset in needed]
        log.cleaned_offset = end
        return True


def cleaned_by(partition: Partition) -> str:
    """The check that cleans a partition's segments."""
    return COMPACTION if "compact" in partition.topic.config("cleanup.policy") else RETENTION


def limits(partition: Partition) -> tuple[int | None, int | None]:
    """retention.bytes and retention.ms of a partition, None for no limit."""
    topic = partition.topic
    if "delete" not in topic.config("cleanup.policy"):
        return None, None
    size_bytes, retention_ms = int(topic.config("retention.bytes")), int(topic.config("retention.ms"))
    return (None if size_bytes < 0 else size_bytes, None if retention_ms < 0 else retention_ms)


@dataclass(slots=True, eq=False)
class RecordMemory:
    """The limit on the size of a cluster's logs, ``UNBOUNDED`` for none; ``dropped_bytes`` counts from the start.

    Internal topics count too, but their segments are never dropped. ``most_bytes`` is at least the size of all logs:
    that of the last count, and what was appended since; before the first count it is above any limit that is set.
    """

    cluster: Cluster
    limit_bytes: int
    dropped_bytes: int = 0
    most_bytes: int = UNCOUNTED

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
        self.most_bytes += partition.log.last_size_bytes
        if self.most_bytes > self.limit_bytes:
            self.most_bytes = self.size_bytes
            if self.most_bytes > self.limit_bytes:
                self._drop(now_ms)

    def _drop(self, now_ms: int) -> None:
        """Drop the segments with the oldest last write, until a tenth of the limit is free."""
        before = self.most_bytes
        written = [
            (segment.modified_ms, partition)
            for partition in self.cluster.filled_partitions()
            if not partition.topic.is_internal
            for segment in partition.log.segments
        ]
        for _, partition in sorted(written, key=itemgetter(0)):
            if self.most_bytes <= self.limit_bytes - self.limit_bytes // 10:
                break
            self.most_bytes -= self._drop_segment(partition, now_ms)
        self.dropped_bytes += before - self.most_bytes
        logger.warning(
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
        return before - its_log.size_bytes
