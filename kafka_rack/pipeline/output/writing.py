"""Tables on disk: Parquet files written by workers beside the tables, put in place by the driver.

A file's name says which block of which capture it holds, so what is read again replaces what was read before, and
nothing else. Until a run is put in place, readers see what was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_rack.pipeline.output.commits import TEMPORARY, Commit, commit, settle
from kafka_rack.storage import Location
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import capture_name
from kafka_rack.wire_capture.splits import Block, without_collecting
from kafka_rack.wire_tables.arrow import arrow_schema, record_batches
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import SOURCES, Rows
from kafka_rack.wire_tables.tables import SCHEMA_VERSION, TABLES

SCHEMA_FILE = "schema.json"
DIGITS = 15
MOST_HELD = 400_000
"""Rows, of all tables, that wait for their place in a file."""
EVERYTHING = 1 << 62
"""As the end of a range of bytes: whatever the file has."""
REPEATED = {
    name: [column.name for column, source in zip(table.columns, SOURCES[name], strict=True) if source.shared]
    for name, table in TABLES.items()
}
"""Columns that get a dictionary in their files."""
SOUGHT = {
    name: [column.name for column in table.columns if column.name in ("ts", "conn", "broker", "client_id", "topic")]
    for name, table in TABLES.items()
}
"""Columns whose least and greatest value each file has, so that who looks for some can pass others over."""


class SchemaMismatch(Exception):
    """A folder holds tables of another version."""


class Written(NamedTuple):
    """One file: its ``path`` below the tables' folder, and below the run's while it is ``staged``.

    Of frames, their bytes and times too. A task that is tried again stages other files.
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
    return blake2b(path.removesuffix(".gz").encode(), digest_size=10).hexdigest()


def part_name(block: Block) -> str:
    return f"part-{file_key(block.file.path)}-{block.start:0{DIGITS}d}.parquet"


def write_block(block: Block, options: Options, folder: Location) -> Iterator[Written]:
    """Decode a block into files below ``folder``; no more rows than ``MOST_HELD`` are kept in memory."""
    writers: dict[tuple[str, str], BlockWriter] = {}
    rows, held = Rows(), 0
    if block.refused is not None:
        rows.add("problems", "unknown", (capture_name(block.file.path), block.file.path, 0, block.refused))
        pieces: Iterable[Rows] = [rows]
    else:
        pieces = decode_into(rows, block.file, block.opened(), options, end=block.end)
    try:
        with without_collecting():
            for piece in pieces:
                for table in TABLES:
                    for api, batch in record_batches(piece, table):
                        writer = writers.get((table, api))
                        if writer is None:
                            writer = writers[table, api] = BlockWriter(table, api, folder, part_name(block))
                        writer.add(batch)
                        held += batch.num_rows
                piece.clear()
                if held > MOST_HELD:
                    held = 0
                    for writer in writers.values():
                        writer.flush()
    finally:
        for writer in writers.values():
            writer.close()
    for key in sorted(writers):
        yield writers[key].written()


class BlockWriter:
    """One file of one table and API."""

    def __init__(self, table: str, api: str, folder: Location, name: str) -> None:
        self.table, self.api = table, api
        self.path = f"{table}/api={api}/{name}"
        self.staged = f"{self.path}.{uuid4().hex}"
        (folder / self.staged).parent.mkdir(parents=True, exist_ok=True)
        self._file = (folder / self.staged).open("wb")
        self._writer = pq.ParquetWriter(
            self._file, arrow_schema(table), use_dictionary=REPEATED[table], write_statistics=SOUGHT[table]
        )
        self._held: list[pa.RecordBatch] = []
        self.rows = self.frame_bytes = 0
        self.first_ts: int | None = None
        self.last_ts: int | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self.rows += batch.num_rows
        if self.table == "frames":
            self.frame_bytes += pc.sum(batch.column("frame_bytes")).as_py()
            times = pc.min_max(batch.column("ts").cast(pa.int64())).as_py()
            self.first_ts = times["min"] if self.first_ts is None else min(times["min"], self.first_ts)
            self.last_ts = times["max"] if self.last_ts is None else max(times["max"], self.last_ts)

    def flush(self) -> None:
        """Write what was added as one row group; many small ones cost more than their rows."""
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held))
            self._held.clear()

    def close(self) -> None:
        self.flush()
        self._writer.close()
        self._file.close()

    def written(self) -> Written:
        found = (self.table, self.api, self.path, self.rows, self.frame_bytes, self.first_ts, self.last_ts)
        return Written(*found, self.staged)


def prepare(out: Location) -> None:
    """Make the folder ready. Raises SchemaMismatch; OSError."""
    out.mkdir(parents=True, exist_ok=True)
    settle(out)
    told = out / SCHEMA_FILE
    if told.exists():
        found = msgspec.json.decode(told.read_bytes()).get("schema_version")
        if found != SCHEMA_VERSION:
            raise SchemaMismatch(f"{out} holds tables of schema version {found}, but this writes {SCHEMA_VERSION}")
    else:
        told.write_text(f'{{"schema_version": {SCHEMA_VERSION}}}\n')


def put_in_place(
    out: Location, run: str, read: Iterable[tuple[str, int, int]], written: Iterable[Written], *, whole: bool
) -> None:
    """Have a run's files take the place of those that hold the same bytes of the same captures.

    All of it happens or nothing, wherever the process dies: see ``commits``.

    Args:
        read: file, start and end of each block.
        whole: the captures were read from beginning to end, so whatever was there of them goes.
    """
    ranges: dict[str, list[tuple[int, int]]] = {}
    for path, start, end in read:
        ranges.setdefault(file_key(path), []).append((0, EVERYTHING) if whole else (start, max(end, start + 1)))
    fresh = {one.path: one.staged for one in written}
    there = {path for table in TABLES for path in parts_of(out, table)}
    added, replaced = ([(fresh[path], path) for path in fresh if (path in there) == known] for known in (False, True))
    removed = sorted(path for path in there if path not in fresh and is_replaced(path, ranges))
    commit(out, out / TEMPORARY / run, Commit(added, replaced, removed))
    for table in TABLES:
        ensure_table(out, table)
    if isinstance(out, Path):
        for folder in [folder for table in TABLES for folder in (out / table).glob("api=*")]:
            if not any(folder.iterdir()):
                folder.rmdir()


def parts_of(out: Location, table: str) -> list[str]:
    """The files of a table, below the tables' folder."""
    return [f"{table}/{part.parent.name}/{part.name}" for part in (out / table).glob("api=*/part-*.parquet")]


def is_replaced(path: str, ranges: Mapping[str, list[tuple[int, int]]]) -> bool:
    """Whether a file holds what some ranges of captures' files, by key, are read anew for."""
    _, key, begin = path.rpartition("/")[2].removesuffix(".parquet").split("-")
    return any(low <= int(begin) < high for low, high in ranges.get(key, ()))


def ensure_table(out: Location, table: str) -> None:
    """A table without rows still is one: its folder has a file with the columns, in no API's name."""
    empty = out / table / "api=unknown" / "empty.parquet"
    if not empty.exists():
        empty.parent.mkdir(parents=True, exist_ok=True)
        write_parquet(arrow_schema(table).empty_table(), empty)


def write_parquet(rows: pa.Table, path: Location) -> None:
    """A file that is there whole or not at all, however often a task is tried."""
    beside = path.with_name(f".{path.name}.{uuid4().hex}") if isinstance(path, Path) else path
    with beside.open("wb") as file:
        pq.write_table(rows, file, compression="lz4")
    if isinstance(path, Path) and isinstance(beside, Path):
        beside.replace(path)


def read_table(out: Path, table: str) -> list[dict[str, Any]]:
    """A table's rows without Spark, ordered as text."""
    import pyarrow.dataset as ds

    partitioning = ds.partitioning(pa.schema([("api", pa.string())]), flavor="hive")
    schema = arrow_schema(table, with_api=True)
    found = ds.dataset(out / table, format="parquet", partitioning=partitioning, schema=schema).to_table().to_pylist()
    return sorted(found, key=repr)
