"""Logs in memory, which end with the process or with their store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.logs.log import Log, LogSnapshot

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.coordinator_shard import CoordinatorShard


@dataclass(slots=True, eq=False)
class MemoryLogStore:
    """Logs in memory.

    >>> store = MemoryLogStore()
    >>> _ = store.open(b"orders", 0).append(b"a batch", last_offset=4, max_timestamp=7, leader_epoch=0)
    >>> store.open(b"orders", 0).end_offset
    5
    >>> fork = store.fork()
    >>> store.delete(b"orders")
    >>> store.open(b"orders", 0).end_offset
    0
    >>> fork.open(b"orders", 0).end_offset
    5
    """

    shards: dict[tuple[bytes, int], CoordinatorShard] = field(default_factory=dict)
    _logs: dict[bytes, dict[int, Log]] = field(default_factory=dict)
    _snapshots: dict[bytes, dict[int, LogSnapshot]] = field(default_factory=dict)  # of logs not opened yet

    def attach(self, cluster: Cluster) -> None:
        """Does nothing: these logs need nothing from the cluster."""

    def open(self, topic_id: bytes, partition: int) -> Log:
        logs = self._logs.setdefault(topic_id, {})
        log = logs.get(partition)
        if log is None:
            snapshot = self._snapshots.get(topic_id, {}).pop(partition, None)
            log = logs[partition] = Log() if snapshot is None else snapshot.log()
        return log

    def has(self, topic_id: bytes, partition: int) -> bool:
        return partition in self._logs.get(topic_id, ()) or partition in self._snapshots.get(topic_id, ())

    def filled(self) -> Iterator[tuple[bytes, int]]:
        for logs in (self._logs, self._snapshots):
            for topic_id, of_topic in logs.items():
                for partition, log in of_topic.items():
                    if log.segments:
                        yield topic_id, partition

    def delete(self, topic_id: bytes) -> None:
        self._logs.pop(topic_id, None)
        self._snapshots.pop(topic_id, None)

    def fill(self, topic_id: bytes, partition: int, log: Log) -> None:
        """Set the log of a partition."""
        self._logs.setdefault(topic_id, {})[partition] = log

    def fork(self) -> MemoryLogStore:
        snapshots = {topic_id: dict(logs) for topic_id, logs in self._snapshots.items()}
        for topic_id, logs in self._logs.items():
            of_topic = snapshots.setdefault(topic_id, {})
            for partition, log in logs.items():
                of_topic[partition] = log.snapshot()
        return MemoryLogStore({at: shard.copy() for at, shard in self.shards.items()}, {}, snapshots)
