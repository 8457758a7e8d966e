"""How far a job is: the names that Spark's pages show, and counts for whoever looks on.

    with step(spark, "decoding", blocks=80, bytes=10_000_000_000) as counter:
        rdd.mapPartitions(function_that_calls(counter.add)).collect()

Workers' counts come back with their tasks, those of a task that is tried again once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, NamedTuple

import msgspec

from kafka_rack.pipeline.spark.session import context_of


class Step(msgspec.Struct):
    """A part of a job: what it does, what of how much is done, and since when."""

    what: str
    done: dict[str, int]
    totals: dict[str, int]
    since_s: float


class Progress:
    """Where the job of one thread is, for another to look at."""

    def __init__(self, what: str = "") -> None:
        self._lock = threading.Lock()
        self._step = Step(what, {}, {}, time.monotonic())
        self._counts: Callable[[], Mapping[str, int]] = dict

    def begin(self, what: str, totals: Mapping[str, int], counts: Callable[[], Mapping[str, int]] = dict) -> None:
        """Another step; ``counts`` is asked how far it is."""
        with self._lock:
            self._step, self._counts = Step(what, {}, dict(totals), time.monotonic()), counts

    def now(self) -> Step:
        with self._lock:
            step = self._step
            return msgspec.structs.replace(step, done=dict(self._counts()))


looked_at: ContextVar[Progress | None] = ContextVar("looked_at", default=None)


@contextmanager
def watched_by(progress: Progress) -> Iterator[None]:
    """Steps of this thread are told to ``progress`` meanwhile."""
    before = looked_at.set(progress)
    try:
        yield
    finally:
        looked_at.reset(before)


class ProgressCounter(NamedTuple):
    """What workers count with; pickles. Without an accumulator nothing is counted."""

    accumulator: Any = None

    def add(self, **counts: int) -> None:
        """More of what is done, by name."""
        if self.accumulator is not None:
            self.accumulator.add(counts)

    def counts(self) -> dict[str, int]:
        """All that is done; the driver alone knows."""
        return {} if self.accumulator is None else dict(self.accumulator.value)


UNCOUNTED = ProgressCounter()


@contextmanager
def step(spark: Any, what: str, **totals: int) -> Iterator[ProgressCounter]:
    """A part of a job by its name; gives what its workers count with.

    Args:
        totals: how much of what there is to do; without any, Spark's tasks are counted.

    Raises SparkMissing: a session of Spark Connect.
    """
    context: Any = context_of(spark)  # its types know no property without a value
    counter = ProgressCounter(context.accumulator({}, adding()))
    progress = looked_at.get()
    if progress is not None:
        progress.begin(what, totals, counter.counts)
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(described(what, totals))
    try:
        yield counter
    finally:
        with suppress(Exception):  # the session may be gone by now
            context.setLocalProperty("spark.job.description", before)


def adding() -> Any:
    """How Spark adds counts; a class of its own package."""
    from kafka_rack.pipeline.spark.counts import CountsAccumulator

    return CountsAccumulator()


def described(what: str, totals: Mapping[str, int]) -> str:
    """
    >>> described("decoding", {"blocks": 80, "bytes": 12_000_000_000})
    'decoding 80 blocks, 12.0 GB'
    """
    return " ".join([what, ", ".join(amount(name, total) for name, total in totals.items())]).strip()


def amount(name: str, number: int) -> str:
    """
    >>> amount("bytes", 4_200_000), amount("frames", 1_234_567)
    ('4.2 MB', '1,234,567 frames')
    """
    return scaled(number, number) if name == "bytes" else f"{number:,} {name}"


def scaled(number: int, largest: int) -> str:
    """Bytes in the unit that suits the largest of several."""
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if largest >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number} bytes"


MIN_PASSED_S = 1.0
"""Before, nobody can say how fast it goes and how long the rest will take."""


def as_line(step: Step, now_s: float) -> str:
    """What is done of how much, how fast, and how long the rest will take.

    >>> done = {"blocks": 2, "bytes": 25_000_000, "frames": 1234}
    >>> as_line(Step("decoding", done, {"blocks": 8, "bytes": 100_000_000}, 0.0), 60.0)
    'decoding: 2 of 8 blocks, 25.0 of 100.0 MB, 1,234 frames, 416.7 kB/s, 3 min left'
    """
    told = []
    for name in dict.fromkeys([*step.totals, *step.done]):
        done, total = step.done.get(name, 0), step.totals.get(name)
        if total is None:
            told.append(amount(name, done))
        elif name == "bytes":
            told.append(f"{scaled(done, total).split()[0]} of {scaled(total, total)}")
        else:
            told.append(f"{done:,} of {total:,} {name}")
    told += pace(step, now_s)
    return f"{step.what}: {', '.join(told)}" if told else step.what


def pace(step: Step, now_s: float) -> list[str]:
    """How fast it goes and how long the rest will take, by the bytes that are done or else by what is counted first.

    Nothing where too little is done, or it has hardly begun.
    """
    passed = now_s - step.since_s
    name = next((name for name in ("bytes", *step.totals, *step.done) if step.done.get(name, 0) > 0), None)
    if name is None or passed < MIN_PASSED_S:
        return []
    done, total = step.done[name], step.totals.get(name, 0)
    told = [rate(name, done / passed)]
    if done < total:
        told.append(f"{duration(passed * (total - done) / done)} left")
    return told


def rate(name: str, each_second: float) -> str:
    """
    >>> rate("bytes", 12_300_000), rate("frames", 1234.5), rate("recordings", 0.05)
    ('12.3 MB/s', '1,234 frames/s', '3.0 recordings/min')
    """
    if name == "bytes":
        return f"{scaled(round(each_second), round(each_second))}/s"
    if each_second < 1:
        return f"{each_second * 60:,.1f} {name}/min"
    return f"{each_second:,.0f} {name}/s"


def duration(seconds: float) -> str:
    """
    >>> [duration(seconds) for seconds in (3, 75, 5400)]
    ['3 s', '1 min', '1.5 h']
    """
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
