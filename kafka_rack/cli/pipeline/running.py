"""What a job on Spark needs around it: arguments that Spark would take ill checked before it starts, a bar, Ctrl-C and
SIGTERM that end it cleanly, and whatever goes wrong told in one line.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import AbstractContextManager, contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from kafka_rack.cli import CommandError, InterruptedWork, UsageError

Result = TypeVar("Result")
Session = Callable[[argparse.Namespace], AbstractContextManager[Any]]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LOOK_SECONDS = 0.3
PATIENCE = 5
"""How often Spark's jobs are cancelled before the thread that waits for them is interrupted."""
LOG_LEVELS = ("ALL", "DEBUG", "ERROR", "FATAL", "INFO", "OFF", "TRACE", "WARN")
MEMORY = re.compile(r"[1-9][0-9]{0,8}[kmgt]b?", re.IGNORECASE)
MASTER = re.compile(
    r"local|local\[(\*|[1-9][0-9]{0,4})(, *[1-9][0-9]{0,4})?\]|local-cluster\[ *\d+ *, *\d+ *, *\d+ *\]"
    r"|spark://\S+|k8s://\S+|yarn"
)
ERROR_LINE = re.compile(r"(?!org\.|java\.|at )[\w.]*(Error|Exception|Mismatch|Missing)\b: .")
JAVA_ERROR_LINE = re.compile(r"(?:: |Caused by: )(?:org|java)\.[\w.$]*(?:Error|Exception): (.+)")
INTERRUPTED = "interrupted: nothing was written"


class Interrupted(BaseException):
    """Ends the thread of a job that was told to stop; no handler of errors takes it for one of its own."""


def add_spark_arguments(parser: argparse.ArgumentParser) -> None:
    """What every job has."""
    parser.add_argument("--master", default="local[*]", help="Spark's master; local[*] by default")
    parser.add_argument("--driver-memory", default="2g", metavar="SIZE", help="of Spark's driver; 2g by default")
    parser.add_argument(
        "--ship", action="store_true", help="send this package and what it needs to workers that have neither"
    )
    parser.add_argument(
        "--spark-log", default="ERROR", metavar="LEVEL", help="of Spark's log on stderr; ERROR by default"
    )


@contextmanager
def spark_for(arguments: argparse.Namespace) -> Iterator[Any]:
    """A session for the time of a job. Raises CommandError: what workers need is not here to be sent."""
    from kafka_rack.pipeline.spark.session import spark_session
    from kafka_rack.pipeline.spark.shipping import NotInstalled, shipped

    with TemporaryDirectory(prefix="kafka-rack-") as folder:
        try:
            settings = shipped(folder) if arguments.ship else None
        except NotInstalled as error:
            raise CommandError(f"--ship: {error}") from None
        spark = spark_session(
            arguments.master,
            driver_memory=arguments.driver_memory,
            log_level=arguments.spark_log,
            settings=settings,
        )
        try:
            yield spark
        finally:
            spark.stop()


def check_spark_arguments(arguments: argparse.Namespace) -> None:
    """Refuse what Spark would refuse, later and at length. Raises UsageError."""
    if not MASTER.fullmatch(arguments.master):
        raise UsageError(
            f"--master {arguments.master}, but local[*], local[2], spark://HOST:PORT, k8s://HOST:PORT or yarn is wanted"
        )
    if not MEMORY.fullmatch(arguments.driver_memory):
        raise UsageError(f"--driver-memory {arguments.driver_memory}, but a size as 512m or 2g is wanted")
    arguments.spark_log = arguments.spark_log.upper()
    if arguments.spark_log not in LOG_LEVELS:
        raise UsageError(f"--spark-log {arguments.spark_log}, but one of {', '.join(LOG_LEVELS)} is wanted")


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
        raise CommandError(f"{error.filename or place}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        raise InterruptedWork(interrupted) from None
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise CommandError(f"Spark gave up (--spark-log WARN shows more): {cause_of(str(error))}") from None


def run_on_spark(
    session: Session, arguments: argparse.Namespace, work: Callable[[Any], Result], what: str = "working"
) -> Result:
    """Open a session, give it to ``work``, close it; with a bar of its tasks where a person looks on.

    All of it is done by a thread of its own. Here signals are waited for: one has Spark end its jobs, so that the
    thread cleans up as after any error; a second one ends the process at once. Spark itself must see none of them: it
    would talk to Java over a connection on which an answer is still due.

    Args:
        session: what gives a session for the arguments, as a context manager.
        what: the job, for the bar.

    Raises: KeyboardInterrupt: a signal came before the work was done. Whatever ``work`` raises.
    """
    opened: list[Any] = []
    thread: list[int] = []

    def all_of_it() -> Result:
        thread.append(threading.get_ident())
        with session(arguments) as spark:
            opened.append(spark)
            return work(spark)

    noted = threading.Event()

    def note(number: int, _: object) -> None:
        if noted.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        noted.set()

    with signals_to(note), ThreadPoolExecutor(1) as pool, bar_of(what) as show:
        future = pool.submit(all_of_it)
        asked_to_end = 0
        while not is_done(future):
            if opened and noted.is_set():
                asked_to_end += 1
                end_jobs(opened[0])
                if asked_to_end == PATIENCE:
                    interrupt_thread(thread[0])
            elif opened:
                with suppress(Exception):  # the session may be closing at this moment
                    show(opened[0])
    if noted.is_set() and future.exception() is not None:
        raise KeyboardInterrupt
    return future.result()


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


def interrupt_thread(thread: int) -> None:
    """Raise Interrupted in a thread that is busy without Spark, before its next step."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Interrupted))


@contextmanager
def bar_of(what: str) -> Iterator[Callable[[Any], None]]:
    """A bar of the tasks of a session's running stages, on a terminal; gives what moves it on."""
    if not sys.stderr.isatty():
        yield lambda spark: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(what, total=None)

        def show(spark: Any) -> None:
            status = spark.sparkContext.statusTracker()
            stages = [status.getStageInfo(stage) for stage in status.getActiveStageIds()]
            total = sum(stage.numTasks for stage in stages if stage is not None)
            if total:
                done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
                progress.update(bar, total=total, completed=done)

        yield show


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
