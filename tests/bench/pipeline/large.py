"""How time and the driver's memory grow with a capture, and what a second core brings.

Each is measured in a process, and a Java, of its own.

The driver's memory: its Python, which plans, and Java's heap in use (on ``local[N]`` the executor's too, rubbish that
was not collected yet included; "live" is what is left after a collection at the end; "Java" is all of its process). The
largest of the workers' Pythons does not grow either.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.bench.pipeline import ours
from tests.bench.pipeline.busy import busy_capture
from tests.bench.pipeline.figures import median, progress, timed
from tests.bench.pipeline.inputs import MB, Input, capture_of, room_for, rounds_for
from tests.bench.pipeline.packets import packets_of
from tests.bench.pipeline.processes import Peaks

CORES = 2
FILE_MB = 64
"""At which a recorder begins another file."""
WARM_PACKETS_MB = 8
RUNS = 3
ONCE_MB = 300
"""From here on one run is long enough."""
OUTPUT_SHARE = 0.6
"""What the tables take at most, beside the capture."""
NAMES = {"wall": "time", "cpu": "CPU time"}
HEAD = (
    f"{'capture':>9} {'cores':>6} {'frames':>10} {'wall s':>7} {'CPU s':>7} {'s per 100 MB':>13}"
    f" {'CPU s per 100 MB':>17} {'Python':>7} {'heap':>6} {'live':>6} {'Java':>6} {'worker':>7}"
)


def lines(folder: Path, size_mb: float) -> Input:
    return in_files(folder, size_mb, lambda path, part_mb: capture_of(path.with_suffix(".jsonl"), rounds_for(part_mb)))


def packets(folder: Path, size_mb: float) -> Input:
    return in_files(folder, size_mb, lambda path, part_mb: packets_of(path.with_suffix(".pcap"), part_mb))


def busy(folder: Path, size_mb: float) -> Input:
    return busy_capture(emptied(folder), size_mb, FILE_MB)


def in_files(folder: Path, size_mb: float, make: Callable[[Path, float], Input]) -> Input:
    """A folder of captures of about ``FILE_MB`` each, as many as cores at least: a file is read by one task."""
    parts = max(CORES, round(size_mb / FILE_MB))
    inside = emptied(folder)
    made = [make(inside / f"part{number}", size_mb / parts) for number in range(parts)]
    return Input(inside, sum(one.size_bytes for one in made), sum(one.frames for one in made))


def emptied(folder: Path) -> Path:
    inside = folder / "captures"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    return inside


def growth(sizes_mb: Sequence[float]) -> None:
    """Print a row for each size, and what a size takes beside the size before; the largest by one core too."""
    for made in (lines, packets, busy):
        print(f"growth, captures of {made.__name__} to Parquet tables; driver's memory at its highest, MB")
        with tempfile.TemporaryDirectory(prefix="kafka-rack-bench-") as name:
            folder = Path(name)
            room_for(folder, int(max(sizes_mb) * MB * (1 + CORES * OUTPUT_SHARE)))
            print(HEAD, flush=True)
            grown_by(sizes_mb, folder, made)


def grown_by(sizes_mb: Sequence[float], folder: Path, made: Callable[[Path, float], Input]) -> None:
    before: dict[str, float] | None = None
    for size_mb in sizes_mb:
        progress(f"{size_mb:g} MB: making the capture")
        capture = made(folder, size_mb)
        progress(f"{size_mb:g} MB: decoding")
        found = measured(capture, folder, CORES)
        row(found)
        if before is not None:
            compare(before, found)
        before = found
    if before is not None:
        progress(f"{sizes_mb[-1]:g} MB: decoding by one core")
        alone = measured(capture, folder, 1)
        row(alone)
        print(f"    two cores are {alone['wall'] / before['wall']:.2f} times as fast as one")
        progress(f"{sizes_mb[-1]:g} MB: two jobs beside each other, a core each")
        apart = beside_each_other(capture, folder)
        print(f"    two jobs that share nothing but the machine are {CORES * alone['wall'] / apart:.2f} times as fast")


def beside_each_other(capture: Input, folder: Path) -> float:
    """Seconds that the slowest of as many jobs as cores takes, each by one core: sharing out cannot bring more."""
    with ThreadPoolExecutor(CORES) as threads:
        jobs = [threads.submit(measured, capture, folder / f"job{number}", 1) for number in range(CORES)]
    return max(job.result()["wall"] for job in jobs)


def row(found: dict[str, float]) -> None:
    per = 100 / found["size_mb"]
    print(
        f"{found['size_mb']:>6,.0f} MB {found['cores']:>6.0f} {found['frames']:>10,.0f}"
        f" {found['wall']:>7.1f} {found['cpu']:>7.1f}"
        f" {found['wall'] * per:>13.2f} {found['cpu'] * per:>17.2f} {found['python']:>7.0f} {found['heap']:>6.0f}"
        f" {found['live']:>6.0f} {found['java']:>6.0f} {found['worker']:>7.0f}",
        flush=True,
    )


def compare(before: dict[str, float], found: dict[str, float]) -> None:
    """How time grew beside size; 1.00 is linear."""
    size = found["size_mb"] / before["size_mb"]
    print(f"    {size:.1f} times the capture, per MB: {', '.join(grown(before, found, name, size) for name in NAMES)}")


def grown(before: dict[str, float], found: dict[str, float], name: str, size: float) -> str:
    """How much more a MB takes, and without what the least job takes already."""
    least = found[f"least_{name}"]
    whole = found[name] / before[name] / size
    net = (found[name] - least) / max(before[name] - before[f"least_{name}"], 0.01) / size
    return f"{whole:.2f} times the {NAMES[name]} ({net:.2f} beyond the {least:.1f} s of the least job)"


def measured(capture: Input, folder: Path, cores: int) -> dict[str, float]:
    """Decode it in a process of its own; what that found."""
    command = [sys.executable, "-m", __name__, str(capture.path), str(folder / "out"), str(cores)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "size_mb": capture.size_mb, "cores": cores}


def measure(path: Path, out: Path, cores: int) -> dict[str, float]:
    """In this process, after a warm-up on a round and three on next to nothing, which tell what a job costs."""
    from kafka_rack.pipeline.session import spark_session

    with tempfile.TemporaryDirectory(prefix="kafka-rack-bench-") as name:
        warm, small = inputs_like(path, Path(name))
        spark: Any = spark_session(f"local[{cores}]", driver_memory="1g")
        try:
            ours.through_spark(spark, warm, out)
            least = [timed(lambda: ours.through_spark(spark, small, out)) for _ in range(3)]
            size_mb = sum(file.stat().st_size for file in path.iterdir()) / MB
            found: list[int] = []
            with Peaks(spark) as peaks:
                runs = [
                    timed(lambda: found.append(ours.through_spark(spark, path, out)))
                    for _ in range(RUNS if size_mb < ONCE_MB else 1)
                ]
            spark._jvm.System.gc()
            live = spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        finally:
            spark.stop()
    return {
        "frames": found[0],
        **median(runs)._asdict(),
        "least_wall": min(run.wall for run in least),
        "least_cpu": min(run.cpu for run in least),
        "python": peaks.python,
        "heap": peaks.heap,
        "java": peaks.java,
        "live": live / MB,
        "worker": peaks.workers,
    }


def inputs_like(path: Path, folder: Path) -> tuple[Path, Path]:
    """A capture to warm up with, and one of next to nothing, of the same kind."""
    if any(path.glob("*.pcap")):
        warm = packets_of(folder / "warm.pcap", WARM_PACKETS_MB).path
        return warm, packets_of(folder / "small.pcap", 0).path
    warm = capture_of(folder / "warm.jsonl", 1).path
    small = folder / "small.jsonl"
    small.write_bytes(b"".join(warm.read_bytes().splitlines(keepends=True)[:100]))
    return warm, small


if __name__ == "__main__":
    found = measure(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(json.dumps(found) + "\n")
