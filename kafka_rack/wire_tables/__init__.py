"""Frames to rows of the tables, and rows to Arrow columns, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from kafka_rack.wire_capture.captures import Options


def read(
    path: str | Path | Iterable[str | Path], tables: Iterable[str] | None = None, options: Options | None = None
) -> dict[str, Any]:
    """The tables of captures in memory, as pyarrow Tables by name; docs/tables.md has their columns. Needs pyarrow.

    The same rows as ``kafka-rack pipeline decode`` writes as Parquet, with the column ``api`` after the others. Strings
    that many rows share are dictionary-encoded.

    Args:
        path: a capture, a folder of captures, or several of these.
        tables: names of tables; default: all.
        options: say what packets do not: ports and brokers.

    Raises: FileNotFoundError: a path does not exist. ValueError: unknown table.
    """
    import pyarrow as pa

    from kafka_rack.collector import collector_paused
    from kafka_rack.wire_tables.arrow import arrow_schema, record_batch
    from kafka_rack.wire_tables.reading import decode_paths
    from kafka_rack.wire_tables.tables import TABLES

    wanted = list(TABLES) if tables is None else list(tables)
    for name in wanted:
        if name not in TABLES:
            raise ValueError(f"table: expected one of {', '.join(TABLES)}, got {name!r}")
    paths = [str(one) for one in ([path] if isinstance(path, str) or not isinstance(path, Iterable) else path)]
    with collector_paused():
        rows = decode_paths(paths, options, wanted)
        batches = {name: record_batch(rows, name, with_dictionaries=True) for name in wanted}
    schemas = {name: arrow_schema(name, with_api=True, with_dictionaries=True) for name in wanted}
    return {
        name: pa.Table.from_batches([] if batch is None else [batch], schema=schemas[name])
        for name, batch in batches.items()
    }
