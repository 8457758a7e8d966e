"""Whoever is killed while a cluster decodes: rows are there exactly once, the earlier tables until the new are whole.

Workers are killed with all that belongs to them, executors and their Pythons, and so is the driver.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_rack.pipeline.output.commits import TEMPORARY
from tests.cluster.conftest import NAMES, PACKETS, WORKERS
from tests.on_spark import unpacked
from tests.pipeline.cluster import LOOPBACK, SparkCluster, kill_all_of, pythons_of
from tests.pipeline.plain import plain_tables, tables_of
from tests.progress import end_of, wait_until

ROOT = Path(__file__).resolve().parents[2]
HOW = {"batch": ("--tasks", "40"), "stream": ("--once",)}
"""How a capture is decoded; of six tasks on two cores, as a stream has them, and of many more."""


@contextmanager
def decoding(
    place: Path, cluster: SparkCluster, settings: Mapping[str, str], *more: str
) -> Iterator[subprocess.Popen[str]]:
    """The command, which leads a session of processes with Spark's driver in it."""
    told = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    command = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", "in", "--out", "out", *more]
    with subprocess.Popen(
        [*command, "--master", cluster.address, "--driver-memory", "600m", "--quiet", *told],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": LOOPBACK},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            kill_all_of(process.pid)


def ends_well(process: subprocess.Popen[str]) -> None:
    _, complaints = end_of(process, "the end of decoding")
    assert process.returncode == 0, complaints


def wait_for_the_middle(process: subprocess.Popen[str], out: Path) -> None:
    """Until tasks have written some of what is to be, and not all."""
    wait_until(lambda: staged(out) or process.poll() is not None, "the first file of a table")
    assert process.poll() is None, process.communicate()
    assert not [*out.rglob("commit.json")]


def staged(out: Path) -> list[Path]:
    return [*(out / TEMPORARY).rglob("part-*")]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with captures in the folder `in`: what is there before their last third is recorded."""
    (tmp_path / "in").mkdir()
    for name in (*(f"{name}.jsonl" for name in NAMES), *PACKETS):
        content = unpacked(name)
        end = content.index(b"\n", len(content) * 2 // 3) + 1 if name.endswith(".jsonl") else len(content) // 2
        (tmp_path / "in" / name).write_bytes(content[:end])
    return tmp_path


def record_the_rest(place: Path) -> None:
    for path in (place / "in").iterdir():
        path.write_bytes(unpacked(path.name))


def test_a_worker_that_is_killed_costs_its_tasks_alone(place, two_workers, settings):
    old = plain_tables(place / "in", place / "out")
    record_the_rest(place)
    new = plain_tables(place / "in", place / "plain")
    assert old["frames"] != new["frames"]
    with decoding(place, two_workers, settings, *HOW["batch"]) as process:
        wait_for_the_middle(process, place / "out")
        busy = [one for one in two_workers.workers if pythons_of(one.pid)]
        assert busy
        killed = kill_all_of(busy[0].pid)
        assert any("CoarseGrainedExecutorBackend" in word for words in killed.values() for word in words)
        assert process.poll() is None
        ends_well(process)
    assert len([one for one in two_workers.workers if one.poll() is None]) == WORKERS - 1
    assert tables_of(place / "out", place / "in") == new
    assert not (place / "out" / TEMPORARY).exists()


def test_a_driver_that_is_killed_leaves_the_earlier_tables_and_the_next_run_writes_all(place, two_workers, settings):
    old = plain_tables(place / "in", place / "out")
    record_the_rest(place)
    new = plain_tables(place / "in", place / "plain")
    with decoding(place, two_workers, settings, *HOW["batch"]) as process:
        wait_for_the_middle(process, place / "out")
        kill_all_of(process.pid)
    assert tables_of(place / "out", place / "in") == old
    with decoding(place, two_workers, settings) as process:
        ends_well(process)
    assert tables_of(place / "out", place / "in") == new


def test_a_stream_whose_driver_is_killed_goes_on_exactly_once(place, two_workers, settings):
    with decoding(place, two_workers, settings, *HOW["stream"]) as process:
        wait_for_the_middle(process, place / "out")
        kill_all_of(process.pid)
    assert tables_of(place / "out", place / "in")["frames"] == []
    for path in (place / "in").glob("*.jsonl"):
        path.write_bytes(unpacked(path.name))
    with decoding(place, two_workers, settings, *HOW["stream"]) as process:
        ends_well(process)
    assert tables_of(place / "out", place / "in") == plain_tables(place / "in", place / "plain")
