"""What a cluster of its own costs a test: forks of a seeded one, resets, and pytest's plugin as a whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from mockbroker import BlockingMockCluster, MockCluster
from protocol.records import Record, build_batch

TOPICS, PARTITIONS, BATCHES = 10, 6, 100
REPEATS = 200
TESTS = 200
SUITE = f"""
import pytest

@pytest.mark.parametrize("number", range({TESTS}))
def test_it(kafka_cluster, number):
    assert kafka_cluster.bootstrap_servers
"""
TIMES = """
times = {}

def pytest_runtest_logreport(report):
    times[report.nodeid] = times.get(report.nodeid, 0) + report.duration * 1e3

def pytest_terminal_summary(terminalreporter):
    for taken in times.values():
        terminalreporter.write_line(f"ms {taken:.3f}")
"""
EMPTY_SUITE = SUITE.replace("kafka_cluster, ", "").replace("kafka_cluster.bootstrap_servers", "True")


def main() -> None:
    """Print medians."""
    batch = build_batch([Record(value=b"x" * 100)] * 10)

    def seed(cluster: MockCluster) -> None:
        for topic in cluster.state.topics.values():
            for partition in topic.partitions:
                for _ in range(BATCHES):
                    partition.log.append(batch, partition.log.end_offset + 9, 0, 0)

    topics = {f"topic-{number}": PARTITIONS for number in range(TOPICS)}
    with MockCluster(topics=topics) as cluster:
        cluster.run(seed)
        forked, closed = forks(cluster)
        print(f"fork of {TOPICS} topics of {PARTITIONS} partitions with {BATCHES} batches each, three brokers:")
        print(f"  {forked:6.2f} ms until it serves on ports of its own, {closed:.2f} ms to close it")
        print(f"  {timed(cluster.reset):6.2f} ms to reset a cluster on its ports\n")
    alone, with_clusters = per_test(EMPTY_SUITE), per_test(SUITE)
    first, others = with_clusters
    print(f"pytest, {TESTS} tests in a process of their own, setup, call and teardown:")
    print(f"  {first:6.1f} ms the first test with kafka_cluster, {others:.2f} ms each other one (median)")
    print(f"  {alone[0]:6.1f} ms and {alone[1]:.2f} ms without it")
    print(f"  {plugin_import_ms():6.1f} ms to load the plugin, in every suite")


def forks(cluster: BlockingMockCluster) -> tuple[float, float]:
    """Medians in ms: to fork, and to close the fork."""
    forked, closed = [], []
    for _ in range(REPEATS):
        began = time.perf_counter()
        fork = cluster.fork()
        _ = fork.bootstrap_servers
        made = time.perf_counter()
        fork.close()
        closed.append(time.perf_counter() - made)
        forked.append(made - began)
    return median(forked) * 1e3, median(closed) * 1e3


def timed(command: Callable[[], Any]) -> float:
    """The median in ms."""
    found = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        command()
        found.append(time.perf_counter() - began)
    return median(found) * 1e3


def per_test(suite: str) -> tuple[float, float]:
    """The first test of a suite and the median of the others, in ms, by pytest's own clock."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_suite.py").write_text(suite)
        Path(folder, "conftest.py").write_text(TIMES)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        ran = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    times = [float(found) for found in re.findall(r"^ms ([\d.]+)$", ran.stdout, re.MULTILINE)]
    assert len(times) == TESTS, ran.stdout
    return times[0], median(times[1:])


def plugin_import_ms() -> float:
    """What importing the plugin takes in a process that has pytest, in ms."""
    program = """
import time, pytest
began = time.perf_counter()
import mockbroker.testing.pytest_plugin
print((time.perf_counter() - began) * 1e3)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    runs = [
        subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
        for _ in range(7)
    ]
    return median(float(run.stdout) for run in runs)
