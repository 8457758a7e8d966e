"""How far a job is, on standard error: one line that is redrawn on a terminal; elsewhere nothing, unless it is asked
for: then a line every ten seconds.

Jobs that are over before say nothing. What a job prints never waits for it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kafka_rack.cli.parser import terminal_columns
from kafka_rack.pipeline.spark.progress import Progress, as_line

STARTING = "starting Spark"
FIRST_ON_TERMINAL_S, EVERY_ON_TERMINAL_S = 1.0, 0.3
FIRST_S, EVERY_S = 10.0, 10.0
WITHOUT_WORKERS_S = 30.0
"""So long a cluster may take to start the first executor before that is said."""
ERASE = "\r\x1b[2K"

Show = Callable[[Any], None]


@contextmanager
def shown(progress: Progress, *, quiet: bool, asked: bool) -> Iterator[Show]:
    """Gives what shows where a session's job is, if it is time to; it is called often, without a session at first.

    Args:
        quiet: nothing is said at all.
        asked: it is said on what is no terminal too.
    """
    if quiet:
        yield lambda spark: None
        return
    on_terminal = sys.stderr.isatty()
    line = ProgressLine(progress, on_terminal=on_terminal, told=on_terminal or asked)
    try:
        yield line.show
    finally:
        line.clear()


class ProgressLine:
    """What is to be seen of a job."""

    def __init__(self, progress: Progress, *, on_terminal: bool, told: bool) -> None:
        self.progress, self.on_terminal, self.told = progress, on_terminal, told
        self.next_s = time.monotonic() + (FIRST_ON_TERMINAL_S if on_terminal else FIRST_S)
        self.last = ""
        self.alone_since_s: float | None = None

    def show(self, spark: Any) -> None:
        now = time.monotonic()
        if now < self.next_s:
            return
        self.next_s = now + (EVERY_ON_TERMINAL_S if self.on_terminal else EVERY_S)
        if spark is not None:
            self.look_for_workers(spark, now)
        if self.told:
            self.tell(STARTING if spark is None else self.text(spark, now))

    def text(self, spark: Any, now: float) -> str:
        step = self.progress.now()
        if not step.totals:
            with suppress(Exception):  # the session may be closing at this moment
                done, total = tasks_of(spark)
                if total:
                    step.done = {"tasks": done, **step.done}
                    step.totals = {"tasks": total}
        return as_line(step, now)

    def look_for_workers(self, spark: Any, now: float) -> None:
        """Say once that a cluster gives a job nothing to run on: Spark would wait for ever, and says so in its log."""
        if self.alone_since_s is None:
            self.alone_since_s = now
        if now - self.alone_since_s < WITHOUT_WORKERS_S:
            return
        self.alone_since_s = float("inf")
        with suppress(Exception):
            master = spark.sparkContext.master
            if not master.startswith("local") and executors_of(spark) == 0:
                self.clear()
                self.write(without_workers(master, spark.sparkContext.getConf()))

    def tell(self, text: str) -> None:
        if self.on_terminal:
            self.write(f"{ERASE}{text[: max(terminal_columns() - 1, 1)]}")
        elif text != self.last:
            self.write(f"{text}\n")
        self.last = text

    def clear(self) -> None:
        if self.on_terminal and self.last:
            self.write(ERASE)

    def write(self, text: str) -> None:
        """Nobody need be there to read it."""
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


def tasks_of(spark: Any) -> tuple[int, int]:
    """How many tasks of the running stages are done, of how many."""
    status = spark.sparkContext.statusTracker()
    stages = [found for stage in status.getActiveStageIds() if (found := status.getStageInfo(stage)) is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)


def executors_of(spark: Any) -> int:
    """How many executors a session has beside its driver."""
    return len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1


def without_workers(master: str, settings: Any) -> str:
    """What to look at when no worker has come."""
    memory, cores = settings.get("spark.executor.memory", "1g"), settings.get("spark.executor.cores", "1")
    return (
        f"no worker of {master} has taken up work in {WITHOUT_WORKERS_S:.0f} s: expected one with {memory} of memory "
        f"(spark.executor.memory) and {cores} cores (spark.executor.cores) free; Spark waits for one\n"
    )
