"""Log cleanup: deletes old segments, compacts keyed records, expires idle producers.

Kafka checks all logs every ``log.retention.check.interval.ms``, compacted ones every ``log.cleaner.backoff.ms``, and
producers every ``producer.id.expiration.check.interval.ms``. Here each partition with something to clean has the
deadline of the first check that would find it; other partitions are not checked. Ages use the wall clock; after the
clock jumps, everything overdue is cleaned at once.

Source: LogManager.cleanupLogs, LogCleaner and ProducerStateManager.removeExpiredProducers, Apache Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.configs.definitions import BROKER, TOPIC
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.compaction import (
    CleanableRange,
    Cleaning,
    CleaningRules,
    cleanable_range,
    last_offsets,
    merged,
)
from mockbroker.state.logs.record_memory import RecordMemory
from mockbroker.state.settings import RECORDS_LIMIT
from mockbroker.state.timers import Timers, next_multiple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition

PREFIXES = ("log.", "producer.id.")
UNBOUNDED = 2**63 - 1


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
        if partition not in self.looks.deadlines or len(partition.log.segments) > 1:
            self.schedule(partition, now_ms)
        if partition not in self.expiries.deadlines and partition.producers.by_id:
            self._schedule_expiry(partition, now_ms)

    def watch(self, partitions: Iterable[Partition], now_ms: int) -> None:
        """Set deadlines for partitions with existing records or changed configs."""
        for partition in partitions:
            self.looks.cancel(partition)
            self.schedule(partition, now_ms)
            if partition.producers.by_id:
                self._schedule_expiry(partition, now_ms)

    def watch_all(self, now_ms: int) -> None:
        """Set deadlines for all partitions with records, after a restart."""
        if self.memory is not None:
            self.memory.recount()
        topics = self.cluster.topic_by_id
        filled = self.cluster.log_store.filled()
        self.watch([topics[topic_id].partitions[index] for topic_id, index in filled if topic_id in topics], now_ms)

    def _config_changed(self, kind: str, resource: str, names: frozenset[str]) -> None:
        """Set the deadlines of one topic or all topics again after a config change."""
        if kind == TOPIC and resource in self.cluster.topics:
            partitions = self.cluster.topics[resource].partitions
            self.watch([one for one in partitions if one in self.looks or one.log.segments], self.cluster.now_ms)
        elif kind == BROKER and any(name.startswith(PREFIXES) for name in names):
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
        self.cluster.now_ms = now_ms
        self.looks.cancel(partition)
        log, topic = partition.log, partition.topic
        if not log.segments:
            return
        wall_ms = self.cluster.clock.at(now_ms)
        policy = topic.config("cleanup.policy")
        changed = "compact" in policy and self._compact(partition, wall_ms)
        size_bytes, retention_ms = self._limits(partition)
        changed = (
            log.delete_old_segments(
                before=partition.high_watermark,
                now_ms=wall_ms,
                size_bytes=size_bytes,
                oldest_ms=None if retention_ms is None else wall_ms - retention_ms,
            )
            or changed
        )
        if changed:
            self._notify_readers(partition)
        self.schedule(partition, now_ms)

    def schedule(self, partition: Partition, now_ms: int) -> None:
        """Set the deadline of the first check that will find something to clean, if any."""
        log = partition.log
        segments = log.segments
        if not segments:
            return
        size_bytes, retention_ms = self._limits(partition)
        ahead_ms = self.cluster.clock.offset_ms
        compacts = "compact" in partition.topic.config("cleanup.policy")
        due: list[int] = []
        if len(segments) > 1 and segments[1].base_offset <= min(log.start_offset, partition.high_watermark):
            due.append(now_ms)
        if size_bytes is not None and log.size_bytes - segments[0].size_bytes >= size_bytes and segments[0].size_bytes:
            due.append(now_ms)
        if retention_ms is not None and segments[0].size_bytes:
            due.append(segments[0].largest_timestamp + retention_ms + 1 - ahead_ms)
        if compacts and len(segments) > 1:
            cleaning_ms = self._cleaning_due(partition, now_ms)
            if cleaning_ms is not None:
                due.append(cleaning_ms)
        if due:
            self.looks.set(partition, self._next_look(min(due), now_ms, compacts=compacts))

    def _next_look(self, due_ms: int, now_ms: int, *, compacts: bool) -> int:
        """The time of the first check at or after ``due_ms``, and after now."""
        configs = self.cluster.configs
        interval_ms = configs.broker(None, "log.cleaner.backoff.ms" if compacts else "log.retention.check.interval.ms")
        first_ms = 0 if compacts else int(configs.broker(None, "log.initial.task.delay.ms"))
        due_ms = max(due_ms, first_ms, now_ms + 1)
        return first_ms + next_multiple(due_ms - first_ms, max(1, int(interval_ms)))

    def _limits(self, partition: Partition) -> tuple[int | None, int | None]:
        """retention.bytes and retention.ms of a partition, None for no limit."""
        topic = partition.topic
        if "delete" not in topic.config("cleanup.policy"):
            return None, None
        size_bytes, retention_ms = int(topic.config("retention.bytes")), int(topic.config("retention.ms"))
        return (None if size_bytes < 0 else size_bytes, None if retention_ms < 0 else retention_ms)

    # compaction

    def _cleanable(self, partition: Partition, wall_ms: int) -> tuple[CleanableRange, CleaningRules]:
        """The part of a log that may be cleaned, and the topic's rules."""
        log, config = partition.log, partition.topic.config
        rules = CleaningRules(
            float(config("min.cleanable.dirty.ratio")),
            int(config("min.compaction.lag.ms")),
            int(config("max.compaction.lag.ms")),
        )
        stable = partition.last_stable_offset(partition.high_watermark)
        dirty_offset = max(log.cleaned_offset, log.start_offset)
        return cleanable_range(log.segments, dirty_offset, stable, wall_ms, rules), rules

    def _cleaning_due(self, partition: Partition, now_ms: int) -> int | None:
        """The time at which a log becomes due for compaction, as far as it is known now."""
        wall_ms = self.cluster.clock.at(now_ms)
        found, rules = self._cleanable(partition, wall_ms)
        if found.is_due:
            return now_ms
        dirty = [
            one for one in partition.log.segments[:-1] if one.base_offset >= found.first_dirty_offset and one.size_bytes
        ]
        if not dirty:
            return None
        times = []
        if rules.min_lag_ms > 0:
            times += [one.largest_timestamp + rules.min_lag_ms for one in dirty]
        if rules.max_lag_ms < UNBOUNDED:
            times += [one.first_timestamp + rules.max_lag_ms + 1 for one in dirty if one.first_timestamp > 0]
        return min((one - wall_ms + now_ms for one in times if one > wall_ms), default=None)

    def _compact(self, partition: Partition, wall_ms: int) -> bool:
        """Compact a log if due; returns True if it was compacted."""
        log = partition.log
        found, _rules = self._cleanable(partition, wall_ms)
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
        retention_ms = int(partition.topic.config("delete.retention.ms"))
        cleaning = Cleaning(keys, end - 1, wall_ms, retention_ms, partition.high_watermark, partition.producers.is_last)
        cleaned, needed = cleaning.clean(batches, aborted)
        made = merged(segments, int(partition.topic.config("segment.bytes")), cleaned)
        try:
            log.compact(cleaned, made, end_of_segments)
        except ApiError:
            return True  # the disk is full: the next check tries again
        aborted[:] = [one for one in aborted if one.last_offset >= end_of_segments or one.last_offset in needed]
        log.cleaned_offset = end
        return True

    def _notify_readers(self, partition: Partition) -> None:
        """Notify readers of changed segments."""
        partition.producers.transactions.forget_before(partition.log.start_offset)
        self.cluster.notify(partition)

    # producers

    def expire_producers(self, partition: Partition, now_ms: int) -> None:
        """Remove producers that have written nothing for producer.id.expiration.ms."""
        self.expiries.cancel(partition)
        partition.producers.expire(self.cluster.clock.at(now_ms) - self._producer_expiration_ms)
        if partition.producers.by_id:
            self._schedule_expiry(partition, now_ms)

    @property
    def _producer_expiration_ms(self) -> int:
        return int(self.cluster.configs.broker(None, "producer.id.expiration.ms"))

    def _schedule_expiry(self, partition: Partition, now_ms: int) -> None:
        oldest_ms = min(one.last_ms for one in partition.producers.by_id.values())
        due_ms = oldest_ms + self._producer_expiration_ms - self.cluster.clock.offset_ms
        interval_ms = max(1, int(self.cluster.configs.broker(None, "producer.id.expiration.check.interval.ms")))
        self.expiries.set(partition, next_multiple(max(due_ms, now_ms + 1), interval_ms))
