"""Logs in memory: what they hold is gone with the process, or with whoever holds the store."""

from __future__ import annotations

from dataclasses import dataclass, field

from mockbroker.state.logs.log import Log


@dataclass(slots=True, eq=False)
class MemoryLogStore:
    """Logs in memory.

    >>> store = MemoryLogStore()
    >>> _ = store.open(b"orders", 0).append(b"a batch", last_offset=4, max_timestamp=7, leader_epoch=0)
    >>> store.open(b"orders", 0).end_offset
    5
    >>> store.delete(b"orders")
    >>> store.open(b"orders", 0).end_offset
    0
    """

    _logs: dict[bytes, dict[int, Log]] = field(default_factory=dict)

    def open(self, topic_id: bytes, partition: int) -> Log:
        logs = self._logs.setdefault(topic_id, {})
        log = logs.get(partition)
        if log is None:
            log = logs[partition] = Log()
        return log

    def delete(self, topic_id: bytes) -> None:
        self._logs.pop(topic_id, None)
