"""Captures to tables through Spark, beside the bare codec, a row-at-a-time UDF and tshark on the same packets.

Frames per second and core. The bare codec reads each frame's header and body in one process, from memory; "with
records" counts the records of its batches too, as the tables need it. Peers that are not installed are left out, and
named.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import resource
import shutil
import statistics
import struct
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

from tests.bench.measure import machine
from tests.fixture_data import CAPTURES, capture_names

COPIES_MB = (10, 40)
ROUNDS = 3
SMALL_MB = 10
CORES = 2
MB = 1_000_000


def capture_of(target: Path, size_mb: int) -> int:
    """Every client capture over and over, each time with connections of its own; gives the frames."""
    lines: list[dict[str, object]] = []
    for number, name in enumerate(capture_names()):
        for text in gzip.decompress((CAPTURES / f"{name}.jsonl.gz").read_bytes()).splitlines():
            line = json.loads(text)
            if "conn" in line:
                line["conn"] += number * 10_000
                lines.append(line)
    first = gzip.decompress((CAPTURES / "java41-range.jsonl.gz").read_bytes()).splitlines()[0]
    frames = written = round_number = 0
    with target.open("wb") as file:
        file.write(first + b"\n")
        while written < size_mb * MB:
            for line in lines:
                again = {**line, "conn": line["conn"] + round_number * 1_000_000}  # type: ignore[operator]
                written += file.write(json.dumps(again, separators=(",", ":")).encode() + b"\n")
                frames += "dir" in line
            round_number += 1
    return frames


def frames_in_memory(path: Path) -> list[tuple[bool, int, int, bytes]]:
    """Each frame of a capture with the key and version it is read by."""
    asked: dict[tuple[int, int], tuple[int, int]] = {}
    found = []
    with path.open("rb") as file:
        for text in file:
            line = json.loads(text)
            if "dir" not in line:
                continue
            data, connection = base64.b64decode(line["data"]), line["conn"]
            if line["dir"] == "req":
                key, version, correlation_id = struct.unpack_from(">hhi", data)
                asked[connection, correlation_id] = key, version
            else:
                key, version = asked.pop((connection, struct.unpack_from(">i", data)[0]), (-1, 0))
            if key >= 0:
                found.append((line["dir"] == "req", key, version, data))
    return found


def bare(frames: list[tuple[bool, int, int, bytes]], records: bool) -> None:
    """Decode every frame, one after the other."""
    from kafka_rack.pipeline.record_sizes import batch_sizes
    from protocol.errors import ProtocolError
    from protocol.headers import read_request, read_response

    for is_request, key, version, data in frames:
        try:
            if is_request:
                message = read_request(data, trailing="ignore")[1]
            else:
                message = read_response(data, key, version)[1]
        except ProtocolError:
            continue
        if records and key == 0 and is_request:
            for topic in message.topic_data:
                for partition in topic.partition_data:
                    list(batch_sizes(partition.records))
        elif records and key == 1 and not is_request:
            for topic in message.responses:
                for partition in topic.partitions:
                    list(batch_sizes(partition.records))


def medians(call: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, float]:
    """Wall and processor seconds of a call, this process's own, after one that warms up."""
    call()
    walls, cpus = [], []
    for _ in range(rounds):
        wall, cpu = perf_counter(), process_time()
        call()
        walls.append(perf_counter() - wall)
        cpus.append(process_time() - cpu)
    return statistics.median(walls), statistics.median(cpus)


def line(name: str, frames: int, seconds: float, cores: int, base: float | None) -> float:
    rate = frames / seconds / cores
    share = f"  {rate / base:5.2f} of the bare codec" if base else ""
    print(f"  {name:<44} {rate:>9,.0f} frames/s per core{share}", flush=True)
    return rate


def row_at_a_time(spark: object, path: Path) -> int:
    """The same frames through a UDF that is handed one line a call; requests only, since it sees no neighbours."""
    from pyspark.sql.functions import col, udf

    def read(text: str) -> int:
        from protocol.errors import ProtocolError
        from protocol.headers import read_request

        found = json.loads(text)
        if found.get("dir") != "req":
            return 0
        try:
            read_request(base64.b64decode(found["data"]), trailing="ignore")
        except ProtocolError:
            return 0
        return 1

    lines = spark.read.text(str(path))  # type: ignore[attr-defined]
    return int(lines.select(udf(read, "int")(col("value")).alias("n")).groupBy().sum("n").collect()[0][0])


def tshark(folder: Path) -> None:
    program = shutil.which("tshark")
    if program is None:
        print("  tshark: not installed (Debian, Ubuntu: apt-get install tshark)")
        return
    from kafka_rack.pipeline.reading import decode_paths

    path = folder / "java41-range.pcap"
    path.write_bytes(gzip.decompress((CAPTURES / "java41-range.pcap.gz").read_bytes()))
    frames = len(decode_paths([str(path)]).as_dicts("frames"))
    command = [program, "-r", str(path), "-T", "fields", "-e", "kafka.len", "-d", "tcp.port==22100-22102,kafka"]
    theirs, _ = medians(lambda: subprocess.run(command, check=True, capture_output=True))
    ours, _ = medians(lambda: decode_paths([str(path)]))
    base = line("tshark, framing and what it knows", frames, theirs, 1, None)
    rate = line("ours, one process, to rows of all tables", frames, ours, 1, None)
    print(f"  {rate / base:.1f} times tshark")


def main() -> None:
    """Print the figures."""
    from kafka_rack.pipeline import job
    from kafka_rack.pipeline.blocks import Block
    from kafka_rack.pipeline.captures import Options
    from kafka_rack.pipeline.files import find_files
    from kafka_rack.pipeline.session import spark_session
    from kafka_rack.pipeline.writing import write_block

    print(machine())
    print(f"load {os.getloadavg()[0]:.1f} at the start; one process by processor time, Spark by wall time")
    print("(so Spark's figures, on local[2], hold on a quiet machine alone)\n")
    with tempfile.TemporaryDirectory(prefix="kafka-rack-bench-") as name:
        folder = Path(name)
        small = folder / "small.jsonl"
        frames = capture_of(small, SMALL_MB)
        held = frames_in_memory(small)  # kept, as the bare codec's input
        _, cpu = medians(lambda: bare(held, records=False))
        base = line("bare codec, headers and bodies", len(held), cpu, 1, None)
        _, cpu = medians(lambda: bare(held, records=True))
        counted = line("bare codec, with records", len(held), cpu, 1, base)
        block = Block(find_files([str(small)])[0][0], 0, small.stat().st_size)
        _, cpu = medians(lambda: list(write_block(block, Options(), folder / "one")))
        line("file to Parquet tables, one process", frames, cpu, 1, base)
        spark = spark_session(f"local[{CORES}]", driver_memory="1g")
        job.decode(spark, [str(small)], folder / "warm", partitions=CORES)
        times = []
        for size in COPIES_MB:
            path = folder / f"{size}.jsonl"
            count = capture_of(path, size)
            start = perf_counter()
            job.decode(spark, [str(path)], folder / f"out{size}", partitions=CORES * max(1, size // 20))
            times.append((size, perf_counter() - start))
            rate = line(f"Spark, {size} MB to Parquet tables", count, times[-1][1], CORES, base)
            print(f"  {'':<44} {'':>9}                     {rate / counted:5.2f} of it with records")
        start = perf_counter()
        requests = row_at_a_time(spark, small)
        line("row-at-a-time UDF, requests alone, no tables", requests, perf_counter() - start, CORES, base)
        (low, low_s), (high, high_s) = times[0], times[-1]
        print(f"  {high / low:.0f} times the capture takes {high_s / low_s:.1f} times the time")
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(f"  driver's Python, most memory: {used:,.0f} MB")
        spark.stop()
        tshark(folder)


if __name__ == "__main__":
    main()
