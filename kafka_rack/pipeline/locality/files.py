"""Which files of decoded tables belong together: those of one capture, and in it those of one block.

A file's name says both, as ``part-KEY-START.parquet`` (see ``wire_tables.stored``). Other names are a capture each.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_rack.locality.tables import TABLES
from kafka_rack.storage import Location, RemotePath
from kafka_rack.wire_tables.stored import EMPTY_FILE, StoredFile, read_file, stored_files

if TYPE_CHECKING:
    import pyarrow as pa


class TableBlock(NamedTuple):
    """The files of one block, by table; ``start`` is where it begins in its capture."""

    start: int
    size: int
    parts: dict[str, list[StoredFile]]

    def read(self, table: str, columns: Sequence[str]) -> pa.Table:
        """Some columns of a table, and ``api``."""
        import pyarrow as pa

        from kafka_rack.wire_tables.arrow import arrow_schema

        found = [read_file(part, table, [*columns, "api"]) for part in self.parts.get(table, ())]
        if found:
            return pa.concat_tables(found)
        whole = arrow_schema(table, with_api=True)
        return pa.schema([whole.field(name) for name in (*columns, "api")]).empty_table()


class DecodedCapture(NamedTuple):
    """One capture's blocks, in order."""

    folder: str
    key: str
    blocks: list[TableBlock]

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)


def captures_in(folders: Iterable[Location]) -> list[DecodedCapture]:
    """The captures in folders of decoded tables, by folder and name of their files."""
    return [capture for folder in folders for capture in captures_of(folder)]


def captures_of(folder: Location) -> list[DecodedCapture]:
    found: dict[str, dict[int, dict[str, list[StoredFile]]]] = {}
    sizes: dict[tuple[str, int], int] = {}
    for table in TABLES:
        listed = {one.path: one.size for one in (folder / table).files()} if isinstance(folder, RemotePath) else {}
        for file in stored_files(folder, table):
            if file.path.name == EMPTY_FILE:
                continue
            key, start = file.key, file.start
            found.setdefault(key, {}).setdefault(start, {}).setdefault(table, []).append(file)
            size = listed[file.path] if isinstance(file.path, RemotePath) else file.path.stat().st_size
            sizes[key, start] = sizes.get((key, start), 0) + size
    return [
        DecodedCapture(
            str(folder), key, [TableBlock(start, sizes[key, start], parts) for start, parts in sorted(blocks.items())]
        )
        for key, blocks in sorted(found.items())
    ]


def shared_out(sizes: Sequence[int], tasks: int) -> list[list[int]]:
    """Numbers of pieces for each task, so that all have about as much; the largest first.

    >>> shared_out([5, 1, 4, 2], 2)
    [[0, 1], [2, 3]]
    """
    piles = [(0, task) for task in range(max(1, min(tasks, len(sizes))))]
    shares: list[list[int]] = [[] for _ in piles]
    for number in sorted(range(len(sizes)), key=lambda at: (-sizes[at], at)):
        size, task = piles[0]
        shares[task].append(number)
        heapq.heapreplace(piles, (size + sizes[number], task))
    return shares
