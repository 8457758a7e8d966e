"""The mock cluster: how soon it answers, and how much it takes and gives, beside the figures of others.

`python -m tests.bench.cluster` prints this alone. One librdkafka client, 1 KB values, acks=all, three brokers as a
process of their own. In the table the figures of the others were measured on another day on a machine of two
cores (kfake of franz-go 1.22, Kafka 4.1 as one node, librdkafka 2.16's own mock): ratios within one column hold better
than across. The ratios behind it are of medians, measured in turns. A client library
takes most of two processors, so the last ratios do without one.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

import protocol
from mockbroker import MockCluster
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.metadata import MetadataRequest
from tests.bench import prepared
from tests.bench.kfake import Missing, serving_kfake
from tests.bench.measure import machine

ROOT = Path(__file__).resolve().parents[2]
STARTS, ROUNDS = 9, 5
VALUE_BYTES, VALUES = 1024, 200_000
TOPIC, PARTITIONS = "orders", 6
ASKS, IN_FLIGHT = 3000, 32
API_VERSIONS = protocol.request_frame(
    ApiVersionsRequest(client_software_name="bench", client_software_version="1"),
    3,
    correlation_id=1,
    client_id="bench",
)
METADATA = protocol.request_frame(MetadataRequest(topics=None), 12, correlation_id=2, client_id="bench")


FLOOR = "import asyncio, msgspec"  # what any process that does this work has to load
MAX_TIMES_THE_FLOOR = 2.0
MIN_TIMES_KFAKE = {"produce": 1.5, "consume": 1.3}


class Row(NamedTuple):
    """A figure of ours, a median, and what others had; empty where nobody measured."""

    what: str
    ours: str
    kfake: str = ""
    kafka: str = ""
    librdkafka_mock: str = ""


@contextmanager
def serving(*options: str) -> Iterator[tuple[list[str], int]]:
    """The addresses of three brokers that run as a process, and its id."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bootstrap"
        process = start("--port", "0", "--bootstrap-file", str(file), *options)
        try:
            while not file.exists():
                assert process.poll() is None, "the cluster ended before it served"
                sleep(0.0005)
            yield file.read_text().strip().split(","), process.pid
        finally:
            stop(process)


def start(*options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "kafka_rack.cli", "serve", "--quiet", "--no-control", *options]
    return subprocess.Popen(command, cwd=ROOT, env=environment())


def environment() -> dict[str, str]:
    """That of whoever has installed the package: bytecode is kept, so that only the first start compiles."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT)}


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait()


def process_start_s() -> float:
    """From the start of the process, brokers on free ports, to the answers of ApiVersions and Metadata."""
    before = perf_counter()
    with serving() as (addresses, _):
        host, port = addresses[0].rsplit(":", 1)
        with socket.create_connection((host, int(port))) as sock:
            ask(sock, API_VERSIONS)
            ask(sock, METADATA)
        return perf_counter() - before


def in_process_starts_s() -> list[float]:
    """From `MockCluster()` to all three brokers accepting, inside a process that has had one before."""

    async def started() -> float:
        before = perf_counter()
        async with MockCluster(topics={TOPIC: PARTITIONS}):
            return perf_counter() - before

    async def several() -> list[float]:
        return [await started() for _ in range(STARTS + 1)][1:]

    return asyncio.run(several())


def ask(sock: socket.socket, frames: bytes, answers: int = 1) -> None:
    """Send frames and read as many answers. Raises ConnectionError: the cluster closes the connection."""
    sock.sendall(frames)
    received = b""
    while answers:
        more = sock.recv(1 << 20)
        if not more:
            raise ConnectionError("the cluster has closed the connection")
        received += more
        while len(received) >= 4 and len(received) >= 4 + int.from_bytes(received[:4], "big"):
            received = received[4 + int.from_bytes(received[:4], "big") :]
            answers -= 1


def metadata_per_second(address: str, in_flight: int) -> float:
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as sock:
        ask(sock, METADATA)
        before = perf_counter()
        for _ in range(ASKS // in_flight):
            ask(sock, METADATA * in_flight, in_flight)
        return ASKS // in_flight * in_flight / (perf_counter() - before)


def produce_mb_per_second(bootstrap: str, topic: str = TOPIC) -> float:
    from confluent_kafka import Producer

    value = bytes(VALUE_BYTES)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.metrics.push": False,
            "linger.ms": 5,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": VALUES + 1,
            "queue.buffering.max.kbytes": 2_000_000,
        }
    )
    producer.list_topics(topic)
    before = perf_counter()
    for _ in range(VALUES):
        producer.produce(topic, value)
    left = producer.flush(120)
    assert left == 0, f"{left} records were not acknowledged"
    return VALUES * VALUE_BYTES / 1e6 / (perf_counter() - before)


def consume_mb_per_second(bootstrap: str, topic: str = TOPIC) -> float:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "enable.metrics.push": False,
            # else librdkafka pauses for a second once its queue is full, which punishes whoever sends fast
            "queued.min.messages": VALUES + 1,
            "queued.max.messages.kbytes": 2_000_000,
        }
    )
    before = perf_counter()
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    read = 0
    while read < VALUES:
        read += sum(message.error() is None for message in consumer.consume(10_000, 5.0))
    taken = perf_counter() - before
    consumer.close()
    return VALUES * VALUE_BYTES / 1e6 / taken


Throughput = tuple[float, float]


def throughput(bootstrap: str) -> Throughput:
    """MB/s produced and consumed by one client of a fresh cluster."""
    return produce_mb_per_second(bootstrap), consume_mb_per_second(bootstrap)


def throughput_beside_kfake(
    measured: Callable[[str], Throughput], *options: str
) -> tuple[Throughput, Throughput | str]:
    """Ours and kfake's, medians of runs in turns; or why there is no kfake."""
    ours, theirs = [], []
    missing = ""
    for _ in range(ROUNDS):
        with serving("--topic", f"{TOPIC}:{PARTITIONS}:3", *options) as (addresses, _):
            ours.append(measured(",".join(addresses)))
        if not missing:
            try:
                with serving_kfake(TOPIC, PARTITIONS) as addresses:
                    theirs.append(measured(",".join(addresses)))
            except Missing as error:
                missing = str(error)
    return medians(ours), missing or medians(theirs)


def prepared_throughput(bootstrap: str) -> Throughput:
    """MB/s that the brokers take and give, without a client library."""
    return prepared.throughput(bootstrap.partition(",")[0], TOPIC)


def medians(runs: list[Throughput]) -> Throughput:
    produced, consumed = zip(*runs, strict=True)
    return statistics.median(produced), statistics.median(consumed)


def floor_s() -> float:
    """From the start of an interpreter to its end, with nothing but imports."""
    before = perf_counter()
    subprocess.run([sys.executable, "-c", FLOOR], check=True, env=environment())
    return perf_counter() - before


def memory_mb(topics: int) -> float | None:
    """What a process with so many topics of 100 partitions holds in memory; None where the system does not tell."""
    options = [word for number in range(topics) for word in ("--topic", f"topic-{number}:100:3")]
    with serving(*options) as (addresses, process_id):
        host, port = addresses[0].rsplit(":", 1)
        with socket.create_connection((host, int(port))) as sock:
            ask(sock, METADATA)
        status = Path(f"/proc/{process_id}/statm")
        return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6 if status.exists() else None


def rows(process_start: float) -> list[Row]:
    """The table, measured now but for the start."""
    in_process = statistics.median(in_process_starts_s())
    with serving("--topic", f"{TOPIC}:{PARTITIONS}:3") as (addresses, _):
        one = metadata_per_second(addresses[0], 1)
        many = metadata_per_second(addresses[0], IN_FLIGHT)
    found = [
        Row("process start to first Metadata, ms", f"{process_start * 1e3:.0f}", "7", "2,209", "107"),
        Row("MockCluster start in a process, ms", f"{in_process * 1e3:.1f}"),
        Row("Metadata requests/s, one at a time", f"{one:,.0f}", "12,700", "4,800", "19,000"),
        Row("Metadata requests/s, 32 in flight", f"{many:,.0f}", "35,000", "11,700", "74,000"),
    ]
    idle, full = memory_mb(0), memory_mb(100)
    if idle is not None and full is not None:
        what = "memory idle / with 10,000 partitions, MB"
        found.append(Row(what, f"{idle:.0f} / {full:.0f}", "9 / 17", "312 / 646", "27 / -"))
    found.append(Row("produce, MB/s", "below", "below", "131", "602"))
    found.append(Row("consume, MB/s", "below", "below", "539"))
    return found


def main() -> None:
    print(machine())
    process_start_s()  # which leaves bytecode behind
    starts = [(process_start_s(), floor_s()) for _ in range(STARTS)]  # in turns
    start, floor = (statistics.median(column) for column in zip(*starts, strict=True))
    heads = Row("", "kafka-rack", "kfake", "Kafka 4.1", "librdkafka's mock")
    table = [heads, *rows(start)]
    widths = [max(len(row[place]) for row in table) for place in range(len(heads))]
    for row in table:
        cells = [
            row.what.ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        print("  ".join(cells).rstrip())
    print(
        f'\nprocess start to first Metadata: {start / floor:.2f} times python -c "{FLOOR}" ({floor * 1e3:.0f} ms); '
        f"aim: at most {MAX_TIMES_THE_FLOOR}"
    )
    for how, measured, options in (
        ("one librdkafka client", throughput, ()),
        ("one librdkafka client, on asyncio", throughput, ("--loop", "asyncio")),
        ("requests made before, one connection to each broker", prepared_throughput, ()),
    ):
        ours, kfake = throughput_beside_kfake(measured, *options)
        print(f"\n{how}")
        for place, (work, aim) in enumerate(MIN_TIMES_KFAKE.items()):
            beside = f"no ratio to kfake: {kfake}"
            if not isinstance(kfake, str):
                beside = f"{ours[place] / kfake[place]:.2f} times kfake's {kfake[place]:.0f}; aim: {aim}"
            print(f"  {work}: {ours[place]:,.0f} MB/s, {beside}", flush=True)


if __name__ == "__main__":
    main()
