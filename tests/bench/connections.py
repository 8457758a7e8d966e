"""Metadata requests a second of 50 connections at once, each with one in flight, beside three brokers of Kafka 4.4.

`python -m tests.bench connections` prints this alone. Cluster, Kafka and client are a process each, and rounds take
turns, so that a machine that is busier for a while meets both.
"""

from __future__ import annotations

import select
import socket
import statistics
from contextlib import ExitStack
from time import perf_counter

import protocol
from protocol.apis.metadata import MetadataRequest
from tests.bench.cluster import TOPIC, serving
from tests.bench.measure import machine
from tests.bench.proxy import connected, fresh_topics, real_kafka

CONNECTIONS, ASKS, ROUNDS = 50, 20_000, 7
MIN_TIMES_KAFKA = 1.5
"""The aim."""
VERSION = 12
REQUEST = protocol.request_frame(
    MetadataRequest(topics=[MetadataRequest.Topic(name=TOPIC)]), VERSION, correlation_id=1, client_id="bench"
)


def asks_per_second(address: str, asks: int = ASKS) -> float:
    """Answers a second. Raises ConnectionError: the cluster closes a connection."""
    with ExitStack() as stack, select.epoll() as poll:
        socks: dict[int, socket.socket] = {}
        for _ in range(CONNECTIONS):
            sock = stack.enter_context(connected(address))
            socks[sock.fileno()] = sock
            poll.register(sock, select.EPOLLIN)
        received = dict.fromkeys(socks, b"")
        before = perf_counter()
        for sock in socks.values():
            sock.sendall(REQUEST)
        left = asks
        while left > 0:
            for number, _ in poll.poll():
                more = socks[number].recv(1 << 16)
                if not more:
                    raise ConnectionError("the cluster has closed a connection")
                answer = received[number] + more
                if len(answer) < 4 + int.from_bytes(answer[:4], "big"):
                    received[number] = answer
                    continue
                received[number] = b""
                left -= 1
                socks[number].sendall(REQUEST)
        return asks / (perf_counter() - before)


def main() -> None:
    print(machine())
    with serving() as (ours, _), real_kafka() as kafka, fresh_topics(ours, TOPIC), fresh_topics(kafka, TOPIC):
        for addresses in (ours, kafka):
            asks_per_second(addresses[0])  # a Java process is slow at first
        rounds = [(asks_per_second(ours[0]), asks_per_second(kafka[0])) for _ in range(ROUNDS)]
    own, others = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(one / other for one, other in rounds)
    print(f"Metadata requests/s of {CONNECTIONS} connections: {own:,.0f}, Kafka {others:,.0f}")
    print(f"{ratio:.2f} times Kafka's; aim: {MIN_TIMES_KAFKA}")


if __name__ == "__main__":
    main()
