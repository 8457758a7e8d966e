"""Captures to a workload in this process, without Spark: rows are added up by Arrow, some thousand frames at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.what_if.gathering import BROKERS, FETCHED, MEMBERSHIPS, PARTITIONS, PRODUCED, SUMS, Gathering
from kafka_rack.what_if.workload import Workload
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import CaptureFile
from kafka_rack.wire_tables.arrow import record_batches
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows

TABLES = ("produces", "fetches", "partitions", "memberships", "brokers", "problems")
LISTS = ("replicas", "replica_racks", "isr")
PORT = r":[0-9]+$"


class Nothing(Exception):
    """A capture in which nobody wrote, read or asked where partitions are."""


def read_workload(
    files: Iterable[CaptureFile],
    options: Options,
    rules: RackRules | None = None,
    on_problem: Callable[[dict[str, Any]], None] | None = None,
) -> Workload:
    """The workload of some capture files. Raises Nothing."""
    gathering = Gathering(rules)
    for file in files:
        for rows in decode_into(Rows(), file, options, only=TABLES):
            take(gathering, rows)
            for problem in rows.as_dicts("problems") if on_problem is not None else ():
                on_problem(problem)  # type: ignore[misc]
            rows.clear()
    workload = gathering.finish()
    if not (workload.produced or workload.consumed or workload.topics):
        raise Nothing("no frame of clients that write or read")
    return workload


def take(gathering: Gathering, rows: Rows) -> None:
    """Rows of a capture, added up before they are looked at one by one."""
    produces, fetches, partitions, memberships, brokers = (table_of(rows, name) for name in TABLES[:5])
    for table in (produces, fetches, partitions, memberships):
        if len(table):
            span = pc.min_max(table["ts"].cast(pa.int64())).as_py()
            gathering.span(span["min"], span["max"])
    gathering.produced(alike(with_host(produces), PRODUCED))
    gathering.fetched(alike(with_host(fetches), FETCHED))
    gathering.brokers(brokers.group_by([*BROKERS], use_threads=False).aggregate([]).to_pylist())
    right = partitions.filter(pc.and_(pc.equal(partitions["error_code"], 0), pc.is_valid(partitions["partition"])))
    gathering.partitions(different_layouts(right))
    telling = with_host(memberships.filter(pc.invert(says_nothing_new(memberships))))
    ts = telling["ts"].cast(pa.int64())
    gathering.memberships(
        telling.set_column(telling.column_names.index("ts"), "ts", ts).select([*MEMBERSHIPS]).to_pylist()
    )


def table_of(rows: Rows, name: str) -> pa.Table:
    """All rows of a table."""
    batches = [batch for _, batch in record_batches(rows, name)]
    if not batches:
        from kafka_rack.wire_tables.arrow import arrow_schema

        return arrow_schema(name).empty_table()
    return pa.Table.from_batches(batches)


def with_host(rows: pa.Table) -> pa.Table:
    """With the client's address without port."""
    bare = pc.replace_substring_regex(rows["client_addr"], pattern=PORT, replacement="")
    return rows.append_column("client_host", pc.utf8_trim(bare, characters="[]"))


def alike(rows: pa.Table, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The sums of rows with the same in some columns."""
    found = rows.group_by([*columns], use_threads=False).aggregate([(name, "sum") for name in SUMS])
    listed: list[dict[str, Any]] = found.rename_columns(
        [*columns, *SUMS] if found.column_names[0] == columns[0] else [*SUMS, *columns]
    ).to_pylist()
    return listed


def different_layouts(rows: pa.Table) -> Iterable[dict[str, Any]]:
    """What was told of partitions, each once, with ``ts`` of the last time."""
    last: dict[tuple[Any, ...], int] = {}
    plain = rows.select([*PARTITIONS]).to_pylist()
    for row, ts in zip(plain, rows["ts"].cast(pa.int64()).to_pylist(), strict=True):
        key = tuple(tuple(value) if isinstance(value, list) else value for value in row.values())
        last[key] = max(ts, last.get(key, 0))
    return [{**dict(zip(PARTITIONS, key, strict=True)), "ts": ts} for key, ts in last.items()]


def says_nothing_new(memberships: pa.Table) -> pa.ChunkedArray:
    """Heartbeats of members that go on as before, and answers without an assignment."""
    beats = pc.and_(pc.equal(memberships["event"], "heartbeat"), pc.is_null(memberships["topics"]))
    answers = pc.and_(pc.equal(memberships["event"], "answered"), pc.is_null(memberships["assignment"]))
    return pc.or_(beats, answers)
