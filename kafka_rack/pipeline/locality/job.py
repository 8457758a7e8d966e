"""The job ``locality``: decoded tables, or captures, to bytes and money by rack, with what was avoidable.

Spark reads the tables that decoding wrote twice, each file in the task that needs it: once for what each capture shows
of racks, then to judge by it and add up (``stages``). All results are written beside what is there and put in its place
at the end, so readers see one run or the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_rack.locality.amounts import window_for
from kafka_rack.locality.captures import NothingToMeasure
from kafka_rack.locality.page import report
from kafka_rack.locality.result import Excerpt, collect_result
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES as READ_TABLES
from kafka_rack.locality.traffic import GROUPINGS
from kafka_rack.pipeline.decode import job
from kafka_rack.pipeline.locality.files import captures_in
from kafka_rack.pipeline.locality.stages import gather_evidence, traffic_of, write_tables
from kafka_rack.pipeline.locality.stream_state import StreamState
from kafka_rack.pipeline.output.commits import settle
from kafka_rack.pipeline.output.conversion import as_parquet
from kafka_rack.pipeline.output.formats import check_format
from kafka_rack.pipeline.output.staging import staged
from kafka_rack.pipeline.output.writing import file_key
from kafka_rack.pipeline.spark.progress import step
from kafka_rack.pipeline.spark.storage_settings import reached
from kafka_rack.storage import Location, RemotePath, location
from kafka_rack.wire_tables.stored import format_of, is_stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

RESULT, PAGE, TABLES = "locality.json", "locality.html", "locality"
DECODED = "decoded"
"""Below the results, where a stream keeps its decoded tables."""
CONVERTED = "converted"
"""Below what a run makes, Parquet files of tables that were Delta or Iceberg."""
EVIDENCE = "evidence"
STATE = "_state"
"""Below the results, what a stream has of each capture."""
FILES = (*(f"{TABLES}/{name}" for name in ("traffic", *GROUPINGS)), PAGE, RESULT)
"""What a run writes, the JSON last: a program that sees it sees all."""


def measure(
    spark: SparkSession,
    inputs: Sequence[str],
    out: str | Path | RemotePath,
    settings: Settings,
    *,
    partitions: int | None = None,
    source_options: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Captures, and folders of decoded tables, to results below ``out``.

    Returns: what ``locality.json`` holds.

    Raises: FileNotFoundError: an input that is not there. SchemaMismatch: tables of another version. FormatMissing.
        NothingToMeasure.
    """
    target = reached(spark, out)
    folders = [location(given).resolve() for given in inputs if is_stored(location(given))]
    captures = [given for given in inputs if not is_stored(location(given))]
    for tables in folders:
        check_format(spark, format_of(tables), reads=True)
        settle(tables)
    with staged(target, FILES) as folder:
        converted = folder.resolve() / CONVERTED
        folders = [as_parquet(spark, one, converted / str(number), READ_TABLES) for number, one in enumerate(folders)]
        if captures:
            decoded = folder.resolve() / DECODED
            job.decode(spark, captures, decoded, partitions=partitions, source_options=source_options)
            folders.append(decoded)
        return results(spark, folders, folder, settings, target)


def follow(
    spark: SparkSession,
    inputs: Sequence[str],
    out: str | Path | RemotePath,
    checkpoint: str | Path | RemotePath,
    settings: Settings,
    *,
    source_options: dict[str, str] | None = None,
    available_now: bool = False,
    every: str = "5 seconds",
    on_result: Callable[[int, dict[str, Any]], None] | None = None,
) -> StreamingQuery:
    """The same over growing folders: each micro-batch decodes what is new, and adds it to the state of its captures.

    Results are always those of a batch over the same files, wherever the stream died (``stream_state``). They are made
    anew at the start too, since prices may have changed meanwhile.
    """
    target = reached(spark, out)
    state = StreamState((target / STATE).resolve(), settings)

    def told(batch: int, summary: job.DecodeSummary) -> None:
        changed = {file_key(path) for path in summary.frames_by_file}
        sum_up(spark, target, state, on_result, batch, changed if state.spans else None)

    target.mkdir(parents=True, exist_ok=True)
    settle(target / DECODED)
    if not available_now:
        sum_up(spark, target, state, on_result)
    return job.decode_stream(
        spark,
        inputs,
        target / DECODED,
        checkpoint,
        source_options=source_options,
        available_now=available_now,
        every=every,
        merges=False,  # the state knows blocks by their files
        on_batch=told,
    )


def results_until_now(
    spark: SparkSession,
    out: str | Path | RemotePath,
    settings: Settings,
    on_result: Callable[[int, dict[str, Any]], None] | None = None,
) -> None:
    """Results of what a stream has decoded, by these settings; none as long as there is no frame."""
    target = reached(spark, out)
    sum_up(spark, target, StreamState((target / STATE).resolve(), settings), on_result)


def sum_up(
    spark: SparkSession,
    out: Location,
    state: StreamState,
    on_result: Callable[[int, dict[str, Any]], None] | None = None,
    batch: int = -1,
    changed: Collection[str] | None = None,
) -> None:
    """Results of what a stream has decoded until now; ``changed`` are keys of captures, None for all."""
    decoded = (out / DECODED).resolve()
    if not (decoded / "frames").is_dir() or not is_stored(decoded):
        return
    captures = {capture.key: capture for capture in captures_in([decoded])}
    state.update(spark, captures, captures if changed is None else changed)
    if not state.spans:
        return
    with staged(out, FILES) as folder:
        target = folder.resolve()
        state.use_window(window_of(state.spans.values(), state.settings))
        excerpts = state.write_tables(spark, target / TABLES)
        result = write_result(excerpts, state.spans.values(), state.settings, target, out)
    if on_result is not None:
        on_result(batch, result)


def results(
    spark: SparkSession, folders: Sequence[Location], target: Location, settings: Settings, out: Location
) -> dict[str, Any]:
    """Every result of some decoded tables, below ``target``."""
    target = target.resolve()
    captures = dict(enumerate(captures_in(folders)))
    spans = gather_evidence(spark, captures, target / EVIDENCE)
    if not spans:
        raise NothingToMeasure
    found = {number: captures[number] for number in spans}
    window_us = window_of(spans.values(), settings)
    with step(spark, "judging and adding up", bytes=sum(capture.size for capture in found.values())) as counter:
        traffic = traffic_of(spark, found, target / EVIDENCE, settings, window_us, counter)
        excerpts = write_tables(traffic, target / TABLES, settings)
    return write_result(excerpts, spans.values(), settings, target, out)


def window_of(spans: Collection[tuple[int, int]], settings: Settings) -> int:
    """The windows' length: what is set, else one that cuts the whole span into about 60."""
    span_us = max(last for _, last in spans) - min(first for first, _ in spans)
    return settings.window_us or window_for(span_us)


def write_result(
    excerpts: Mapping[str, Excerpt],
    spans: Collection[tuple[int, int]],
    settings: Settings,
    target: Location,
    out: Location,
) -> dict[str, Any]:
    """The page and ``locality.json``; gives what the latter holds."""
    window_us = window_of(spans, settings)
    result = collect_result(excerpts, settings.prices, spans, window_us, racks_file=settings.racks_file, out=str(out))
    (target / RESULT).write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (target / PAGE).write_text(report(result), encoding="utf-8")
    return result
