"""Answers without end: who asks for much and reads nothing of it."""

from __future__ import annotations

from collections.abc import Callable

from protocol.apis.fetch import FetchRequest
from protocol.apis.produce import ProduceRequest
from protocol.records import Record, build_batch
from tests.torture.target import MB, Bound, Client, Target, request_bytes

TOPIC = "large"
STORED_MB, BATCH_BYTES = 50, 900_000
FETCH_VERSION, PRODUCE_VERSION = 11, 9
OPTIONS = ("--topic", f"{TOPIC}:1:1")


def fill(target: Target) -> None:
    """Have the topic hold 50 MB."""
    with Client(target.address) as client:
        batch = build_batch([Record(value=bytes(BATCH_BYTES))])
        for _ in range(STORED_MB * MB // BATCH_BYTES):
            partition = ProduceRequest.Topic.Partition(index=0, records=batch)
            topic = ProduceRequest.Topic(name=TOPIC, partition_data=[partition])
            answer = client.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), PRODUCE_VERSION)
            assert answer.responses[0].partition_responses[0].error_code == 0, answer


def fetch_all() -> bytes:
    """A fetch of all that the topic has."""
    wanted = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=STORED_MB * MB)
    topic = FetchRequest.Topic(topic=TOPIC, partitions=[wanted])
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=STORED_MB * MB, session_epoch=-1, topics=[topic])
    return request_bytes(request, FETCH_VERSION)


def pipelined(times: int) -> Callable[[Target], None]:
    """One connection asks so often for all, in one piece, and reads nothing."""

    def attack(target: Target) -> None:
        client = target.client()
        client.send(fetch_all() * times)
        target.until_idle()

    return attack


def unread(connections: int, times: int = 1) -> Callable[[Target], None]:
    """So many connections ask for all and read nothing."""

    def attack(target: Target) -> None:
        question = fetch_all() * times
        for _ in range(connections):
            target.client().send(question)
        target.until_idle()

    return attack


PREPARE, BOUND = fill, Bound(peak_mb=64, after_mb=32)
ATTACKS = {
    "20 fetches of 50 MB at once": pipelined(20),
    "200 fetches of 50 MB at once": pipelined(200),
    "60 who do not read": unread(60),
    "200 who do not read": unread(200, 3),
}
