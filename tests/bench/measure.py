"""Timing side by side: everything compared is run in turns, so that a busy moment of the machine hits all alike.

What counts is the time that the thread had a processor, not the time on the wall: all of this is computing, and other
work on the machine is no part of it.
"""

import gc
import os
import platform
import statistics
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import thread_time

import protocol

ROUNDS = 9
PEERS = ("kio", "kafka-python", "construct", "msgspec")


def side_by_side(calls: Sequence[Callable[[], object]], *, seconds: float = 0.2, rounds: int = ROUNDS) -> list[float]:
    """The median time of one call of each, in seconds.

    Args:
        seconds: about how long each call is run for in total; at least once a round.
    """
    repeats = [max(1, int(seconds / rounds / warm_time(call))) for call in calls]
    times: list[list[float]] = [[] for _ in calls]
    gc.freeze()  # what exists already is no part of the work, and would be walked at each full collection
    for _ in range(rounds):
        for call, repeat, found in zip(calls, repeats, times, strict=True):
            start = thread_time()
            for _ in range(repeat):
                call()
            found.append((thread_time() - start) / repeat)
    gc.unfreeze()
    return [statistics.median(found) for found in times]


def warm_time(call: Callable[[], object]) -> float:
    """Seconds of one call, after two that fill caches and compile what is compiled on first use."""
    call()
    call()
    start = thread_time()
    call()
    return max(thread_time() - start, 1e-7)


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean that treats twice as fast and half as fast as opposites."""
    return statistics.geometric_mean(ratios)


def machine() -> str:
    """What the figures were measured on, for the head of a table."""
    versions = ", ".join(f"{name} {installed(name)}" for name in PEERS)
    python = f"Python {platform.python_version()}, codec: {protocol.backend()}"
    return f"{processor()}, {os.cpu_count()} CPUs; {python}; {versions}"


def processor() -> str:
    """The name of the processor where Linux tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or sys.platform


def installed(name: str) -> str:
    """The version of an installed distribution."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"
