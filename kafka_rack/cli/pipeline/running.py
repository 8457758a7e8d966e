"""What a job on Spark needs around it: arguments that Spark would refuse checked before it starts, Ctrl-C and SIGTERM
that end it cleanly, and errors in one line.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from kafka_rack.cli import CommandError, InterruptedWork, UsageError
from kafka_rack.cli.options.places import refused

Result = TypeVar("Result")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LOG_LEVELS = ("ALL", "DEBUG", "ERROR", "FATAL", "INFO", "OFF", "TRACE", "WARN")
MEMORY = re.compile(r"[1-9][0-9]{0,8}[kmgt]b?", re.IGNORECASE)
MASTER = re.compile(
    r"local|local\[(\*|[1-9][0-9]{0,4})(, *[1-9][0-9]{0,4})?\]|local-cluster\[ *\d+ *, *\d+ *, *\d+ *\]"
    r"|spark://\S+|k8s://\S+|yarn"
)
PACKAGE = re.compile(r"[^\s:,]+:[^\s:,]+:[^\s:,]+")
ERROR_LINE = re.compile(r"(?!org\.|java\.|at )[\w.]*(Error|Exception|Mismatch|Missing)\b: .")
JAVA_ERROR_LINE = re.compile(r"(?:: |Caused by: )(?:org|java)\.[\w.$]*(?:Error|Exception): (.+)")
SYSTEMS_ERROR = re.compile(r"\w*Error: \[Errno (?P<number>\d+)\] (?P<reason>.+?)(?:: '(?P<file>[^']+)')?$")
INTERRUPTED = "interrupted: the tables that were written are there whole, others as they were"
CANCEL_AGAIN_S = 0.2
JAVA_ENDED = "Spark gave up: the driver's Java has ended"


def add_spark_arguments(parser: argparse.ArgumentParser) -> None:
    """What every job has."""
    parser.add_argument("--master", help="Spark's master; that of spark-defaults.conf or spark-submit,\nelse local[*]")
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark, as spark.executor.memory=4g; may be repeated",
    )
    parser.add_argument(
        "--packages",
        action="append",
        default=[],
        metavar="GROUP:NAME:VERSION,...",
        help="what Spark is to fetch from Maven Central and load; may be repeated",
    )
    parser.add_argument(
        "--driver-memory",
        metavar="SIZE",
        help="of Spark's driver; default: what Spark's settings say, else 2g on this machine",
    )
    told = parser.add_mutually_exclusive_group()
    told.add_argument(
        "--progress", action="store_true", help="have Spark show its progress on stderr, also where that is no terminal"
    )
    told.add_argument("--quiet", action="store_true", help="say nothing on stderr but errors")
    parser.add_argument(
        "--spark-log",
        metavar="LEVEL",
        help="of Spark's log on stderr; OFF unless Spark's settings have a log4j2 file",
    )


def add_tasks_argument(parser: argparse.ArgumentParser, meaning: str) -> None:
    """How many tasks share the work."""
    parser.add_argument("--tasks", type=int, metavar="N", help=meaning)


@contextmanager
def spark_for(arguments: argparse.Namespace) -> Iterator[Any]:
    """A session for the time of a job, or the one that this program has, which stays."""
    from kafka_rack.pipeline.session import running_session, spark_session
    from kafka_rack.pipeline.tables import PARQUET, SETTINGS

    shows = arguments.progress or (sys.stderr.isatty() and not arguments.quiet)
    there = running_session() is not None
    spark = spark_session(
        arguments.master,
        driver_memory=arguments.driver_memory,
        log_level=arguments.spark_log,
        packages=[name.strip() for given in arguments.packages for name in given.split(",") if name.strip()],
        settings={
            **({"spark.ui.showConsoleProgress": "true"} if shows else {}),
            **SETTINGS[getattr(arguments, "output_format", PARQUET)],
            **spark_settings(arguments),
        },
    )
    try:
        yield spark
    finally:
        if not there:
            spark.stop()


def say_done(arguments: argparse.Namespace, text: str, since_s: float) -> None:
    """A line on standard error of what a job has done, and how long it took; none with --quiet."""
    if not arguments.quiet:
        sys.stderr.write(f"kafka-rack pipeline {arguments.job}: {text} in {time.monotonic() - since_s:.1f} s\n")


def spark_settings(arguments: argparse.Namespace) -> dict[str, str]:
    """The settings of --conf. Raises UsageError."""
    found: dict[str, str] = {}
    for given in arguments.conf:
        key, equals, value = given.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--conf: expected KEY=VALUE, as spark.executor.memory=4g, got {given!r}")
        if not key.strip().startswith("spark."):
            raise UsageError(f"{key.strip()} is no setting of Spark: their names begin with spark.")
        found[key.strip()] = value
    return found


def check_spark_arguments(arguments: argparse.Namespace) -> None:
    """Refuse what Spark would refuse, later and at length. Raises UsageError."""
    if arguments.master is not None and not MASTER.fullmatch(arguments.master):
        raise UsageError(
            f"--master: expected local[*], local[2], spark://HOST:PORT, k8s://HOST:PORT or yarn, got {arguments.master}"
        )
    if arguments.driver_memory is not None and not MEMORY.fullmatch(arguments.driver_memory):
        raise UsageError(f"--driver-memory: expected a size as 512m or 2g, got {arguments.driver_memory}")
    for name in [name.strip() for given in arguments.packages for name in given.split(",")]:
        if not PACKAGE.fullmatch(name):
            raise UsageError(f"--packages: expected GROUP:NAME:VERSION, got {name!r}")
    if arguments.spark_log is not None:
        arguments.spark_log = arguments.spark_log.upper()
        if arguments.spark_log not in LOG_LEVELS:
            raise UsageError(f"--spark-log: expected one of {', '.join(LOG_LEVELS)}, got {arguments.spark_log}")
    spark_settings(arguments)


def cause_of(text: str) -> str:
    """The line of a Spark error that says what went wrong: the last that names an error, which is the innermost.

    An error of Python's is more telling than the one of Java's that it caused.

    >>> cause_of("Job aborted.\\nTraceback ...\\n  File ...\\nOSError: no space left\\n\\n\\tat org...")
    'OSError: no space left'
    >>> cause_of("An error occurred.\\n: org.apache.spark.SparkException: no memory\\n\\tat org...")
    'no memory'
    """
    lines = [line.strip() for line in text.splitlines()]
    named = [line for line in lines if ERROR_LINE.match(line)]
    of_java = [found[1] for line in lines if (found := JAVA_ERROR_LINE.match(line))]
    return (named or of_java or [line for line in lines if line][:1] or ["it did not say why"])[-1]


@contextmanager
def told_in_one_line(place: str, interrupted: str = INTERRUPTED) -> Iterator[None]:
    """Turn the ways in which a job ends early into CommandErrors.

    Args:
        place: the output, named where an error of the system names no file.
        interrupted: what is said after SIGINT and SIGTERM.
    """
    from kafka_rack.pipeline.session import SparkMissing

    try:
        yield
    except SparkMissing as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        if isinstance(error, ConnectionRefusedError):
            raise CommandError(JAVA_ENDED) from None
        raise refused(str(error.filename or place), error.errno, error.strerror or str(error)) from None
    except KeyboardInterrupt:
        raise InterruptedWork(interrupted) from None
    except Exception as error:
        if type(error).__name__ == "FormatMissing":
            raise CommandError(str(error)) from None
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        if type(error).__name__ == "Py4JNetworkError":
            raise CommandError(JAVA_ENDED) from None
        cause = cause_of(str(error))
        if found := SYSTEMS_ERROR.match(cause):  # of a task
            raise refused(found["file"] or place, int(found["number"]), found["reason"]) from None
        raise CommandError(f"Spark gave up (--spark-log WARN shows more): {cause}") from None


def run_on_spark(arguments: argparse.Namespace, work: Callable[[Any], Result], what: str = "working") -> Result:
    """Open a session, pass it to ``work``, and stop it unless it was there before.

    SIGINT and SIGTERM cancel Spark's jobs, and what ``work`` then raises becomes KeyboardInterrupt; no call to Java is
    broken off half way. The second signal raises at once.

    Args:
        what: the job, in Spark's pages.
    """
    with spark_for(arguments) as spark:
        cancelling: list[threading.Thread] = []
        has_ended = threading.Event()

        def cancel() -> None:  # in a thread of its own, which has a connection to Java of its own
            spark.sparkContext.cancelAllJobs()
            while not has_ended.wait(CANCEL_AGAIN_S):  # jobs that began since
                spark.sparkContext.cancelAllJobs()

        def interrupt(_number: int, _frame: object) -> None:
            if cancelling:
                raise KeyboardInterrupt
            cancelling.append(threading.Thread(target=cancel, daemon=True))
            cancelling[0].start()

        spark.sparkContext.setJobDescription(f"kafka-rack pipeline {arguments.job}: {what}")
        with signals_to(interrupt):
            try:
                result = work(spark)
            except Exception:
                if cancelling:
                    raise KeyboardInterrupt from None
                raise
            finally:
                has_ended.set()
                for thread in cancelling:
                    thread.join()
        if cancelling:
            raise KeyboardInterrupt
        return result


@contextmanager
def signals_to(handler: Callable[[int, object], None]) -> Iterator[None]:
    """Have SIGINT and SIGTERM handled so for a while; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)
