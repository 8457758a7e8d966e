"""Costs that grow with what was done before, and what is given back late or never."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterable

from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.apis.topics import CreateTopicsRequest, DeleteTopicsRequest
from protocol.records import Record, build_batch
from tests.torture.requests import JOIN_VERSION, join, produce
from tests.torture.target import MB, Bound, Target, request_bytes

TOPIC, SHORT = "orders", "short"
OPTIONS = ("--topic", f"{TOPIC}:1:1")
APPENDS = 20_000
PIPELINE = 100
PORTION_BYTES = 30_000


def in_portions(target: Target, questions: Iterable[bytes]) -> None:
    """Send requests some at a time, as many as fit into a socket, and read as many answers."""
    client = target.client()
    portion: list[bytes] = []
    for question in (*questions, None):
        if question is not None:
            portion.append(question)
        if question is None or len(portion) * len(question) > PORTION_BYTES:
            client.send(b"".join(portion))
            for _ in portion:
                client.receive()
            portion = []


def client_ids(target: Target) -> None:
    """2,000 client ids of 32 KB, each told once."""
    ids = ("x" * 32_000 + str(number) for number in range(2_000))
    in_portions(target, [request_bytes(ApiVersionsRequest(), 0, client_id) for client_id in ids])


def metadata_of_ids(target: Target) -> None:
    """6,000 Metadata of 3 KB, no two of them alike."""
    ids = ("x" * 3_000 + str(number) for number in range(6_000))
    in_portions(target, [request_bytes(MetadataRequest(topics=[]), 1, client_id) for client_id in ids])


def named_topics(target: Target) -> None:
    """300 Metadata that name 1,000 topics of 200 letters."""
    request = MetadataRequest(
        topics=[MetadataRequest.Topic(name=f"{number:0200}") for number in range(1_000)],
        allow_auto_topic_creation=False,
    )
    in_portions(target, [request_bytes(request, 9)] * 300)


def named_groups(target: Target) -> None:
    """300 JoinGroup of group ids of 30 KB."""
    target.make_coordinators()
    in_portions(
        target,
        [request_bytes(join("g" * 30_000 + str(number), ["range"]), JOIN_VERSION + 2) for number in range(300)],
    )


def coordinator_keys(target: Target) -> None:
    """20,000 keys whose coordinator is asked for."""
    in_portions(
        target,
        [request_bytes(FindCoordinatorRequest(key=f"group-{number}" * 50, key_type=0), 2) for number in range(20_000)],
    )


def transactional_ids(target: Target) -> None:
    """20,000 transactional ids."""
    target.make_coordinators()
    in_portions(
        target,
        [
            request_bytes(InitProducerIdRequest(transactional_id=f"{number}" * 20, transaction_timeout_ms=60_000), 2)
            for number in range(20_000)
        ],
    )


def retention_by_size(target: Target) -> None:
    """20,000 batches to a topic with segments of 1 MB, of which retention.bytes keeps 20."""
    batch = build_batch([Record(value=bytes(1_000))])
    kept = {"retention.bytes": str(20 * MB), "segment.bytes": str(MB)}
    configs = [CreateTopicsRequest.Topic.Config(name=name, value=value) for name, value in kept.items()]
    short = CreateTopicsRequest.Topic(name=SHORT, num_partitions=1, replication_factor=1, configs=configs)
    target.client().ask(CreateTopicsRequest(topics=[short], timeout_ms=1000), 5)
    partition = ProduceRequest.Topic.Partition(index=0, records=batch)
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[ProduceRequest.Topic(name=SHORT, partition_data=[partition])]
    )
    question = request_bytes(request, 9)
    client = target.client()
    times = []
    for _ in range(APPENDS // PIPELINE):
        before = time.perf_counter()
        client.send(question * PIPELINE)
        for _ in range(PIPELINE):
            client.receive()
        times.append((time.perf_counter() - before) / PIPELINE * 1000)
    target.note = f"an append {times[1]:.2f} ms at first, {times[-1]:.2f} ms at last"


def partial_frames(target: Target) -> None:
    """50 connections send 10 MB of a frame of 100 MB and go away."""
    data = struct.pack(">i", 100 * MB) + bytes(10 * MB)
    for _ in range(50):
        target.client().send(data)
    time.sleep(1)


def parked_fetches(target: Target) -> None:
    """2,000 clients ask for what will come within an hour, and go away."""
    wanted = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=MB)
    topic = FetchRequest.Topic(topic=TOPIC, partitions=[wanted])
    question = request_bytes(
        FetchRequest(max_wait_ms=3_600_000, min_bytes=1, max_bytes=MB, session_epoch=0, topics=[topic]), 11, "f" * 5_000
    )
    for _ in range(2_000):
        client = target.client()
        client.send(question)
        client.socket.close()
    time.sleep(1)


def pending_members(target: Target) -> None:
    """20,000 members ask for an id and never join with it."""
    target.make_coordinators()
    question = request_bytes(join("pending", ["range"]), 5)
    in_portions(target, [question] * 20_000)


def unlike_bytes(target: Target) -> None:
    """Produce 300 MB of noise to a topic that keeps all, and delete it."""
    noise = target.rng.randbytes(900_000)
    client = target.client()
    batch = build_batch([Record(value=noise)])
    for _ in range(300):
        produce(client, batch, 9)
    client.ask(DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=1000), 3)


BOUND = Bound(peak_mb=100, after_mb=64, mb_a_mb=1.1, processor_s=4)
ATTACKS: dict[str, Callable[[Target], None]] = {
    attack.__name__.replace("_", " "): attack
    for attack in (
        client_ids,
        metadata_of_ids,
        named_topics,
        named_groups,
        coordinator_keys,
        transactional_ids,
        retention_by_size,
        partial_frames,
        parked_fetches,
        pending_members,
        unlike_bytes,
    )
}
