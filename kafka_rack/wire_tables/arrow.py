"""Rows as Arrow batches, in the tables' columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_rack.wire_tables.rows import NONE, ROWS, SHARED, SOURCES, Rows, SharedSet
from kafka_rack.wire_tables.tables import SCHEMA_VERSION, TABLES

TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<int>": pa.list_(pa.int32()),
    "array<string>": pa.list_(pa.string()),
    "array<struct<topic:string,topic_id:string,partitions:array<int>>>": pa.list_(
        pa.struct([("topic", pa.string()), ("topic_id", pa.string()), ("partitions", pa.list_(pa.int32()))])
    ),
}
SHARED_TYPES = {column.name: TYPES[column.type] for table in TABLES.values() for column in table.columns}
Numbers = np.ndarray[Any, np.dtype[np.int64]]
SHARED_STRING = pa.dictionary(pa.int32(), pa.string())
SCHEMA_KEY = b"kafka_rack.schema"


@cache
def arrow_schema(table: str, *, with_api: bool = False, with_dictionaries: bool = False) -> pa.Schema:
    """A table's columns; ``with_api`` as a data source gives them, without as the files hold them.

    ``with_dictionaries``: strings that many rows share are in the column's dictionary, once each.
    """
    fields = [pa.field(column.name, TYPES[column.type]) for column in TABLES[table].columns]
    shared = [source.shared is not None for source in SOURCES[table]]
    if with_api:
        fields.append(pa.field("api", pa.string()))
        shared.append(True)
    if with_dictionaries:
        fields = [
            field.with_type(SHARED_STRING) if is_shared and field.type == pa.string() else field
            for field, is_shared in zip(fields, shared, strict=True)
        ]
    return pa.schema(fields, metadata={SCHEMA_KEY: str(SCHEMA_VERSION).encode()})


def record_batch(rows: Rows, table: str, *, with_dictionaries: bool = False) -> pa.RecordBatch | None:
    """All rows of a table, API by API, with a column for it; None without any."""
    held = {api: found for api, found in rows.tables[table].items() if found}
    if not held:
        return None
    counts = [rows.count(table, api) for api in held]
    schema = arrow_schema(table, with_api=True, with_dictionaries=with_dictionaries)
    numbers = np.empty((len(ROWS[table]), sum(counts)), dtype=np.int64)  # a row for each column
    ends = np.cumsum(counts)
    for packed, count, end in zip(held.values(), counts, ends, strict=True):
        numbers[:, end - count : end] = np.frombuffer(packed, dtype=np.int64).reshape(count, -1).T
    columns = columns_of(rows, table, numbers, schema)
    apis = pa.array(np.repeat(np.arange(len(held), dtype=np.int32), counts))
    columns.append(column_in(schema.field("api").type, [pa.array(list(held)).dictionary_encode()], 0, apis))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def columns_of(rows: Rows, table: str, numbers: Numbers, schema: pa.Schema) -> list[pa.Array]:
    """The numbers of rows as Arrow's columns."""
    where = {}
    columns = []
    for source, field in zip(SOURCES[table], schema, strict=False):
        if source.shared is None:
            columns.append(column_of(numbers[source.at], field.type))
            continue
        if source.at not in where:
            where[source.at] = column_of(numbers[source.at], pa.int32())
        shared = shared_arrays(rows.shared[source.shared], source.shared)
        columns.append(column_in(field.type, shared, source.inside, where[source.at]))
    return columns


def column_in(kind: pa.DataType, shared: list[pa.Array], inside: int, where: pa.Array) -> pa.Array:
    """The values of one column of a shared set at these places, with a dictionary if the column's type has one."""
    values = shared[inside]
    if kind != SHARED_STRING:
        return (values.dictionary_decode() if values.type == SHARED_STRING else values).take(where)
    return pa.DictionaryArray.from_arrays(values.indices.take(where), values.dictionary)


def column_of(numbers: Numbers, kind: pa.DataType) -> pa.Array:
    """A column of numbers, NONE as null."""
    missing = numbers == NONE
    mask = missing if missing.any() else None
    if kind == pa.bool_():
        return pa.array(numbers.astype(np.bool_), mask=mask)
    return pa.array(numbers, mask=mask).cast(kind)


def shared_arrays(shared: SharedSet, name: str) -> list[pa.Array]:
    """The columns of a shared set, made again after new combinations."""
    values = shared.values_by_number
    if not shared.arrays or len(shared.arrays[0]) != len(values):
        kinds = [SHARED_TYPES[column] for column in SHARED[name]] if name in SHARED else [TYPES[name]]
        columns: list[Sequence[Any]] = list(zip(*values, strict=True)) if values else [()] * len(kinds)
        arrays = [pa.array(column, type=kind) for column, kind in zip(columns, kinds, strict=True)]
        shared.arrays = [one.dictionary_encode() if one.type == pa.string() else one for one in arrays]
    return shared.arrays
