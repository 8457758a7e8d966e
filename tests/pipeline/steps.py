"""The steps of the route without Spark: what Spark does between them, done in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.dataset import dataset, partitioning

from kafka_rack.pipeline import route
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_tables.arrow import arrow_schema, record_batch
from kafka_rack.wire_tables.reading import decode_paths
from kafka_rack.wire_tables.tables import TABLES

Tables = dict[str, list[dict[str, Any]]]
NUMBERED = {"frame": "frame", "response_frame": "frame", "conn": "conn"}
"""Columns that hold numbers of frames and connections."""


def pieces(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The pieces of files, by connection and in order."""
    found: list[dict[str, Any]] = []
    for path in paths:
        if path.suffix == ".jsonl":
            lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
            columns = [pa.array(lines), pa.array([path.as_uri()] * len(lines)), pa.array([0] * len(lines))]
            batches = route.lines_to_pieces([pa.RecordBatch.from_arrays(columns, ["value", "file", "part"])])
        else:
            columns = [pa.array([path.as_uri()]), pa.array([None], pa.binary())]
            batches = route.files_to_pieces([pa.RecordBatch.from_arrays(columns, ["file", "content"])])
        found += [row for batch in batches for row in batch.to_pylist()]
    return sorted(found, key=lambda row: tuple(row[name] for name in route.ORDER))


def tables_by_steps(paths: Sequence[Path], options: Options | None = None) -> Tables:
    """All rows of captures by the route's steps."""
    ordered = pa.Table.from_pylist(pieces(paths), schema=route.PIECES).to_batches(max_chunksize=700)
    told = [row for batch in route.pieces_to_facts(options or Options(), {})(ordered) for row in batch.to_pylist()]
    evidence = route.evidence_of(told)
    found: Tables = {name: [] for name in TABLES}
    for batch in route.pieces_to_rows(options or Options(), evidence, {}, frozenset(map(str, paths)))(ordered):
        for row in batch.to_pylist():
            found[row["table"]].append(row[row["table"]])
    return found


def tables_in_one(paths: Sequence[Path]) -> Tables:
    """All rows of captures, each read in one piece by ``wire_tables``."""
    rows = decode_paths([str(path) for path in paths])
    found: Tables = {}
    for name in TABLES:
        batch = record_batch(rows, name)
        found[name] = [] if batch is None else batch.to_pylist()
        assert batch is None or batch.schema == arrow_schema(name, with_api=True)
    return found


def stored_tables(folder: Path) -> Tables:
    """All rows of a folder of tables, whose columns are those of docs/tables.md."""
    named = partitioning(pa.schema([("capture", pa.string()), ("day", pa.date32())]), flavor="hive")
    found: Tables = {name: [] for name in TABLES}
    for name in TABLES:
        if (folder / name).is_dir():
            schema = arrow_schema(name, with_api=True)
            rows = dataset(folder / name, schema=schema, format="parquet", partitioning=named)
            found[name] = rows.to_table(columns=schema.names).to_pylist()
    return found


def comparable(tables: Tables, leave_out: frozenset[str] = frozenset()) -> dict[str, list[str]]:
    """Rows as text without their order; frames are numbered by their order, connections named by their clients."""
    numbers: dict[tuple[str, str, int], Any] = {}
    frames = defaultdict(list)
    for row in tables["frames"]:
        frames[row["capture"]].append(row)
    for capture, rows in frames.items():
        for place, row in enumerate(sorted(rows, key=lambda row: row["frame"])):
            numbers["frame", capture, row["frame"]] = place
            numbers.setdefault(("conn", capture, row["conn"]), row["client_addr"])

    def value(row: dict[str, Any], name: str) -> Any:
        of = NUMBERED.get(name)
        return row[name] if of is None or row[name] is None else numbers.get((of, row["capture"], row[name]), row[name])

    return {
        table: sorted(repr([(name, value(row, name)) for name in row if name not in leave_out]) for row in rows)
        for table, rows in tables.items()
    }
