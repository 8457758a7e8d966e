"""Tables as Delta or Iceberg: Spark writes them out of what workers have decoded, one transaction a table.

They are partitioned by ``capture`` and ``day``, and by ``capture_key``, which tells two files of one capture's name
apart. What is read again replaces what was read before of the same bytes, by ``capture_key`` and ``block_start``, so
a batch that is written twice is there once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_rack.pipeline.output.writing import EVERYTHING, WrittenFile, file_key
from kafka_rack.pipeline.spark.storage_settings import known_to_spark
from kafka_rack.storage import Location
from kafka_rack.wire_tables.stored import DELTA, ICEBERG, PARQUET, PARTITIONED_BY
from kafka_rack.wire_tables.tables import SCHEMA_VERSION, TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY = "capture_key"
ADDED = (KEY, "block_start")
"""Columns beside those of docs/tables.md, in tables with ``day`` behind it."""
PART = "part-([0-9a-f]+)-([0-9]+)"
PROPERTY = "kafka_rack.schema"
"""Of a table: its schema version."""
LOG_TASKS = "spark.databricks.delta.snapshotPartitions"
SUITING = {"spark.sql.adaptive.advisoryPartitionSizeInBytes": str(512 << 20), LOG_TASKS: "2"}
"""How much goes into a file, as Spark counts rows in memory (as Parquet about a tenth of it), and how many tasks read
the log of a Delta table: its default of 50 is for logs of millions of files."""
SPARK_EXTENSIONS = "spark.sql.extensions"
EXTENSIONS = {
    DELTA: "io.delta.sql.DeltaSparkSessionExtension",
    ICEBERG: "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}
SPARK_CATALOG = "spark.sql.catalog.spark_catalog"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
PACKAGES = {
    (DELTA, "4.0"): "io.delta:delta-spark_{scala}:4.0.0",
    (DELTA, "4.1"): "io.delta:delta-spark_4.1_{scala}:4.1.0",
    (ICEBERG, "4.0"): "org.apache.iceberg:iceberg-spark-runtime-4.0_{scala}:1.10.0",
    (ICEBERG, "4.1"): "org.apache.iceberg:iceberg-spark-runtime-4.1_{scala}:1.11.0",
}
"""By format and Spark; the first of each is what tests run."""
WHERE_RELEASES_ARE = {
    DELTA: "https://docs.delta.io/releases",
    ICEBERG: "https://iceberg.apache.org/multi-engine-support",
}

Ranges = Mapping[str, tuple[int, int]]
"""By a capture file's key: from where to where it was read anew."""


class FormatMissing(Exception):
    """Spark does not know a format; the text says what brings it."""


def settings_of(kind: str, already: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a session is started with for a format, beside the package that brings it and what is set ``already``.

    >>> settings_of("iceberg", {"spark.sql.extensions": "org.example.Ours"})["spark.sql.extensions"].split(",")
    ['org.example.Ours', 'org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions']
    """
    if kind == PARQUET:
        return {}
    before = [one for one in (already or {}).get(SPARK_EXTENSIONS, "").split(",") if one]
    found = {SPARK_EXTENSIONS: ",".join([*before, *({EXTENSIONS[kind]} - {*before})])}
    if kind == DELTA and SPARK_CATALOG not in (already or {}):
        found[SPARK_CATALOG] = DELTA_CATALOG
    if kind == DELTA and LOG_TASKS not in (already or {}):
        found[LOG_TASKS] = SUITING[LOG_TASKS]
    return found


def check_format(spark: SparkSession, kind: str, *, reads: bool = False) -> None:
    """Raises FormatMissing: the session lacks what writes a format, or only ``reads`` it."""
    if kind == PARQUET:
        return
    java: Any = spark._jvm
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource(f"{EXTENSIONS[kind].replace('.', '/')}.class") is None:
        raise FormatMissing(missing(kind, spark.version, scala_of(spark)))
    if reads:
        return
    for name, value in settings_of(kind).items():
        said = spark.conf.get(name, "") or ""
        if name != LOG_TASKS and value not in said.split(",") and (name != SPARK_CATALOG or not said):
            raise FormatMissing(f"{kind} tables need {name}={value}, which this session of Spark was not started with")


def scala_of(spark: SparkSession) -> str:
    """The version of Scala that runs, as packages name it: 2.13."""
    java: Any = spark._jvm
    version: str = java.scala.util.Properties.versionNumberString()
    return ".".join(version.split(".")[:2])


def package_of(kind: str, spark: str | None = None, scala: str = "2.13") -> str | None:
    """The package of a format for a Spark, the one that is installed if not given; None where we know none.

    >>> package_of("iceberg", "4.0.1")
    'org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0'
    """
    if spark is None:
        import pyspark

        spark = pyspark.__version__
    found = PACKAGES.get((kind, ".".join(spark.split(".")[:2])))
    return None if found is None else found.format(scala=scala)


def missing(kind: str, spark: str, scala: str) -> str:
    """What is said where a format's package is not there.

    >>> missing("delta", "4.0.0", "2.13")
    'Spark does not know delta: add --packages io.delta:delta-spark_2.13:4.0.0'
    >>> missing("iceberg", "4.7.1", "2.13")
    'Spark does not know iceberg: add its package for Spark 4.7 and Scala 2.13 with --packages; https://iceberg.apache.org/multi-engine-support has them'
    """  # noqa: E501 - the text is one line
    release = ".".join(spark.split(".")[:2])
    package = package_of(kind, spark, scala)
    if package is not None:
        return f"Spark does not know {kind}: add --packages {package}"
    where = WHERE_RELEASES_ARE[kind]
    return (
        f"Spark does not know {kind}: add its package for Spark {release} and Scala {scala} with --packages;"
        f" {where} has them"
    )


def ranges_of(read: Iterable[tuple[str, int, int]], *, whole: bool) -> dict[str, tuple[int, int]]:
    """What is replaced. Blocks of one file that are read together lie side by side."""
    found: dict[str, tuple[int, int]] = {}
    for path, start, end in read:
        low, high = (0, EVERYTHING) if whole else (start, max(end, start + 1))
        before = found.get(file_key(path), (low, high))
        found[file_key(path)] = (min(low, before[0]), max(high, before[1]))
    return found


def write_tables(
    spark: SparkSession, out: Location, run: Location, kind: str, ranges: Ranges, written: Sequence[WrittenFile]
) -> None:
    """Have a run's files take the place, in all tables, of what they were read from before.

    Raises: PySparkException: a table could not be written; those before it are.
    """
    with suiting_settings(spark):
        for table in TABLES:
            staged = sorted({one.staged for one in written if one.table == table})
            is_new = make_table(spark, out, kind, table)
            if staged or not (is_new or not ranges):
                rows = decoded_rows(spark, run, table, staged)
                replace_rows(spark, rows, out, kind, table, ranges)


@contextmanager
def suiting_settings(spark: SparkSession) -> Iterator[None]:
    """Settings that suit these tables, for those that nobody has set."""
    own = {name: value for name, value in SUITING.items() if not spark.sparkContext.getConf().contains(name)}
    before = {name: spark.conf.get(name, None) for name in own}
    for name, value in own.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, found in before.items():
            if found is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, found)


def columns_of(table: str) -> str:
    """A table's columns as Spark's schema text."""
    day = ", `day` date" if "day" in PARTITIONED_BY[table] else ""
    return f"{TABLES[table].ddl}{day}, `{KEY}` string, `block_start` long"


def make_table(spark: SparkSession, out: Location, kind: str, table: str) -> bool:
    """Make a table where it is not there yet, and add columns that it does not have; gives whether it is new."""
    name = name_of(spark, out, kind, table)
    ddl = columns_of(table)
    if not is_there(spark, out, kind, table):
        partitions = ", ".join((*PARTITIONED_BY[table], KEY))
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {name} ({ddl}) USING {kind} PARTITIONED BY ({partitions}) "
            f"TBLPROPERTIES ('{PROPERTY}' = '{SCHEMA_VERSION}')"
        )
        return True
    there = set(spark.table(name).columns)
    added = [column for column in TABLES[table].columns if column.name not in there]
    if added:
        columns = ", ".join(f"`{column.name}` {column.type}" for column in added)
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{PROPERTY}' = '{SCHEMA_VERSION}')")
        spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({columns})")  # last: as long as one is missing the next run is here
    return False


def is_there(spark: SparkSession, out: Location, kind: str, table: str) -> bool:
    """Whether a table was made before."""
    if kind == DELTA:
        java: Any = spark._jvm
        return bool(java.io.delta.tables.DeltaTable.isDeltaTable(spark._jsparkSession, url_of(spark, out / table)))
    return bool(spark.catalog.tableExists(name_of(spark, out, kind, table)))


def name_of(spark: SparkSession, out: Location, kind: str, table: str) -> str:
    """A table as SQL calls it: a Delta table by its path, an Iceberg table by a catalog of the folder's parent.

    The folder is the table's namespace, as Iceberg refuses to look for a table named ``partitions`` without one.
    """
    if kind == DELTA:
        return f"delta.`{url_of(spark, out / table).replace('`', '``')}`"
    warehouse = url_of(spark, out.parent)
    catalog = f"kafka_rack_{blake2b(warehouse.encode(), digest_size=6).hexdigest()}"
    spark.conf.set(f"spark.sql.catalog.{catalog}", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"spark.sql.catalog.{catalog}.type", "hadoop")
    spark.conf.set(f"spark.sql.catalog.{catalog}.warehouse", warehouse)
    spark.conf.set(f"spark.sql.catalog.{catalog}.cache-enabled", "false")  # others write too
    return f"{catalog}.`{url_of(spark, out).rpartition('/')[2].replace('`', '``')}`.`{table}`"


def url_of(spark: SparkSession, place: Location) -> str:
    """A place as Spark calls it. Raises OSError: Spark lacks what reaches it."""
    return known_to_spark(spark, place.absolute() if isinstance(place, Path) else place)


def decoded_rows(spark: SparkSession, run: Location, table: str, staged: Sequence[str]) -> DataFrame:
    """A table's rows out of what workers wrote, with the columns of ``ADDED``; few files for each partition."""
    from pyspark.sql import functions as sql

    ddl = columns_of(table)
    if not staged:
        return spark.createDataFrame([], ddl)
    own = ddl.removesuffix(f", `{KEY}` string, `block_start` long")
    folder = url_of(spark, run)
    rows = spark.read.schema(own).option("basePath", f"{folder}/{table}")
    name = sql.col("_metadata.file_name")
    found = rows.parquet(*(f"{folder}/{path}" for path in staged)).select(
        "*",
        sql.regexp_extract(name, PART, 1).alias(KEY),
        sql.regexp_extract(name, PART, 2).cast("long").alias("block_start"),
    )
    partitions = [*PARTITIONED_BY[table], KEY]
    gathered = found.hint("rebalance", *(sql.col(column) for column in partitions))
    return gathered.sortWithinPartitions(*partitions, "block_start")


def replaced(ranges: Ranges) -> str:
    """The rows that go, as SQL.

    >>> replaced({"aa": (0, EVERYTHING), "bb": (5, 9)})
    "capture_key in ('aa') or (capture_key = 'bb' and block_start >= 5 and block_start < 9)"
    """
    whole = sorted(key for key, found in ranges.items() if found == (0, EVERYTHING))
    parts = [f"{KEY} in ({', '.join(repr(key) for key in whole)})"] if whole else []
    parts += [
        f"({KEY} = {key!r} and block_start >= {low} and block_start < {high})"
        for key, (low, high) in sorted(ranges.items())
        if (low, high) != (0, EVERYTHING)
    ]
    return " or ".join(parts) or "false"


def replace_rows(spark: SparkSession, rows: DataFrame, out: Location, kind: str, table: str, ranges: Ranges) -> None:
    """One transaction over a table: what is replaced goes, and rows come."""
    from pyspark.sql import functions as sql

    if kind == DELTA:
        writer = rows.write.format(DELTA).mode("overwrite").option("replaceWhere", replaced(ranges))
        writer.save(url_of(spark, out / table))
    else:
        rows.writeTo(name_of(spark, out, kind, table)).overwrite(sql.expr(replaced(ranges)))


def table_of(
    spark: SparkSession, folder: Location, kind: str, table: str, added: Iterable[str] = ()
) -> DataFrame | None:
    """A table of a folder with today's columns; None where it is not there. Those that an older one lacks are null.

    Args:
        added: of the columns of ``ADDED``, which tables of Parquet do not have, those that are asked for.
    """
    from pyspark.sql import functions as sql

    columns = {column.name: column.type for column in TABLES[table].columns} | {"api": "string"}
    if kind == PARQUET:
        return spark.read.schema(TABLES[table].ddl).parquet(url_of(spark, folder / table)).select(*columns)
    if not is_there(spark, folder, kind, table):
        return None
    rows = spark.read.format(kind).load(url_of(spark, folder / table))
    there = set(rows.columns)
    return rows.select(
        *(sql.col(name) if name in there else sql.lit(None).cast(of).alias(name) for name, of in columns.items()),
        *added,
    )
