"""How far a job is: when it is said, and on what."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from kafka_rack.cli.pipeline import progress as shown_progress
from kafka_rack.cli.pipeline.progress import ERASE, shown
from kafka_rack.pipeline.spark.progress import UNCOUNTED, Progress, ProgressCounter

SPARK = SimpleNamespace()


class Stderr(io.StringIO):
    def __init__(self, on_terminal):
        super().__init__()
        self.isatty = lambda: on_terminal


@pytest.fixture
def seen(monkeypatch):
    """What is shown at the times given, of a job that has read 25 of 100 bytes."""

    def at(times, *, on_terminal, quiet=False, asked=False, spark=SPARK):
        clock = [0.0]
        monkeypatch.setattr(shown_progress.time, "monotonic", lambda: clock[0])
        stderr = Stderr(on_terminal)
        monkeypatch.setattr(sys, "stderr", stderr)
        progress = Progress("working")
        with shown(progress, quiet=quiet, asked=asked) as show:
            for number, clock[0] in enumerate(times):
                if number == 1:
                    progress.begin("reading", {"bytes": 100}, lambda: {"bytes": 25})
                show(spark if number else None)
        return stderr.getvalue()

    return at


def test_a_quick_job_says_nothing(seen):
    assert seen([3.0, 9.9], on_terminal=False, asked=True) == ""
    assert seen([0.5, 0.9], on_terminal=True) == ""


def test_where_nobody_looks_on_nothing_is_said_unless_it_is_asked_for(seen):
    assert seen([10.0, 15.0, 21.0, 25.0, 31.0], on_terminal=False) == ""


def test_a_long_one_that_is_asked_says_a_line_every_ten_seconds(seen):
    said = seen([10.0, 15.0, 21.0, 25.0, 31.0], on_terminal=False, asked=True)
    assert said.splitlines() == [
        "starting Spark",
        "reading: 25 of 100 bytes, 4 bytes/s, 18 s left",
        "reading: 25 of 100 bytes, 2 bytes/s, 48 s left",
    ]


def test_on_a_terminal_one_line_is_redrawn_and_at_last_gone(seen):
    said = seen([1.0, 2.0, 2.1], on_terminal=True)
    assert said == f"{ERASE}starting Spark{ERASE}reading: 25 of 100 bytes{ERASE}"


def test_a_reader_who_has_gone_stops_no_job(seen, monkeypatch):
    def write(*_):
        raise BrokenPipeError

    monkeypatch.setattr(Stderr, "write", write)
    assert seen([1.0, 2.0, 3.0], on_terminal=True) == ""


def test_a_quiet_one_says_nothing_at_all(seen):
    assert seen([100.0, 200.0], on_terminal=True, quiet=True) == ""


class Cluster:
    """A session on a cluster that has given it so many executors."""

    def __init__(self, master, executors):
        infos = SimpleNamespace(getExecutorInfos=lambda: ["driver", *range(executors)])
        java = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: infos))
        settings = {"spark.executor.memory": "4g"}
        self.sparkContext = SimpleNamespace(master=master, _jsc=java, getConf=lambda: settings)


def test_a_cluster_without_room_is_told_once_and_also_where_nobody_looks_on(seen):
    said = seen([0.0, 10.0, 30.0, 50.0, 90.0], on_terminal=False, spark=Cluster("spark://a:7077", 0))
    assert said == (
        "no worker of spark://a:7077 has taken up work in 30 s: expected one with 4g of memory "
        "(spark.executor.memory) and 1 cores (spark.executor.cores) free; Spark waits for one\n"
    )


@pytest.mark.parametrize("spark", [Cluster("spark://a:7077", 1), Cluster("local[2]", 0)])
def test_a_session_with_workers_lacks_none(seen, spark):
    assert seen([0.0, 10.0, 30.0, 50.0, 90.0], on_terminal=False, spark=spark) == ""


def test_what_workers_count_comes_together_by_name():
    class Accumulator:
        def __init__(self):
            self.value = {}

        def add(self, counts):
            self.value = {name: self.value.get(name, 0) + number for name, number in counts.items()}

    counter = ProgressCounter(Accumulator())
    counter.add(blocks=1, bytes=5)
    counter.add(blocks=1, bytes=7)
    assert counter.counts() == {"blocks": 2, "bytes": 12}
    UNCOUNTED.add(blocks=1)
    assert UNCOUNTED.counts() == {}
