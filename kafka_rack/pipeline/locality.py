"""The job ``locality``: a task reads each capture as ``kafka-rack locality`` does; their flows make one ledger."""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafka_rack.locality.captures import CaptureFlows, NothingToMeasure, capture_flows, judge_captures
from kafka_rack.locality.page import report
from kafka_rack.locality.settings import Settings
from kafka_rack.pipeline.route import find_input, path_of, place_of
from kafka_rack.pipeline.tables import write_text
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import look_at

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
    step = reader(options or Options(), settings.window_us, is_alone=len(files) == 1)
    found: dict[str, CaptureFlows] = {
        row.file: pickle.loads(row.found)  # noqa: S301 - our own
        for row in captures.mapInArrow(step, "file string, found binary").collect()
    }
    measured = judge_captures(dict(sorted(found.items())), inputs, settings, out=out)
    write_text(spark, out, "locality.html", report(measured.result))
    write_text(spark, out, "locality.json", json.dumps(measured.result, indent=2, ensure_ascii=False) + "\n")
    return measured.result, measured.unread


def reader(options: Options, window_us: int | None, *, is_alone: bool) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """A step: files (``file`` and ``content``, null of a file that is read where it is) to their flows."""

    def step(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for url, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                found = flows_in(path_of(url), content, options, window_us, is_alone=is_alone)
                if found is not None:
                    row = {"file": path_of(url), "found": pickle.dumps(found)}
                    yield pa.RecordBatch.from_pylist([row], schema=FOUND)

    return step


def flows_in(
    path: str, content: bytes | None, options: Options, window_us: int | None, *, is_alone: bool
) -> CaptureFlows | None:
    """The flows of a file, with its connections unless it is alone; None if it is no capture."""
    with tempfile.TemporaryDirectory() as folder:
        place = path
        if content is not None:
            place = str(Path(folder, path.rpartition("/")[2]))
            Path(place).write_bytes(content)
        file = look_at(place)
        return None if file is None else capture_flows(file, options, window_us, is_alone=is_alone)
