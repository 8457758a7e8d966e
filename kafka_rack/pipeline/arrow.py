"""Rows as Arrow batches, in the tables' columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from kafka_rack.pipeline.rows import Row
from kafka_rack.pipeline.tables import SCHEMA_VERSION, TABLES

TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<int>": pa.list_(pa.int32()),
    "array<string>": pa.list_(pa.string()),
    "array<struct<topic:string,topic_id:string,partitions:array<int>>>": pa.list_(
        pa.struct([("topic", pa.string()), ("topic_id", pa.string()), ("partitions", pa.list_(pa.int32()))])
    ),
}
SCHEMA_KEY = b"kafka_rack.schema"


@cache
def arrow_schema(table: str, *, with_api: bool = False) -> pa.Schema:
    """A table's columns; ``with_api`` as a data source gives them, without as the files hold them."""
    fields = [pa.field(column.name, TYPES[column.type]) for column in TABLES[table].columns]
    if with_api:
        fields.append(pa.field("api", pa.string()))
    return pa.schema(fields, metadata={SCHEMA_KEY: str(SCHEMA_VERSION).encode()})


def record_batch(table: str, rows: Sequence[Row], api: str | None = None) -> pa.RecordBatch:
    """The rows of one table; ``api`` is one more column."""
    schema = arrow_schema(table, with_api=api is not None)
    values: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * len(TABLES[table].columns)
    columns = [pa.array(column, type=field.type) for column, field in zip(values, schema, strict=False)]
    if api is not None:
        columns.append(pa.array([api] * len(rows), type=pa.string()))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
