"""How far a job is, on standard error: one line that is redrawn on a terminal, else a line every ten seconds.

Jobs that are over before say nothing.
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
ERASE = "\r\x1b[2K"

Show = Callable[[Any], None]


@contextmanager
def shown(progress: Progress, *, quiet: bool) -> Iterator[Show]:
    """Gives what shows where a session's job is, if it is time to; it is called often, without a session at first."""
    if quiet:
        yield lambda spark: None
        return
    line = Line(progress, on_terminal=sys.stderr.isatty())
    try:
        yield line.show
    finally:
        line.clear()


class Line:
    """What is to be seen of a job."""

    def __init__(self, progress: Progress, *, on_terminal: bool) -> None:
        self.progress, self.on_terminal = progress, on_terminal
        self.next_s = time.monotonic() + (FIRST_ON_TERMINAL_S if on_terminal else FIRST_S)
        self.last = ""

    def show(self, spark: Any) -> None:
        now = time.monotonic()
        if now < self.next_s:
            return
        self.next_s = now + (EVERY_ON_TERMINAL_S if self.on_terminal else EVERY_S)
        self.tell(STARTING if spark is None else self.text(spark, now))

    def text(self, spark: Any, now: float) -> str:
        step = self.progress.now()
        if not step.totals:
            with suppress(Exception):  # the session may be closing at this moment
                done, total = tasks_of(spark)
                if total:
                    step.done, step.totals = {"tasks": done}, {"tasks": total}
        return as_line(step, now)

    def tell(self, text: str) -> None:
        if self.on_terminal:
            sys.stderr.write(f"{ERASE}{text[: max(terminal_columns() - 1, 1)]}")
            sys.stderr.flush()
        elif text != self.last:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        self.last = text

    def clear(self) -> None:
        if self.on_terminal and self.last:
            sys.stderr.write(ERASE)
            sys.stderr.flush()


def tasks_of(spark: Any) -> tuple[int, int]:
    """How many tasks of the running stages are done, of how many."""
    status = spark.sparkContext.statusTracker()
    stages = [found for stage in status.getActiveStageIds() if (found := status.getStageInfo(stage)) is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
