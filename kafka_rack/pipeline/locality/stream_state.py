"""What a stream keeps of each capture between micro-batches: its flows and evidence, merged with what is new.

A capture's state is a file, which also says of which blocks of the decoded tables it is: by their files' names, sizes
and times. What the state lacks is added to it; where a block is not the one that was added, the state is made anew from
the tables. So each frame counts once, whenever the stream died, and nothing but the tables has to be right.

The state is as large as the different flows of a capture, and not as what was captured.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_rack.locality.flows import Flows
from kafka_rack.locality.result import Excerpt
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.traffic import GROUPINGS, TrafficSums, rewindowed, traffic_row
from kafka_rack.pipeline.locality.files import DecodedCapture, TableBlock, shared_out
from kafka_rack.pipeline.locality.stages import (
    GROUPING_SUMS,
    ROWS_AT_ONCE,
    SPANS,
    TASKS_PER_CORE,
    TRAFFIC_SCHEMA,
    GroupingTotals,
    batch_of,
    ddl,
    excerpts_of_totals,
    parallelism,
)
from kafka_rack.pipeline.locality.tables import ParquetTables
from kafka_rack.pipeline.output.table_file import TableFile, write_whole
from kafka_rack.pipeline.spark.progress import step
from kafka_rack.storage import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = 1
"""Of the state's files; another one's state is made anew."""
Fingerprint = tuple[tuple[str, int, float], ...]
Span = tuple[int, int]


class CaptureState(NamedTuple):
    """Flows of some blocks of a capture; ``window_us`` is the setting that they were made with."""

    format: int
    window_us: int | None
    blocks: dict[int, Fingerprint]
    flows: Flows


def fingerprint(block: TableBlock) -> Fingerprint:
    """What tells a block's files from those that come in their place."""
    found = []
    for files in block.parts.values():
        for file in files:
            told = file.path.stat()
            found.append((str(file.path), told.st_size, told.st_mtime))
    return tuple(sorted(found))


def updated(path: Location, capture: DecodedCapture, window_us: int | None) -> CaptureState:
    """A capture's state with all of its blocks in it; what was added is written down."""
    blocks = {block.start: fingerprint(block) for block in capture.blocks}
    state = read_state(path)
    if (
        state is None
        or (state.format, state.window_us) != (FORMAT, window_us)
        or any(blocks.get(start) != known for start, known in state.blocks.items())
    ):
        state = CaptureState(FORMAT, window_us, {}, Flows(window_us))
    new = [block for block in capture.blocks if block.start not in state.blocks]
    if new:
        state.flows.add_parts([lambda block=block: ParquetTables(block) for block in new])  # type: ignore[misc]
        state = state._replace(blocks=blocks)
        write_whole(path, pickle.dumps(state))
    return state


def read_state(path: Location) -> CaptureState | None:
    """None where there is none, or that of another version of this program."""
    try:
        found = pickle.loads(path.read_bytes())  # noqa: S301 - our own
    except (OSError, pickle.UnpicklingError, AttributeError, ImportError, EOFError, TypeError):
        return None
    return found if isinstance(found, CaptureState) else None


class StreamState:
    """The states of all captures of a stream, below ``folder``.

    ``spans`` has the first and last moment of each capture with frames. ``summed`` are the captures whose traffic and
    sums lie there as ``window_us`` has it.
    """

    def __init__(self, folder: Location, settings: Settings) -> None:
        self.folder, self.settings = folder, settings
        self.spans: dict[str, Span] = {}
        self.summed: set[str] = set()
        self.window_us: int | None = None

    def update(self, spark: SparkSession, captures: dict[str, DecodedCapture], keys: Iterable[str]) -> None:
        """Add what is new of some captures."""
        self.folder.mkdir(parents=True, exist_ok=True)
        changed = [key for key in keys if key in captures]
        folder, window_us = self.folder, self.settings.window_us

        def work(numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
            for number in numbers:
                key = changed[number]
                evidence = updated(folder / f"{key}.flows", captures[key], window_us).flows.evidence
                counter.add(captures=1)
                if evidence.frames:
                    yield batch_of([(number, evidence.first, evidence.last)], SPANS)

        if changed:
            sizes = [captures[key].size for key in changed]
            with step(spark, "reading what is new of captures", captures=len(changed)) as counter:
                for row in over(spark, sizes, work, SPANS).collect():
                    self.spans[changed[row["number"]]] = row["first"], row["last"]
        self.summed.difference_update(changed)

    def use_window(self, window_us: int) -> None:
        if window_us != self.window_us:
            self.window_us = window_us
            self.summed.clear()

    def write_tables(self, spark: SparkSession, target: Path) -> dict[str, Excerpt]:
        """All tables, below ``target``; what has not changed is linked or read again in its sums."""
        for name in ("traffic", *GROUPINGS):
            (target / name).mkdir(parents=True, exist_ok=True)
        keys, summed = sorted(self.spans), frozenset(self.summed)
        folder, settings, window_us = self.folder, self.settings, self.window_us or 1

        def work(numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
            for key in (keys[number] for number in numbers):
                if key not in summed:
                    sum_up_capture(folder, key, settings, window_us)
                counter.add(captures=1)
                with (folder / f"{key}.sums.parquet").open("rb") as opened, pq.ParquetFile(opened) as file:
                    yield from file.iter_batches(batch_size=ROWS_AT_ONCE)

        with step(spark, "judging and adding up", captures=len(keys)) as counter:
            rows = over(spark, [1] * len(keys), work, GROUPING_SUMS)
            excerpts = excerpts_of_totals(rows, target, settings.top)
        self.summed.update(keys)
        for key in keys:
            link(folder / f"{key}.traffic.parquet", target / "traffic" / f"part-{key}.parquet")
        return excerpts


def sum_up_capture(folder: Location, key: str, settings: Settings, window_us: int) -> None:
    """Judge a capture's flows, and write its traffic and what that sums up to."""
    state = read_state(folder / f"{key}.flows")
    assert state is not None
    flows = state.flows
    sums = TrafficSums(flows.evidence.conclude(settings.rules), settings.rules)
    sums.add_flows(flows, flows.evidence.covered)
    traffic = TableFile(folder / f"{key}.traffic.parquet", TRAFFIC_SCHEMA)
    totals = GroupingTotals()
    rows = [
        traffic_row(traffic_key, amounts, settings.prices)
        for traffic_key, amounts in rewindowed(sums.amounts, window_us).items()
    ]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        traffic.add(rows[start : start + ROWS_AT_ONCE])
        totals.add(rows[start : start + ROWS_AT_ONCE])
    traffic.close()
    file = TableFile(folder / f"{key}.sums.parquet", GROUPING_SUMS)
    for batch in totals.taken():
        file.add_batch(batch)
    file.close()


def link(path: Location, place: Location) -> None:
    """The same file in another place; a copy where a file system has no links."""
    if isinstance(path, Path) and isinstance(place, Path):
        with suppress(OSError):
            os.link(path, place)
            return
    place.write_bytes(path.read_bytes())


def over(
    spark: SparkSession,
    sizes: Sequence[int],
    work: Callable[[Sequence[int]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
) -> DataFrame:
    """``work`` over numbers of captures, in tasks of about as much each."""
    cores = parallelism(spark)
    shares = shared_out(sizes, min(len(sizes), cores * TASKS_PER_CORE))

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for share in batch.column("id").to_pylist():
                yield from work(shares[share])

    return spark.range(0, len(shares), 1, len(shares)).mapInArrow(task, ddl(schema))
