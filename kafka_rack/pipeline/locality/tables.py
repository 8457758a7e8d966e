"""The decoded tables of some blocks of a capture, read from Parquet: Arrow sums what is alike before Python sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_rack.locality.flows import OF_FETCHES, OF_FRAMES, OF_PRODUCES
from kafka_rack.locality.tables import BYTES, SUMS, WITH_RECORDS, Cuts, FrameSpan, SummedRows
from kafka_rack.pipeline.locality.files import TableBlock

WHAT_IS_TOLD = (
    *("topic", "topic_id", "partition", "leader", "leader_rack", "leader_epoch", "replicas", "replica_racks", "isr"),
    "error_code",
)
"""Columns of ``partitions`` whose values are news where they change."""


COLUMNS = {
    "frames": ("capture", "ts", "frame", "direction", "frame_bytes", *OF_FRAMES),
    "calls": ("frame", "response_frame"),
    "fetches": ("ts", "frame", "first", *OF_FETCHES, *BYTES),
    "produces": ("ts", "frame", "first", *OF_PRODUCES, *BYTES),
    "partitions": ("frame", *WHAT_IS_TOLD),
}
"""What is read of tables, once for all questions; of others, what each asks for."""


class ParquetTables:
    """``DecodedTables`` of one block. It holds what it has read."""

    def __init__(self, block: TableBlock) -> None:
        self.block = block
        self._held: dict[str, pa.Table] = {}

    def read(self, table: str, columns: Sequence[str]) -> pa.Table:
        """Some columns of a table."""
        if table not in COLUMNS:
            return self.block.read(table, [name for name in columns if name != "api"])
        held = self._held.get(table)
        if held is None:
            held = self._held[table] = self.block.read(table, [name for name in COLUMNS[table] if name != "api"])
        return held

    def frame_span(self) -> FrameSpan | None:
        frames = self.read("frames", ("capture", "ts", "frame"))
        if not len(frames):
            return None
        times = pc.min_max(frames["ts"].cast(pa.int64())).as_py()
        numbers = pc.min_max(frames["frame"]).as_py()
        capture = frames["capture"][0].as_py()
        return FrameSpan(capture, len(frames), times["min"], times["max"], numbers["min"], numbers["max"])

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        if table != "partitions":
            yield from tuples(self.read(table, columns).select([*columns]))
            return
        rows = self.read(table, columns)
        span = self.frame_span()
        if span is not None and span.is_gapless:
            rows = news(rows)
        yield from tuples(rows.select([*columns]))

    def distinct(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        rows = self.read(table, columns).select([*columns])
        return tuples(rows.group_by([*columns], use_threads=False).aggregate([]))

    def covered(self) -> pa.ChunkedArray:
        found = [self.read(table, ("frame",))["frame"] for table in ("fetches", "produces")]
        return pa.chunked_array([chunk for column in found for chunk in column.chunks], pa.int64())

    def covered_elsewhere(self) -> list[int]:
        covered = self.covered()
        here = self.read("frames", ("frame",))["frame"]
        found: list[int] = pc.unique(covered.filter(pc.invert(pc.is_in(covered, here)))).to_pylist()
        return found

    def summed(self, table: str, columns: Sequence[str], step_us: int, cuts: Cuts) -> Iterator[SummedRows]:
        rows = self.read(table, ("ts", "frame", "first", *columns, *BYTES))
        eras = np.searchsorted(np.array(cuts(), dtype=np.int64), rows["frame"].to_numpy(), side="right")
        for _, found in alike(rows.append_column("era", pa.array(eras)), columns, step_us):
            yield found

    def frames_left(self, columns: Sequence[str], step_us: int) -> Iterator[SummedRows]:
        covered, calls = self.covered(), self.read("calls", ("frame", "response_frame"))
        answers = calls.filter(pc.is_in(calls["frame"], covered))["response_frame"]
        frames = self.read("frames", ("ts", "frame", "direction", "frame_bytes", *columns))
        has_records = pc.is_in(frames["api"], pa.array(sorted(WITH_RECORDS)))
        is_covered = pc.is_in(frames["frame"], pa.chunked_array([*covered.chunks, *answers.chunks], pa.int64()))
        rows = frames.filter(pc.invert(pc.and_(has_records, is_covered)))
        asks = pc.equal(rows["direction"], "request")
        waits = pc.and_(asks, pc.is_in(rows["api"], pa.array(sorted(WITH_RECORDS))))
        nothing = pa.array(np.zeros(len(rows), dtype=np.int64))
        given = {
            "first": asks,
            "request_bytes": pc.if_else(asks, rows["frame_bytes"], 0),
            "response_bytes": pc.if_else(asks, 0, rows["frame_bytes"]),
            "record_bytes": nothing,
            "records": nothing,
            "era": pc.if_else(waits, rows["frame"], -1),
        }
        for name, column in given.items():
            rows = rows.append_column(name, column)
        for era, found in alike(rows, columns, step_us):
            yield found if era >= 0 else found._replace(frame=None)


def alike(rows: pa.Table, columns: Sequence[str], step_us: int) -> Iterator[tuple[int, SummedRows]]:
    """Rows with the same in some columns, in ``era`` and in their window added up, behind their era."""
    ts = rows["ts"].cast(pa.int64()).to_numpy()
    redirects = rows["redirected"].cast(pa.int64()) if "redirected" in columns else pa.nulls(len(rows), pa.int64())
    added = {
        "frame": rows["frame"],
        "window": pa.array(ts // step_us * step_us),
        "era": rows["era"],
        "calls": rows["first"].cast(pa.int64()),
        "redirects": redirects,
    }
    table = pa.table({**{name: rows[name] for name in (*columns, *BYTES)}, **added})
    found = table.group_by([*columns, "window", "era"], use_threads=False)
    sums = found.aggregate([("frame", "min"), *((name, "sum") for name in SUMS)])
    names = ("era", "frame_min", "window", *(f"{name}_sum" for name in SUMS), *columns)
    for era, frame, window, *rest in tuples(sums.select(names)):
        amounts = tuple(amount or 0 for amount in rest[: len(SUMS)])
        yield era, SummedRows(frame, window, amounts, rest[len(SUMS) :])


def news(rows: pa.Table) -> pa.Table:
    """Rows of ``partitions`` less those that say the same of a partition as the one before, by the order of frames."""
    parts = [joined_lists(rows[name]) for name in ("replicas", "replica_racks", "isr")]
    told = [pc.fill_null(rows[name].cast(pa.string()), "-") for name in ("leader", "leader_rack", "leader_epoch")]
    state = pc.binary_join_element_wise(*parts, *told, rows["error_code"].cast(pa.string()), "\x1e")
    keys = ("topic", "topic_id", "partition")
    rows = rows.append_column("state", state)
    rows = rows.sort_by([(name, "ascending") for name in (*keys, "frame")])
    changed = np.zeros(len(rows), dtype=bool)
    changed[:1] = True
    for name in (*keys, "state"):
        column = rows[name].combine_chunks()
        codes = pc.fill_null(column.dictionary_encode().indices, -1).to_numpy(zero_copy_only=False)
        changed[1:] |= codes[1:] != codes[:-1]
    return rows.filter(pa.array(changed))


def joined_lists(lists: pa.ChunkedArray) -> pa.Array:
    """Each list as one text; what is null in it as nothing."""
    whole = lists.combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(whole), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = pc.fill_null(pc.list_flatten(whole).cast(pa.string()), "")
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values), "\x1f")


def tuples(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    """A table's rows; times as microseconds."""
    columns = [
        (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for column in rows.columns
    ]
    return zip(*columns, strict=True)
