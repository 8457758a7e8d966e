"""A large cluster in one process: 100,000 partitions of three replicas and 1,000 clients at work, in how much memory.

`python -m tests.bench scale` prints this alone. The cluster is a process of its own. One client asks for the metadata
of all; then each of the others has a connection to the leader of a partition of its own, greets it, produces a record
of 1 KB and fetches it, and stays.
"""

from __future__ import annotations

import socket
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import protocol
from mockbroker.adapters.open_files import raise_open_files_limit
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.records import Record, build_batch
from tests.bench.cluster import API_VERSIONS, ask, serving
from tests.bench.idle import memory_mb
from tests.bench.measure import machine

CONNECTIONS, TOPICS, PARTITIONS, REPLICAS = 1_000, 100, 1_000, 3
VALUE_BYTES = 1024
MAX_MB = 1_000
"""The aim: less memory than this."""
METADATA_VERSION, PRODUCE_VERSION, FETCH_VERSION = 12, 9, 11

Leaders = dict[tuple[str, int], tuple[str, int]]


def answer_to(sock: socket.socket, request: Any, version: int, client_id: str) -> Any:
    """Send a request and read its answer."""
    sock.sendall(protocol.request_frame(request, version, correlation_id=1, client_id=client_id))
    with sock.makefile("rb") as stream:
        frame = stream.read(int.from_bytes(stream.read(4), "big"))
    return protocol.read_response(frame, type(request).api_key, version)[1]


def leaders_of(address: str) -> Leaders:
    """Where each partition's leader listens, as a client asks for it that wants to know all."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as sock:
        metadata = answer_to(sock, MetadataRequest(topics=None), METADATA_VERSION, "admin")
    brokers = {broker.node_id: (broker.host, broker.port) for broker in metadata.brokers}
    return {
        (topic.name, partition.partition_index): brokers[partition.leader_id]
        for topic in metadata.topics
        for partition in topic.partitions
    }


def write_and_read(sock: socket.socket, topic: str, index: int, client_id: str) -> None:
    """Produce a record to a partition and fetch it. Raises AssertionError: the cluster refuses or lacks it."""
    batch = build_batch([Record(value=bytes(VALUE_BYTES))])
    produce = ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[
            ProduceRequest.Topic(
                name=topic, partition_data=[ProduceRequest.Topic.Partition(index=index, records=batch)]
            )
        ],
    )
    produced = answer_to(sock, produce, PRODUCE_VERSION, client_id).responses[0].partition_responses[0]
    assert produced.error_code == 0, produced
    wanted = FetchRequest.Topic.Partition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
    fetch = FetchRequest(
        min_bytes=1, max_bytes=1 << 20, session_epoch=-1, topics=[FetchRequest.Topic(topic=topic, partitions=[wanted])]
    )
    fetched = answer_to(sock, fetch, FETCH_VERSION, client_id).responses[0].partitions[0]
    assert len(fetched.records) == len(batch), fetched


def main() -> None:
    print(machine())
    raise_open_files_limit()
    options = [word for number in range(TOPICS) for word in ("--topic", f"topic-{number}:{PARTITIONS}:{REPLICAS}")]
    before = perf_counter()
    with serving(*options) as (addresses, process_id), ExitStack() as held:
        started_s, started_mb = perf_counter() - before, memory_mb(process_id)
        leaders = leaders_of(addresses[0])
        asked_mb = memory_mb(process_id)
        for number in range(CONNECTIONS):
            topic, index = f"topic-{number % TOPICS}", number // TOPICS
            sock = held.enter_context(socket.create_connection(leaders[topic, index]))
            ask(sock, API_VERSIONS)
            write_and_read(sock, topic, index, f"client-{number}")
        worked_mb = memory_mb(process_id)
    print(f"{TOPICS * PARTITIONS:,} partitions of {REPLICAS} replicas: {started_mb:.0f} MB, {started_s:.1f} s to start")
    print(f"after one client has asked for the metadata of all: {asked_mb:.0f} MB")
    print(f"{CONNECTIONS:,} connections, each has produced and fetched: {worked_mb:.0f} MB; aim: below {MAX_MB:,} MB")


if __name__ == "__main__":
    main()
