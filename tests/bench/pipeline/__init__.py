"""Captures to tables, beside the bare codec, a row-at-a-time UDF, and tshark on the same packets.

The bare codec reads the very file that the pipeline reads, in one process: JSON to bytes, responses joined to requests,
headers, bodies, and the sizes of record batches; it makes no tables. "of bare" is a figure's share of it, "of codec" of
headers and bodies alone, read from memory, both by processor time. Every run of Spark has a run of the bare codec
beside it, in as many processes as Spark has cores, so that a busy moment of the machine, and cores that share one
processor, hit both. Medians are shown, by the wall and by the processor time of
all processes that took part, Java's compiler and garbage collector among them; a machine that does other work makes the
wall tell about that work.

`--large` asks besides how time and the driver's memory grow with the capture, up to 1 GB.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

from tests.bench.measure import machine
from tests.bench.pipeline import bare, by_row, ours, tshark
from tests.bench.pipeline.figures import HEAD, Rates, Run, line, own_seconds, progress, timed
from tests.bench.pipeline.inputs import MB, Input, capture_of, room_for, rounds_for
from tests.bench.pipeline.packets import packets_of
from tests.bench.pipeline.processes import cpu_seconds

SIZE_MB = 40
PACKETS_MB = 20
RUNS = 3
CORES = (1, 2)
LARGE_MB = (10, 100, 1000)
MIN_TIMES_TSHARK = 4
"""The aim of the native reader, by processor time, without Spark."""
MIN_TIMES_ONE_WORKER = 1.8
"""The aim of two workers, by the wall."""


def main(
    *, large: bool = False, size_mb: float = SIZE_MB, runs: int = RUNS, sizes_mb: Sequence[float] = LARGE_MB
) -> None:
    """Print the figures; without Java, one line and the exit code 1."""
    from kafka_rack.pipeline.session import INSTALL_JAVA

    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise SystemExit(INSTALL_JAVA)
    print(machine())
    print(f"load {os.getloadavg()[0]:.1f} at the start; medians of {runs} runs, each after one that warms up\n")
    with tempfile.TemporaryDirectory(prefix="kafka-rack-bench-") as name:
        folder = Path(name)
        room_for(folder, int((size_mb + PACKETS_MB) * 3 * MB))
        Comparison(folder, size_mb, runs).all()
    if large:
        from tests.bench.pipeline.large import growth

        print()
        growth(sizes_mb)


class Comparison:
    """All that reads one capture, and what reads one pcap, in turns."""

    def __init__(self, folder: Path, size_mb: float, runs: int) -> None:
        self.folder, self.runs = folder, runs
        self.capture = capture_of(folder / "capture.jsonl", rounds_for(size_mb))
        self.out = folder / "out"
        self.packets_mb = min(PACKETS_MB, size_mb)

    def all(self) -> None:
        print(f"capture of {self.capture.size_mb:,.1f} MB of JSON lines, {self.capture.frames:,} frames")
        print(HEAD)
        codec = self.one_process()
        one, two = (self.spark(cores, codec) for cores in CORES)
        bare_gain, gain = (2 * of_two.wall / of_one.wall for of_one, of_two in zip(one, two, strict=True))
        print(
            f"two workers give {gain:.2f} times the frames/s of one; aim: {MIN_TIMES_ONE_WORKER}; "
            f"two bare codecs {bare_gain:.2f} times those of one"
        )
        self.tshark()

    def in_turns(self, calls: dict[str, Callable[[], object]], once: str = "") -> dict[str, list[Run]]:
        """Run each once to warm up, then all of them in turns; of the one named, just one run, as it takes so long."""
        for name, call in calls.items():
            if name != once:
                progress(f"{name}: warming up")
                call()
        found: dict[str, list[Run]] = {name: [] for name in calls}
        for number in range(self.runs):
            for name, call in calls.items():
                if number and name == once:
                    continue
                progress(f"{name}: run {number + 1} of {self.runs}")
                found[name].append(timed(call, cpu_seconds if name.startswith("Spark") else own_seconds))
        return found

    def one_process(self) -> Rates:
        """What needs no Spark; gives the codec's rates."""
        path, frames = self.capture.path, self.capture.frames
        held = list(bare.frames_of(path))
        runs = self.in_turns(
            {
                "codec in memory: headers, bodies": partial(bare.from_memory, held),
                "file to messages": partial(bare.from_file, path),
                "bare codec: file to messages, batch sizes": partial(bare.with_batches, path),
                "one process, file to rows": partial(ours.to_rows, path),
                "one process, file to Arrow rows of all tables": partial(ours.to_arrow, path),
                "one process, file to Parquet tables": partial(ours.to_parquet, path, self.out),
            }
        )
        names = list(runs)
        codec = line(names[0], len(held), runs[names[0]])
        line(names[1], frames, runs[names[1]], codec=codec)
        base = line(names[2], frames, runs[names[2]], codec=codec)
        for name in names[3:]:
            line(name, frames, runs[name], bare=base, codec=codec)
        return codec

    def spark(self, cores: int, codec: Rates) -> tuple[Rates, Rates]:
        """The job through Spark, beside the bare codec; on one core, the source alone and a UDF of rows too.

        Returns the rates of the bare codec and of the job.
        """
        from kafka_rack.pipeline.session import spark_session

        path, frames = self.capture.path, self.capture.frames
        master = f"local[{cores}]"
        folder = self.folder / f"for {cores} cores"  # a file is read by one task
        folder.mkdir()
        for number in range(cores):
            (folder / f"capture{number}.jsonl").hardlink_to(path)
        progress(f"Spark on {master} starts")
        start = perf_counter()
        spark = spark_session(master, driver_memory="1g")
        started = perf_counter() - start
        try:
            calls: dict[str, Callable[[], object]] = {
                f"bare codec, {cores} at once, beside Spark": partial(bare.at_once, path, cores),
                f"Spark {master}, captures to Parquet tables": partial(ours.through_spark, spark, folder, self.out),
            }
            if cores == 1:
                rows = self.folder / "rows.parquet"
                by_row.frames_as_rows(path, rows, cores)
                calls[f"Spark {master}, captures, table frames alone"] = partial(ours.one_table, spark, path)
                calls[f"Spark {master}, UDF a row, no tables"] = partial(by_row.decode_rows, spark, rows)
            runs = self.in_turns(calls)
        finally:
            spark.stop()
        names = list(runs)
        base = line(names[0], frames * cores, runs[names[0]], cores=cores)
        job, *_ = [line(name, frames * cores, runs[name], cores=cores, bare=base, codec=codec) for name in names[1:]]
        print(f"  (Spark took {started:.1f} s to start, not counted)")
        return base, job

    def tshark(self) -> None:
        """tshark and ours on one pcap, on one core."""
        from kafka_rack.pipeline.session import spark_session

        capture: Input = packets_of(self.folder / "capture.pcap", self.packets_mb)
        path = capture.path
        frames = ours.to_parquet(path, self.out)
        print(f"\npcap of {capture.size_mb:,.1f} MB, {frames:,} frames")
        spark = spark_session("local[1]", driver_memory="1g")
        calls: dict[str, Callable[[], object]] = {
            "one process, pcap to Arrow rows of all tables": partial(ours.to_arrow, path),
            "one process, pcap to Parquet tables": partial(ours.to_parquet, path, self.out),
            "Spark local[1], pcap to Parquet tables": partial(ours.through_spark, spark, path, self.out),
        }
        program = tshark.found()
        theirs: dict[str, Callable[[], object]] = {}
        slow = ""
        if program is None:
            print("tshark: not installed (Debian, Ubuntu: apt-get install tshark)")
        else:
            told = tshark.version(program)
            theirs[f"{told} -T fields, its fastest for Kafka"] = partial(tshark.fields, program, path)
            slow = f"{told} -T pdml, all that it dissects, once"
            theirs[slow] = partial(tshark.everything, program, path)
        try:
            runs = self.in_turns({**calls, **theirs}, once=slow)
        finally:
            spark.stop()
        print(HEAD)
        rates = {name: line(name, frames, found) for name, found in runs.items()}
        if program is not None:
            print(
                f"tshark sees {tshark.frames(program, path):,} frames; times its speed, by CPU; "
                f"aim for one process: {MIN_TIMES_TSHARK} by fields:"
            )
            for name in calls:
                shares = [f"{rates[name].cpu / rates[other].cpu:.2f}" for other in theirs]
                print(f"  {name}: {shares[0]} by fields, {shares[1]} by PDML")
