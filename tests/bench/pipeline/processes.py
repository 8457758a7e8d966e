"""Processor time and memory of a process and all below it, as Linux's /proc tells them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple, Self

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
MB = 1_000_000


class Process(NamedTuple):
    """A process: times in seconds, its own and those of its children that have ended; memory in bytes."""

    pid: int
    parent: int
    cpu: float
    memory: int


def processes() -> Iterator[Process]:
    """All that run; none where there is no /proc."""
    for folder in PROC.glob("[0-9]*"):
        try:
            _, _, rest = (folder / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")
        except OSError:
            continue  # gone by now
        fields = rest.split()
        yield Process(int(folder.name), int(fields[1]), sum(map(int, fields[11:15])) / TICKS, int(fields[21]) * PAGE)


def tree(root: int) -> list[Process]:
    """A process and all below it."""
    found = list(processes())
    below: dict[int, list[Process]] = {}
    for process in found:
        below.setdefault(process.parent, []).append(process)
    taken = [process for process in found if process.pid == root]
    for process in taken:
        taken += below.get(process.pid, ())
    return taken


def cpu_seconds() -> float:
    """What this process and all below it have used so far; 0 where that cannot be seen."""
    return sum(process.cpu for process in tree(os.getpid()))


def command(pid: int) -> str:
    """How a process was called."""
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


class Peaks:
    """The most memory while it lasts, in MB: of this process, of Java's heap, of Java, and of the largest of Spark's
    workers in Python.
    """

    def __init__(self, spark: Any, every_seconds: float = 0.3) -> None:
        self.python = self.heap = self.java = self.workers = 0.0
        self._memory = spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
        self._every = every_seconds
        self._ended = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self._every):
            self.heap = max(self.heap, self._memory.getHeapMemoryUsage().getUsed() / MB)
            workers = 0.0
            for process in tree(os.getpid()):
                if process.pid == os.getpid():
                    self.python = max(self.python, process.memory / MB)
                    continue
                called = command(process.pid)
                if "java" in called:
                    self.java = max(self.java, process.memory / MB)
                elif "pyspark" in called:
                    workers = max(workers, process.memory / MB)
            self.workers = max(self.workers, workers)
