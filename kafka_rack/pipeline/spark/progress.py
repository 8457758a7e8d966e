"""How far a job is: the names that Spark's pages show, and counts for whoever looks on.

    with step(spark, "decoding", blocks=80, bytes=10_000_000_000) as counter:
        rdd.mapPartitions(counted(function, counter, lambda row: {"frames": row.frames})).collect()

Workers' counts come back with their tasks, those of a task that is tried again once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

import msgspec

Given = TypeVar("Given")
Row = TypeVar("Row")


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


@contextmanager
def step(spark: Any, what: str, **totals: int) -> Iterator[Any]:
    """A part of a job by its name; gives what workers count with, None where there is no such thing."""
    context = None
    with suppress(Exception):  # a client of Spark Connect has none
        context = spark.sparkContext
    counter = None if context is None else context.accumulator({}, adding())
    progress = looked_at.get()
    if progress is not None:
        progress.begin(what, totals, dict if counter is None else lambda: counter.value)
    if context is None:
        yield None
        return
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(described(what, totals))
    try:
        yield counter
    finally:
        with suppress(Exception):  # the session may be gone by now
            context.setLocalProperty("spark.job.description", before)


def adding() -> Any:
    """How Spark adds counts; a class of its own package."""
    from kafka_rack.pipeline.spark.counts import Counts

    return Counts()


def counted(
    function: Callable[[Iterable[Given]], Iterator[Row]], counter: Any, counts: Callable[[Row], Mapping[str, int]]
) -> Callable[[Iterable[Given]], Iterator[Row]]:
    """A function over a partition that also counts by what it gives.

    >>> list(counted(iter, None, lambda row: {"rows": 1})([1, 2]))
    [1, 2]
    """
    if counter is None:
        return function

    def both(given: Iterable[Given]) -> Iterator[Row]:
        for row in function(given):
            counter.add(counts(row))
            yield row

    return both


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


LEAST_PASSED_S = 1.0
"""Before, nobody can say how long the rest will take."""


def as_line(step: Step, now_s: float) -> str:
    """What is done of how much, and how long the rest will take.

    >>> as_line(Step("decoding", {"blocks": 2, "bytes": 25, "frames": 1234}, {"blocks": 8, "bytes": 100}, 0.0), 60.0)
    'decoding: 2 of 8 blocks, 25 of 100 bytes, 1,234 frames, 3 min left'
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
    left = seconds_left(step, now_s)
    if left is not None:
        told.append(f"{duration(left)} left")
    return f"{step.what}: {', '.join(told)}" if told else step.what


def seconds_left(step: Step, now_s: float) -> float | None:
    """By what is done of the bytes, or of what else is counted; None where too little is, or it has hardly begun."""
    passed = now_s - step.since_s
    if passed < LEAST_PASSED_S:
        return None
    for name in dict.fromkeys(["bytes", *step.totals]):
        done, total = step.done.get(name, 0), step.totals.get(name, 0)
        if 0 < done < total:
            return passed * (total - done) / done
    return None


def duration(seconds: float) -> str:
    """
    >>> [duration(seconds) for seconds in (3, 75, 5400)]
    ['3 s', '1 min', '1.5 h']
    """
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
