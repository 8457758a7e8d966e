"""What a cluster itself takes and gives: Produce and Fetch requests that were made before the clock starts.

A client library takes most of the two processors of a small machine, so that servers behind it look alike. Here a
thread for each broker sends frames that are ready, `IN_FLIGHT` at a time, and reads the answers' bytes unseen.
"""

from __future__ import annotations

import socket
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import protocol
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.apis.produce import ProduceRequest
from protocol.records import Record
from protocol.records.building import build_batch

MB, RECORDS, BATCHES_A_FETCH, IN_FLIGHT = 400, 930, 4, 5
BATCH = build_batch([Record(key=None, value=bytes(1024)) for _ in range(RECORDS)])
METADATA, PRODUCE, FETCH = 9, 9, 11
"""Versions that both clusters serve, which name topics."""


def throughput(address: str, topic: str) -> tuple[float, float]:
    """MB/s that the brokers take and give of an empty topic."""
    leaders = leading(address, topic)
    rounds = MB * 1_000_000 // len(BATCH) // sum(len(partitions) for partitions in leaders.values())
    produced = {at: [produce(topic, one) for one in partitions] * rounds for at, partitions in leaders.items()}
    fetched = {
        at: [fetch(topic, one, offset * RECORDS) for offset in range(0, rounds, BATCHES_A_FETCH) for one in partitions]
        for at, partitions in leaders.items()
    }
    sent, _ = exchanged(produced)
    _, received = exchanged(fetched)
    return sent, received


def leading(address: str, topic: str) -> dict[str, list[int]]:
    """The partitions that each broker leads, by its address."""
    request = MetadataRequest(topics=[MetadataRequest.Topic(name=topic)])
    with connected(address) as sock:
        sock.sendall(framed(request, METADATA))
        answer: MetadataResponse = protocol.read_response(received(sock), MetadataRequest.api_key, METADATA)[1]
    addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in answer.brokers}
    leaders: dict[str, list[int]] = defaultdict(list)
    for partition in answer.topics[0].partitions:
        leaders[addresses[partition.leader_id]].append(partition.partition_index)
    return leaders


def produce(topic: str, partition: int) -> bytes:
    partitions = [ProduceRequest.Topic.Partition(index=partition, records=BATCH)]
    topics = [ProduceRequest.Topic(name=topic, partition_data=partitions)]
    return framed(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics), PRODUCE)


def fetch(topic: str, partition: int, offset: int) -> bytes:
    most = len(BATCH) * BATCHES_A_FETCH
    partitions = [FetchRequest.Topic.Partition(partition=partition, fetch_offset=offset, partition_max_bytes=most)]
    topics = [FetchRequest.Topic(topic=topic, partitions=partitions)]
    return framed(FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=2 * most, topics=topics), FETCH)


def framed(request: object, version: int) -> bytes:
    return protocol.request_frame(request, version, correlation_id=1, client_id="bench")


def exchanged(frames: dict[str, list[bytes]]) -> tuple[float, float]:
    """MB/s sent and received by one thread for each broker."""

    def exchange(address: str) -> tuple[int, int]:
        with connected(address) as sock:
            answers = 0
            for number, frame in enumerate(frames[address]):
                if number >= IN_FLIGHT:
                    answers += len(received(sock))
                sock.sendall(frame)
            for _ in range(min(IN_FLIGHT, len(frames[address]))):
                answers += len(received(sock))
        return sum(map(len, frames[address])), answers

    with ThreadPoolExecutor(len(frames)) as threads:
        before = perf_counter()
        counts = list(threads.map(exchange, frames))
        taken = perf_counter() - before
    sent, answered = zip(*counts, strict=True)
    return sum(sent) / 1e6 / taken, sum(answered) / 1e6 / taken


def received(sock: socket.socket) -> memoryview:
    """The next answer without its length. Raises ConnectionError: the cluster closes the connection."""
    return exactly(sock, int.from_bytes(exactly(sock, 4), "big"))


def exactly(sock: socket.socket, size: int) -> memoryview:
    read, at = memoryview(bytearray(size)), 0
    while at < size:
        more = sock.recv_into(read[at:])
        if not more:
            raise ConnectionError("the cluster has closed the connection")
        at += more
    return read


def connected(address: str) -> socket.socket:
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)))
