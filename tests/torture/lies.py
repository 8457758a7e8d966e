"""Few bytes that ask for much work: patterns, claims, and data that hold next to nothing."""

from __future__ import annotations

import struct
import time
import zlib
from random import Random

import httpx

from protocol.apis.configs import IncrementalAlterConfigsRequest
from protocol.apis.consumer_group import ConsumerGroupHeartbeatRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.apis.streams_group import StreamsGroupHeartbeatRequest
from protocol.apis.topics import CreateTopicsRequest
from protocol.apis.transaction_admin import ListTransactionsRequest
from protocol.records import CompressionCodec, Record, build_batch
from protocol.records.checksum import crc32c
from tests.torture.requests import TOPIC, produce
from tests.torture.target import ANSWER_S, MB, Client, Target, request_bytes

OPTIONS = (
    *("--topic", f"{TOPIC}:1:1", "--control-port", "0"),
    *("--set", "group.streams.initial.rebalance.delay.ms=0"),
)
RANDOM = Random(7)
Subtopology = StreamsGroupHeartbeatRequest.Topology.Subtopology


def claiming(count: int, codec: CompressionCodec, data: bytes) -> bytes:
    """A batch that counts so many records, whatever it holds, with a right checksum."""
    batch = bytearray(build_batch([Record(value=b"x", timestamp=1000)], codec=codec))[:61] + data
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">i", batch, 23, count - 1)
    struct.pack_into(">i", batch, 57, count)
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return bytes(batch)


def backtracking_pattern(target: Target) -> None:
    """ListTransactions with a pattern that backtracks, against an id of 1,000 letters."""
    client = target.client()
    name = "a" * RANDOM.randrange(900, 1_000) + "!"
    client.ask(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000), 4)
    client.ask(ListTransactionsRequest(transactional_id_pattern="(a+)+$"), 2)


def large_expressions(target: Target) -> None:
    """50 topics of 240 letters, and a consumer group that subscribes by an expression that is large when compiled."""
    client = target.client()
    topics = [
        CreateTopicsRequest.Topic(name=f"{number:02}{'n' * 238}", num_partitions=1, replication_factor=1)
        for number in range(50)
    ]
    client.ask(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7)
    beat = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_regex="(?:.{0,9}){40}!",
        topic_partitions=[],
    )
    client.ask(beat, 1)


def claimed_records(target: Target) -> None:
    """Batches that count 2^31-1 records in no bytes, plain and compressed."""
    client = target.client()
    codes = {produce(client, claiming(2**31 - 1, codec, b""), 9) for codec in CompressionCodec}
    target.note = f"produce: {sorted(codes)}"


def empty_members(target: Target) -> None:
    """A gzip batch of a megabyte of empty members, and ListOffsets by time, which looks into it, ten times."""
    client = target.client()
    packer = zlib.compressobj(wbits=31)
    member = packer.compress(b"") + packer.flush()
    count = RANDOM.randrange(40_000, 45_000)
    target.note = f"produce: {produce(client, claiming(9, CompressionCodec.GZIP, member * count), 9)}"
    wanted = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=500)
    topic = ListOffsetsRequest.Topic(name=TOPIC, partitions=[wanted])
    for _ in range(10):
        client.ask(ListOffsetsRequest(replica_id=-1, topics=[topic]), 5)


def empty_blocks(target: Target) -> None:
    """Ten batches of 900 KB of snappy blocks of nothing."""
    client = target.client()
    head = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    batch = claiming(3, CompressionCodec.SNAPPY, head + b"\x00\x00\x00\x01\x00" * 180_000)
    target.note = f"produce: {sorted({produce(client, batch, 9) for _ in range(10)})}"


def blanks_in_lists(target: Target) -> None:
    """A list config of 32,000 blanks, and one of a comma a letter."""
    client = target.client()
    kind = IncrementalAlterConfigsRequest.Resource
    for value in (f"delete{' ' * 32_000},compact", ",".join("a" * 16_000)):
        config = kind.Config(name="cleanup.policy", config_operation=0, value=value)
        resource = kind(resource_type=2, resource_name=TOPIC, configs=[config])
        client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)


def long_numbers(target: Target) -> None:
    """A config of 30,000 digits, and errors that would repeat it."""
    client = target.client()
    kind = IncrementalAlterConfigsRequest.Resource
    config = kind.Config(name="retention.ms", config_operation=0, value="9" * 30_000)
    answer = client.ask(
        IncrementalAlterConfigsRequest(resources=[kind(resource_type=2, resource_name=TOPIC, configs=[config])]), 1
    )
    target.note = f"code {answer.responses[0].error_code}"


def chained_topologies(target: Target) -> None:
    """A Streams topology of 4,000 subtopologies, each of which waits for the one after it."""
    client = target.client()
    count = 4_000
    info = Subtopology.TopicInfo
    chain = [
        Subtopology(
            subtopology_id=f"{number:05}",
            source_topics=[TOPIC] if number == count - 1 else [],
            repartition_source_topics=[] if number == count - 1 else [info(name=f"t-{number + 1}")],
            repartition_sink_topics=[f"t-{number}"] if number else [],
        )
        for number in range(count)
    ]
    beat = StreamsGroupHeartbeatRequest(
        group_id="s",
        member_id="m",
        member_epoch=0,
        process_id="p",
        rebalance_timeout_ms=1000,
        topology=StreamsGroupHeartbeatRequest.Topology(epoch=1, subtopologies=chain),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )
    client.ask(beat, 0)


def full_sessions(target: Target) -> None:
    """30 fetch sessions of 19,990 partitions that are not there."""
    client = target.client()
    wanted = [FetchRequest.Topic.Partition(partition=index + 5, partition_max_bytes=MB) for index in range(19_990)]
    topic = FetchRequest.Topic(topic=TOPIC, partitions=wanted)
    for _ in range(30):
        client.ask(FetchRequest(max_wait_ms=0, max_bytes=MB, session_epoch=0, topics=[topic]), 11)


def starred_faults(target: Target) -> None:
    """A fault whose client name has three stars, and a client id of 32 KB that nearly matches."""
    fault = {"match": {"client_id": "app-*-eu-*-eu-*-x"}, "effect": {"delay_ms": 1}}
    httpx.post(f"{target.control}/faults", json=fault, trust_env=False, timeout=ANSWER_S).raise_for_status()
    client = target.client()
    name = "app-" + "-eu-" * 8_000
    for _ in range(20):
        client.send(request_bytes(ListOffsetsRequest(replica_id=-1, topics=[]), 5, name))
        client.receive()


def silent_control(target: Target) -> None:
    """300 connections to the control port that send nothing."""
    assert target.control is not None
    silent = [Client(target.control.removeprefix("http://")) for _ in range(300)]
    begun, status = time.monotonic(), 0
    while status != 200:
        try:
            status = httpx.get(f"{target.control}/healthz", trust_env=False, timeout=ANSWER_S).status_code
        except httpx.TransportError:
            status = 0
    target.note = f"/healthz after {time.monotonic() - begun:.1f} s"
    for one in silent:
        one.socket.close()


ATTACKS = {
    attack.__name__.replace("_", " "): attack
    for attack in (
        backtracking_pattern,
        large_expressions,
        claimed_records,
        empty_members,
        empty_blocks,
        blanks_in_lists,
        long_numbers,
        chained_topologies,
        full_sessions,
        starred_faults,
        silent_control,
    )
}
