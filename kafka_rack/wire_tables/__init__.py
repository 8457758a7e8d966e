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

    The same rows as ``kafka-rack pipeline decode`` writes, with the column ``api`` behind the others.

    Args:
        path: a file, a folder, or several of these.
        tables: those that are wanted; all if not given.
        options: say what packets do not: ports and brokers.

    Raises: FileNotFoundError: a path that is not there. ValueError: there is no such table.
    """
    import pyarrow as pa

    from kafka_rack.wire_tables.arrow import arrow_schema, record_batches
    from kafka_rack.wire_tables.reading import decode_paths
    from kafka_rack.wire_tables.tables import TABLES

    wanted = list(TABLES) if tables is None else list(tables)
    for name in wanted:
        if name not in TABLES:
            raise ValueError(f"table: expected one of {', '.join(TABLES)}, got {name!r}")
    paths = [path] if isinstance(path, str) or not isinstance(path, Iterable) else path
    rows = decode_paths([str(one) for one in paths], options, wanted)
    return {
        name: pa.Table.from_batches(
            [batch for _, batch in record_batches(rows, name, with_api=True)],
            schema=arrow_schema(name, with_api=True),
        )
        for name in wanted
    }
