"""Ten thousand clients that are connected and say nothing: what they cost, and whether others notice.

`python -m tests.bench idle` prints this alone. Each of them has asked for ApiVersions, as a client does that keeps its
connections open, and stays; the cluster is a process of its own. Beside it runs one client that asks for Metadata, one
request at a time, before they come, while they are there and after they have gone.
"""

from __future__ import annotations

import resource
import socket
import statistics
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, sleep

from mockbroker.adapters.open_files import raise_open_files_limit
from tests.bench.cluster import API_VERSIONS, METADATA, PARTITIONS, TOPIC, ask, serving
from tests.bench.measure import machine

CONNECTIONS, ASKS, ROUNDS = 10_000, 2_000, 5
SPARE_FILES = 200  # of this process, besides the connections


def memory_mb(process_id: int) -> float:
    """What a process holds in memory, NaN where the system does not tell."""
    status = Path(f"/proc/{process_id}/statm")
    if not status.exists():
        return float("nan")
    return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6


def metadata_us(address: str) -> float:
    """The median time of a Metadata request, in us, over several rounds of a single connection."""
    host, port = address.rsplit(":", 1)
    times = []
    with socket.create_connection((host, int(port))) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ask(sock, API_VERSIONS)
        for _ in range(ROUNDS):
            before = perf_counter()
            for _ in range(ASKS):
                ask(sock, METADATA)
            times.append((perf_counter() - before) / ASKS * 1e6)
    return statistics.median(times)


def answers(sock: socket.socket) -> bool:
    """Whether a connection is still served."""
    try:
        ask(sock, API_VERSIONS)
    except OSError:
        return False
    return True


def main() -> None:
    print(machine())
    limit = raise_open_files_limit()
    count = CONNECTIONS if limit is None else min(CONNECTIONS, limit - SPARE_FILES)
    with serving("--topic", f"{TOPIC}:{PARTITIONS}:3") as (addresses, process_id), ExitStack() as held:
        alone_us, alone_mb = metadata_us(addresses[0]), memory_mb(process_id)
        before = perf_counter()
        idle = []
        for number in range(count):
            host, port = addresses[number % len(addresses)].rsplit(":", 1)
            sock = held.enter_context(socket.create_connection((host, int(port))))
            ask(sock, API_VERSIONS)
            idle.append(sock)
        connected_s = perf_counter() - before
        held_us, held_mb = metadata_us(addresses[0]), memory_mb(process_id)
        sleep(1)  # had any been closed, it would have been by now
        answered = sum(map(answers, idle))
        held.close()
        gone_us = metadata_us(addresses[0])
    if count < CONNECTIONS:
        print(f"this machine lets a process have {limit:,} files open, so there were fewer than {CONNECTIONS:,}")
    each = (held_mb - alone_mb) * 1e6 / count
    print(f"{count:,} idle connections, made and greeted in {connected_s:.1f} s; {answered:,} answer afterwards")
    print(f"memory: {alone_mb:.0f} MB before, {held_mb:.0f} MB with them, {each / 1e3:.1f} kB each")
    print(f"a Metadata request of another client: {alone_us:.0f} us before, {held_us:.0f} us with them,", end=" ")
    print(f"{gone_us:.0f} us after they have gone ({held_us / alone_us:.2f} and {gone_us / alone_us:.2f} times)")


if __name__ == "__main__":
    main()
