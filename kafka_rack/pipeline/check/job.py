"""The job ``check``: each recording is a history, checked by one task; what was found becomes tables and one JSON."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafka_rack.consistency.captures import CheckedCapture, check_capture, recordings
from kafka_rack.consistency.topic_patterns import TopicPatterns
from kafka_rack.pipeline.output.staging import staged, write_table
from kafka_rack.pipeline.spark.progress import step
from kafka_rack.pipeline.spark.storage_settings import reached
from kafka_rack.storage import Location, RemotePath, StorageSettings, current_settings, use_settings
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import CaptureFile, find_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JSON_NAME = "check.json"
FILES = ("recordings", "anomalies", "problems", JSON_NAME)
SCHEMAS = {
    "recordings": pa.schema(
        [
            ("recording", pa.string()),
            ("files", pa.list_(pa.string())),
            ("started", pa.timestamp("us", tz="UTC")),
            ("consistent", pa.bool_()),
            ("sends", pa.int64()),
            ("polls", pa.int64()),
            ("reads", pa.int64()),
            ("forgotten", pa.int64()),
        ]
    ),
    "anomalies": pa.schema(
        [
            ("recording", pa.string()),
            ("kind", pa.string()),
            ("permitted", pa.bool_()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("offsets", pa.list_(pa.int64())),
            ("clients", pa.list_(pa.string())),
            ("evidence", pa.string()),
            ("reason", pa.string()),
        ]
    ),
    "problems": pa.schema(
        [("recording", pa.string()), ("file", pa.string()), ("offset", pa.int64()), ("reason", pa.string())]
    ),
}


class NothingToCheck(Exception):
    """No capture is there; the text says where it was looked for."""


def check_captures(
    spark: SparkSession,
    paths: Sequence[str],
    out: str | Path | RemotePath,
    patterns: TopicPatterns,
    options: Options | None = None,
    *,
    max_examples: int,
    max_records: int | None,
    together: bool = False,
) -> list[CheckedCapture]:
    """Check the recordings of these files and folders, and put the tables below ``out`` in an earlier run's place.

    Recordings are checked side by side, each as a whole: what a batch means can depend on any before it.

    Args:
        patterns: what clients and topics were set to.
        max_examples: anomalies of each kind that are rows; all are counted.
        max_records: batches that a task remembers at a time.
        together: all files are one recording, made beside each other.

    Raises: FileNotFoundError: a path that is not there. NothingToCheck. NotOurs. OSError.
    """
    target, storage = reached(spark, out), current_settings()
    files, refused = find_files(paths)
    if not files:
        raise NothingToCheck(f"expected captures, got none in {', '.join(paths)}")
    groups = [list(files)] if together else recordings(files)
    with staged(target, FILES) as folder:
        found = side_by_side(
            spark,
            groups,
            storage,
            lambda recording: check_capture(
                recording,
                options or Options(),
                patterns.settings,
                settings_of_topic=patterns,
                max_examples=max_examples,
                max_records=max_records,
                beside=together,
            ),
        )
        write(found, refused, folder)
    return found


def side_by_side(
    spark: SparkSession, groups: Sequence[list[CaptureFile]], storage: StorageSettings, check: Any
) -> list[CheckedCapture]:
    """Each recording checked in a task of its own; the largest begin first."""
    sizes = [sum(file.size for file in group) for group in groups]
    order = sorted(range(len(groups)), key=lambda number: -sizes[number])
    with step(spark, "checking", recordings=len(groups), bytes=sum(sizes)) as counter:

        def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            use_settings(storage)
            for batch in batches:
                for place in batch.column("id").to_pylist():
                    number = order[place]
                    answer = pickle.dumps(check(groups[number]))
                    counter.add(recordings=1, bytes=sizes[number])
                    yield pa.RecordBatch.from_pydict({"number": pa.array([number], pa.int64()), "checked": [answer]})

        numbers = spark.range(0, len(order), 1, len(order))
        rows = numbers.mapInArrow(task, "number long, checked binary").collect()
    answers = {row["number"]: pickle.loads(row["checked"]) for row in rows}  # noqa: S301 - our own
    return [answers[number] for number in range(len(groups))]


def write(checked: Sequence[CheckedCapture], refused: Sequence[tuple[str, str]], folder: Location) -> None:
    """All tables, and the JSON last."""
    write_table(folder, "recordings", SCHEMAS["recordings"], [recording_row(one) for one in checked])
    anomalies = [
        {
            "recording": one.name,
            "kind": found.kind,
            "permitted": found.is_permitted,
            "topic": found.topic,
            "partition": found.partition,
            "offsets": list(found.offsets),
            "clients": list(found.clients),
            "evidence": found.evidence,
            "reason": found.reason,
        }
        for one in checked
        for found in one.report.anomalies
    ]
    write_table(folder, "anomalies", SCHEMAS["anomalies"], anomalies)
    problems = [{"recording": None, "file": path, "offset": 0, "reason": reason} for path, reason in refused]
    problems += [
        {"recording": one.name, "file": problem.file, "offset": problem.offset, "reason": problem.reason}
        for one in checked
        for problem in one.problems
    ]
    write_table(folder, "problems", SCHEMAS["problems"], problems)
    told = {
        "is_consistent": all(one.report.is_consistent for one in checked),
        "captures": [one.as_json() for one in checked],
    }
    (folder / JSON_NAME).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def recording_row(one: CheckedCapture) -> dict[str, Any]:
    return {
        "recording": one.name,
        "files": list(one.paths),
        "started": one.started_us,
        "consistent": one.report.is_consistent,
        "sends": one.report.sends,
        "polls": one.report.polls,
        "reads": one.report.reads,
        "forgotten": one.report.forgotten,
    }
