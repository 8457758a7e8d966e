"""Java is found, or asked for in one line; importing kafka_rack loads no Spark."""

from __future__ import annotations

import socket
import subprocess
import sys
from importlib.metadata import version

import pytest

from kafka_rack.cli import main
from kafka_rack.pipeline.spark import session
from kafka_rack.pipeline.spark.session import (
    INSTALL_JAVA,
    SparkMissing,
    check_master,
    context_of,
    find_java,
    workers_python,
)
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
    assert capsys.readouterr().err == f"kafka-rack pipeline decode: {INSTALL_JAVA}\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["missing.jsonl"], "missing.jsonl: no such file or folder"),
        ([str(CAPTURES), "--ports", "many"], "ports: expected numbers between commas, as 9092,9093, got 'many'"),
        ([str(CAPTURES), "--brokers", "1"], "brokers: expected ID[@RACK]=[HOST]:PORT, got '1'"),
        ([str(CAPTURES), "--tasks", "0"], "--tasks: expected 1 or more, got 0"),
    ],
)
def test_wrong_usage_is_one_line_before_spark_starts(tmp_path, capsys, arguments, reason):
    assert main(["pipeline", "decode", *arguments, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"kafka-rack pipeline decode: {reason}\n"


def test_neither_the_package_nor_the_steps_load_spark():
    program = (
        "import sys, kafka_rack, kafka_rack.wire_tables.reading, kafka_rack.wire_capture.blocks; "
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


def test_of_several_masters_one_has_to_listen():
    free = ("127.0.0.1", 0)
    with socket.create_server(free) as listening, socket.socket() as deaf:
        deaf.bind(free)
        there, nowhere = (f"127.0.0.1:{one.getsockname()[1]}" for one in (listening, deaf))
        check_master(f"spark://{nowhere},{there}")
        with pytest.raises(
            SparkMissing, match=f"^spark://{nowhere}: no master of Spark there .*refused.*spark://HOST:"
        ):
            check_master(f"spark://{nowhere}")
    with pytest.raises(SparkMissing, match="no master of Spark there"):
        check_master("spark://127.0.0.1")


@pytest.mark.parametrize("master", ["yarn", "local[2]", "k8s://https://127.0.0.1:1"])
def test_other_managers_are_sparks_own_to_ask(master):
    check_master(master)


def test_a_session_of_spark_connect_has_no_tasks():
    session_of_connect = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(SparkMissing, match="run them with --master or by spark-submit"):
        context_of(session_of_connect)


@pytest.mark.parametrize("release", ["4.0.2", "4.3.0"])
def test_kafkas_connector_is_that_of_the_spark_that_runs(tmp_path, monkeypatch, release):
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"spark-core_2.13-{release}.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert session.kafka_connector() == f"org.apache.spark:spark-sql-kafka-0-10_2.13:{release}"
    assert session.spark_version() == release


def test_without_jars_the_connector_is_that_of_the_pyspark_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert session.kafka_connector() == f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')}"
