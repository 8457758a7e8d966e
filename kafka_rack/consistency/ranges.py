"""Offsets that were read without a word on the records there, as stretches."""

from __future__ import annotations

from bisect import bisect_right

MAX_LOOSE = 1_000


class Ranges:
    """Stretches of offsets, each as few numbers as there can be.

    >>> ranges = Ranges()
    >>> for start, end in ((0, 10), (30, 40), (10, 20)):
    ...     ranges.add(start, end)
    >>> ranges.has(5, 15), ranges.has(15, 35)
    (True, False)
    """

    def __init__(self) -> None:
        self._stretches: list[tuple[int, int]] = []  # sorted and apart
        self._loose: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> None:
        """Offsets from ``start`` to before ``end``."""
        if self._loose:
            first, last = self._loose[-1]
            if first <= start <= last:
                self._loose[-1] = first, max(last, end)
                return
        self._loose.append((start, end))
        if len(self._loose) > MAX_LOOSE + len(self._stretches):
            self._merge()

    def has(self, start: int, end: int) -> bool:
        """Whether all these offsets are there."""
        if self._loose:
            self._merge()
        number = bisect_right(self._stretches, (start, 1 << 64)) - 1
        return number >= 0 and end <= self._stretches[number][1]

    def forget_before(self, offset: int) -> None:
        """Drop what ends before an offset."""
        self._merge()
        self._stretches = [stretch for stretch in self._stretches if stretch[1] > offset]

    def _merge(self) -> None:
        merged: list[tuple[int, int]] = []
        for start, end in sorted(self._stretches + self._loose):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(merged[-1][1], end)
            else:
                merged.append((start, end))
        self._stretches, self._loose = merged, []
