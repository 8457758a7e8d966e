"""Tables on disk: Parquet files written by workers beside the tables, put in place by the driver.

A file's name says which block of which capture it holds, so what is read again replaces what was read before, and
nothing else. Until a run is put in place, readers see what was there.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import capture_name
from kafka_rack.wire_capture.splits import Block, without_collecting
from kafka_rack.wire_tables.arrow import arrow_schema, record_batch
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import SOURCES, Rows
from kafka_rack.wire_tables.tables import SCHEMA_VERSION, TABLES

TEMPORARY = "_temporary"
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
    """One file: ``path`` below the run's folder; of frames, their bytes and times too."""

    table: str
    api: str
    path: str
    rows: int
    frame_bytes: int
    first_ts: int | None
    last_ts: int | None


def file_key(path: str) -> str:
    """A capture file in a name: the same for ``x.jsonl`` and ``x.jsonl.gz``."""
    return blake2b(path.removesuffix(".gz").encode(), digest_size=10).hexdigest()


def part_name(block: Block) -> str:
    return f"part-{file_key(block.file.path)}-{block.start:0{DIGITS}d}.parquet"


def write_block(block: Block, options: Options, folder: Path) -> Iterator[Written]:
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
                    for api, found in piece.tables[table].items():
                        if found:
                            writer = writers.get((table, api))
                            if writer is None:
                                writer = writers[table, api] = BlockWriter(table, api, folder, part_name(block))
                            writer.add(record_batch(piece, table, api))
                            held += piece.count(table, api)
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

    def __init__(self, table: str, api: str, folder: Path, name: str) -> None:
        self.table, self.api, self.folder = table, api, folder
        self.path = f"{table}/api={api}/{name}"
        target = folder / self.path
        target.parent.mkdir(parents=True, exist_ok=True)
        self._beside = target.with_name(f".{name}.{blake2b(str(id(self)).encode(), digest_size=4).hexdigest()}")
        self._writer = pq.ParquetWriter(
            self._beside, arrow_schema(table), use_dictionary=REPEATED[table], write_statistics=SOUGHT[table]
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
        self._beside.replace(self.folder / self.path)

    def written(self) -> Written:
        return Written(self.table, self.api, self.path, self.rows, self.frame_bytes, self.first_ts, self.last_ts)


def prepare(out: Path) -> None:
    """Make the folder ready. Raises SchemaMismatch; OSError."""
    out.mkdir(parents=True, exist_ok=True)
    told = out / SCHEMA_FILE
    if told.exists():
        found = msgspec.json.decode(told.read_bytes()).get("schema_version")
        if found != SCHEMA_VERSION:
            raise SchemaMismatch(f"{out} holds tables of schema version {found}, but this writes {SCHEMA_VERSION}")
    else:
        told.write_text(f'{{"schema_version": {SCHEMA_VERSION}}}\n')


def run_name() -> str:
    """A name for a run's folder that says whose it is."""
    return f"{os.getpid()}-{uuid4().hex}@{socket.gethostname()}"


def clear_left_over(out: Path) -> None:
    """Remove what runs left behind that were killed on this machine."""
    for folder in (out / TEMPORARY).glob(f"*@{socket.gethostname()}"):
        number = folder.name.partition("-")[0]
        if number.isdigit() and not is_running(int(number)):
            shutil.rmtree(folder, ignore_errors=True)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def put_in_place(
    out: Path, run: str, read: Iterable[tuple[str, int, int]], written: Iterable[Written], *, whole: bool
) -> None:
    """Move a run's files to the tables, in the place of those that hold the same bytes of the same captures.

    Args:
        read: file, start and end of each block.
        whole: the captures were read from beginning to end, so whatever was there of them goes.
    """
    temporary = out / TEMPORARY / run
    ranges: dict[str, list[tuple[int, int]]] = {}
    for path, start, end in read:
        ranges.setdefault(file_key(path), []).append((0, EVERYTHING) if whole else (start, max(end, start + 1)))
    for table in TABLES:
        for old in (out / table).glob("api=*/part-*.parquet"):
            _, key, begin = old.stem.split("-")
            if any(low <= int(begin) < high for low, high in ranges.get(key, ())):
                old.unlink()
    for one in written:
        target = out / one.path
        target.parent.mkdir(parents=True, exist_ok=True)
        (temporary / one.path).replace(target)
    for table in TABLES:
        ensure_table(out, table)
        for folder in (out / table).glob("api=*"):
            if not any(folder.iterdir()):
                folder.rmdir()
    drop(out, run)


def drop(out: Path, run: str) -> None:
    """Remove what a run has written and not put in place."""
    shutil.rmtree(out / TEMPORARY / run, ignore_errors=True)
    with suppress(OSError):  # other runs', or gone
        (out / TEMPORARY).rmdir()


def ensure_table(out: Path, table: str) -> None:
    """A table without rows still is one: its folder has a file with the columns, in no API's name."""
    empty = out / table / "api=unknown" / "empty.parquet"
    if not empty.exists():
        empty.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(arrow_schema(table).empty_table(), empty, compression="lz4")


def read_table(out: Path, table: str) -> list[dict[str, Any]]:
    """A table's rows without Spark, ordered as text."""
    import pyarrow.dataset as ds

    partitioning = ds.partitioning(pa.schema([("api", pa.string())]), flavor="hive")
    schema = arrow_schema(table, with_api=True)
    found = ds.dataset(out / table, format="parquet", partitioning=partitioning, schema=schema).to_table().to_pylist()
    return sorted(found, key=repr)
