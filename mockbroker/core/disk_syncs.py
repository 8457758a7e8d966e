"""What has been written and is not on the disk yet, while answers that may stand on it are held back.

With ``--fsync always`` the records of coordinators and of the metadata log reach the disk before any answer goes out
that came after them. The disk is waited for in threads; calls go on meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from mockbroker.state.errors import ApiError

MAX_FAILURES = 64  # that are remembered: who waited for one has heard of it long before


@dataclass(slots=True, eq=False)
class DiskSyncs:
    """Syncs that are under way, by rising numbers. The object is the key that waiting calls are woken by.

    ``is_deferred`` is whether they may be: who does not answer clients waits for each where it is asked for. ``on_end``
    is called whenever one is over.

    >>> syncs = DiskSyncs()
    >>> first, second = syncs.begin(), syncs.begin()
    >>> syncs.end(second)
    >>> syncs.is_done(second)
    False
    >>> syncs.end(first)
    >>> syncs.is_done(second)
    True
    """

    is_deferred: bool = False
    on_end: Callable[[], None] = lambda: None
    last: int = 0
    _open: dict[int, None] = field(default_factory=dict)
    _failures: deque[tuple[int, int, ApiError]] = field(default_factory=lambda: deque(maxlen=MAX_FAILURES))

    def begin(self) -> int:
        """Something was written; gives the number to end its sync by."""
        self.last += 1
        self._open[self.last] = None
        return self.last

    def end(self, number: int, error: ApiError | None = None) -> None:
        """A sync is over. With an error all fail that wait for it."""
        del self._open[number]
        if error is not None:
            self._failures.append((number, self.last, error))
            self.last += 1  # what comes from now on does not wait for it
        self.on_end()

    def is_done(self, number: int) -> bool:
        """Whether all up to this one is on the disk. Raises ApiError: it could not be written."""
        for first, last, error in self._failures:
            if first <= number <= last:
                raise error
        return not self._open or next(iter(self._open)) > number
