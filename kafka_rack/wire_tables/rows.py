"""Rows of the tables, by API, as numbers.

Most columns of a row say again what thousands of others say: whose connection it was, which API, topic or rack. Such
columns go together in shared sets; each combination is kept once, and rows hold its number. So a row is a few 64-bit
integers after those of the row before it, by table and API: small enough for the processor's cache, and soon columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from struct import Struct
from typing import Any

import msgspec

from kafka_rack.wire_capture.frames import CapturedConnection, ObservedCluster, ReadingState, RequestKind
from kafka_rack.wire_tables.tables import TABLES, Column

Row = tuple[Any, ...]
UNKNOWN = "unknown"
NUMBER_BYTES = 8
NONE = -(1 << 63)
"""No value; nothing in a capture is as low, but offsets that no broker gives."""
MAX_SHARED = 100_000
"""Combinations of one set, before all are forgotten."""

SHARED: dict[str, tuple[str, ...]] = {
    of: tuple(dict.fromkeys(one.name for table in TABLES.values() for one in table.columns if one.of == of))
    for of in dict.fromkeys(one.of for table in TABLES.values() for one in table.columns if one.of)
}
"""The columns of each set."""
ROWS: dict[str, tuple[str, ...]] = {
    name: (
        *dict.fromkeys(one.of for one in table.columns if one.of),
        *(one.name for one in table.columns if one.of is None),
    )
    for name, table in TABLES.items()
}
"""The parts of a row: numbers of shared sets, and columns of its own."""
PACK = {table: Struct(f"{len(parts)}q").pack for table, parts in ROWS.items()}
"""A row's numbers as the bytes that ``Rows.tables`` holds."""
NUMBERS = ("long", "int", "boolean", "timestamp")
"""Spark's types of the columns that rows hold themselves; values of others have a set for each type."""
LOOSE = tuple(sorted({one.type for table in TABLES.values() for one in table.columns} - {*NUMBERS}))


class ColumnSource(msgspec.Struct, frozen=True):
    """The source of a column: its place in the row, and for a shared set its name and the place in that set."""

    at: int
    shared: str | None = None
    inside: int = 0


def source_of(table: str, column: Column) -> ColumnSource:
    if column.of is not None:
        return ColumnSource(ROWS[table].index(column.of), column.of, SHARED[column.of].index(column.name))
    return ColumnSource(ROWS[table].index(column.name), set_of(column))


def set_of(column: Column) -> str | None:
    """The set that a value of a row's own column goes to; None of a number."""
    return None if column.type in NUMBERS else column.type


SOURCES = {name: [source_of(name, one) for one in table.columns] for name, table in TABLES.items()}
KEPT = {
    name: [(ROWS[name].index(one.name), kind) for one in table.columns if one.of is None and (kind := set_of(one))]
    for name, table in TABLES.items()
}
"""The places in a row whose values go to a set, and which."""


class SharedSet(dict[Row, int]):
    """The combinations of one set: the columns' values -> their number. A new combination gets the next number."""

    def __init__(self) -> None:
        super().__init__()
        self.values_by_number: list[Row] = []
        self.arrays: list[Any] = []
        """Arrow arrays of the values, stored by the module that makes them."""

    def __missing__(self, values: Row) -> int:
        number = self[values] = len(self.values_by_number)
        self.values_by_number.append(values)
        return number

    def keep(self, value: Any) -> int:
        """A number for a value that is not looked up again, and that need not be hashable."""
        self.values_by_number.append((value,))
        return len(self.values_by_number) - 1


def numbers_of(numbers: Iterable[int]) -> Iterator[int | None]:
    return (None if number == NONE else number for number in numbers)


def flags_of(numbers: Iterable[int]) -> Iterator[bool | None]:
    return (None if number == NONE else bool(number) for number in numbers)


def values_of(numbers: Iterable[int], shared: Sequence[Any]) -> Iterator[Any]:
    return (None if number == NONE else shared[number] for number in numbers)


class Rows:
    """The rows of some frames, made as ``ROWS`` has it, with the shared sets they refer to.

    ``tables``: table -> API -> the numbers of all rows, packed, row after row. ``forgotten`` counts how often the
    shared sets were emptied.
    """

    def __init__(self) -> None:
        self.tables: dict[str, defaultdict[str, bytearray]] = {name: defaultdict(bytearray) for name in TABLES}
        self.shared: dict[str, SharedSet] = {name: SharedSet() for name in (*SHARED, *LOOSE)}
        self.frames = 0
        self.forgotten = 0

    def add(self, table: str, api: str, row: Row) -> None:
        """A row with numbers, None, and values of any type in its own columns."""
        numbers = [NONE if value is None else value for value in row]
        for place, kind in KEPT[table]:
            if row[place] is not None:
                numbers[place] = self.kept(kind, row[place])
        self.tables[table][api] += PACK[table](*numbers)

    def kept(self, kind: str, value: Any) -> int:
        """The number of a value of a row's own column, by the column's type."""
        values = self.shared[kind]
        return values[value,] if kind == "string" else values.keep(value)

    def count(self, table: str, api: str) -> int:
        return len(self.tables[table][api]) // (NUMBER_BYTES * len(ROWS[table]))

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[Row]:
        """Some columns of every row of a table, in any order; ``api`` is one too. Times are microseconds since 1970."""
        names, width = TABLES[table].names, len(ROWS[table])
        flags = {column.name for column in TABLES[table].columns if column.type == "boolean"}
        found = [(SOURCES[table][names.index(name)], name in flags) if name != "api" else None for name in columns]
        for api, packed in self.tables[table].items():
            held = memoryview(bytes(packed)).cast("q")
            values: list[Iterable[Any]] = []
            for one in found:
                if one is None:
                    values.append(repeat(api, len(held) // width))
                    continue
                source, is_flag = one
                numbers = held[source.at :: width]
                if source.shared is None:
                    values.append(flags_of(numbers) if is_flag else numbers_of(numbers))
                else:
                    shared = [row[source.inside] for row in self.shared[source.shared].values_by_number]
                    values.append(values_of(numbers, shared))
            yield from zip(*values, strict=True)

    def of(self, table: str) -> Iterator[Row]:
        """Every row of a table in its columns, with its API last."""
        return self.rows(table, [*TABLES[table].names, "api"])

    def as_dicts(self, table: str) -> list[dict[str, Any]]:
        """The same by column."""
        names = [*TABLES[table].names, "api"]
        return [dict(zip(names, row, strict=True)) for row in self.of(table)]

    def clear(self) -> None:
        """Forget the rows; what they shared stays for those that come, while it is not too much."""
        for by_api in self.tables.values():
            for held in by_api.values():
                held.clear()
        for name in LOOSE:
            self.shared[name] = SharedSet()
        if any(len(self.shared[name]) > MAX_SHARED for name in SHARED):
            self.shared.update({name: SharedSet() for name in SHARED})
            self.forgotten += 1
        self.frames = 0


class Target(msgspec.Struct):
    """The rows of a capture, those of the ``wanted`` tables, and what is known of the cluster so far."""

    rows: Rows
    state: ReadingState
    wanted: frozenset[str]

    @property
    def known(self) -> ObservedCluster:
        return self.state.known

    def place(self, connection: CapturedConnection) -> int:
        """The number of a connection; it changes if packets name the broker later, or if it crosses files."""
        own = connection.number, connection.broker, connection.rack, connection.client, connection.listener
        return self.rows.shared["place"][self.state.capture, *own]

    def kind(self, kind: RequestKind) -> int:
        """The number of a request's kind."""
        return self.rows.shared["kind"][kind.api_key, kind.api_name, kind.api_version, kind.client_id]

    def way(self, is_request: bool, left_over: int, version: int | None, header: int | None) -> int:
        """The number of how a body was read."""
        return self.rows.shared["way"]["request" if is_request else "response", left_over, version, header]
