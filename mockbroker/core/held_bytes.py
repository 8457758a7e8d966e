"""Bytes that connections hold together: of answers that clients do not read, and of requests that are not whole yet.

Each connection is bounded by itself: its next request waits until the answer before it has gone, and a request has a
largest size. Many of them are bounded here: over the limit those that made no progress for a while end, the one that
stands still for longest first. Who reads or writes, however slowly, is the last to go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

GRACE_MS = 1000
"""How long a connection may stand still while the limit is exceeded."""
UNBOUNDED = 2**63 - 1
SHARE = 8
"""Which part of the room that is left one answer may take, once half of it is gone."""


class Holder(Protocol):
    """A connection that holds bytes."""

    def give_up(self, reason: str) -> None:
        """End at once, so that nothing is held any more."""


AnyHolder = TypeVar("AnyHolder", bound=Holder)


class HeldBytes(Generic[AnyHolder]):
    """What all connections hold of one kind.

    Args:
        limit: in bytes; 0 or less is no limit.
        measure: what a holder holds now, some of which may have gone since it was noted.
        reason: why a connection ends, for the log; behind it stands the limit.
        changed: called when ``room`` may have changed.
    """

    def __init__(
        self,
        limit: int,
        measure: Callable[[AnyHolder], int],
        reason: str,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.limit = limit if limit > 0 else UNBOUNDED
        self.total = 0
        self._measure, self._reason, self._changed = measure, reason, changed
        self._holders: dict[AnyHolder, tuple[int, int]] = {}  # bytes, and since when; longest without progress first

    @property
    def is_over(self) -> bool:
        """Whether too much is held."""
        return self.total > self.limit

    @property
    def room(self) -> int:
        """How many bytes one more holder should take at most.

        >>> held = HeldBytes(1000, len, "too much is held")
        >>> held.room == UNBOUNDED
        True
        >>> held.total = 800
        >>> held.room
        25
        """
        return UNBOUNDED if self.total * 2 <= self.limit else max(0, self.limit - self.total) // SHARE

    def hold(self, holder: AnyHolder, size: int, now_ms: int) -> None:
        """Note how much somebody holds now, and that it has just changed; 0 is nothing any more."""
        before, _ = self._holders.pop(holder, (0, 0))
        if size:
            self._holders[holder] = (size, now_ms)
        if size != before:
            self.total += size - before
            self._changed()

    def shed(self, now_ms: int) -> None:
        """Where too much is held, end those that have stood still for ``GRACE_MS``, as many as it takes."""
        if not self.is_over:
            return
        for holder, (size, _) in list(self._holders.items()):
            left = self._measure(holder)
            if left != size:
                self.hold(holder, left, now_ms)
        for holder, (size, since_ms) in list(self._holders.items()):
            if self.total <= self.limit or since_ms > now_ms - GRACE_MS:
                return
            self.hold(holder, 0, now_ms)
            holder.give_up(f"{self._reason}: {size} bytes of its own, and the limit for all is {self.limit}")
