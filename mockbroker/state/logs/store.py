"""The logs of a cluster, by topic id and partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mockbroker.state.logs.log import Log

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.coordinator_shard import CoordinatorShard


class LogStore:
    """Stores logs in memory.

    ``shards`` has the coordinators' partitions decoded; a store that reads logs from a disk begins with none.

    >>> store = LogStore()
    >>> _ = store.open(b"orders", 0).append(b"a batch", last_offset=4, max_timestamp=7, leader_epoch=0)
    >>> fork = store.fork()
    >>> store.delete(b"orders")
    >>> store.open(b"orders", 0).end_offset, fork.open(b"orders", 0).end_offset
    (0, 5)
    """

    def __init__(self) -> None:
        self.shards: dict[tuple[bytes, int], CoordinatorShard] = {}
        self._logs: dict[bytes, dict[int, Log]] = {}

    def attach(self, cluster: Cluster) -> None:
        """Connect to the cluster that uses this store, for names, replicas and configs of topics."""

    def open(self, topic_id: bytes, partition: int) -> Log:
        """The log of a partition, a new one if it has none."""
        logs = self._logs.setdefault(topic_id, {})
        log = logs.get(partition)
        if log is None:
            log = logs[partition] = self.new_log(topic_id, partition)
        return log

    def new_log(self, topic_id: bytes, partition: int) -> Log:
        return Log()

    def has(self, topic_id: bytes, partition: int) -> bool:
        """True if this partition already has a log."""
        return partition in self._logs.get(topic_id, ())

    def filled(self) -> Iterator[tuple[bytes, int]]:
        """Topic id and partition of each log with records, in the order of opening."""
        for topic_id, logs in self._logs.items():
            for partition, log in logs.items():
                if log.segments:
                    yield topic_id, partition

    def delete(self, topic_id: bytes) -> None:
        """Delete the logs of a topic."""
        self._logs.pop(topic_id, None)

    def fork(self) -> LogStore:
        """An independent store in memory with the same logs."""
        fork = LogStore()
        fork.shards = {at: shard.copy() for at, shard in self.shards.items()}
        fork._logs = {
            topic_id: {partition: log.copy() for partition, log in logs.items()}
            for topic_id, logs in self._logs.items()
        }
        return fork
