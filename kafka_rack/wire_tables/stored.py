"""Decoded tables in a folder: which file holds what, and its rows.

``schema.json`` in the folder says the version and the format. Parquet files lie

    TABLE/capture=NAME/day=2026-11-23/part-KEY-START.parquet

KEY is of the capture file's path, START where the block begins in it. ``problems`` have no time, and so no day. What
a folder's name holds is no column of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kafka_rack.storage import Location, matching
from kafka_rack.wire_tables.tables import SCHEMA_VERSION, TABLES

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_FILE = "schema.json"
PARQUET, DELTA, ICEBERG = "parquet", "delta", "iceberg"
FORMATS = (PARQUET, DELTA, ICEBERG)
CAPTURE_KEY = b"kafka_rack.capture"
"""In a file's metadata: the capture by its whole name."""
PARTITIONED_BY = {name: ("capture", "day") if "ts" in table.names else ("capture",) for name, table in TABLES.items()}
NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What a folder is called for a value that is null."""
EMPTY_FILE = "empty.parquet"
"""The file that a table has for its columns' sake: it has no rows and is of no capture."""
DAY_US = 86_400_000_000
FIRST_DAY = date(1970, 1, 1)
MIN_DAY, MAX_DAY = (date.min - FIRST_DAY).days, (date.max - FIRST_DAY).days
PART = re.compile(r"part-(?P<key>[0-9a-f]+)-(?P<start>[0-9]+)")
TO_ESCAPE = re.compile(r"[\x00-\x1f\"#%'*/:=?\\\x7f{}\[\]^]")
LIKE_A_NUMBER = re.compile(r"(?=.*[0-9])[-+0-9.xXpPa-fA-FTZ: ]+|NaN|-?Infinity")
ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
MAX_NAME_BYTES = 240
"""File systems take 255; the column's name stands before."""


class SchemaMismatch(Exception):
    """A folder holds tables of a version or format that is not expected; the text says which."""


class StoredTables(msgspec.Struct):
    """What ``schema.json`` says."""

    schema_version: int
    format: str = PARQUET


class StoredFile(NamedTuple):
    """A Parquet file of a table: its capture's key, its block's begin, and the columns that its folders' names hold."""

    path: Location
    key: str
    start: int
    named: dict[str, str | None]


def stored_tables(folder: Location) -> StoredTables | None:
    """What tables a folder holds; None where it holds none.

    Raises: SchemaMismatch: of a version that is not read here, or nothing says which.
    """
    told = folder / SCHEMA_FILE
    if not told.is_file():
        return None
    try:
        found = msgspec.json.decode(told.read_bytes(), type=StoredTables)
    except msgspec.MsgspecError:
        raise SchemaMismatch(f"{told} does not say which version the tables beside it are of") from None
    if found.schema_version != SCHEMA_VERSION or found.format not in FORMATS:
        raise SchemaMismatch(
            f"{folder} holds {found.format} tables of schema version {found.schema_version}, but this reads "
            f"{SCHEMA_VERSION}"
        )
    return found


def format_of(folder: Location) -> str:
    """The format of a folder's tables. Raises SchemaMismatch."""
    told = stored_tables(folder)
    return PARQUET if told is None else told.format


def is_stored(folder: Location) -> bool:
    """Whether a folder holds decoded tables. Raises SchemaMismatch."""
    if stored_tables(folder) is None:
        return False
    if not (folder / "frames").is_dir():
        raise SchemaMismatch(f"{folder} has a {SCHEMA_FILE}, but no table frames beside it; decode into it again")
    return True


def stored_files(folder: Location, table: str, captures: Iterable[str] | None = None) -> list[StoredFile]:
    """The files of a table, in order; those of some captures only, where they are named."""
    wanted = ["capture=*"] if captures is None else sorted({partition("capture", name) for name in captures})
    inner = "/day=*" if "day" in PARTITIONED_BY[table] else ""
    found = [
        path
        for one in wanted
        for path in matching(folder / table, f"{one}{inner}/*.parquet")
        if path.name[:1] not in "._"
    ]
    return [stored_file(path, len(PARTITIONED_BY[table])) for path in sorted(found, key=str)]


def stored_file(path: Location, folders: int) -> StoredFile:
    """A file by its path, below as many folders at the most whose names hold columns."""
    named: dict[str, str | None] = {}
    parent = path.parent
    for _ in range(folders):
        column, equals, value = parent.name.partition("=")
        if equals:
            named[column] = None if value == NOTHING else ESCAPE.sub(lambda one: chr(int(one[1], 16)), value)
        parent = parent.parent
    match = PART.match(path.name)
    return StoredFile(path, match["key"] if match else path.name, int(match["start"]) if match else 0, named)


def partition(column: str, value: str | None) -> str:
    """A folder's name that holds a column's value, escaped as Hive's and Spark's are.

    A capture whose name Spark would take for a number or a day keeps its text by one more escape.

    >>> partition("capture", "kcat"), partition("capture", "a=b"), partition("capture", "007"), partition("day", None)
    ('capture=kcat', 'capture=a%3Db', 'capture=%3007', 'day=__HIVE_DEFAULT_PARTITION__')
    """
    if value is None or not value:
        return f"{column}={NOTHING}"
    found = TO_ESCAPE.sub(lambda one: f"%{ord(one[0]):02X}", value)
    if column != "day" and LIKE_A_NUMBER.fullmatch(value):
        found = f"%{ord(value[0]):02X}{found[1:]}"  # no such name begins with what is escaped already
    if len(found.encode(errors="surrogateescape")) > MAX_NAME_BYTES:
        digest = blake2b(value.encode(errors="surrogateescape"), digest_size=8).hexdigest()
        found = f"{TO_ESCAPE.sub('_', value[:40])}~{digest}"
    return f"{column}={found}"


def day_name(number: int) -> str | None:
    """The day so many days after 1970-01-01; None for one that no calendar has.

    >>> day_name(20_780), day_name(1 << 40)
    ('2026-11-23', None)
    """
    return (FIRST_DAY + timedelta(number)).isoformat() if MIN_DAY <= number <= MAX_DAY else None


def read_file(file: StoredFile, table: str, columns: Sequence[str]) -> pa.Table:
    """Some columns of a file, ``api`` too where it is asked for."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from kafka_rack.wire_tables.arrow import arrow_schema

    whole = arrow_schema(table, with_api=True)
    wanted = pa.schema([whole.field(name) for name in columns])
    with (
        file.path.open("rb") as opened,
        pq.ParquetFile(opened) as parquet,
    ):
        there = frozenset(parquet.schema_arrow.names)
        rows = parquet.read(columns=[name for name in columns if name in there], use_threads=False)
        metadata = parquet.schema_arrow.metadata or {}
        count = parquet.metadata.num_rows
    named = dict(file.named)
    if CAPTURE_KEY in metadata:
        named["capture"] = metadata[CAPTURE_KEY].decode()
    found = [
        rows[field.name].cast(field.type)
        if field.name in there
        else pa.repeat(pa.scalar(named.get(field.name), field.type), count)
        for field in wanted
    ]
    return pa.Table.from_arrays(found, schema=wanted)


def read_stored(folder: Location, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """A table of a folder of Parquet files, with ``api`` last. Raises SchemaMismatch: not of that format."""
    import pyarrow as pa

    from kafka_rack.wire_tables.arrow import arrow_schema

    told = stored_tables(folder)
    if told is not None and told.format != PARQUET:
        raise SchemaMismatch(f"{folder} holds {told.format} tables, which only Spark reads")
    chosen = [*TABLES[table].names, "api"] if columns is None else [*columns]
    whole = arrow_schema(table, with_api=True)
    empty = pa.schema([whole.field(name) for name in chosen], metadata=whole.metadata).empty_table()
    found: Iterator[pa.Table] = (read_file(file, table, chosen) for file in stored_files(folder, table))
    return pa.concat_tables([empty, *(rows.replace_schema_metadata(whole.metadata) for rows in found)])


def note_of(kind: str = PARQUET) -> bytes:
    """The content of ``schema.json``."""
    return msgspec.json.encode(StoredTables(SCHEMA_VERSION, kind)) + b"\n"
