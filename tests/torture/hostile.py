"""Hostile load beside a good client: how long it waits then, and whether all that was acknowledged is there.

A second server stands beside the one that is attacked and has a good client of the same kind, so that whatever else
the machine does, the attackers' own work too, is in both figures.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import cycle

import httpx

from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.records import CompressionCodec, Record, build_batch
from tests.fixture_data import captured_frames
from tests.torture.good_traffic import GoodTraffic, good_traffic
from tests.torture.target import ANSWER_S, MB, Bound, BoundError, Client, Target, request_bytes, target

TOPIC, LARGE = "good", "large"
CALM_S, HOSTILE_S = 3.0, 8.0
MOST_ITEMS = 20_000  # max.request.items
CAPTURES = ("franz-go", "confluent-classic", "java41-coop")
OPTIONS = (
    *("--brokers", "3", "--racks", "a,b,c", "--topic", f"{TOPIC}:3:3", "--topic", f"{LARGE}:1:1"),
    *("--control-port", "0"),
)
Load = Callable[[Target], Generator[None, None, None]]
"""A step of hostile load at a time; it may pause."""


def half_open(target: Target) -> Generator[None, None, None]:
    """5,000 connections that say nothing."""
    for _ in range(5_000):
        target.client()
        yield
    while True:
        time.sleep(0.1)
        yield


def slow_writers(target: Target) -> Generator[None, None, None]:
    """200 connections that send a request a byte at a time."""
    question = request_bytes(MetadataRequest(topics=None), 9)
    clients = [target.client() for _ in range(200)]
    while True:
        for byte in question:
            for client in clients:
                client.send(bytes([byte]))
            time.sleep(0.05)
            yield


def slow_readers(target: Target) -> Generator[None, None, None]:
    """100 connections that ask for 20 MB again and again and read a kilobyte now and then."""
    wanted = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=20 * MB)
    topic = FetchRequest.Topic(topic=LARGE, partitions=[wanted])
    question = request_bytes(
        FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=20 * MB, session_epoch=-1, topics=[topic]), 11
    )
    clients = [target.client(receive_bytes=4096) for _ in range(100)]
    for client in clients:
        client.send(question * 10)
        yield
    while True:
        for client in clients:
            with suppress(OSError):
                client.socket.recv(1024)
            yield
        time.sleep(0.05)


def large_prefixes(target: Target) -> Generator[None, None, None]:
    """Connections that announce a frame of 2 GB."""
    while True:
        with Client(target.address) as client, suppress(OSError):
            client.send(struct.pack(">i", 2**31 - 1) + bytes(1000))
            client.socket.recv(1)
        yield


def garbage(target: Target) -> Generator[None, None, None]:
    """Connections that send noise."""
    rng = target.rng
    while True:
        with Client(target.address) as client, suppress(OSError):
            noise = rng.randbytes(rng.randrange(1, 4000))
            client.send(struct.pack(">i", len(noise)) + noise)
        yield


def flipped_captures(target: Target) -> Generator[None, None, None]:
    """Requests of real clients, a bit of each turned round."""
    rng = target.rng
    requests = [one.data for name in CAPTURES for one in captured_frames(name) if one.kind == "request"]
    while True:
        with Client(target.address) as client, suppress(OSError):
            client.socket.settimeout(0.05)
            for _ in range(20):
                frame = bytearray(rng.choice(requests))
                frame[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
                client.send(struct.pack(">i", len(frame)) + bytes(frame))
            client.socket.recv(1000)
        yield


def bombs(target: Target) -> Generator[None, None, None]:
    """Batches of a few kilobytes that hold 20 MB."""
    batch = build_batch([Record(value=bytes(20 * MB))], codec=CompressionCodec.GZIP)
    partition = ProduceRequest.Topic.Partition(index=0, records=batch)
    topic = ProduceRequest.Topic(name=LARGE, partition_data=[partition])
    question = request_bytes(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), 9)
    client = target.client()
    while True:
        client.send(question)
        client.receive()
        yield


def churn(target: Target) -> Generator[None, None, None]:
    """200 connections a second, with a question each."""
    question = request_bytes(ApiVersionsRequest(), 0)
    while True:
        with Client(target.address) as client:
            client.send(question)
            client.receive()
        time.sleep(0.005)
        yield


def million_topics(target: Target) -> Generator[None, None, None]:
    """Requests for the metadata of a million topics that are not there, which are refused."""
    topics = [MetadataRequest.Topic(name=f"t{number}") for number in range(1_000_000)]
    question = request_bytes(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9)
    while True:
        with Client(target.address) as client, suppress(ConnectionError):
            client.send(question)
            client.receive()
        yield


def most_topics(target: Target) -> Generator[None, None, None]:
    """Requests for the metadata of as many topics that are not there as a request may name."""
    topics = [MetadataRequest.Topic(name=f"t{number}") for number in range(MOST_ITEMS)]
    question = request_bytes(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9)
    client = target.client()
    while True:
        client.send(question)
        client.receive()
        yield


def rack_storm(target: Target) -> Generator[None, None, None]:
    """A rack stopped and another started four times a second."""
    with httpx.Client(base_url=str(target.control), trust_env=False, timeout=ANSWER_S) as http:
        for rack in cycle("abc"):
            try:
                http.post(f"/racks/{rack}/stop").raise_for_status()
                time.sleep(0.25)
            finally:
                http.post(f"/racks/{rack}/start").raise_for_status()
            yield


def all_at_once(target: Target) -> Generator[None, None, None]:
    """All of the other loads, each in a thread of its own, again where one was cut off."""
    ended = threading.Event()

    def run(load: Load) -> None:
        while not ended.is_set():
            with suppress(OSError, httpx.HTTPError):
                for _ in load(target):
                    if ended.is_set():
                        return

    threads = [threading.Thread(target=run, args=(load,), daemon=True) for load in LOADS]
    for thread in threads:
        thread.start()
    try:
        while True:
            time.sleep(0.1)
            yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(ANSWER_S)


def good_beside(server: Target) -> AbstractContextManager[GoodTraffic]:
    """A good client of a server at work."""
    properties = None if server.security_dir is None else server.security_dir / "librdkafka.properties"
    return good_traffic(",".join(server.addresses), TOPIC, properties)


def beside_a_good_client(load: Load, options: Sequence[str] = OPTIONS) -> Callable[[Target], None]:
    """An attack that lasts as long as it is measured what a good client notices; ``options`` make the spared server."""

    def attack(attacked: Target) -> None:
        with target(options) as spared, good_beside(spared) as calm, good_beside(attacked) as good:
            time.sleep(CALM_S)  # the first records find nothing compiled yet
            calm.window(), good.window()
            ends_at = time.monotonic() + HOSTILE_S
            steps = load(attacked)
            with suppress(socket.timeout):
                for _ in steps:
                    if time.monotonic() > ends_at:
                        break
            beside, hostile = calm.window(), good.window()
            steps.close()
            attacked.close_clients()
            told = good.end()
            calm.end()
        if told["missing"] or told["doubled"]:
            raise BoundError(f"{load.__name__}: {told}")
        attacked.note = (
            f"p99 {hostile.p99_ms} ms, beside it {beside.p99_ms} ms ({hostile.p99_ms / beside.p99_ms:.1f}), half "
            f"{hostile.p50_ms}, {beside.p50_ms}, longest {hostile.longest_ms}, {beside.longest_ms}, "
            f"{told['acknowledged']} acknowledged, {told['missing']} missing, "
            f"{told['doubled']} doubled{', ' + str(told['failed']) if told['failed'] else ''}"
        )

    return attack


def fill(target: Target) -> None:
    """Have the other topic hold 20 MB; its leader is the broker that is attacked."""
    with Client(target.address, tls=target.tls) as client:
        answer = client.ask(MetadataRequest(topics=[MetadataRequest.Topic(name=LARGE)]), 9)
    leader = answer.topics[0].partitions[0].leader_id
    target.addresses.insert(0, next(f"{one.host}:{one.port}" for one in answer.brokers if one.node_id == leader))
    partition = ProduceRequest.Topic.Partition(index=0, records=build_batch([Record(value=bytes(900_000))]))
    topic = ProduceRequest.Topic(name=LARGE, partition_data=[partition])
    with Client(target.address, tls=target.tls) as client:
        for _ in range(23):
            client.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), 9)


PREPARE, BOUND = fill, Bound(peak_mb=200, after_mb=100)
LOADS: tuple[Load, ...] = (
    half_open,
    slow_writers,
    slow_readers,
    large_prefixes,
    garbage,
    flipped_captures,
    bombs,
    churn,
    million_topics,
    most_topics,
    rack_storm,
)
ATTACKS = {load.__name__.replace("_", " "): beside_a_good_client(load) for load in (*LOADS, all_at_once)}
