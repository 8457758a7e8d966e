"""A Spark that cannot start is told in one line: what, where, and what would be right. Java's own words come before."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixture_data import CAPTURES
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def failed(tmp_path):
    """What the command says with these arguments."""

    def run(*arguments, **environment):
        command = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", str(CAPTURES / "kcat.jsonl.gz")]
        done = subprocess.run(
            [*command, "--out", str(tmp_path / "out"), *arguments],
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert not (tmp_path / "out").exists()
        return done.stderr.splitlines()[-1].removeprefix("kafka-rack pipeline decode: ")

    return run


def test_memory_that_there_is_not(failed):
    said = failed("--conf", "spark.driver.memory=999t")
    assert said == "Spark did not start: its Java ended, and said above why"


def test_memory_that_is_too_little(failed):
    said = failed("--conf", "spark.driver.memory=100m")
    assert said.startswith("Spark did not start: ")
    assert "System memory" in said


def test_a_port_in_use(failed):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = failed("--conf", f"spark.driver.port={port}", "--conf", "spark.port.maxRetries=0")
    assert "Address already in use: Service 'sparkDriver'" in said
    assert f"starting from {port}" in said
    assert "spark.port.maxRetries" in said


def test_a_master_that_is_not_there(failed):
    (port,) = free_ports(1)
    said = failed("--master", f"spark://127.0.0.1:{port}")
    assert said.startswith(f"spark://127.0.0.1:{port}: no master of Spark there (127.0.0.1:{port}: Connection refused)")
    assert said.endswith("expected the address that its page and log say, as spark://HOST:7077")


def test_a_server_of_spark_connect_is_for_reading_alone(failed):
    said = failed(SPARK_REMOTE="sc://127.0.0.1:1")
    assert said.startswith("a session of Spark Connect has no SparkContext")
