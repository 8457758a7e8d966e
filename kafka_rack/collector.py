"""Pauses the garbage collector while many small values are created."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 5_000
"""The number of rows of one call at which the garbage collector is paused."""


@contextmanager
def collector_paused(count: int = MANY) -> Iterator[None]:
    """Pause the garbage collector while many rows are created.

    Rows contain only numbers and names and cannot form cycles, but every few hundred new ones trigger a scan of the
    earlier ones: with 100,000 rows that takes several times as long as creating them.
    """
    if count < MANY or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
