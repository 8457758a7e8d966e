"""Several tables in one pass: a DataFrame with rows of all tables, and Spark's own writers for each.

A row of the union has its table's name in ``table``, and its values in the column of that name, a struct; the columns
of other tables are null.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafka_rack.wire_tables.arrow import SCHEMA_KEY, TYPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Schemas = Mapping[str, pa.Schema]
PARQUET, DELTA, ICEBERG = "parquet", "delta", "iceberg"
FORMATS = (PARQUET, DELTA, ICEBERG)
MAX_ROWS = 10_000
SETTINGS = {
    PARQUET: {},
    DELTA: {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    ICEBERG: {"spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"},
}
"""The settings of a session for a format, besides the format's package."""
PACKAGES = {
    DELTA: "io.delta:delta-spark_2.13:4.0.0",
    ICEBERG: "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
}
"""The same for Spark 4.0."""


UNKNOWN = ("DATA_SOURCE_NOT_FOUND", "ClassNotFound", "Cannot find catalog plugin")
"""Parts of Spark's message if a format's package is missing."""


class FormatMissing(Exception):
    """Spark does not know a format; the text names its package."""


def schema_of(columns: str) -> pa.Schema:
    """A table's columns from Spark's schema text.

    >>> schema_of("broker int, racks array<string>").names
    ['broker', 'racks']
    """
    named = (column.split(" ") for column in columns.split(", "))
    return pa.schema([(name, TYPES[kind]) for name, kind in named], metadata={SCHEMA_KEY: b"1"})


def union_schema(schemas: Schemas) -> pa.Schema:
    """The columns of a union."""
    return pa.schema([("table", pa.string()), *((name, pa.struct(list(schema))) for name, schema in schemas.items())])


def union_batches(table: str, rows: pa.RecordBatch, schemas: Schemas) -> Iterator[pa.RecordBatch]:
    """Rows of one table as those of a union, in batches of a bounded size."""
    schema = union_schema(schemas)
    for start in range(0, rows.num_rows, MAX_ROWS):
        some = rows.slice(start, MAX_ROWS)
        columns = [
            pa.StructArray.from_arrays(some.columns, fields=list(some.schema))
            if field.name == table
            else pa.nulls(some.num_rows, field.type)
            for field in list(schema)[1:]
        ]
        yield pa.RecordBatch.from_arrays([pa.array([table] * some.num_rows), *columns], schema=schema)


def ddl_of(schema: pa.Schema) -> str:
    """A schema as Spark's schema text."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in from_arrow_schema(schema))


def rows_of(rows: DataFrame, table: str) -> DataFrame:
    """The rows of one table of a union."""
    from pyspark.sql import functions as sql

    return rows.where(sql.col("table") == table).select(f"`{table}`.*")


def place_for_spark(given: str) -> str:
    """A local path as a URL for Spark; URLs stay."""
    return given if "://" in given else f"file://{Path(given).absolute()}"


def write_table(rows: DataFrame, out: str, table: str, kind: str = PARQUET, partitions: Sequence[str] = ()) -> None:
    """Write a table below ``out``; replaces an existing one, or its partitions that have new rows.

    It writes one file per partition, or several for a large one.

    Raises: FormatMissing: the session does not know the format.
    """
    spark = rows.sparkSession
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    place = f"{place_for_spark(out)}/{table}"
    if partitions:
        rows = rows.hint("rebalance", *partitions)
    else:
        rows = rows.coalesce(1)
    try:
        if kind == ICEBERG:
            write_iceberg(spark, rows, place, partitions)
            return
        writer = rows.write.format(kind).mode("overwrite")
        if partitions:
            writer = writer.option("partitionOverwriteMode", "dynamic").partitionBy(*partitions)
        writer.save(place)
    except Exception as error:
        if kind in PACKAGES and any(sign in str(error) for sign in UNKNOWN):
            missing = f"Spark does not know {kind}: add --spark-conf spark.jars.packages={PACKAGES[kind]}"
            raise FormatMissing(missing) from None
        raise


def write_iceberg(spark: SparkSession, rows: DataFrame, place: str, partitions: Iterable[str]) -> None:
    """The same for an Iceberg table, in a file catalog whose only namespace is the folder."""
    from pyspark.sql import functions as sql

    folder, _, table = place.rpartition("/")
    warehouse, _, namespace = folder.rpartition("/")
    catalog = f"kafka_rack_{hashlib.blake2b(warehouse.encode(), digest_size=6).hexdigest()}"
    name = f"{catalog}.`{namespace}`.`{table}`"
    spark.conf.set(f"spark.sql.catalog.{catalog}", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"spark.sql.catalog.{catalog}.type", "hadoop")
    spark.conf.set(f"spark.sql.catalog.{catalog}.warehouse", warehouse)
    spark.conf.set(f"spark.sql.catalog.{catalog}.cache-enabled", "false")
    writer = rows.writeTo(name)
    if spark.catalog.tableExists(name):
        writer.overwritePartitions()
    else:
        writer.using(ICEBERG).partitionedBy(*map(sql.col, partitions)).create()


def small_table(spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> DataFrame:
    """Rows of the driver as a DataFrame."""
    return spark.createDataFrame(pa.Table.from_pylist([*rows], schema=schema))


def read_text(spark: SparkSession, folder: str, name: str) -> str | None:
    """The text of a small file, written by ``write_text``; None if it does not exist."""
    from pyspark.errors import AnalysisException

    try:
        row = spark.read.text(f"{place_for_spark(folder.rstrip('/'))}/{name}", wholetext=True).first()
    except AnalysisException:
        return None
    return row.value if row is not None else None


def write_text(spark: SparkSession | None, out: str, name: str, text: str) -> None:
    """Write a small file below ``out``, local or in any storage that Spark reaches. Raises OSError."""
    if "://" not in out:
        Path(out, name).parent.mkdir(parents=True, exist_ok=True)
        Path(out, name).write_text(text, encoding="utf-8")
        return
    assert spark is not None
    java: Any = spark.sparkContext._jvm
    path = java.org.apache.hadoop.fs.Path(f"{out.rstrip('/')}/{name}")
    with_settings = spark._jsparkSession.sessionState().newHadoopConf()
    stream = path.getFileSystem(with_settings).create(path, True)
    stream.write(bytearray(text.encode()))
    stream.close()
