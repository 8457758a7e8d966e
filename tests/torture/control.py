"""What the control API's long answers and claims cost the clients of brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from protocol.apis.fetch import FetchRequest
from protocol.apis.produce import ProduceRequest
from protocol.records import Record, build_batch
from tests.torture.target import ANSWER_S, Bound, Client, Target, request_bytes

TOPIC = "orders"
ROUNDS, CALLS = 400, 100
"""Together with as many fetches they fill the journal."""
FETCH_VERSION, PRODUCE_VERSION = 11, 9
OPTIONS = ("--topic", f"{TOPIC}:1:1", "--topic", "large:100000:1", "--topic", "larger:100000:1", "--control-port", "0")


def fill(target: Target) -> None:
    """Have the journal hold 80,000 calls."""
    batch = build_batch([Record(value=b"an order")])
    partition = ProduceRequest.Topic.Partition(index=0, records=batch)
    topic = ProduceRequest.Topic(name=TOPIC, partition_data=[partition])
    write = request_bytes(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]), PRODUCE_VERSION)
    with Client(target.address) as client:
        for number in range(ROUNDS):
            reads = (fetch_of(number * CALLS + one) for one in range(CALLS))
            client.send(write * CALLS + b"".join(reads))
            for _ in range(2 * CALLS):
                client.receive()


def fetch_of(offset: int) -> bytes:
    """A fetch of the record at this offset."""
    wanted = FetchRequest.Topic.Partition(partition=0, fetch_offset=offset, partition_max_bytes=1)
    topic = FetchRequest.Topic(topic=TOPIC, partitions=[wanted])
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1, session_epoch=-1, topics=[topic])
    return request_bytes(request, FETCH_VERSION)


def get(path: str) -> Callable[[Target], None]:
    def attack(target: Target) -> None:
        answer = httpx.get(f"{target.control}{path}", trust_env=False, timeout=ANSWER_S)
        target.note = f"{answer.status_code}, {len(answer.content):,} bytes in {answer.elapsed.total_seconds():.1f} s"

    return attack


def count(target: Target) -> None:
    """How many calls there are of a topic."""
    body = {"topic": TOPIC}
    answer = httpx.post(f"{target.control}/requests/count", json=body, trust_env=False, timeout=ANSWER_S)
    target.note = f"{answer.status_code}, {answer.text.strip()} in {answer.elapsed.total_seconds():.1f} s"


def claim(name: str, **arguments: Any) -> Callable[[Target], None]:
    def attack(target: Target) -> None:
        body = {"assert": name, **arguments}
        answer = httpx.post(f"{target.control}/assertions", json=body, trust_env=False, timeout=ANSWER_S)
        target.note = f"{answer.status_code} in {answer.elapsed.total_seconds():.1f} s"

    return attack


PREPARE, BOUND = fill, Bound(peak_mb=200, after_mb=48, processor_s=5)
ATTACKS = {
    "GET /cluster": get("/cluster"),
    "GET /topics/large": get("/topics/large"),
    "POST /requests/count": count,
    "rack_local": claim("rack_local"),
    "served_by": claim("served_by", rack="a"),
    "cross_rack_bytes": claim("cross_rack_bytes", at_most=0),
    "no_errors": claim("no_errors"),
    "a claim about no call": claim("no_errors", topic="none"),
    "consistent": claim("consistent"),
}
