"""Runs of something, and the lines of a table that tell them."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

from tests.bench.pipeline.processes import cpu_seconds

HEAD = (
    f"{'':50} {'wall s':>7} {'CPU s':>7} {'frames/s per core':>18} {'of bare':>8} {'per CPU second':>15} {'of bare':>8}"
    f" {'of codec':>9}"
)


class Run(NamedTuple):
    """Seconds on the wall, and of all processors together, of all processes that took part."""

    wall: float
    cpu: float


class Rates(NamedTuple):
    """Frames per second and core by the wall, and per second of processor time."""

    wall: float
    cpu: float


def timed(call: Callable[[], object], clock: Callable[[], float] = cpu_seconds) -> Run:
    """One run; the clock counts processor time."""
    wall, cpu = perf_counter(), clock()
    call()
    return Run(perf_counter() - wall, clock() - cpu)


def own_seconds() -> float:
    """Processor time of this process and of its children that have ended: without a Java that runs on."""
    return sum(os.times()[:4])


def median(runs: list[Run]) -> Run:
    """The median of both, each on its own."""
    return Run(statistics.median(run.wall for run in runs), statistics.median(run.cpu for run in runs))


def line(
    name: str, frames: int, runs: list[Run], *, cores: int = 1, bare: Rates | None = None, codec: Rates | None = None
) -> Rates:
    """Print a row; gives its rates.

    Args:
        bare, codec: the rates of the bare codec and of the codec in memory, which shares are told of.
    """
    middle = median(runs)
    rates = Rates(frames / middle.wall / cores, frames / max(middle.cpu, 1e-3))
    shares = [f"{one / base:.2f}" for one, base in zip(rates, bare, strict=True)] if bare is not None else ["", ""]
    of_codec = f"{rates.cpu / codec.cpu:.2f}" if codec is not None else ""
    print(
        f"{name:50} {middle.wall:>7.2f} {middle.cpu:>7.2f} {rates.wall:>18,.0f} {shares[0]:>8} {rates.cpu:>15,.0f}"
        f" {shares[1]:>8} {of_codec:>9}".rstrip(),
        flush=True,
    )
    return rates


def progress(text: str) -> None:
    """What goes on, for who waits."""
    print(f"  ... {text}", file=sys.stderr, flush=True)
