"""What a partition's log can do, and who opens logs; ``memory`` has the store in memory.

A cluster is handed its store. What a store still has when a cluster is built from an image is what a restart finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from mockbroker.state.logs.leader_epochs import LeaderEpochCache
from mockbroker.state.logs.log import Batch


class PartitionLog(Protocol):
    """The log of one partition; see ``Log`` for what each of these gives."""

    start_offset: int
    end_offset: int
    size_bytes: int

    @property
    def leader_epochs(self) -> LeaderEpochCache: ...
    def __len__(self) -> int: ...
    def append(self, data: bytes, last_offset: int, max_timestamp: int, leader_epoch: int) -> int: ...
    def read(
        self, offset: int, max_bytes: int, *, at_least_one: bool = True, before: int | None = None
    ) -> list[bytes]: ...
    def batches(self, offset: int = 0) -> Iterator[Batch]: ...
    def first_batch_since(self, timestamp: int) -> Batch | None: ...
    def newest_batch(self) -> Batch | None: ...
    def batch_start(self, offset: int) -> int: ...
    def delete_before(self, offset: int) -> int: ...
    def truncate(self, offset: int) -> None: ...
    def keep_at_most(self, size_bytes: int, before: int | None = None) -> None: ...


class LogStore(Protocol):
    """Keeps logs by topic id and partition."""

    def open(self, topic_id: bytes, partition: int) -> PartitionLog:
        """The log of a partition, a new one where there is none."""
        ...

    def delete(self, topic_id: bytes) -> None:
        """Throw away the logs of a topic."""
