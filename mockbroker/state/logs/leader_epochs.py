"""The leader epochs of one replica's log: at which offset each began, and so where each ended.

Source: KIP-101, KIP-279, KIP-320; LeaderEpochFileCache, Apache Kafka 4.4.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class EpochEnd(NamedTuple):
    """A leader epoch, and the offset behind its last record; both -1 where nothing is known."""

    leader_epoch: int
    end_offset: int


UNDEFINED = EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)


@dataclass(slots=True, eq=False)
class LeaderEpochCache:
    """Leader epochs and the offsets at which they began, both rising. An epoch may have no record.

    >>> cache = LeaderEpochCache()
    >>> cache.assign(2, 0)
    >>> cache.assign(5, 30)
    >>> cache.entries
    [(2, 0), (5, 30)]
    >>> cache.end_offset_for(3, log_end_offset=40)
    EpochEnd(leader_epoch=2, end_offset=30)
    """

    _epochs: list[int] = field(default_factory=list)
    _start_offsets: list[int] = field(default_factory=list)

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(leader epoch, start offset), rising."""
        return list(zip(self._epochs, self._start_offsets, strict=True))

    def copy(self) -> LeaderEpochCache:
        return LeaderEpochCache(list(self._epochs), list(self._start_offsets))

    def assign(self, leader_epoch: int, start_offset: int) -> None:
        """An epoch begins, as its leader is elected or as a batch of it is appended.

        Entries with this epoch or a later one, or with this offset or a later one, give way; the latest epoch again,
        at the same offset or a later one, changes nothing.
        """
        assert min(leader_epoch, start_offset) >= 0, (leader_epoch, start_offset)
        epochs, start_offsets = self._epochs, self._start_offsets
        if epochs and leader_epoch == epochs[-1] and start_offset >= start_offsets[-1]:
            return
        while epochs and (epochs[-1] >= leader_epoch or start_offsets[-1] >= start_offset):
            epochs.pop()
            start_offsets.pop()
        epochs.append(leader_epoch)
        start_offsets.append(start_offset)

    def truncate_from_start(self, offset: int) -> None:
        """Forget the epochs that ended before ``offset``; the one in force there begins there from now on."""
        passed = bisect_right(self._start_offsets, offset)
        if passed:
            del self._epochs[: passed - 1], self._start_offsets[: passed - 1]
            self._start_offsets[0] = offset

    def truncate_from_end(self, offset: int) -> None:
        """Forget the epochs that began at ``offset`` or later."""
        kept = bisect_left(self._start_offsets, offset)
        del self._epochs[kept:], self._start_offsets[kept:]

    def latest_epoch(self) -> int:
        """The epoch that began last, -1 without any."""
        return self._epochs[-1] if self._epochs else UNDEFINED_EPOCH

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch in force at an offset, -1 before the first."""
        passed = bisect_right(self._start_offsets, offset)
        return self._epochs[passed - 1] if passed else UNDEFINED_EPOCH

    def end_offset_for(self, leader_epoch: int, log_end_offset: int) -> EpochEnd:
        """The largest epoch known up to this one, and where the next begins; the latest ends with the log.

        For an epoch before the first one known: itself, and where the first begins, since it can have no later record.
        For one after the latest: UNDEFINED, since whoever names it knows more than this log.
        """
        if leader_epoch == UNDEFINED_EPOCH:
            return UNDEFINED
        epochs = self._epochs
        if epochs and leader_epoch == epochs[-1]:
            return EpochEnd(leader_epoch, log_end_offset)
        following = bisect_right(epochs, leader_epoch)
        if following == len(epochs):
            return UNDEFINED
        return EpochEnd(epochs[following - 1] if following else leader_epoch, self._start_offsets[following])
