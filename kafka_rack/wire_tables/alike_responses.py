"""Responses that are read once for all that are like them.

Clients ask for ApiVersions at every connection and for Metadata every few minutes, and most are answered as the one
before was. As long as nothing was learned in between, such an answer tells nothing new, and its rows are those of the
first but for the connection, the time and the frame's number.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafka_rack.wire_tables.rows import NONE, ROWS, Rows

MAX_ALIKE_BYTES = 64 << 10
"""Of a response that others are compared with."""
MAX_KEPT, MAX_KEPT_BYTES = 1_000, 4 << 20
"""Responses that others are compared with at a time, and their bytes."""
TABLES = ("partitions", "brokers")
"""That rows of such responses are in."""


class Own(NamedTuple):
    """What rows have of their own frame."""

    place: int
    ts: int
    told_by: int | None
    frame: int


class ReadOnce(NamedTuple):
    """How a response was read, why it could not be, and its rows by table."""

    way: int
    text: int
    rows: list[tuple[str, NDArray[np.int64]]]


class Alike(dict[Hashable, ReadOnce]):
    """The responses of some frames that others are compared with."""

    def __init__(self) -> None:
        super().__init__()
        self.kept_bytes = 0

    def add(self, key: Hashable, size: int, read: ReadOnce) -> None:
        """Note how a response of so many bytes was read."""
        if len(self) >= MAX_KEPT or self.kept_bytes + size > MAX_KEPT_BYTES:
            self.clear()
            self.kept_bytes = 0
        self[key] = read
        self.kept_bytes += size


def lengths(rows: Rows, api: str) -> list[int]:
    """How long the tables' rows are before a response is read."""
    return [len(rows.tables[table].get(api, b"")) for table in TABLES]


def rows_behind(rows: Rows, api: str, before: list[int]) -> list[tuple[str, NDArray[np.int64]]]:
    """The rows that came after."""
    found = []
    for table, start in zip(TABLES, before, strict=True):
        held = rows.tables[table].get(api, b"")
        if len(held) > start:
            found.append((table, np.frombuffer(bytes(held[start:]), np.int64).reshape(-1, len(ROWS[table]))))
    return found


def add_again(rows: Rows, api: str, read: ReadOnce, own: Own) -> None:
    """The rows of a response that is like one that was read."""
    for table, first in read.rows:
        again = first.copy()
        for at, column in OWN[table]:
            value: Any = getattr(own, column)
            again[:, at] = NONE if value is None else value
        rows.tables[table][api] += again.tobytes()


OWN = {table: [(at, column) for at, column in enumerate(ROWS[table]) if column in Own._fields] for table in TABLES}
"""By table, the places and names of the columns that a row has of its own frame."""
