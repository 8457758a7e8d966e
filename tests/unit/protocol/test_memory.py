"""What reading may cost: in proportion to what comes in, and next to nothing where the bytes only claim much."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from functools import partial

import pytest

import protocol
from protocol.apis.fetch import FetchResponse
from protocol.apis.metadata import MetadataResponse
from protocol.codec import codec
from protocol.explain import explain
from protocol.fuzz import huge_lengths
from tests.families import EACH_FAMILY, chosen
from tests.fixture_data import golden_vectors

HOSTILE_BYTES = 100
MAX_FOR_HOSTILE = 64 * 1024
MAX_TIMES = 8


def allocated(read) -> int:
    """The most bytes that were held at once while ``read()`` ran."""
    tracemalloc.start()
    try:
        kept = read()
        del kept
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def metadata_of_2_mb() -> tuple[MetadataResponse, int]:
    topic, partition = MetadataResponse.Topic, MetadataResponse.Topic.Partition
    topics = [
        topic(
            name=f"orders-{number}",
            topic_id=number.to_bytes(16, "big"),
            partitions=[
                partition(
                    partition_index=index,
                    leader_id=index % 6,
                    leader_epoch=number,
                    replica_nodes=[index % 6, (index + 1) % 6, (index + 2) % 6],
                    isr_nodes=[index % 6, (index + 1) % 6, (index + 2) % 6],
                )
                for index in range(100)
            ],
        )
        for number in range(500)
    ]
    return MetadataResponse(topics=topics), 12


def fetch_of_10_mb() -> tuple[FetchResponse, int]:
    topic, partition = FetchResponse.Topic, FetchResponse.Topic.Partition
    return FetchResponse(
        responses=[
            topic(
                topic="orders",
                partitions=[partition(partition_index=index, records=bytes(10_000)) for index in range(1_050)],
            )
        ]
    ), 12


@pytest.mark.parametrize("made", [metadata_of_2_mb, fetch_of_10_mb])
def test_reading_megabytes_takes_at_most_eight_times_as_much(made):
    message, version = made()
    data = protocol.encode(message, version)
    assert len(data) > 2_000_000
    prepared = codec(type(message), version)
    prepared.decode(protocol.encode(type(message)(), version))  # compiles
    del message
    assert allocated(lambda: prepared.decode(data)) <= MAX_TIMES * len(data)


@EACH_FAMILY
def test_a_hostile_message_of_100_bytes_takes_at_most_64_kb(family):
    for message in chosen(family):
        for version in sorted({message.valid_versions.lowest, message.valid_versions.highest}):
            prepared = codec(message, version)
            for data in hostile(message, version):
                refused_or_read(prepared, data)  # compiles, and makes what errors need
                taken = allocated(partial(refused_or_read, prepared, data))
                assert taken <= MAX_FOR_HOSTILE, (message.name, version, data.hex())


def hostile(message, version) -> Iterator[bytes]:
    """Bytes that claim much: one value throughout, lengths beyond the end, counts of as many items as bytes remain."""
    for filling in (0, 1, 2, 0x40, 0x63, 0x7F, 0x80, 0xFF):
        yield bytes([filling]) * HOSTILE_BYTES
    for vector in golden_vectors(message.name):
        if vector.version != version:
            continue
        yield from (one[:HOSTILE_BYTES] for one in huge_lengths(message, version, vector.body))
        for span in explain(message, version, vector.body).spans:
            size = len(span.data)
            left = HOSTILE_BYTES - span.offset - size
            if span.is_length and left > 0:
                for filling in (b"\0", b"\1"):
                    yield vector.body[: span.offset] + left.to_bytes(size, "big") + filling * left


def refused_or_read(prepared, data) -> object:
    try:
        return prepared.decode(data)
    except protocol.DecodeError as error:
        return str(error)
