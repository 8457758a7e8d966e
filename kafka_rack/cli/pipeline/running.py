"""A job on Spark: its options, its session, Ctrl-C and SIGTERM that end it cleanly, and errors in one line."""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

import click

from kafka_rack.cli import CommandError, InterruptedWork
from kafka_rack.cli.command import Arguments, flag, option, say, section
from kafka_rack.cli.options.types import DIRECTORY, Pair, WholeNumber, Words

Result = TypeVar("Result")

LOG_LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
ERROR_LINE = re.compile(r"(?!org\.|java\.|at )[\w.]*(Error|Exception|Mismatch|Missing)\b: .")
JAVA_ERROR_LINE = re.compile(r"(?:: |Caused by: )(?:org|java)\.[\w.$]*(?:Error|Exception): (.+)")
SYSTEMS_ERROR = re.compile(r"\w*Error: \[Errno \d+\] (?P<reason>.+?)(?:: '(?P<file>[^']+)')?$")
INTERRUPTED = "interrupted: tables that were written are complete, others as before"
CANCEL_AGAIN_S = 0.2
JAVA_ENDED = "Spark gave up: the driver's Java has ended"


class SparkSetting(Pair):
    """A setting of Spark."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        key, text = super().convert(value, param, ctx)
        if not key.startswith("spark."):
            self.refuse("a setting of Spark, such as spark.executor.memory=4g", str(value), param, ctx)
        return key, text


spark_options = section(
    "Spark",
    option(
        "--master",
        Words("URL"),
        "Spark's master, such as local[2]; default: that of spark-defaults.conf, else local[*].",
    ),
    option(
        "--spark-conf",
        SparkSetting(),
        "Set a setting of Spark, such as spark.driver.memory=4g or spark.jars.packages=...; repeat for more.",
        multiple=True,
    ),
    option("--tasks", WholeNumber(1, 100_000), "Number of Spark tasks; results do not depend on it."),
    option("--spark-log", click.Choice(LOG_LEVELS, case_sensitive=False), "Level of Spark's log on stderr."),
    flag("--quiet", "Print only errors on stderr."),
)
required_out_option = option("--out", DIRECTORY, "Write the results into this folder.", required=True)


def job_module(name: str) -> Any:
    """A module of ``kafka_rack.pipeline``. Raises CommandError: Spark is not installed."""
    try:
        return import_module(f"kafka_rack.pipeline.{name}")
    except ImportError as error:
        from kafka_rack.pipeline.session import INSTALL_SPARK

        raise CommandError(f"{INSTALL_SPARK} ({error})") from None


@contextmanager
def spark_for(arguments: Arguments) -> Iterator[Any]:
    """A session that ends with the job, or the session of this program, which stays."""
    from kafka_rack.pipeline.session import running_session, spark_session
    from kafka_rack.pipeline.tables import PARQUET, SETTINGS

    shows = sys.stderr.isatty() and not arguments.quiet
    there = running_session() is not None
    spark = spark_session(
        arguments.master,
        log_level=arguments.spark_log,
        settings={
            **({"spark.ui.showConsoleProgress": "true"} if shows else {}),
            **SETTINGS[getattr(arguments, "output_format", PARQUET)],
            **dict(arguments.spark_conf),
        },
    )
    try:
        yield spark
    finally:
        if not there:
            spark.stop()


def run_on_spark(
    arguments: Arguments, work: Callable[[Any], Result], done: Callable[[Result], str] | None = None
) -> Result:
    """Pass a session to ``work``; returns its result.

    SIGINT and SIGTERM cancel Spark's jobs, and what ``work`` then raises becomes KeyboardInterrupt; no call to Java is
    interrupted. The second signal raises at once.

    Args:
        done: what the job did, for a line on stderr with the time that it took.

    Raises: CommandError.
    """
    since_s = time.monotonic()
    context = click.get_current_context(silent=True)
    with errors_in_one_line(arguments.out or "--out"), spark_for(arguments) as spark, cancelled_by_signals(spark):
        spark.sparkContext.setJobDescription(context.command_path if context is not None else "kafka-rack")
        result = work(spark)
    if done is not None and not arguments.quiet:
        say(f"{done(result)} in {time.monotonic() - since_s:.1f} s")
    return result


def cause_of(text: str) -> str:
    """The line of a Spark error that has the cause: the last that names an error, which is the innermost.

    An error of Python's says more than the one of Java's that it caused.

    >>> cause_of("Job aborted.\\nTraceback ...\\n  File ...\\nOSError: no space left\\n\\n\\tat org...")
    'OSError: no space left'
    >>> cause_of("An error occurred.\\n: org.apache.spark.SparkException: no memory\\n\\tat org...")
    'no memory'
    """
    lines = [line.strip() for line in text.splitlines()]
    named = [line for line in lines if ERROR_LINE.match(line)]
    of_java = [found[1] for line in lines if (found := JAVA_ERROR_LINE.match(line))]
    return (named or of_java or [line for line in lines if line][:1] or ["no reason was reported"])[-1]


@contextmanager
def errors_in_one_line(place: str) -> Iterator[None]:
    """Raises CommandError for the ways in which a job ends early.

    Args:
        place: the output, for errors of the system that name no file.
    """
    from kafka_rack.pipeline.session import SparkMissing

    try:
        yield
    except SparkMissing as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        if isinstance(error, ConnectionRefusedError):
            raise CommandError(JAVA_ENDED) from None
        raise CommandError(f"{error.filename or place}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        raise InterruptedWork(INTERRUPTED) from None
    except Exception as error:
        if type(error).__name__ == "FormatMissing":
            raise CommandError(str(error)) from None
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        if type(error).__name__ == "Py4JNetworkError":
            raise CommandError(JAVA_ENDED) from None
        cause = cause_of(str(error))
        if found := SYSTEMS_ERROR.match(cause):  # of a task
            raise CommandError(f"{found['file'] or place}: {found['reason']}") from None
        raise CommandError(f"Spark gave up (--spark-log WARN shows more): {cause}") from None


@contextmanager
def cancelled_by_signals(spark: Any) -> Iterator[None]:
    """Cancel Spark's jobs at SIGINT and SIGTERM. Raises KeyboardInterrupt at the end, at the second signal at once."""
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

    with signals_to(interrupt):
        try:
            yield
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


@contextmanager
def signals_to(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle SIGINT and SIGTERM so for a while; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)
