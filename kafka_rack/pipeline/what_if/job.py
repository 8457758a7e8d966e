"""The job ``what-if``: Spark adds up the rows of decoded tables; what they come to is small, and the driver asks it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_rack.locality.prices import Prices
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.pipeline.decode import job as decode_job
from kafka_rack.pipeline.output import formats
from kafka_rack.pipeline.output.formats import check_format
from kafka_rack.pipeline.output.staging import staged
from kafka_rack.pipeline.spark.progress import UNCOUNTED, ProgressCounter, step
from kafka_rack.pipeline.spark.storage_settings import reached
from kafka_rack.storage import Location, RemotePath, location
from kafka_rack.what_if import Comparison, WhatIfChange, Workload, compare
from kafka_rack.what_if.gathering import BROKERS, FETCHED, MEMBERSHIPS, PARTITIONS, PRODUCED, SUMS, Gathering
from kafka_rack.what_if.reading import PORT, Nothing
from kafka_rack.wire_tables.stored import format_of, is_stored

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JSON_NAME = "what-if.json"
FILES = (JSON_NAME,)
DECODED = "decoded"
READ = ("produces", "fetches", "partitions", "memberships", "brokers")
"""Tables that are read."""
TIMED = READ[:-1]
"""Those whose rows tell when traffic began and ended."""


def what_if(
    spark: SparkSession,
    inputs: Sequence[str],
    out: str | Path | RemotePath,
    change: WhatIfChange,
    prices: Prices | None = None,
    rules: RackRules | None = None,
    *,
    tasks: int | None = None,
    source_options: dict[str, str] | None = None,
) -> Comparison:
    """Before and after, of captures or of folders of decoded tables; ``what-if.json`` below ``out`` has all of it.

    Raises: FileNotFoundError: an input that is not there. SchemaMismatch: tables of a later version.
        FormatMissing. Nothing. NotOurs.
    """
    target = reached(spark, out)
    folders = [location(given).resolve() for given in inputs if is_stored(location(given))]
    captures = [given for given in inputs if not is_stored(location(given))]
    for one in folders:
        check_format(spark, format_of(one), reads=True)
    with staged(target, FILES) as folder:
        if captures:
            decoded = folder.resolve() / DECODED
            decode_job.decode(spark, captures, decoded, partitions=tasks, source_options=source_options)
            folders.append(decoded)
        with step(spark, "adding up", tables=len(READ)) as counter:
            workload = workload_of(spark, folders, rules, counter)
        with step(spark, "working out before and after"):
            compared = compare(workload, change, prices)
        (folder / JSON_NAME).write_text(
            json.dumps(compared.as_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return compared


def workload_of(
    spark: SparkSession,
    folders: Sequence[Location],
    rules: RackRules | None = None,
    counter: ProgressCounter = UNCOUNTED,
) -> Workload:
    """What decoded tables come to. Raises Nothing."""
    from pyspark.sql import functions as f

    gathering = Gathering(rules)
    tables = {name: table_of(spark, folders, name) for name in READ}
    times = [rows.select(micros().alias("ts")) for name in TIMED if (rows := tables[name]) is not None]
    if times:
        all_times = reduce(lambda one, other: one.union(other), times)
        ((first, last),) = all_times.agg(f.min("ts"), f.max("ts")).collect()
        if first is not None:
            gathering.span(first, last)
    if (produces := tables["produces"]) is not None:
        gathering.produced(listed(alike(produces, PRODUCED)))
    counter.add(tables=1)
    if (fetches := tables["fetches"]) is not None:
        gathering.fetched(listed(alike(fetches, FETCHED)))
    counter.add(tables=1)
    if (brokers := tables["brokers"]) is not None:
        gathering.brokers(listed(brokers.select(*BROKERS).distinct()))
    counter.add(tables=1)
    if (partitions := tables["partitions"]) is not None:
        right = partitions.where("error_code = 0 and partition is not null")
        gathering.partitions(listed(right.groupBy(*PARTITIONS).agg(f.max(micros()).alias("ts"))))
    counter.add(tables=1)
    if (memberships := tables["memberships"]) is not None:
        old = "(event = 'heartbeat' and topics is null) or (event = 'answered' and assignment is null)"
        telling = with_host(memberships.where(f"not ({old})")).withColumn("ts", micros())
        gathering.memberships(listed(telling.select(*MEMBERSHIPS)))
    counter.add(tables=1)
    workload = gathering.finish()
    if not (workload.produced or workload.consumed or workload.topics):
        raise Nothing("no frame of clients that write or read")
    return workload


def table_of(spark: SparkSession, folders: Sequence[Location], name: str) -> DataFrame | None:
    """A table of all folders; None where none has rows of it."""
    found = [folder for folder in folders if has_rows(folder / name)]
    tables = [formats.table_of(spark, folder, format_of(folder), name) for folder in found]
    frames = [rows for rows in tables if rows is not None]
    return reduce(lambda one, other: one.unionByName(other), frames) if frames else None


def has_rows(table: Location) -> bool:
    """Whether a table has any file, at whatever depth."""
    if isinstance(table, RemotePath):
        return any(file.path.suffix == ".parquet" for file in table.files())
    return any(table.rglob("*.parquet"))


def micros() -> Any:
    from pyspark.sql import functions as f

    return f.unix_micros("ts")


def with_host(rows: DataFrame) -> DataFrame:
    """With the client's address without port."""
    from pyspark.sql import functions as f

    bare = f.regexp_replace("client_addr", PORT, "")
    return rows.withColumn("client_host", f.regexp_replace(bare, r"^\[|\]$", ""))


def alike(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The sums of rows with the same in some columns."""
    from pyspark.sql import functions as f

    return with_host(rows).groupBy(*columns).agg(*(f.sum(name).alias(name) for name in SUMS))


def listed(rows: DataFrame) -> Iterator[dict[str, Any]]:
    for row in rows.toLocalIterator():
        yield row.asDict(recursive=True)
