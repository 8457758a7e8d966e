"""What is around a job: signals, errors in one line, arguments that Spark would take ill. No Spark here."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import click
import pytest
from py4j.protocol import Py4JError

from kafka_rack.cli import CommandError
from kafka_rack.cli.command import Arguments, command
from kafka_rack.cli.pipeline import running
from kafka_rack.cli.pipeline.running import SIGNALS, run_on_spark, spark_options
from tests.progress import wait_until


class Spark:
    """A session that only knows whether its jobs were cancelled, and whether it is closed."""

    def __init__(self):
        self.cancelled, self.closed = threading.Event(), False
        self.sparkContext = SimpleNamespace(cancelAllJobs=self.cancelled.set, setJobDescription=lambda _: None)

    @contextmanager
    def session(self, _arguments):
        try:
            yield self
        finally:
            self.closed = True


@pytest.fixture
def spark(monkeypatch):
    found = Spark()
    monkeypatch.setattr(running, "spark_for", found.session)
    return found


def run(work):
    return run_on_spark(Arguments(out="out/", quiet=True), work)


def test_work_gets_the_session_and_gives_its_result(spark):
    assert run(lambda given: (given is spark, spark.closed)) == (True, False)
    assert spark.closed
    assert not spark.cancelled.is_set()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_cancels_sparks_jobs_and_is_told_in_one_line_once_the_session_is_closed(spark, number):
    with pytest.raises(CommandError, match=r"^interrupted: "):
        run(lambda _: signal.raise_signal(number))
    assert spark.cancelled.is_set()
    assert spark.closed


def test_a_call_to_java_is_not_broken_off_by_a_signal_and_its_error_is_an_interruption(spark):
    """py4j has a connection for each thread, and a call that was broken off leaves its own unusable."""
    cancelled_by = []
    spark.sparkContext.cancelAllJobs = lambda: (cancelled_by.append(threading.current_thread()), spark.cancelled.set())

    def work(_):
        signal.raise_signal(signal.SIGTERM)
        spark.cancelled.wait()
        raise Py4JError("Job 0 cancelled as part of cancellation of all jobs")

    with pytest.raises(CommandError, match=r"^interrupted: "):
        run(work)
    assert cancelled_by
    assert threading.current_thread() not in cancelled_by


def test_jobs_that_begin_after_a_signal_are_cancelled_too(spark):
    cancellations = []
    spark.sparkContext.cancelAllJobs = lambda: cancellations.append(len(cancellations))

    def work(_):
        signal.raise_signal(signal.SIGTERM)
        wait_until(lambda: len(cancellations) >= 3, "cancellations")

    with pytest.raises(CommandError, match=r"^interrupted: "):
        run(work)


@pytest.mark.usefixtures("spark")
def test_a_second_signal_ends_what_is_no_job():
    def work(_):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("the work went on")

    with pytest.raises(CommandError, match=r"^interrupted: "):
        run(work)


@pytest.mark.usefixtures("spark")
def test_signals_do_afterwards_what_they_did_before():
    before = [signal.getsignal(number) for number in SIGNALS]
    run(lambda _: None)
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(28, "No space left on device"),
            "out/: No space left on device",
        ),
        (
            Py4JError("Job aborted\nTraceback\nOSError: [Errno 30] Read-only file system: '/out/a'\n\tat org.x"),
            "/out/a: Read-only file system",
        ),
        (
            Py4JError("Job aborted\nTraceback\nOSError: [Errno 13] the store refuses it: 's3a://trace/a'\n\tat org.x"),
            "s3a://trace/a: the store refuses it",
        ),
        (PermissionError(13, "Permission denied", "out/rows"), "out/rows: Permission denied"),
        (
            Py4JError("An error occurred\nTraceback\nMemoryError: too large\n\tat org.x"),
            "Spark gave up (--spark-log WARN shows more): MemoryError: too large",
        ),
    ],
)
@pytest.mark.usefixtures("spark")
def test_errors_of_the_system_and_of_spark_are_one_line(error, said):
    def work(_):
        raise error

    with pytest.raises(CommandError) as told:
        run(work)
    assert str(told.value) == said


@pytest.mark.usefixtures("spark")
def test_errors_of_our_own_are_not_hidden():
    def work(_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(work)


@pytest.mark.parametrize(
    "words",
    [
        ["--master", "local"],
        ["--master", "local[4,2]"],
        ["--master", "local-cluster[2,1,1024]"],
        ["--master", "spark://a:7077,b:7077"],
        ["--master", "k8s://https://a:443"],
        ["--master", "yarn"],
        ["--spark-log", "warn"],
        ["--spark-conf", "spark.executor.memory=4g", "--spark-conf", "spark.executor.extraJavaOptions=-Da=b"],
    ],
)
def test_options_of_spark_are_accepted(words):
    asked = []
    spark_options(command()(lambda arguments: asked.append(arguments) or 0)).main(words, standalone_mode=False)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--spark-log", "loud"], "'loud' is not one of"),
        (["--spark-conf", "spark.ui.port"], "expected KEY=VALUE, got 'spark.ui.port'"),
        (["--spark-conf", "executor.memory=4g"], "expected a setting of Spark, such as spark.executor.memory=4g, got"),
    ],
)
def test_wrong_options_of_spark_are_refused(words, said):
    with pytest.raises(click.UsageError) as refused:
        spark_options(command()(lambda arguments: 0)).main(words, standalone_mode=False)
    assert said in refused.value.message
