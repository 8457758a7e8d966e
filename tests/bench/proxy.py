"""What it costs to go through the proxy: produce, consume and the time of a small request, beside direct ones.

`python -m tests.bench.proxy` prints this alone. Cluster, proxy and client are a process each; a cluster of ours stands
for the real one, so that all three are on this machine and what the proxy takes of it counts against it too. Direct and
proxied runs take turns; figures are medians, with the lowest and the highest run beside them.
"""

from __future__ import annotations

import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter, sleep

import protocol
from protocol.apis.classic_group import HeartbeatRequest
from tests.bench.cluster import PARTITIONS, ROOT, ROUNDS, TOPIC, environment, serving, stop, throughput
from tests.bench.measure import machine

PINGS, BLOCKS = 500, 20
LEAST_OF_DIRECT, MOST_ADDED_US = 0.6, 150
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
def served(is_proxied: bool) -> Iterator[list[str]]:
    """The addresses of a fresh cluster, or of a proxy before it."""
    with serving("--topic", f"{TOPIC}:{PARTITIONS}:3") as (addresses, _):
        if not is_proxied:
            yield addresses
            return
        with proxying(addresses) as proxied:
            yield proxied


def ping_us(sock: socket.socket) -> list[float]:
    """How long each of some small requests took, one at a time."""
    taken = []
    for _ in range(PINGS):
        before = perf_counter()
        sock.sendall(SMALL)
        received = sock.recv(1 << 16)
        while len(received) < 4 + int.from_bytes(received[:4]):
            received += sock.recv(1 << 16)
        taken.append((perf_counter() - before) * 1e6)
    return taken


def latencies_us() -> tuple[list[float], list[float]]:
    """The median of each block of small requests, direct and proxied; blocks take turns."""
    direct, proxied = [], []
    with ExitStack() as stack:
        addresses, _ = stack.enter_context(serving("--topic", f"{TOPIC}:{PARTITIONS}:3"))
        through = stack.enter_context(proxying(addresses))
        near, far = (stack.enter_context(connected(one[0])) for one in (addresses, through))
        ping_us(near), ping_us(far)
        for _ in range(BLOCKS):
            direct.append(statistics.median(ping_us(near)))
            proxied.append(statistics.median(ping_us(far)))
    return direct, proxied


def connected(address: str) -> socket.socket:
    host, port = address.rsplit(":", 1)
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def spread(values: list[float]) -> str:
    """A median with the lowest and the highest value."""
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main() -> None:
    print(machine())
    direct_us, proxied_us = latencies_us()
    added = statistics.median(after - before for before, after in zip(direct_us, proxied_us, strict=True))
    print(
        f"small request, p50: {spread(direct_us)} us direct, {spread(proxied_us)} us proxied; "
        f"added {added:.0f} us; aim: below {MOST_ADDED_US}",
        flush=True,
    )
    runs: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for number in range(ROUNDS):
        for is_proxied in (False, True) if number % 2 else (True, False):
            with served(is_proxied) as addresses:
                runs[is_proxied].append(throughput(",".join(addresses)))
    for place, work in enumerate(("produce", "consume")):
        direct, proxied = ([run[place] for run in runs[one]] for one in (False, True))
        print(
            f"{work}: {spread(proxied)} MB/s proxied, {spread(direct)} MB/s direct: "
            f"{statistics.median(proxied) / statistics.median(direct):.2f} of direct; aim: {LEAST_OF_DIRECT}",
            flush=True,
        )


if __name__ == "__main__":
    main()
