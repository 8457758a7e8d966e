"""Memory that was freed goes back to the system: the C library keeps what lies between blocks that are in use."""

from __future__ import annotations

import os

GROWN_BYTES = 64 << 20
"""What a process has to have grown by before it is worth looking for what can be given back."""
MAX_PASSED_OVER = 5
"""How often a process that has grown before is passed over."""
STATISTICS = "/proc/self/statm"
RESIDENT = 1
"""Place of the resident pages in it."""


class FreedMemory:
    """Has the C library give back free memory once the process has grown; on Linux with glibc, elsewhere nothing.

    >>> FreedMemory().give_back()
    False
    """

    def __init__(self) -> None:
        self._first_bytes = self._last_bytes = resident_bytes()
        self._passed_over = 0

    def give_back(self) -> bool:
        """Give back what is free if the process has grown much; whether that was tried."""
        now_bytes = resident_bytes()
        if now_bytes - self._first_bytes < GROWN_BYTES:
            return False
        if now_bytes - self._last_bytes < GROWN_BYTES and self._passed_over < MAX_PASSED_OVER:
            self._passed_over += 1
            return False
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
        self._last_bytes, self._passed_over = resident_bytes(), 0
        return trim is not None


def resident_bytes() -> int:
    """What the process has in memory; 0 where the system does not say."""
    try:
        with open(STATISTICS, encoding="ascii") as file:  # noqa: PTH123 - a start does without pathlib
            pages = int(file.read().split()[RESIDENT])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
