"""What it costs to look: produce and Metadata with journal, traffic, faults (none set), metrics and an idle dashboard.

`python -m tests.bench overhead` prints this alone. Clusters are processes of their own, measured in turns: one that
looks, one that does not. The idle dashboard is a process that reads `/events` as an open page does, and the metrics are
fetched each second; what reading costs that process is no part of the cluster, but takes its share of a small machine.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.bench.cluster import (
    IN_FLIGHT,
    METADATA,
    PARTITIONS,
    ROOT,
    TOPIC,
    ask,
    environment,
    produce_mb_per_second,
    stop,
)
from tests.bench.measure import machine

ROUNDS = 7
ASKS = 100_000
MAX_COST = 0.10
"""Of produce throughput and of Metadata requests a second."""
PROGRAM = """
import asyncio, signal
from contextlib import AsyncExitStack
from mockbroker import MockCluster
from mockbroker.adapters.blocking import new_event_loop

async def serve():
    looks = {looks}
    async with AsyncExitStack() as stack:
        topics = {{"{topic}": ({partitions}, 3)}}
        cluster = await stack.enter_async_context(MockCluster(topics=topics, journal=looks, traffic=looks))
        control_port = 0
        if looks:
            from mockbroker.adapters.control import ControlServer

            len(cluster.faults)
            control_port = (await stack.enter_async_context(ControlServer(cluster))).port
        print(cluster.bootstrap_servers, control_port, flush=True)
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        await ended.wait()

with asyncio.Runner(loop_factory=new_event_loop) as runner:
    runner.run(serve())
"""
DASHBOARD = """
import threading, time, urllib.request

def scrape():
    while True:
        time.sleep(1)
        urllib.request.urlopen("http://127.0.0.1:{port}/metrics").read()

with urllib.request.urlopen("http://127.0.0.1:{port}/events") as events:
    threading.Thread(target=scrape, daemon=True).start()
    print(events.readline().decode().strip(), flush=True)
    while events.read1(1 << 20):
        pass
"""


@contextmanager
def running(program: str) -> Iterator[str]:
    """The first line that a program prints which runs in a process of its own."""
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        stop(process)


@contextmanager
def cluster(looks: bool) -> Iterator[str]:
    """The bootstrap servers of a cluster, at which somebody looks or nobody."""
    with running(PROGRAM.format(looks=looks, topic=TOPIC, partitions=PARTITIONS)) as told, ExitStack() as stack:
        bootstrap, control_port = told.split()
        if looks:
            assert stack.enter_context(running(DASHBOARD.format(port=control_port))).startswith("retry")
        yield bootstrap


def metadata_per_second(address: str) -> float:
    """Answers a second to one client that keeps requests in flight."""
    import socket
    from time import perf_counter

    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as sock:
        ask(sock, METADATA * IN_FLIGHT, IN_FLIGHT)
        before = perf_counter()
        for _ in range(ASKS // IN_FLIGHT):
            ask(sock, METADATA * IN_FLIGHT, IN_FLIGHT)
        return ASKS // IN_FLIGHT * IN_FLIGHT / (perf_counter() - before)


def measured() -> dict[bool, tuple[list[float], list[float]]]:
    """Metadata a second and MB/s produced, with and without; clusters take turns, and so does who begins."""
    found: dict[bool, tuple[list[float], list[float]]] = {True: ([], []), False: ([], [])}
    for number in range(ROUNDS):
        for looks in (True, False) if number % 2 else (False, True):
            with cluster(looks) as bootstrap:
                found[looks][0].append(metadata_per_second(bootstrap.split(",")[0]))
                found[looks][1].append(produce_mb_per_second(bootstrap))
    return found


def main() -> None:
    print(machine())
    found = measured()
    for place, what, unit in (
        (0, f"Metadata requests, {IN_FLIGHT} in flight", "/s"),
        (1, "produce, 1 KB values", "MB/s"),
    ):
        with_it, without = (statistics.median(found[looks][place]) for looks in (True, False))
        cost = 1 - with_it / without
        print(
            f"{what}: {with_it:,.0f} {unit} with all that looks, {without:,.0f} without: "
            f"{cost:.1%} less; aim: at most {MAX_COST:.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
