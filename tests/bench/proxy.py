"""What it costs to go through the proxy: produce, consume and the time of a small request, beside direct ones.

`python -m tests.bench.proxy` prints this alone. Cluster, proxy and client are a process each, all on this machine, so
that what the proxy takes of it counts against it too. A cluster of ours stands for the real one; with `--kafka` there
are three brokers of Kafka 4.4 in a Java process.

Direct and proxied runs take turns before the same cluster, and each is compared with the one beside
it: a machine that is busier for a while, or a process that happened to start badly, meets both. Figures are medians,
with the lowest and the highest run beside them.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep

import protocol
from protocol.apis.classic_group import HeartbeatRequest
from tests.bench.cluster import (
    PARTITIONS,
    ROOT,
    consume_mb_per_second,
    environment,
    produce_mb_per_second,
    serving,
    stop,
)
from tests.bench.measure import machine

PINGS, BLOCKS = 100, 100
PAIRS = 9
MIN_OF_DIRECT, MAX_ADDED_US = 0.6, 150
SMALL = protocol.request_frame(
    HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 3, correlation_id=1, client_id="bench"
)


@contextmanager
def proxying(addresses: list[str]) -> Iterator[list[str]]:
    """The addresses of a proxy before a cluster."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bootstrap"
        options = ["--bootstrap-server", ",".join(addresses), "--bootstrap-file", str(file)]
        command = [sys.executable, "-m", "kafka_rack.cli", "proxy", "--quiet", *options]
        process = subprocess.Popen(command, cwd=ROOT, env=environment())
        try:
            while not file.exists():
                assert process.poll() is None, "the proxy ended before it served"
                sleep(0.005)
            yield file.read_text().strip().split(",")
        finally:
            stop(process)


@contextmanager
def real_kafka() -> Iterator[list[str]]:
    """The addresses of three brokers of Kafka."""
    from tests.interop.java_brokers import kafka_brokers

    with tempfile.TemporaryDirectory() as folder, kafka_brokers("abc", Path(folder)) as running:
        yield running.addresses


@contextmanager
def mock() -> Iterator[list[str]]:
    """The addresses of three brokers of ours."""
    with serving() as (addresses, _):
        yield addresses


def ping_us(sock: socket.socket, number: int = PINGS) -> list[float]:
    """How long each of some small requests took, one at a time."""
    taken = []
    for _ in range(number):
        before = perf_counter()
        sock.sendall(SMALL)
        received = sock.recv(1 << 16)
        while len(received) < 4 + int.from_bytes(received[:4]):
            received += sock.recv(1 << 16)
        taken.append((perf_counter() - before) * 1e6)
    return taken


def latencies_us(address: str, through: str) -> tuple[list[float], list[float]]:
    """The median of each block of small requests, direct and proxied; blocks take turns."""
    direct, proxied = [], []
    with connected(address) as near, connected(through) as far:
        ping_us(near, 1000), ping_us(far, 1000)
        for _ in range(BLOCKS):
            direct.append(statistics.median(ping_us(near)))
            proxied.append(statistics.median(ping_us(far)))
    return direct, proxied


def connected(address: str) -> socket.socket:
    host, port = address.rsplit(":", 1)
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


@contextmanager
def fresh_topics(addresses: list[str], *names: str) -> Iterator[None]:
    """Topics that are gone afterwards, with what was written to them."""
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    admin = AdminClient({"bootstrap.servers": ",".join(addresses)})
    made = admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names], operation_timeout=30)
    for future in made.values():
        future.result()
    yield
    for future in admin.delete_topics(list(names), operation_timeout=30).values():
        future.result()


Both = tuple[str, str]
Run = tuple[float, float]
"""MB/s, direct and proxied."""


def throughputs(addresses: list[str], through: list[str]) -> Iterator[tuple[Run, Run]]:
    """Produce and consume, each direct and proxied, pair after pair; who is first changes."""
    ways = (",".join(addresses), ",".join(through))
    for number in range(PAIRS + 1):
        topics = (f"direct-{number}", f"proxied-{number}")
        with fresh_topics(addresses, *topics):
            turns = (0, 1) if number % 2 else (1, 0)
            produced = pair_of(produce_mb_per_second, ways, topics, turns)
            consumed = pair_of(consume_mb_per_second, ways, topics, turns)
        if number:  # the first finds everything cold
            yield produced, consumed


def pair_of(work: Callable[[str, str], float], ways: Both, topics: Both, turns: tuple[int, int]) -> Run:
    found = {turn: work(ways[turn], topics[turn]) for turn in turns}
    return found[0], found[1]


def spread(values: Sequence[float]) -> str:
    """A median with the lowest and the highest value."""
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main(*, kafka: bool = False) -> None:
    print(machine())
    print(f"before {'Kafka' if kafka else 'a cluster of ours'}, load {os.getloadavg()[0]:.1f}", flush=True)
    with real_kafka() if kafka else mock() as addresses, proxying(addresses) as through:
        direct_us, proxied_us = latencies_us(addresses[0], through[0])
        added = statistics.median(after - before for before, after in zip(direct_us, proxied_us, strict=True))
        print(
            f"small request, p50: {spread(direct_us)} us direct, {spread(proxied_us)} us proxied; "
            f"added {added:.0f} us; aim: below {MAX_ADDED_US}",
            flush=True,
        )
        pairs = list(throughputs(addresses, through))
    for place, work in enumerate(("produce", "consume")):
        direct, proxied = zip(*(pair[place] for pair in pairs), strict=True)
        ratios = [one / other for one, other in zip(proxied, direct, strict=True)]
        share = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) of direct"
        print(f"{work}: {spread(proxied)} MB/s proxied, {spread(direct)} direct: {share}; aim: {MIN_OF_DIRECT}")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(kafka="--kafka" in sys.argv[1:])
