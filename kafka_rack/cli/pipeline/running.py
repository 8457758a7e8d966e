"""What a job on Spark needs around it: arguments that Spark would take ill checked before it starts, a bar, Ctrl-C and
SIGTERM that end it cleanly, and whatever goes wrong told in one line.
"""

from __future__ import annotations

import argparse
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from kafka_rack.cli import CommandError, InterruptedWork, UsageError
from kafka_rack.cli.options.places import refused
from kafka_rack.cli.pipeline.progress import shown
from kafka_rack.cli.pipeline.small_inputs import quick_settings
from kafka_rack.pipeline.spark.progress import Progress, watched_by
from kafka_rack.storage.errors import told
from kafka_rack.wire_tables.stored import PARQUET

Result = TypeVar("Result")
Session = Callable[[argparse.Namespace], AbstractContextManager[Any]]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LOOK_SECONDS = 0.3
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
INTERRUPTED = "interrupted: nothing was written"
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
        "--properties-file",
        metavar="FILE",
        help="settings of Spark, a line each; --conf wins over them, and they\nover spark-defaults.conf",
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
        "--progress", action="store_true", help="say on stderr how far the job is, also where that is no\nterminal"
    )
    told.add_argument("--quiet", action="store_true", help="never say on stderr how far the job is")
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
    from kafka_rack.pipeline.spark.session import session_for_a_while

    settings = spark_settings(arguments)
    if getattr(arguments, "output_format", PARQUET) != PARQUET:
        from kafka_rack.pipeline.output.formats import settings_of
        from kafka_rack.pipeline.spark.settings import administrators_settings

        settings |= settings_of(arguments.output_format, {**administrators_settings(), **settings})
    warnings.filterwarnings(
        "ignore", "PySpark does not yet fully support pandas", FutureWarning
    )  # nothing here uses it
    with session_for_a_while(
        master=arguments.master,
        driver_memory=arguments.driver_memory,
        log_level=arguments.spark_log,
        packages=[name.strip() for given in arguments.packages for name in given.split(",") if name.strip()],
        settings={**quick_settings(arguments, settings), **settings},
        with_source=False,
    ) as spark:
        yield spark


def spark_settings(arguments: argparse.Namespace) -> dict[str, str]:
    """The settings that the command line gives, those of --properties-file below those of --conf. Raises UsageError."""
    from kafka_rack.pipeline.spark.settings import read_settings

    found: dict[str, str] = {}
    if arguments.properties_file is not None:
        try:
            found = read_settings(Path(arguments.properties_file))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"--properties-file {arguments.properties_file}: {reason}") from None
    for given in arguments.conf:
        key, equals, value = given.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--conf: expected KEY=VALUE, as spark.executor.memory=4g, got {given!r}")
        found[key.strip()] = value
    for key in found:
        if not key.startswith("spark."):
            raise UsageError(f"{key} is no setting of Spark: their names begin with spark.")
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
    from kafka_rack.pipeline.spark.session import INSTALL_SPARK, SparkMissing

    try:
        from kafka_rack.pipeline.output.staging import NotOurs
    except ImportError as error:
        raise CommandError(f"{INSTALL_SPARK} ({error})") from None
    try:
        with signals_to(interrupt):
            yield
    except (SparkMissing, NotOurs) as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        if isinstance(error, ConnectionRefusedError):
            raise CommandError(JAVA_ENDED) from None
        if isinstance(error, FileNotFoundError) and error.strerror is None:  # an input: the text names it
            raise UsageError(str(error)) from None
        if error.errno is None:
            error = told(error, place)
        raise refused(str(error.filename or place), error.errno, error.strerror or str(error)) from None
    except KeyboardInterrupt:
        raise InterruptedWork(interrupted) from None
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        if type(error).__name__ == "Py4JNetworkError":
            raise CommandError(JAVA_ENDED) from None
        cause = cause_of(str(error))
        if found := SYSTEMS_ERROR.match(cause):  # of a task
            raise refused(found["file"] or place, int(found["number"]), found["reason"]) from None
        raise CommandError(f"Spark gave up (--spark-log WARN shows more): {cause}") from None


def run_on_spark(
    session: Session, arguments: argparse.Namespace, work: Callable[[Any], Result], what: str = "working"
) -> Result:
    """Open a session, give it to ``work``, close it; with a bar of its tasks where a person looks on.

    All of it is done by a thread of its own, and signals by this one: at the first Spark's jobs are cancelled until the
    work has ended, as after any error; a second one ends the process at once. Spark's own handler would talk to Java
    over a connection on which an answer is still due.

    Args:
        session: what gives a session for the arguments, as a context manager.
        what: the job, in Spark's pages and on standard error.

    Raises: KeyboardInterrupt: a signal came before the work was done. Whatever ``work`` raises.
    """
    opened: list[Any] = []
    noted = threading.Event()
    progress = Progress(what)

    def all_of_it() -> Result:
        with session(arguments) as spark:
            if noted.is_set():
                raise KeyboardInterrupt
            name_jobs(spark, arguments, what)
            opened.append(spark)
            with watched_by(progress):
                return work(spark)

    def note(number: int, _: object) -> None:
        if noted.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        noted.set()

    quiet, asked = getattr(arguments, "quiet", False), getattr(arguments, "progress", False)
    with signals_to(note), ThreadPoolExecutor(1) as pool, shown(progress, quiet=quiet, asked=asked) as show:
        future = pool.submit(all_of_it)
        while not is_done(future):
            if not noted.is_set():
                show(opened[0] if opened else None)
            elif opened:
                end_jobs(opened[0])
    if noted.is_set() and future.exception() is not None:
        raise KeyboardInterrupt
    return future.result()


def name_jobs(spark: Any, arguments: argparse.Namespace, what: str) -> None:
    """Say in Spark's pages what the jobs are of."""
    command = f"kafka-rack pipeline {getattr(arguments, 'job', what)}"
    with suppress(Exception):  # a client of Spark Connect has no groups of jobs
        spark.sparkContext.setJobGroup(command, what, interruptOnCancel=False)


def is_done(future: Future[Any]) -> bool:
    """Wait a little; say whether it is done, well or not."""
    try:
        future.exception(timeout=LOOK_SECONDS)
    except NotYet:
        return False
    return True


def end_jobs(spark: Any) -> None:
    """Cancel what Spark does; a session that is being closed has nothing to cancel."""
    with suppress(Exception):
        spark.sparkContext.cancelAllJobs()


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


def interrupt(_number: int, _frame: object) -> None:
    """SIGTERM as Ctrl-C."""
    raise KeyboardInterrupt
