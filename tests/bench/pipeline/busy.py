"""Packets of a busy cluster as ``tcpdump -C`` leaves them: connections that last through all files of a capture.

Producers send batches of 16 KiB, as ``batch.size`` has it, to three brokers; two followers and a consumer fetch each of
them. Segments are as large as network cards hand them to tcpdump (TSO, GRO). Checksums are left to the card, so 0.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from protocol.apis.fetch import FetchRequest, FetchResponse
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.apis.produce import ProduceRequest, ProduceResponse
from protocol.headers import request_frame, response_frame
from protocol.records import Record, build_batch
from tests.bench.pipeline.inputs import MB, Input

RACKS = ("az-a", "az-b", "az-c")
TOPIC, PARTITIONS, PORT = "orders", 3, 9092
RECORDS_A_BATCH, RECORD_BYTES = 16, 1_000
BATCHES_A_PRODUCE, BATCHES_A_FETCH = 4, 16
PRODUCERS = 12
SEGMENT_BYTES = 16_384
START_US = 1_700_000_000_000_000
STEP_US = 500
"""Between segments: 16 KiB each half a millisecond, about 30 MB/s."""
PRODUCE_VERSION, FETCH_VERSION, METADATA_VERSION = 9, 11, 8
HEAD = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)
SYN, PSH_ACK = 0x02, 0x18


class Call(NamedTuple):
    """A request and its response, whose correlation ids are those of the connection."""

    request: bytes
    response: bytes


class Conversation:
    """A client's connection to a broker; ``sent`` counts bytes of each direction."""

    def __init__(self, number: int, broker: int, call: Call) -> None:
        self.client = struct.pack(">4B", 10, broker, number >> 8, number & 255), 40_000 + number
        self.server = struct.pack(">4B", 10, broker, 0, 10), PORT
        self.call, self.sent, self.calls = call, [1, 1], 0

    def opened(self) -> bytes:
        return packet(self.client, self.server, 0, SYN, b"")

    def packets(self, call: Call) -> Iterator[bytes]:
        """The packets of a call."""
        self.calls += 1
        number = struct.pack(">i", self.calls)
        request, response = call
        yield from self.segments(0, request[:8] + number + request[12:])
        yield from self.segments(1, response[:4] + number + response[8:])

    def segments(self, way: int, data: bytes) -> Iterator[bytes]:
        ends = (self.client, self.server) if way == 0 else (self.server, self.client)
        for at in range(0, len(data), SEGMENT_BYTES):
            part = data[at : at + SEGMENT_BYTES]
            yield packet(*ends, self.sent[way], PSH_ACK, part)
            self.sent[way] = (self.sent[way] + len(part)) % (1 << 32)


def packet(source: tuple[bytes, int], target: tuple[bytes, int], sequence: int, flags: int, data: bytes) -> bytes:
    """An Ethernet packet without its checksums."""
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], sequence, 0, 0x50, flags, 0xFFFF, 0, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0, source[0], target[0])
    return b"".join((bytes(12), b"\x08\x00", ip, tcp, data))


def busy_capture(folder: Path, size_mb: float, file_mb: float) -> Input:
    """Files ``busy.pcap``, ``busy.pcap1``, ... of about ``file_mb`` each, and of about ``size_mb`` together."""
    parts = max(1, round(size_mb / file_mb))
    packets, total = traffic(), 0
    for part in range(parts):
        with Path(folder, f"busy.pcap{part or ''}").open("wb", buffering=1 << 20) as file:
            written = file.write(HEAD)
            while written < size_mb / parts * MB:
                at, data = next(packets)
                us = START_US + at * STEP_US
                written += file.write(struct.pack("<IIII", us // 1_000_000, us % 1_000_000, len(data), len(data)))
                written += file.write(data)
            total += written
    return Input(folder, total, 0)


def traffic() -> Iterator[tuple[int, bytes]]:
    """Packets with their numbers, without an end."""
    told, calls = metadata(), [produced(number % PARTITIONS) for number in range(PRODUCERS)]
    fetches = [fetched(partition, replica) for partition in range(PARTITIONS) for replica in (-1, *others(partition))]
    conversations = [Conversation(number, number % PARTITIONS, call) for number, call in enumerate(calls)]
    conversations += [
        Conversation(PRODUCERS + number, number // len(RACKS), call) for number, call in enumerate(fetches)
    ]
    produces_a_fetch = BATCHES_A_FETCH // BATCHES_A_PRODUCE * PARTITIONS

    def all_packets() -> Iterator[bytes]:
        for one in conversations:
            yield one.opened()
            yield from one.packets(told)
        while True:
            for number in range(produces_a_fetch):
                producer = conversations[number % PRODUCERS]
                yield from producer.packets(producer.call)
            for one in conversations[PRODUCERS:]:
                yield from one.packets(one.call)

    return enumerate(all_packets())


def others(broker: int) -> list[int]:
    return [other for other in range(len(RACKS)) if other != broker]


def batches(count: int) -> bytes:
    """Record batches of values that do not compress."""
    return b"".join(
        build_batch([Record(timestamp=0, value=os.urandom(RECORD_BYTES)) for _ in range(RECORDS_A_BATCH)])
        for _ in range(count)
    )


def call_of(request: Any, response: Any, version: int, client_id: str) -> Call:
    asked = request_frame(request, version, correlation_id=0, client_id=client_id)
    return Call(asked, response_frame(response, version, correlation_id=0))


def metadata() -> Call:
    partitions = [
        MetadataResponse.Topic.Partition(
            error_code=0,
            partition_index=number,
            leader_id=number,
            leader_epoch=1,
            replica_nodes=[0, 1, 2],
            isr_nodes=[0, 1, 2],
        )
        for number in range(PARTITIONS)
    ]
    brokers = [
        MetadataResponse.Broker(node_id=broker, host=f"10.{broker}.0.10", port=PORT, rack=rack)
        for broker, rack in enumerate(RACKS)
    ]
    topics = [MetadataResponse.Topic(error_code=0, name=TOPIC, partitions=partitions)]
    response = MetadataResponse(brokers=brokers, topics=topics)
    return call_of(MetadataRequest(topics=None), response, METADATA_VERSION, "client")


def produced(partition: int) -> Call:
    sent = ProduceRequest.Topic.Partition(index=partition, records=batches(BATCHES_A_PRODUCE))
    request = ProduceRequest(
        acks=-1, timeout_ms=1_000, topic_data=[ProduceRequest.Topic(name=TOPIC, partition_data=[sent])]
    )
    result = ProduceResponse.Topic.Partition(index=partition, error_code=0, base_offset=0)
    response = ProduceResponse(responses=[ProduceResponse.Topic(name=TOPIC, partition_responses=[result])])
    return call_of(request, response, PRODUCE_VERSION, "producer")


def fetched(partition: int, replica: int) -> Call:
    """What a consumer (-1) in az-a or a follower fetches."""
    asked = FetchRequest.Topic.Partition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        replica_id=replica,
        max_wait_ms=500,
        min_bytes=1,
        rack_id="" if replica >= 0 else RACKS[0],
        topics=[FetchRequest.Topic(topic=TOPIC, partitions=[asked])],
    )
    found = FetchResponse.Topic.Partition(
        partition_index=partition,
        error_code=0,
        high_watermark=0,
        aborted_transactions=None,
        records=batches(BATCHES_A_FETCH),
    )
    response = FetchResponse(session_id=0, responses=[FetchResponse.Topic(topic=TOPIC, partitions=[found])])
    client_id = "consumer" if replica < 0 else f"broker-{replica}-fetcher-0"
    return call_of(request, response, FETCH_VERSION, client_id)
