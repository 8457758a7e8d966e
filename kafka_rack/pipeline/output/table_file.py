"""Files of results that tasks write: whole or not there, however often a task is tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_rack.storage import Location


class TableFile:
    """One Parquet file, written row group by row group. It stands in its place once it is closed."""

    def __init__(self, path: Location, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._beside = beside(path)
        self._file = self._beside.open("wb")
        self._writer = pq.ParquetWriter(self._file, schema, compression="lz4")

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._writer.write_table(pa.Table.from_pylist([*rows], self._schema))

    def add_table(self, rows: pa.Table) -> None:
        self._writer.write_table(rows.replace_schema_metadata(self._schema.metadata))

    def add_batch(self, rows: pa.RecordBatch) -> None:
        self._writer.write_batch(rows)

    def close(self) -> None:
        self._writer.close()
        self._file.close()
        put(self._beside, self._path)


def write_whole(path: Location, data: bytes) -> None:
    """A small file that is there whole or not at all, on a full disk too."""
    other = beside(path)
    try:
        other.write_bytes(data)
        put(other, path)
    except OSError:
        if other != path:
            other.unlink(missing_ok=True)
        raise


def write_parquet(rows: pa.Table, path: Location) -> None:
    """A file that is there whole or not at all, however often a task is tried."""
    file = TableFile(path, rows.schema)
    file.add_table(rows)
    file.close()


def beside(path: Location) -> Location:
    """Where a file is written; in an object store, whose files appear whole, in its place."""
    return path.with_name(f".{path.name}.{uuid4().hex}") if isinstance(path, Path) else path


def put(written: Location, path: Location) -> None:
    if isinstance(written, Path) and isinstance(path, Path):
        written.replace(path)
