"""Record batches beside kafka-python's and aiokafka's: reading, building, and what a broker does without reading them.

``python -m tests.bench.records`` prints this table alone. aiokafka's readers and builders are compiled from Cython.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from protocol.records import CompressionCodec, Record, assign_offsets, build_batch, iter_batches, iter_records, validate
from tests.bench.measure import machine, side_by_side

COUNT = 1_000
RECORDS = [
    Record(place, 1_700_000_000_000 + place, b"user-%d" % (place % 50), b"order %d " % place * 10)
    for place in range(COUNT)
]
Row = tuple[str, str, list[float]]


def rows() -> Iterable[Row]:
    """What is measured, its unit, and the medians of ours, kafka-python and aiokafka in that unit."""
    for magic, codec in (
        (2, CompressionCodec.NONE),
        (2, CompressionCodec.LZ4),
        (2, CompressionCodec.ZSTD),
        (1, CompressionCodec.NONE),
        (1, CompressionCodec.GZIP),
    ):
        data = build_batch(RECORDS, magic=magic, codec=codec)
        name = f"magic {magic}, {codec.name.lower()}"
        times = side_by_side([lambda data=data: drain(iter_records(data)), *readers(data)])
        yield f"read {name}", "ns a record", [time / COUNT * 1e9 for time in times]
        times = side_by_side(
            [lambda magic=magic, codec=codec: build_batch(RECORDS, magic=magic, codec=codec), *builders(magic, codec)]
        )
        yield f"build {name}", "ns a record", [time / COUNT * 1e9 for time in times]
    for count in (1, 150, 10_000):
        data = build_batch((RECORDS * 10)[:1] + [Record(value=b"v" * 100)] * (count - 1))
        calls = [
            lambda data=data: list(iter_batches(data)),
            lambda data=data: validate(data, min_magic=2, one_batch=True),
            lambda data=data: assign_offsets(data, 1_000_000, 7),
        ]
        for name, time in zip(("header of", "check", "give offsets to"), side_by_side(calls), strict=True):
            yield f"{name} a batch of {len(data):,} bytes", "ns", [time * 1e9]


def readers(data: bytes) -> list[Callable[[], Any]]:
    from aiokafka.record.memory_records import MemoryRecords as Aiokafka
    from kafka.record.memory_records import MemoryRecords as KafkaPython

    def read(kind: Any) -> None:
        batches = kind(data)
        while batches.has_next():
            batch = batches.next_batch()
            batch.validate_crc()
            drain(batch)

    return [lambda: read(KafkaPython), lambda: read(Aiokafka)]


def builders(magic: int, codec: CompressionCodec) -> list[Callable[[], Any]]:
    import aiokafka.record.default_records
    import aiokafka.record.legacy_records
    import kafka.record.default_records
    import kafka.record.legacy_records

    def build(client: Any) -> None:
        if magic == 2:
            builder = client.record.default_records.DefaultRecordBatchBuilder(2, int(codec), False, -1, -1, -1, 1 << 24)
        else:
            builder = client.record.legacy_records.LegacyRecordBatchBuilder(magic, int(codec), 1 << 24)
        more = {"headers": []} if magic == 2 else {}
        for record in RECORDS:
            builder.append(record.offset, timestamp=record.timestamp, key=record.key, value=record.value, **more)
        builder.build()

    return [lambda: build(kafka), lambda: build(aiokafka)]


def drain(items: Iterable[Any]) -> None:
    """Run through all."""
    for _ in items:
        pass


def main() -> None:
    """Print the table."""
    print(machine())
    print(f"{'':<46}{'unit':<14}{'ours':>10}{'kafka-python':>14}{'aiokafka':>10}")
    for name, unit, (ours, *theirs) in rows():
        print(
            f"{name:<46}{unit:<14}{ours:>10,.0f}"
            + "".join(f"{time:>{width},.0f}" for time, width in zip(theirs, (14, 10), strict=False))
        )


if __name__ == "__main__":
    main()
