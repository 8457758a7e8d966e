"""Why a JVM did not start, from what it said. The lines are those of OpenJDK 17 and Spark 4.0."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafka_rack.pipeline.spark import driver
from kafka_rack.pipeline.spark.driver import Driver, StandardError, how_the_driver_ended, kill_driver, reason_of


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            [
                "Invalid maximum heap size: -Xmxabc",
                "Error: Could not create the Java Virtual Machine.",
                "Error: A fatal exception has occurred. Program will exit.",
            ],
            "Invalid maximum heap size: -Xmxabc",
        ),
        (
            [
                "Picked up JAVA_TOOL_OPTIONS: -Da=b",
                "Error occurred during initialization of VM",
                "Could not reserve enough space for 9437184KB object heap",
            ],
            "Could not reserve enough space for 9437184KB object heap",
        ),
        (
            [
                "WARNING: Using incubator modules: jdk.incubator.vector",
                ":: resolving dependencies :: org.apache.spark#spark-submit-parent;1.0",
                "\t\t::          UNRESOLVED DEPENDENCIES         ::",
                'Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: a#b;1.0: not found]',
                "\tat org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:525)",
            ],
            "[unresolved dependency: a#b;1.0: not found]",
        ),
        (
            [
                'Exception in thread "main" java.lang.ExceptionInInitializerError',
                "\tat org.apache.spark.Main",
                "Caused by: java.net.UnknownHostException: nowhere: Name or service not known",
                "\t... 12 more",
            ],
            "nowhere: Name or service not known",
        ),
        (
            [
                "To adjust logging level use sc.setLogLevel(newLevel). For SparkR, use setLogLevel(newLevel).",
                "13:33:52 ERROR SparkUI: Failed to bind SparkUI",
                "java.net.BindException: Failed to bind to /127.0.0.1:4040: Service 'SparkUI' failed after 0 retries!",
                "\tat org.apache.spark.util.Utils$.$anonfun$startServiceOnPort$2(Utils.scala:2422)",
            ],
            "java.net.BindException: Failed to bind to /127.0.0.1:4040: Service 'SparkUI' failed after 0 retries!",
        ),
        (["/opt/spark/bin/spark-class: line 71: /nowhere/bin/java: No such file or directory"], "it did not say why"),
        ([], "it did not say why"),
    ],
)
def test_the_reason_is_the_innermost_and_no_noise(lines, reason):
    assert reason_of(lines) == reason


def process(code, said):
    return subprocess.Popen([sys.executable, "-c", code], stderr=said.writing_end, stdin=subprocess.PIPE)


@pytest.fixture
def said():
    return StandardError(shown=False)


def test_a_driver_that_has_ended_is_told_by_its_code_and_last_words(said, monkeypatch):
    ours = Driver(said)
    ours.process = process("import sys; sys.exit('java.lang.OutOfMemoryError: Java heap space')", said)
    said.handed_over()
    monkeypatch.setattr(driver, "started", ours)
    ours.process.communicate()
    told = "the driver's Java ended with exit code 1: java.lang.OutOfMemoryError: Java heap space"
    assert how_the_driver_ended() == told


def test_a_driver_whose_start_nobody_waits_for_is_killed_once(said, monkeypatch):
    ours = Driver(said)
    ours.process = process("input()", said)
    said.handed_over()
    monkeypatch.setattr(driver, "started", ours)
    assert kill_driver()
    ours.process.communicate()
    assert not kill_driver()
    assert how_the_driver_ended().startswith("the driver's Java ended by signal 9")


def test_without_a_driver_there_is_nothing_to_kill(monkeypatch):
    monkeypatch.setattr(driver, "started", None)
    assert not kill_driver()
    assert how_the_driver_ended() is None
