"""Java is found, or asked for in one line; importing kafka_rack loads no Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafka_rack.cli import main
from kafka_rack.pipeline.spark import session
from kafka_rack.pipeline.spark.session import INSTALL_JAVA, SparkMissing, find_java, workers_python
from tests.fixture_data import CAPTURES, FIXTURES


def fake_java(folder, version):
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize("version", ["17.0.15", "21", "25.0.1"])
def test_java_home_comes_first(tmp_path, monkeypatch, version):
    java = fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == str(java)


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2"])
def test_an_old_java_is_refused_with_what_to_install(tmp_path, monkeypatch, version):
    fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkMissing, match="Spark needs Java 17 or newer: install it"):
        find_java()


def test_a_java_home_without_java_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkMissing, match=f"^JAVA_HOME is {tmp_path}, where no Java runs; Spark needs Java 17"):
        find_java()


def test_without_java_the_command_fails_with_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(session, "running_session", lambda: None)  # another test's, in this process
    capture = str(CAPTURES / "kcat.jsonl.gz")
    assert main(["pipeline", "decode", capture, "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == f"kafka-rack pipeline: {INSTALL_JAVA}\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["missing.jsonl"], "missing.jsonl: no such file or folder"),
        ([str(CAPTURES), "--ports", "many"], "ports 'many': numbers with commas between are wanted"),
        ([str(CAPTURES), "--brokers", "1"], "broker '1': ID[@RACK]=[HOST]:PORT is wanted"),
        ([str(CAPTURES), "--tasks", "0"], "--tasks: expected 1 or more, got 0"),
    ],
)
def test_wrong_usage_is_one_line_before_spark_starts(tmp_path, capsys, arguments, reason):
    assert main(["pipeline", "decode", *arguments, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"kafka-rack pipeline: {reason}\n"


def test_neither_the_package_nor_the_steps_load_spark():
    program = (
        "import sys, kafka_rack, kafka_rack.wire_tables.reading, kafka_rack.wire_capture.splits; "
        "import kafka_rack.cli.commands.pipeline; "
        "print('pyspark' in sys.modules, 'pyarrow' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=FIXTURES.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


def test_workers_run_this_python_here_and_the_users_choice_on_a_cluster(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    assert workers_python("local[2]", {}) == sys.executable
    assert workers_python("spark://host:7077", {}) == "/opt/python"
    assert workers_python("spark://host:7077", {"spark.pyspark.python": "/usr/bin/python3"}) == "/usr/bin/python3"
    monkeypatch.delenv("PYSPARK_PYTHON")
    assert workers_python("spark://host:7077", {}) == sys.executable
