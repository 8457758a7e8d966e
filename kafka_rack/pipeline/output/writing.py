"""Tables on disk: Parquet files written by workers beside the tables, put in place by the driver.

A file's name says which block of which capture it holds, so what is read again replaces what was read before, and
nothing else. Until a run is put in place, readers see what was there. ``wire_tables.stored`` says where files lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_rack.collector import collector_paused
from kafka_rack.pipeline.output.commits import TEMPORARY, Commit, commit, settle
from kafka_rack.pipeline.output.table_file import write_parquet, write_whole
from kafka_rack.storage import Location
from kafka_rack.wire_capture.blocks import CaptureBlock
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import capture_name, same_capture
from kafka_rack.wire_tables.arrow import arrow_schema, record_batch
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import SOURCES, Rows
from kafka_rack.wire_tables.stored import (
    CAPTURE_KEY,
    DAY_US,
    EMPTY_FILE,
    PARQUET,
    PART,
    PARTITIONED_BY,
    SCHEMA_FILE,
    SchemaMismatch,
    day_name,
    note_of,
    partition,
    read_stored,
    stored_files,
    stored_tables,
)
from kafka_rack.wire_tables.tables import TABLES

__all__ = ["SCHEMA_FILE", "SchemaMismatch", "WrittenFile", "prepare", "put_in_place", "read_table", "write_block"]
DIGITS = 15
MAX_HELD = 400_000
"""Rows, of all tables, that wait for their place in a file."""
MAX_OPEN = 200
"""Files that a block has open: one for each table, and each day that its frames are of."""
EVERYTHING = 1 << 62
"""As the end of a range of bytes: whatever the file has."""
REPEATED = {
    name: ["api", *(column.name for column, source in zip(table.columns, SOURCES[name], strict=True) if source.shared)]
    for name, table in TABLES.items()
}
"""Columns that get a dictionary in their files."""
SOUGHT = {
    name: [name for name in ("api", *table.names) if name in ("api", "ts", "conn", "broker", "client_id", "topic")]
    for name, table in TABLES.items()
}
"""Columns whose least and greatest value each file has, so that who looks for some can pass others over."""


class WrittenFile(NamedTuple):
    """Rows of a file: its ``path`` below the tables' folder, and below the run's while it is ``staged``.

    Frames are told for each API, with their bytes and the file's times. A task that is tried again stages other files.
    """

    table: str
    api: str
    path: str
    rows: int
    frame_bytes: int
    first_ts: int | None
    last_ts: int | None
    staged: str = ""


def file_key(path: str) -> str:
    """A capture file in a name: the same for ``x.jsonl`` and ``x.jsonl.gz``."""
    return blake2b(same_capture(path).encode(), digest_size=10).hexdigest()


def part_name(block: CaptureBlock, number: int = 0) -> str:
    """A block's file in a folder; ``number`` counts those that it has there."""
    more = f".{number}" if number else ""
    return f"part-{file_key(block.file.path)}-{block.start:0{DIGITS}d}{more}.parquet"


def write_block(block: CaptureBlock, options: Options, folder: Location) -> Iterator[WrittenFile]:
    """Decode a block into files below ``folder``; no more rows than ``MAX_HELD`` are kept in memory."""
    rows = Rows()
    if block.refused is not None:
        rows.add("problems", "unknown", (capture_name(block.file.path), block.file.path, 0, block.refused))
        pieces: Iterable[Rows] = [rows]
    else:
        pieces = decode_into(rows, block.file, options, start=block.start, end=block.end)
    writer = BlockWriter(block, folder)
    try:
        with collector_paused():
            for piece in pieces:
                writer.add(piece)
                piece.clear()
    finally:
        writer.close()
    yield from writer.written


class BlockWriter:
    """The files of one block: of each table one, and of each day that its frames are of."""

    def __init__(self, block: CaptureBlock, folder: Location) -> None:
        self.block, self.folder = block, folder
        self.capture = capture_name(block.file.path)
        self.written: list[WrittenFile] = []
        self._open: dict[tuple[str, str | None], TableWriter] = {}
        self._begun: dict[tuple[str, str | None], int] = {}
        self._held = 0

    def add(self, rows: Rows) -> None:
        for table in TABLES:
            batch = record_batch(rows, table)
            if batch is not None:
                for day, part in by_day(batch, table):
                    self._writer(table, day).add(part)
                self._held += batch.num_rows
        if self._held > MAX_HELD:
            self._held = 0
            for writer in self._open.values():
                writer.flush()

    def _writer(self, table: str, day: str | None) -> TableWriter:
        found = self._open.get((table, day))
        if found is None:
            if len(self._open) >= MAX_OPEN:
                self.close()
            number = self._begun.get((table, day), 0)
            self._begun[table, day] = number + 1
            place = table_folder(table, self.capture, day)
            found = TableWriter(table, self.capture, self.folder, f"{place}/{part_name(self.block, number)}")
            self._open[table, day] = found
        return found

    def close(self) -> None:
        """End all files; what comes later goes into others."""
        for key in sorted(self._open, key=repr):
            self._open[key].close()
            self.written += self._open[key].written()
        self._open.clear()


class TableWriter:
    """One file of one table."""

    def __init__(self, table: str, capture: str, folder: Location, path: str) -> None:
        self.table, self.path = table, path
        self.staged = f"{path}.{uuid4().hex}"
        (folder / self.staged).parent.mkdir(parents=True, exist_ok=True)
        self._file = (folder / self.staged).open("wb")
        self._writer = pq.ParquetWriter(
            self._file, file_schema(table, capture), use_dictionary=REPEATED[table], write_statistics=SOUGHT[table]
        )
        self._held: list[pa.RecordBatch] = []
        self._counts: dict[str, list[int]] = {}  # by API: rows and bytes
        self.first_ts: int | None = None
        self.last_ts: int | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        if self.table != "frames":
            self._counts.setdefault("", [0, 0])[0] += batch.num_rows
        else:
            sizes = pa.table([batch.column("api"), batch.column("frame_bytes")], names=["api", "size"])
            found = sizes.group_by("api", use_threads=False).aggregate([("size", "count"), ("size", "sum")])
            for row in found.to_pylist():
                counts = self._counts.setdefault(row["api"], [0, 0])
                counts[0] += row["size_count"]
                counts[1] += row["size_sum"]
            times = pc.min_max(batch.column("ts").cast(pa.int64())).as_py()
            self.first_ts = times["min"] if self.first_ts is None else min(times["min"], self.first_ts)
            self.last_ts = times["max"] if self.last_ts is None else max(times["max"], self.last_ts)

    def flush(self) -> None:
        """Write what was added as one row group; many small ones cost more than their rows."""
        if self._held:
            rows = pa.Table.from_batches(self._held)
            self._writer.write_table(rows.drop_columns(["capture"]))
            self._held.clear()

    def close(self) -> None:
        self.flush()
        self._writer.close()
        self._file.close()

    def written(self) -> Iterator[WrittenFile]:
        for api, (rows, frame_bytes) in sorted(self._counts.items()):
            found = (self.table, api, self.path, rows, frame_bytes, self.first_ts, self.last_ts)
            yield WrittenFile(*found, self.staged)


def by_day(batch: pa.RecordBatch, table: str) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """Rows by the day that they are of, in UTC; all at once where they have no time."""
    if "day" not in PARTITIONED_BY[table]:
        yield None, batch
        return
    days = batch.column("ts").cast(pa.int64()).to_numpy() // DAY_US
    first, last = int(days.min()), int(days.max())
    if first == last:
        yield day_name(first), batch
        return
    for day in np.unique(days).tolist():
        yield day_name(day), batch.filter(pa.array(days == day))


def table_folder(table: str, capture: str | None, day: str | None) -> str:
    """Where a table's files of a capture and a day lie, below the tables' folder."""
    values = {"capture": capture, "day": day}
    return "/".join([table, *(partition(column, values[column]) for column in PARTITIONED_BY[table])])


def file_schema(table: str, capture: str | None = None) -> pa.Schema:
    """A file's columns: a table's without what its folders' names hold."""
    whole = arrow_schema(table, with_api=True)
    named = {} if capture is None else {CAPTURE_KEY: capture.encode()}
    return whole.remove(whole.get_field_index("capture")).with_metadata({**whole.metadata, **named})


def prepare(out: Location, kind: str = PARQUET) -> None:
    """Make the folder ready for tables of a format. Raises SchemaMismatch; OSError."""
    out.mkdir(parents=True, exist_ok=True)
    settle(out)
    found = stored_tables(out)
    if found is None:
        write_whole(out / SCHEMA_FILE, note_of(kind))
    elif found.format != kind:
        raise SchemaMismatch(f"{out} holds {found.format} tables, not {kind}: choose another folder or --output-format")


def put_in_place(
    out: Location, run: str, read: Iterable[tuple[str, int, int]], written: Iterable[WrittenFile], *, whole: bool
) -> None:
    """Have a run's files take the place of those that hold the same bytes of the same captures.

    All of it happens or nothing, wherever the process dies: see ``commits``.

    Args:
        read: file, start and end of each block.
        whole: the captures were read from beginning to end, so whatever was there of them goes.
    """
    ranges: dict[str, list[tuple[int, int]]] = {}
    captures: set[str] = set()
    for path, start, end in read:
        captures.add(capture_name(path))
        ranges.setdefault(file_key(path), []).append((0, EVERYTHING) if whole else (start, max(end, start + 1)))
    fresh = {one.path: one.staged for one in written}
    there = {path for table in TABLES for path in parts_of(out, table, captures)}
    added, replaced = ([(fresh[path], path) for path in fresh if (path in there) == known] for known in (False, True))
    removed = sorted(path for path in there if path not in fresh and is_replaced(path, ranges))
    for table in TABLES:
        ensure_table(out, table)
    commit(out, out / TEMPORARY / run, Commit(added, replaced, removed))
    if isinstance(out, Path):
        for folder in {(out / path).parent for path in removed}:
            with suppress(OSError):  # not empty
                folder.rmdir()
                if folder.parent.name.startswith("capture="):
                    folder.parent.rmdir()


def parts_of(out: Location, table: str, captures: Iterable[str]) -> list[str]:
    """The files of some captures in a table, below the tables' folder."""
    found = [file.path for file in stored_files(out, table, captures)]
    depth = len(PARTITIONED_BY[table])
    return ["/".join([table, *reversed(names_above(path, depth)), path.name]) for path in found]


def names_above(path: Location, count: int) -> list[str]:
    """The names of the folders that a file lies in, the innermost first."""
    found = []
    for _ in range(count):
        path = path.parent
        found.append(path.name)
    return found


def is_replaced(path: str, ranges: Mapping[str, list[tuple[int, int]]]) -> bool:
    """Whether a file holds what some ranges of captures' files, by key, are read anew for."""
    match = PART.match(path.rpartition("/")[2])
    return match is not None and any(low <= int(match["start"]) < high for low, high in ranges.get(match["key"], ()))


def ensure_table(out: Location, table: str) -> None:
    """A table without rows still is one: its folder has a file with the columns, of no capture."""
    empty = out / table_folder(table, None, None) / EMPTY_FILE
    if not empty.exists():
        empty.parent.mkdir(parents=True, exist_ok=True)
        write_parquet(file_schema(table).empty_table(), empty)


def read_table(out: Path, table: str) -> list[dict[str, Any]]:
    """A table's rows without Spark, ordered as text."""
    return sorted(read_stored(out, table).to_pylist(), key=repr)
