"""The job ``locality``: the flows of connections, through the route of captures, add up to the ledger."""

from __future__ import annotations

import base64
import json
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafka_rack.locality.captures import CaptureFlows, NothingToMeasure, flows_of, read_ledger, result_of
from kafka_rack.locality.flows import Flows
from kafka_rack.locality.ledger import Ledger
from kafka_rack.locality.page import report
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES
from kafka_rack.pipeline.route import (
    Batches,
    Connections,
    Input,
    Parts,
    Step,
    find_input,
    is_lines,
    prepared,
)
from kafka_rack.pipeline.streams import each_batch
from kafka_rack.pipeline.tables import read_text, schema_of, write_text
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.facts import Fact
from kafka_rack.wire_capture.files import NO_CAPTURE, NO_PACKETS, scope_of, unread_inputs
from kafka_rack.wire_capture.packets import NO_MAGIC
from kafka_rack.wire_tables.reading import decode_frames
from kafka_rack.wire_tables.rows import Rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FOUND_DDL = "scope string, found binary"
DIGITS = re.compile("([0-9]+)")


def measure(
    spark: SparkSession,
    inputs: Sequence[str],
    out: str,
    settings: Settings,
    *,
    options: Options | None = None,
    tasks: int | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """Captures to ``locality.html`` and ``locality.json`` below ``out``.

    Returns: the contents of ``locality.json``, and the inputs without a readable frame.

    Raises: PySparkException: a missing input. NothingToMeasure.
    """
    input_files = find_input(spark, inputs)
    if not input_files.files:
        raise NothingToMeasure
    ledger, read = ledger_in(spark, input_files, settings, options or Options(), tasks)
    result = result_of(ledger, read, settings, out)
    write(spark, out, result)
    return result, unread_inputs(inputs, [path for path in input_files.files if capture_of(path) in read])


def measure_stream(
    spark: SparkSession,
    inputs: Sequence[str],
    out: str,
    checkpoint: str,
    settings: Settings,
    *,
    options: Options | None = None,
    on_batch: Callable[[int, dict[str, Any]], None] = lambda batch, result: None,
    **when: Any,
) -> StreamingQuery:
    """Measure each batch of new files in folders, and write the result of all batches so far.

    The ledger so far is stored beside the stream's position, with that of the batch before: a batch that Spark repeats
    counts once. Responses whose requests are in a file of an earlier batch count as unreadable.

    Args:
        on_batch: called with each batch's number and the result.
        when: as for ``each_batch``.
    """

    def add(files: list[str], batch: int) -> None:
        ledger, read = stored_before(spark, checkpoint, batch)
        if files:
            more, paths = ledger_in(spark, find_input(spark, files), settings, options or Options())
            ledger, read = ledger.merge(more), sorted({*read, *paths})
        state = base64.b64encode(pickle.dumps((batch, ledger, read))).decode()
        write_text(spark, checkpoint, f"ledger-{batch % 2}", state)
        if read:
            result = result_of(ledger, read, settings, out)
            write(spark, out, result)
            on_batch(batch, result)

    return each_batch(spark, inputs, checkpoint, add, **when)


def stored_before(spark: SparkSession, checkpoint: str, batch: int) -> tuple[Ledger, list[str]]:
    """The ledger of all batches before this one, and the paths of its captures."""
    texts = (read_text(spark, checkpoint, f"ledger-{number}") for number in (0, 1))
    stored = [pickle.loads(base64.b64decode(text)) for text in texts if text]  # noqa: S301 - our own
    before = [(ledger, read) for number, ledger, read in stored if number < batch]
    return max(before, key=lambda state: state[0].completeness.frames, default=(Ledger(), []))


def ledger_in(
    spark: SparkSession, input_files: Input, settings: Settings, options: Options, tasks: int | None = None
) -> tuple[Ledger, list[str]]:
    """The ledger of files, and the paths of the captures with a frame."""
    files: dict[str, list[str]] = {}
    for path in input_files.files:
        files.setdefault(capture_of(path), []).append(path)
    order = {path: at for parts in files.values() for at, path in enumerate(sorted(parts, key=by_number))}
    pieces, evidence, parts = prepared(spark, input_files, options, tasks, by=("scope", "key"))
    step = pieces_to_flows(options, evidence, parts, order, settings.window_us, is_alone=len(files) == 1)
    found: dict[str, CaptureFlows] = {}
    for row in pieces.mapInArrow(step, FOUND_DDL).collect():
        whole = found.setdefault(row.scope, CaptureFlows(Flows(settings.window_us)))
        whole.merge(pickle.loads(row.found))  # noqa: S301 - our own
    pieces.unpersist()
    refused = {
        path: NO_CAPTURE if path in input_files.named else NO_PACKETS
        for path in input_files.files
        if not is_lines(path) and is_refused(found.get(scope_of(path)))
    }
    found = {scope: flows for scope, flows in sorted(found.items()) if not is_refused(flows)}
    return read_ledger(found, settings, refused)


def capture_of(path: str) -> str:
    """The capture to which a file belongs."""
    return path if is_lines(path) else scope_of(path)


def write(spark: SparkSession, out: str, result: dict[str, Any]) -> None:
    """Write a result as a page and as JSON."""
    write_text(spark, out, "locality.html", report(result))
    write_text(spark, out, "locality.json", json.dumps(result, indent=2, ensure_ascii=False) + "\n")


def is_refused(found: CaptureFlows | None) -> bool:
    """True if a file with a name for packets contains none, by its first bytes."""
    return found is not None and any(reason.endswith(NO_MAGIC) for reason in found.flows.evidence.problems)


def by_number(path: str) -> list[str | int]:
    """A sort key for the files of a capture, by the numbers in their names.

    >>> sorted(["x.pcap10", "x.pcap9", "x.pcap"], key=by_number)
    ['x.pcap', 'x.pcap9', 'x.pcap10']
    """
    return [int(part) if part.isdecimal() else part for part in DIGITS.split(path)]


def pieces_to_flows(
    options: Options,
    evidence: Mapping[str, Sequence[Fact]],
    parts: Parts,
    order: Mapping[str, int],
    window_us: int | None,
    *,
    is_alone: bool,
) -> Step:
    """A step: the flows of each capture's connections (``scope``, ``found``), with the connections unless alone."""

    def step(batches: Batches) -> Iterator[pa.RecordBatch]:
        for scope, found in groupby(by_scope(batches), lambda part: part[0]):
            reading = Connections(options, parts, evidence, order=order)
            frames = reading.frames(batch for _, batch in found)
            rows = decode_frames(Rows(), frames, reading.state, reading.problems, only=TABLES)
            flows = flows_of(rows, window_us, is_alone=is_alone)
            yield pa.RecordBatch.from_pylist(
                [{"scope": scope, "found": pickle.dumps(flows)}], schema=schema_of(FOUND_DDL)
            )

    return step


def by_scope(batches: Batches) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each scope, as parts of batches, with it."""
    for batch in batches:
        at = 0
        for scope, rows in groupby(batch.column("scope").to_pylist()):
            count = len(list(rows))
            yield scope, batch.slice(at, count)
            at += count
