"""Few bytes that request much work: patterns, claims, and data that hold next to nothing; a seed draws their sizes."""

from __future__ import annotations

import struct
import time
import zlib

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
from tests.torture.target import ANSWER_S, MB, Bound, Client, Target, request_bytes

OPTIONS = (
    *("--topic", f"{TOPIC}:1:1", "--control-port", "0"),
    *("--set", "group.streams.initial.rebalance.delay.ms=0"),
)
ZSTD_HEAD = bytes.fromhex("28b52ffd 00 58")
"""A frame of a window of 2 MB and unknown size; its blocks follow, each of three bytes: last, kind, length."""
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
    """ListTransactions with patterns that backtrack, against an id of 30 to 1,000 letters."""
    target.make_coordinators()
    client = target.client()
    name = "a" * target.rng.randrange(30, 1_000) + "!"
    client.ask(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000), 4)
    for pattern in ("(a+)+$", "(a|aa)+$", "(a|a?)+$", f"(a?){{{target.rng.randrange(10, 900)}}}a+$"):
        client.ask(ListTransactionsRequest(transactional_id_pattern=pattern), 2)


def large_expressions(target: Target) -> None:
    """50 topics of 240 letters, and a consumer group that subscribes by an expression that is large when compiled."""
    target.make_coordinators()
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
        subscribed_topic_regex=f"(?:.{{0,{target.rng.choice((9, 90, 900))}}}){{{target.rng.randrange(5, 60)}}}!",
        topic_partitions=[],
    )
    client.ask(beat, 1)


def claimed_records(target: Target) -> None:
    """Batches that count up to 2^31-1 records in a few bytes, plain and compressed."""
    client = target.client()
    counts, rng = (2**31 - 1, target.rng.randrange(1_000, 2**31)), target.rng
    lies = [claiming(count, codec, rng.randbytes(rng.randrange(9))) for codec in CompressionCodec for count in counts]
    codes = {produce(client, lie, 9) for lie in lies}
    target.note = f"produce: {sorted(codes)}"


def empty_members(target: Target) -> None:
    """A gzip batch of a megabyte of empty members, and ListOffsets by time, which looks into it, ten times."""
    client = target.client()
    packer = zlib.compressobj(wbits=31)
    member = packer.compress(b"") + packer.flush()
    count = target.rng.randrange(20_000, 45_000)
    target.note = f"produce: {produce(client, claiming(9, CompressionCodec.GZIP, member * count), 9)}"
    wanted = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=500)
    topic = ListOffsetsRequest.Topic(name=TOPIC, partitions=[wanted])
    for _ in range(10):
        client.ask(ListOffsetsRequest(replica_id=-1, topics=[topic]), 5)


def empty_blocks(target: Target) -> None:
    """Ten batches of up to 900 KB of empty blocks, of snappy and of zstd."""
    client = target.client()
    count = target.rng.randrange(100_000, 180_000)
    head = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    snappy = claiming(3, CompressionCodec.SNAPPY, head + b"\x00\x00\x00\x01\x00" * count)
    zstd = claiming(3, CompressionCodec.ZSTD, ZSTD_HEAD + bytes(3) * count + b"\x01\x00\x00")
    target.note = f"produce: {sorted({produce(client, batch, 9) for batch in (snappy, zstd) * 5})}"


def blanks_in_lists(target: Target) -> None:
    """A list config of up to 32,000 blanks, and one of a comma a letter."""
    client = target.client()
    kind = IncrementalAlterConfigsRequest.Resource
    for value in (f"delete{' ' * target.rng.randrange(9_000, 32_000)},compact", ",".join("a" * 16_000)):
        config = kind.Config(name="cleanup.policy", config_operation=0, value=value)
        resource = kind(resource_type=2, resource_name=TOPIC, configs=[config])
        client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)


def long_numbers(target: Target) -> None:
    """A config of up to 30,000 digits, and errors that would repeat it."""
    client = target.client()
    kind = IncrementalAlterConfigsRequest.Resource
    config = kind.Config(name="retention.ms", config_operation=0, value="9" * target.rng.randrange(4_300, 30_000))
    answer = client.ask(
        IncrementalAlterConfigsRequest(resources=[kind(resource_type=2, resource_name=TOPIC, configs=[config])]), 1
    )
    target.note = f"code {answer.responses[0].error_code}"


def chained_topologies(target: Target) -> None:
    """A Streams topology of up to 4,000 subtopologies, each of which waits for the one after it."""
    target.make_coordinators()
    client = target.client()
    count = target.rng.randrange(1_000, 4_000)
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
    """A fault whose client name has three to ten stars, and a client id of 32 KB that nearly matches."""
    stars = "-eu-*" * target.rng.randrange(2, 10)
    fault = {"match": {"client_id": f"app-*{stars}-x"}, "effect": {"delay_ms": 1}}
    faults = f"{target.control}/faults"
    httpx.post(faults, json=fault, trust_env=False, timeout=ANSWER_S).raise_for_status()
    client = target.client()
    name = "app-" + "-eu-" * 8_000
    for _ in range(20):
        client.send(request_bytes(ListOffsetsRequest(replica_id=-1, topics=[]), 5, name))
        client.receive()
    httpx.delete(faults, trust_env=False, timeout=ANSWER_S)


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


BOUND = Bound(peak_mb=48, after_mb=48, mb_a_mb=8, processor_s=1.5)
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
