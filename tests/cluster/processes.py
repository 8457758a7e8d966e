"""A Spark cluster on this machine: a master and workers as processes of their own, each in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from typing import IO

import pyspark

LOOPBACK = "127.0.0.1"
SPARK_HOME = Path(pyspark.__file__).parent
MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
JOINED = re.compile(r"Successfully registered with master")
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that lives for seconds: less compiling."""
KEPT = ("PATH", "JAVA_HOME", "LANG", "TMPDIR")


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """A master and its workers, one core each; gives the master's address once all have joined."""
    with ExitStack() as stack:
        bind = ("--port", "0", "--webui-port", "0")
        master = stack.enter_context(running(folder / "master", ["deploy.master.Master", "--host", LOOPBACK, *bind]))
        found = told(master, MASTER)
        limits = ("--cores", "1", "--memory", "1g")
        joining = []
        for number in range(workers):
            command = ["deploy.worker.Worker", "--host", LOOPBACK, *bind, *limits, found[1]]
            joining.append(stack.enter_context(running(folder / f"worker-{number}", command)))
        for worker in joining:
            told(worker, JOINED)
        yield found[1]


@contextmanager
def running(folder: Path, arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A class of Spark's as a process in an empty folder, with an environment of its own; ended afterwards."""
    folder.mkdir(parents=True)
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    environment |= {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
        "SPARK_WORKER_DIR": str(folder / "work"),
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
