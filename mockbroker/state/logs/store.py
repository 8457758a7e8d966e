"""The interfaces of a partition's log and of a store of logs; ``memory`` has the store in memory.

Each cluster has a store. The logs in it when a cluster is built from an image are those that a restart finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from mockbroker.state.logs.log import LeaderEpochCache, LogSegment, StoredBatch

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.coordinator_shard import CoordinatorShard


class PartitionLog(Protocol):
    """The log of one partition; ``Log`` documents the methods."""

    start_offset: int
    end_offset: int
    size_bytes: int

    @property
    def leader_epochs(self) -> LeaderEpochCache: ...
    def __len__(self) -> int: ...

    segments: list[LogSegment]
    cleaned_offset: int

    def append(
        self,
        data: bytes,
        last_offset: int,
        max_timestamp: int,
        leader_epoch: int,
        *,
        now_ms: int = 0,
        segment_bytes: int = ...,
        segment_ms: int = ...,
    ) -> int: ...
    def read(
        self, offset: int, max_bytes: int, *, at_least_one: bool = True, before: int | None = None
    ) -> list[bytes]: ...
    def read_cut(self, offset: int, passed: int, size_bytes: int, before: int) -> bytes: ...
    def in_one_segment(self, offset: int, before: int) -> bool: ...
    def batches(self, offset: int = 0) -> Iterator[StoredBatch]: ...
    def first_batch_since(self, timestamp: int) -> StoredBatch | None: ...
    def newest_batch(self) -> StoredBatch | None: ...
    def batch_start(self, offset: int) -> int: ...
    def advance_start(self, offset: int) -> None: ...
    def delete_old_segments(
        self, *, before: int, now_ms: int, size_bytes: int | None = None, oldest_ms: int | None = None
    ) -> bool: ...
    def compact(self, cleaned: list[StoredBatch], segments: list[LogSegment], end_offset: int) -> None: ...
    def truncate(self, offset: int) -> None: ...


class LogStore(Protocol):
    """Keeps logs by topic id and partition.

    ``shards`` has the coordinators' partitions decoded; a store that reads logs from a disk begins with none.
    """

    shards: dict[tuple[bytes, int], CoordinatorShard]

    def attach(self, cluster: Cluster) -> None:
        """Connect to the cluster that uses this store, for names, replicas and configs of topics."""

    def open(self, topic_id: bytes, partition: int) -> PartitionLog:
        """The log of a partition, a new one if it has none."""
        ...

    def has(self, topic_id: bytes, partition: int) -> bool:
        """True if this partition already has a log."""
        ...

    def filled(self) -> Iterator[tuple[bytes, int]]:
        """Topic id and partition of each log with records, in a fixed order."""
        ...

    def delete(self, topic_id: bytes) -> None:
        """Delete the logs of a topic."""

    def fork(self) -> LogStore:
        """An independent store with the same logs."""
        ...
