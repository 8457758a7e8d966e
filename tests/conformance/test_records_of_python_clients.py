"""kafka-python's and aiokafka's own builders and readers of records, judging ours both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from protocol.records import CompressionCodec, Record, build_batch, iter_records

kafka = pytest.importorskip("kafka.record.memory_records", reason="kafka-python is in the dev dependencies")
aiokafka = pytest.importorskip("aiokafka.record", reason="aiokafka is in the dev dependencies")

START_MS = 1_700_000_000_000
RECORDS = [
    Record(place, START_MS + place * 10, key, value)
    for place, (key, value) in enumerate(
        [(b"key", b"value"), (None, b"no key"), (b"tombstone", None), (b"", b""), (b"long", b"word and " * 30_000)]
    )
]
HEADERS: tuple[tuple[str, bytes | None], ...] = (("one", b"1"), ("", b""))
# kafka-python's snappy is a package that is not in the dev dependencies.
KAFKA_PYTHON = [CompressionCodec.NONE, CompressionCodec.GZIP, CompressionCodec.LZ4, CompressionCodec.ZSTD]
ALL = [*KAFKA_PYTHON, CompressionCodec.SNAPPY]


def written_by_us(magic: int, codec: CompressionCodec) -> bytes:
    return build_batch(with_headers(magic), magic=magic, codec=codec)


def with_headers(magic: int) -> list[Record]:
    if magic < 2:
        return RECORDS
    return [Record(record.offset, record.timestamp, record.key, record.value, HEADERS) for record in RECORDS]


def written_by_them(builder: Any, magic: int) -> bytes:
    for record in with_headers(magic):
        more = {"headers": list(record.headers)} if magic == 2 else {}
        builder.append(record.offset, timestamp=record.timestamp, key=record.key, value=record.value, **more)
    return bytes(builder.build())


def kafka_python_builder(magic: int, codec: CompressionCodec) -> Any:
    from kafka.record.default_records import DefaultRecordBatchBuilder
    from kafka.record.legacy_records import LegacyRecordBatchBuilder

    if magic < 2:
        return LegacyRecordBatchBuilder(magic, int(codec), 1 << 24)
    return DefaultRecordBatchBuilder(2, int(codec), False, -1, -1, -1, 1 << 24)


def aiokafka_builder(magic: int, codec: CompressionCodec) -> Any:
    from aiokafka.record.default_records import DefaultRecordBatchBuilder
    from aiokafka.record.legacy_records import LegacyRecordBatchBuilder

    if magic < 2:
        return LegacyRecordBatchBuilder(magic, int(codec), 1 << 24)
    return DefaultRecordBatchBuilder(2, int(codec), False, -1, -1, -1, 1 << 24)


def read_by_kafka_python(data: bytes) -> Any:
    return kafka.MemoryRecords(data)


def read_by_aiokafka(data: bytes) -> Any:
    from aiokafka.record.memory_records import MemoryRecords

    return MemoryRecords(data)


def read(reader: Any, magic: int) -> list[Record]:
    records = []
    while reader.has_next():
        for record in reader.next_batch():
            time = record.timestamp if magic else -1
            headers = tuple((key, value) for key, value in record.headers)
            records.append(Record(record.offset, time, record.key, record.value, headers))
    return records


def expected(magic: int) -> list[Record]:
    return [
        Record(record.offset, record.timestamp if magic else -1, record.key, record.value, record.headers)
        for record in with_headers(magic)
    ]


def judged(codecs: list[CompressionCodec]) -> list[Any]:
    return [
        pytest.param(magic, codec, id=f"magic{magic}-{codec.name.lower()}")
        for magic in (0, 1, 2)
        for codec in codecs
        if (magic, codec)
        != (0, CompressionCodec.LZ4)  # both refuse it, for its header checksum; Java's fixtures hold it
        if magic == 2 or codec != CompressionCodec.ZSTD
    ]


@pytest.mark.parametrize(
    ("builder", "magic", "codec"),
    [
        pytest.param(builder, *case.values, id=f"{builder.__name__.removesuffix('_builder')}-{case.id}")
        for builder, codecs in ((kafka_python_builder, KAFKA_PYTHON), (aiokafka_builder, ALL))
        for case in judged(codecs)
    ],
)
def test_what_a_client_writes_reads_the_same_here(
    builder: Callable[[int, CompressionCodec], Any], magic: int, codec: CompressionCodec
) -> None:
    records = iter_records(written_by_them(builder(magic, codec), magic))
    found = [Record(record.offset, record.timestamp, record.key, record.value, record.headers) for record in records]
    assert found == expected(magic)


@pytest.mark.parametrize(
    ("reader", "magic", "codec"),
    [
        pytest.param(reader, *case.values, id=f"{reader.__name__.removeprefix('read_by_')}-{case.id}")
        for reader, codecs in ((read_by_kafka_python, KAFKA_PYTHON), (read_by_aiokafka, ALL))
        for case in judged(codecs)
    ],
)
def test_what_we_write_reads_the_same_in_a_client(
    reader: Callable[[bytes], Any], magic: int, codec: CompressionCodec
) -> None:
    assert read(reader(written_by_us(magic, codec)), magic) == expected(magic)
