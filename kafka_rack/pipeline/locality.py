"""The job ``locality``: decoded tables, or captures, to bytes and money by rack, with what was avoidable.

A run reads the tables once, sums what is alike, judges the sums, and makes every other table from those. All results
are written beside what is there and put in its place at the end, so readers see one run or the other.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from kafka_rack.locality.prices import Prices
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.pipeline import job, locality_facts
from kafka_rack.pipeline.locality_html import report
from kafka_rack.pipeline.locality_result import SPLIT, Top, collect_result
from kafka_rack.pipeline.locality_verdicts import ADDED, COLUMNS, COUNTS, KEYS, VERDICTS_DDL, Judge
from kafka_rack.pipeline.tables import SCHEMA_VERSION
from kafka_rack.pipeline.writing import SCHEMA_FILE, SchemaMismatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

RESULT, PAGE, TABLES = "locality.json", "locality.html", "locality"
DECODED = "decoded"
"""Below the results, where a stream keeps its decoded tables."""
LOCALITIES = ("local", "cross", "unknown")
GROUPINGS: dict[str, tuple[str, ...]] = {
    "rack_pairs": ("client_rack", "broker_rack", "category", "locality"),
    "topics": ("topic", "category"),
    "clients": ("client_id", "client_host", "client_rack", "category"),
    "groups": ("group_id", "topic"),
    "apis": ("api", "category"),
    "windows": ("window_start", "category"),
    "reasons": ("reason", "detail", "locality"),
}
"""Table -> the columns that it sums by; bytes by locality beside the sums of ``COUNTS``."""


class Settings:
    """What a run is asked for. ``window_us`` None: one that cuts the span into some sixty."""

    def __init__(
        self,
        prices: Prices | None = None,
        rules: RackRules | None = None,
        window_us: int | None = None,
        *,
        top: int = Top.ROWS,
        racks_file: str | None = None,
    ) -> None:
        self.prices = prices or Prices()
        self.rules, self.window_us, self.top, self.racks_file = rules, window_us, top, racks_file


def is_decoded(path: Path) -> bool:
    """Whether a folder holds decoded tables.

    Raises: SchemaMismatch: of another version.
    """
    told = path / SCHEMA_FILE
    if not told.is_file():
        return False
    try:
        found = json.loads(told.read_bytes())
        version = found.get("schema_version")
    except (ValueError, AttributeError):
        raise SchemaMismatch(f"{told} does not say which version the tables beside it are of") from None
    if version != SCHEMA_VERSION:
        raise SchemaMismatch(f"{path} holds tables of schema version {version}, but this reads {SCHEMA_VERSION}")
    if not (path / "frames").is_dir():
        raise SchemaMismatch(f"{path} has a {SCHEMA_FILE}, but no table frames beside it; decode into it again")
    return True


def measure(
    spark: SparkSession,
    inputs: Sequence[str],
    out: Path,
    settings: Settings,
    *,
    partitions: int | None = None,
    source_options: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Captures, and folders of decoded tables, to results below ``out``.

    Returns: what ``locality.json`` holds.

    Raises: FileNotFoundError: an input that is not there. SchemaMismatch: tables of another version. NothingToMeasure.
    """
    folders = [Path(given).resolve() for given in inputs if is_decoded(Path(given))]
    captures = [given for given in inputs if not is_decoded(Path(given))]
    out.mkdir(parents=True, exist_ok=True)
    with Run(out) as run:
        if captures:
            decoded = run.folder / DECODED
            job.decode(spark, captures, decoded, partitions=partitions, source_options=source_options)
            folders.append(decoded.resolve())
        result = results(spark, folders, run.folder, settings, out)
        run.put_in_place()
    return result


def follow(
    spark: SparkSession,
    inputs: Sequence[str],
    out: Path,
    checkpoint: Path,
    settings: Settings,
    *,
    source_options: dict[str, str] | None = None,
    available_now: bool = False,
    every: str = "5 seconds",
    on_result: Callable[[int, dict[str, Any]], None] | None = None,
) -> StreamingQuery:
    """The same over growing folders: each micro-batch decodes what is new and sums up all that there is.

    A stream that starts again writes the batch that it was in once more, in its own place, so results are always those
    of a batch over the same files. They are also made anew at the start, since prices may have changed meanwhile.
    """
    decoded = out / DECODED

    def sum_up(batch: int, _: object = None) -> None:
        with Run(out) as run:
            try:
                result = results(spark, [decoded.resolve()], run.folder, settings, out)
            except NothingToMeasure:
                return
            run.put_in_place()
        if on_result is not None:
            on_result(batch, result)

    out.mkdir(parents=True, exist_ok=True)
    if (decoded / "frames").is_dir() and is_decoded(decoded):
        sum_up(-1)
    return job.decode_stream(
        spark,
        inputs,
        decoded,
        checkpoint,
        source_options=source_options,
        available_now=available_now,
        every=every,
        on_batch=sum_up,
    )


class NothingToMeasure(Exception):
    """No input has a frame."""


def results(
    spark: SparkSession, folders: Sequence[Path], target: Path, settings: Settings, out: Path
) -> dict[str, Any]:
    """Every result of some decoded tables, below ``target``."""
    from kafka_rack.locality.amounts import window_for

    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")  # not the INT96 that others dropped
    tables = locality_facts.load(spark, folders)
    spans = captured(tables["frames"])
    if not spans:
        raise NothingToMeasure("no frame in any input: is it a capture of Kafka's wire?")
    span_us = max(last for _, last in spans.values()) - min(first for first, _ in spans.values())
    window_us = settings.window_us or window_for(span_us)
    judged = locality_facts.facts(tables, window_us).mapInArrow(Judge(settings.prices, settings.rules), VERDICTS_DDL)
    where = target / TABLES
    summed(judged, list(KEYS)).select(*COLUMNS).write.parquet(str(where / "traffic"))
    write_groupings(spark.read.schema(VERDICTS_DDL).parquet(str(where / "traffic")), where)
    found = collect_result(where, settings.prices, spans, window_us, settings.top)
    result = {"schema": 1, "out": str(out), "racks_file": settings.racks_file, **found}
    (target / RESULT).write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (target / PAGE).write_text(report(result), encoding="utf-8")
    return result


def captured(frames: DataFrame) -> dict[str, tuple[int, int]]:
    """Capture -> first and last moment, microseconds since 1970."""
    from pyspark.sql import functions as f

    ts = f.unix_micros("ts")
    rows = frames.groupBy("capture").agg(f.min(ts).alias("first"), f.max(ts).alias("last")).orderBy("capture").collect()
    return {row["capture"]: (row["first"], row["last"]) for row in rows}


def summed(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    from pyspark.sql import functions as f

    return rows.groupBy(*columns).agg(*[f.sum(name).cast(kind[0]).alias(name) for name, kind in COUNTS.items()])


def write_groupings(traffic: DataFrame, where: Path) -> None:
    """Every table of ``GROUPINGS``, all in one job; in each, the largest crossers first.

    With the sums come the bytes that stayed, crossed, or nobody knows.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from pyspark.sql import functions as f

    columns = sorted({column for grouping in GROUPINGS.values() for column in grouping})
    split = [
        f.sum(f.when(f.col("locality") == name, f.col("bytes")).otherwise(0)).alias(f"{name}_bytes")
        for name in LOCALITIES
    ]
    sums = [f.sum(name).cast(kind[0]).alias(name) for name, kind in COUNTS.items()]
    sets = [[*grouping] for grouping in GROUPINGS.values()]
    found: pa.Table = (
        traffic.groupingSets(sets, *columns).agg(f.grouping_id().alias("grouping"), *sums, *split).toArrow()
    )
    for name, grouping in GROUPINGS.items():
        absent = sum(1 << at for at, column in enumerate(reversed(columns)) if column not in grouping)
        own = found.filter(pc.equal(found["grouping"], absent)).select([*grouping, *COUNTS, *SPLIT])
        largest = [(column, "descending") for column in ("cross_bytes", "unknown_bytes", "bytes")]
        own = own.sort_by([*largest, *((column, "ascending") for column in grouping)])
        (where / name).mkdir()
        pq.write_table(own, where / name / "part-0.parquet")


class Run:
    """A folder beside the results that takes their place at the end, or goes."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out / f".locality-{uuid4().hex}"

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def put_in_place(self) -> None:
        """The tables, the page, then the JSON, by which a program sees that all is there."""
        with suppress(FileNotFoundError):
            (self.out / TABLES).rename(self.folder / "before")
        (self.folder / TABLES).rename(self.out / TABLES)
        (self.folder / PAGE).replace(self.out / PAGE)
        (self.folder / RESULT).replace(self.out / RESULT)


__all__ = ["ADDED", "GROUPINGS", "NothingToMeasure", "Settings", "follow", "is_decoded", "measure"]
