"""Rows of the tables as messages of Kafka and back, for Spark's own Kafka sink and source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_rack.wire_tables.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

JSON_OPTIONS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""Microseconds; Spark would keep milliseconds only."""


def as_messages(rows: DataFrame, table: str) -> DataFrame:
    """A table's rows as ``key`` and ``value`` for ``format("kafka")``: the capture, and all columns as JSON.

    Args:
        rows: of a batch or a stream, with all columns of the table and ``api``; others are left out.
        table: its name, as ``fetches``.

    Raises KeyError: no such table.
    """
    from pyspark.sql.functions import col, struct, to_json

    columns = map(col, [*TABLES[table].names, "api"])
    return rows.select(col("capture").alias("key"), to_json(struct(*columns), {**JSON_OPTIONS}).alias("value"))


def from_messages(messages: DataFrame, table: str) -> DataFrame:
    """The rows again, out of what ``format("kafka")`` reads. A message that is no row gives one of nulls.

    Raises KeyError: no such table.
    """
    from pyspark.sql.functions import col, from_json

    row = from_json(col("value").cast("string"), TABLES[table].ddl, {**JSON_OPTIONS})
    return messages.select(row.alias("row")).select("row.*")
