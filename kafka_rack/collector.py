"""The garbage collector, kept away while many small values are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 5_000
"""Rows of one call from which on the garbage collector is paused."""


@contextmanager
def collector_paused(count: int = MANY) -> Iterator[None]:
    """Keep the garbage collector away while many rows are made.

    Rows hold only numbers and names and can be in no cycle, but each few hundred new ones start a walk over those
    before: with 100,000 rows that takes several times as long as making them.
    """
    if count < MANY or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
