"""The job ``locality``: each capture measured by a task as ``kafka-rack locality`` does, and all of them added up."""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafka_rack.locality.amounts import window_for
from kafka_rack.locality.captures import NothingToMeasure, excerpts_of, flows_of
from kafka_rack.locality.page import report
from kafka_rack.locality.result import collect_result
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import Amounts
from kafka_rack.locality.traffic import TrafficKey, TrafficSums, add_amounts, rewindowed
from kafka_rack.pipeline.route import find_input, path_of, place_of
from kafka_rack.pipeline.tables import write_text
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import look_at, unread_inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Batches = Iterable[pa.RecordBatch]
FOUND = pa.schema([("file", pa.string()), ("found", pa.binary())])


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

    Returns: what ``locality.json`` holds, and the inputs of which not one frame could be read.

    Raises: PySparkException: an input that is not there. NothingToMeasure.
    """
    from pyspark.sql import functions as sql

    files = find_input(spark, inputs).all
    if not files:
        raise NothingToMeasure
    read = spark.read.format("binaryFile").load([place_of(path) for path in files])
    is_here = all(path.startswith("/") for path in files)
    content = sql.lit(None).cast("binary") if is_here else sql.col("content")
    captures = read.select(sql.col("_metadata.file_path").alias("file"), content.alias("content"))
    captures = captures if tasks is None else captures.repartition(tasks)
    spans: dict[str, tuple[int, int]] = {}
    traffic: dict[TrafficKey, Amounts] = {}
    for row in captures.mapInArrow(measurer(options or Options(), settings), "file string, found binary").collect():
        spans[row.file], found = pickle.loads(row.found)  # noqa: S301 - our own
        for key, amounts in found.items():
            traffic[key] = add_amounts(traffic.get(key), amounts)
    if not spans:
        raise NothingToMeasure
    first, last = min(first for first, _ in spans.values()), max(last for _, last in spans.values())
    window_us = settings.window_us or window_for(last - first)
    excerpts = excerpts_of(rewindowed(traffic, window_us), settings)
    result = collect_result(
        excerpts, settings.prices, spans.values(), window_us, racks_file=settings.racks_file, out=out
    )
    write_text(spark, out, "locality.html", report(result))
    write_text(spark, out, "locality.json", json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    return result, unread_inputs(inputs, spans)


def measurer(options: Options, settings: Settings) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """A step: files (``file`` and ``content``, null of a file that is read where it is) to their spans and traffic."""

    def step(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for url, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                found = measured(path_of(url), content, options, settings)
                if found is not None:
                    row = {"file": path_of(url), "found": pickle.dumps(found)}
                    yield pa.RecordBatch.from_pylist([row], schema=FOUND)

    return step


def measured(path: str, content: bytes | None, options: Options, settings: Settings) -> Any:
    """The first and last moment of a capture, and its traffic; None if it has no frame."""
    with tempfile.TemporaryDirectory() as folder:
        place = path
        if content is not None:
            place = str(Path(folder, path.rpartition("/")[2]))
            Path(place).write_bytes(content)
        file = look_at(place)
        if file is None:
            return None
        flows = flows_of(file, options, settings.window_us)
    evidence = flows.evidence
    if not evidence.frames:
        return None
    sums = TrafficSums(evidence.conclude(settings.rules), settings.rules)
    sums.add_flows(flows, evidence.covered)
    return (evidence.first, evidence.last), sums.amounts
