"""How far a job is: when it is said, and on what."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from kafka_rack.cli.pipeline import progress as shown_progress
from kafka_rack.cli.pipeline.progress import ERASE, shown
from kafka_rack.pipeline.spark.progress import Progress, counted

SPARK = SimpleNamespace()


class Stderr(io.StringIO):
    def __init__(self, on_terminal):
        super().__init__()
        self.isatty = lambda: on_terminal


@pytest.fixture
def seen(monkeypatch):
    """What is shown at the times given, of a job that has read 25 of 100 bytes."""

    def at(times, *, on_terminal, quiet=False):
        clock = [0.0]
        monkeypatch.setattr(shown_progress.time, "monotonic", lambda: clock[0])
        stderr = Stderr(on_terminal)
        monkeypatch.setattr(sys, "stderr", stderr)
        progress = Progress("working")
        with shown(progress, quiet=quiet) as show:
            for number, clock[0] in enumerate(times):
                if number == 1:
                    progress.begin("reading", {"bytes": 100}, lambda: {"bytes": 25})
                show(SPARK if number else None)
        return stderr.getvalue()

    return at


def test_a_quick_job_says_nothing(seen):
    assert seen([3.0, 9.9], on_terminal=False) == ""
    assert seen([0.5, 0.9], on_terminal=True) == ""


def test_a_long_one_says_a_line_every_ten_seconds(seen):
    said = seen([10.0, 15.0, 21.0, 25.0, 31.0], on_terminal=False)
    assert said.splitlines() == [
        "starting Spark",
        "reading: 25 of 100 bytes, 18 s left",
        "reading: 25 of 100 bytes, 48 s left",
    ]


def test_on_a_terminal_one_line_is_redrawn_and_at_last_gone(seen):
    said = seen([1.0, 2.0, 2.1], on_terminal=True)
    assert said == f"{ERASE}starting Spark{ERASE}reading: 25 of 100 bytes{ERASE}"


def test_a_quiet_one_says_nothing_at_all(seen):
    assert seen([100.0, 200.0], on_terminal=True, quiet=True) == ""


def test_workers_count_what_they_give():
    sums = {}

    class Counter:
        def add(self, counts):
            for name, number in counts.items():
                sums[name] = sums.get(name, 0) + number

    function = counted(lambda rows: (row * 2 for row in rows), Counter(), lambda row: {"blocks": 1, "bytes": row})
    assert list(function([1, 2, 3])) == [2, 4, 6]
    assert sums == {"blocks": 3, "bytes": 12}
