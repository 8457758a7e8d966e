"""A Spark cluster on this machine: a master and workers as processes of their own, knowing nothing of this checkout.

Each has an empty folder to be in and an environment with only what Spark needs; their Python is a new one with nothing
but its standard library.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple

import pyspark

LOOPBACK = "127.0.0.1"
SPARK_HOME = Path(pyspark.__file__).parent
MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
JOINED = re.compile(r"Successfully registered with master")
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that lives for seconds: less compiling."""
SESSION, ENDED = 3, "Z"
"""The place of a process's session in a line of /proc/PID/stat, counted after its name, and the state of one that has
ended and that nobody has waited for."""
KEPT = ("PATH", "JAVA_HOME", "LANG", "TMPDIR")


def bare_python(folder: Path) -> Path:
    """A new Python beside this one, without packages."""
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


class SparkCluster(NamedTuple):
    """A cluster that runs: its master's address, and its workers, each the leader of a session of processes."""

    address: str
    workers: list[subprocess.Popen[str]]


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """A master and its workers, one core each; gives the master's address once all have joined."""
    with cluster_of_processes(folder, workers) as started:
        yield started.address


@contextmanager
def cluster_of_processes(folder: Path, workers: int, *, apart: bool = False) -> Iterator[SparkCluster]:
    """The same, for who means to kill some of it.

    Args:
        apart: each worker has an address of its own on Linux's loopback, so that Spark takes them for several machines,
            and tries a slow task of one on another.
    """
    with ExitStack() as stack:
        bind = ("--port", "0", "--webui-port", "0")
        master = stack.enter_context(running(folder / "master", ["deploy.master.Master", "--host", LOOPBACK, *bind]))
        found = told(master, MASTER)
        limits = ("--cores", "1", "--memory", "1g")
        joining = []
        for number in range(workers):
            host = f"127.0.0.{1 + number}" if apart else LOOPBACK
            command = ["deploy.worker.Worker", "--host", host, *bind, *limits, found[1]]
            joining.append(stack.enter_context(running(folder / f"worker-{number}", command, SPARK_LOCAL_IP=host)))
        for worker in joining:
            told(worker, JOINED)
        yield SparkCluster(found[1], joining)


@contextmanager
def running(folder: Path, arguments: list[str], **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A class of Spark's as a process in an empty folder, with an environment of its own; ended afterwards."""
    folder.mkdir(parents=True)
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    environment |= {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
        "SPARK_WORKER_DIR": str(folder / "work"),
        **variables,
    }
    program = str(SPARK_HOME / "bin" / "spark-class")
    process = subprocess.Popen(
        [program, f"org.apache.spark.{arguments[0]}", *arguments[1:]],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # with its executors and their Pythons in it
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def processes_of(leader: int) -> dict[int, list[str]]:
    """The processes of a session that one led, by number, with their command lines: a worker's, a driver's."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text(errors="replace").split("\0")
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[SESSION]) == leader and fields[0] != ENDED:
            found[int(folder.name)] = words
    return found


def pythons_of(worker: int) -> list[int]:
    """The Pythons of a worker's executors: those that run tasks, and the one that each executor has them forked by."""
    return [number for number, words in processes_of(worker).items() if "pyspark.daemon" in words]


def kill_all_of(leader: int) -> dict[int, list[str]]:
    """SIGKILL to all processes of a session, those that start meanwhile among them; gives those that it met."""
    met: dict[int, list[str]] = {}
    while left := processes_of(leader):
        met |= left
        for number in left:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
    return met


def told(process: subprocess.Popen[str], wanted: re.Pattern[str]) -> re.Match[str]:
    """Wait for a line of its log; what follows is read and dropped."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if found := wanted.search(line):
            Thread(target=drop, args=[process.stderr], daemon=True).start()
            return found
    raise AssertionError(f"Spark ended before it said {wanted.pattern!r}:\n{''.join(lines[-30:])}")


def drop(stream: IO[str]) -> None:
    for _ in stream:
        pass
