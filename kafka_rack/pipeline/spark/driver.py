"""The driver's JVM: how it is started, what it says on its standard error, and why it did not start or has ended.

Spark's own start throws that away or mixes it into the terminal. Here the last of it is kept, and shown where logs are
asked for, so that a Java that does not come up can be told by its own words.
"""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from kafka_rack.pipeline.spark.settings import is_secret

KEPT_LINES = 400
MAX_SAID = 3
"""Lines of a reason that is no Java exception."""
LAST_LINES_S = 2.0
"""How long the last lines of a process that has ended may take."""
NOISE = re.compile(
    r"\s+at |\s*\.\.\. \d+ more|WARNING: |NOTE: |Picked up |:: |\s*(found|confs|downloading|\[SUCCESSFUL) "
    r"|Error: Could not create the Java Virtual Machine|Error: A fatal exception has occurred"
    r"|Error occurred during initialization of VM|Using |Ivy Default Cache|The jars for the packages|Setting "
    r"|\d\d(/\d\d/\d\d \d\d)?:\d\d:\d\d (INFO|WARN|DEBUG|TRACE) |OpenJDK |Java HotSpot|Run with --help|\s*[-|=]*\s*$"
    r"|[\w./-]+/spark-class: line \d+: |To adjust logging level "
)
EXCEPTION = re.compile(r'(?:Exception in thread "[^"]*" |Caused by: )([\w.$]+)(?:: (.*))?')
LOGGED_EXCEPTION = re.compile(r"(?:java|org)\.[\w.$]+: .+")
WITHOUT_MEMORY = re.compile(r"\bheap\b|System memory|JNI error")
"""In what a JVM says when it has too little or cannot have all that it was promised."""


class StandardError:
    """The reading end of a pipe whose other end is a process's standard error.

    Args:
        shown: whether each line goes on to our own.
    """

    def __init__(self, *, shown: bool) -> None:
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        reads, self.writing_end = os.pipe()
        self._thread = threading.Thread(target=self._drain, args=[reads, shown], daemon=True, name="driver's stderr")
        self._thread.start()

    def _drain(self, reads: int, shown: bool) -> None:
        with open(reads, "rb") as pipe:
            for line in pipe:
                self.lines.append(line.decode("utf-8", "replace").rstrip())
                if shown:
                    with suppress(OSError):
                        os.write(2, line)

    def handed_over(self) -> None:
        """The process has its end by now; ours is not needed."""
        os.close(self.writing_end)

    def to_the_end(self) -> list[str]:
        """All that was kept, of a process that has ended."""
        self._thread.join(LAST_LINES_S)
        return list(self.lines)


class Driver:
    """The JVM of this process; ``process`` is None until it answers."""

    def __init__(self, said: StandardError) -> None:
        self.said = said
        self.process: Any = None


started: Driver | None = None


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Environment variables for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def start_driver(settings: Mapping[str, str], *, shown: bool) -> None:
    """Start the JVM that a SparkContext will use, unless this process has one already.

    Secrets are not among the arguments of its command; the session brings them.

    Raises: DriverNotStarted, by Java's own words.
    """
    global started  # noqa: PLW0603 - there is one a process, as of Spark's own
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    configured = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        if not is_secret(name):
            configured.set(name, value)
    driver = started = Driver(StandardError(shown=shown))
    try:
        try:
            launch: Any = launch_gateway  # without types
            # What a JVM says about its own start it says on standard output, where our results go.
            gateway = launch(configured, dict.fromkeys(("stdout", "stderr"), driver.said.writing_end))
        finally:
            driver.said.handed_over()
    except PySparkRuntimeError:
        raise DriverNotStarted(reason_of(driver.said.to_the_end())) from None
    except BaseException as error:
        end_launch(error.__traceback__)
        raise
    driver.process = gateway.proc
    SparkContext._ensure_initialized(gateway=gateway)


def end_launch(trace: TracebackType | None) -> None:
    """Kill the process that an interrupted launch had started; only the launch's own frame knows it.

    It would stay for ever: a JVM that cannot say where it listens ends its main thread alone.
    """
    while trace is not None:
        process = trace.tb_frame.f_locals.get("proc")
        if process is not None:
            process.kill()
            process.wait()
        trace = trace.tb_next


class DriverNotStarted(Exception):
    """Java or Spark's launcher ended before the driver was there; the text is what it said."""


def kill_driver() -> bool:
    """End the JVM of a start that nobody waits for any more; says whether there was one."""
    if started is None or started.process is None or started.process.poll() is not None:
        return False
    started.process.kill()
    return True


def how_the_driver_ended() -> str | None:
    """Why the JVM that was started is not there any more; None while it is."""
    if started is None or started.process is None:
        return None
    with suppress(Exception):
        started.process.wait(LAST_LINES_S)
    code = started.process.poll()
    if code is None:
        return None
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    said = reason_of(started.said.to_the_end())
    return f"the driver's Java ended {how}: {said}"


def reason_of(lines: Iterable[str]) -> str:
    """What of a JVM's last lines says why it ended: the innermost exception, else the last that are no noise.

    >>> reason_of(["Unrecognized VM option 'Bogus'", "Error: Could not create the Java Virtual Machine."])
    "Unrecognized VM option 'Bogus'"
    >>> reason_of(['Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: a#b;1: not found]'])
    '[unresolved dependency: a#b;1: not found]'
    """
    told = [line for line in lines if line.strip() and not NOISE.match(line)]
    exceptions = [found for line in told if (found := EXCEPTION.match(line))]
    if exceptions:
        last = exceptions[-1]
        return (last[2] or last[1]).strip()
    if logged := [line for line in told if LOGGED_EXCEPTION.match(line)]:
        return logged[-1].strip()
    return "; ".join(line.strip() for line in told[-MAX_SAID:]) or "it did not say why"
