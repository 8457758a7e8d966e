"""Which files of decoded tables belong together: those of one capture, and in it those of one block.

A file's name says both, as ``part-CAPTURE-START.parquet`` (see ``writing``). Other names are a capture each.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

READ = ("frames", "calls", "fetches", "produces", "partitions", "memberships", "brokers")
"""The tables that locality reads."""
PART = re.compile(r"part-(?P<capture>[0-9a-f]+)-(?P<start>[0-9]+)")
API = "api="


class Part(NamedTuple):
    """One file of one table."""

    api: str
    path: str


class Block(NamedTuple):
    """The files of one block, by table; ``start`` is where it begins in its capture."""

    start: int
    size: int
    parts: dict[str, list[Part]]

    def read(self, table: str, columns: Sequence[str]) -> pa.Table:
        """Some columns of a table, and ``api``."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from kafka_rack.wire_tables.arrow import arrow_schema

        found = []
        for part in self.parts.get(table, ()):
            with pq.ParquetFile(part.path) as file:
                rows = file.read(columns=[*columns], use_threads=False)
            found.append(rows.append_column("api", pa.repeat(pa.scalar(part.api), len(rows))))
        whole = arrow_schema(table)
        wanted = pa.schema([*(whole.field(name) for name in columns), pa.field("api", pa.string())])
        return pa.concat_tables([rows.select(wanted.names).cast(wanted) for rows in found] or [wanted.empty_table()])


class Capture(NamedTuple):
    """One capture's blocks, in order."""

    folder: str
    key: str
    blocks: list[Block]

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)


def captures_in(folders: Iterable[Path]) -> list[Capture]:
    """The captures in folders of decoded tables, by folder and name of their files."""
    return [capture for folder in folders for capture in captures_of(folder)]


def captures_of(folder: Path) -> list[Capture]:
    found: dict[str, dict[int, dict[str, list[Part]]]] = {}
    sizes: dict[tuple[str, int], int] = {}
    for table in READ:
        for path in sorted((folder / table).glob(f"{API}*/*.parquet")):
            if path.name.startswith("."):
                continue
            match = PART.match(path.stem)
            key, start = (match["capture"], int(match["start"])) if match else (path.stem, 0)
            part = Part(path.parent.name.removeprefix(API), str(path))
            found.setdefault(key, {}).setdefault(start, {}).setdefault(table, []).append(part)
            sizes[key, start] = sizes.get((key, start), 0) + path.stat().st_size
    return [
        Capture(str(folder), key, [Block(start, sizes[key, start], parts) for start, parts in sorted(blocks.items())])
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
