"""Over Spark Connect captures are read as a table, and the jobs refuse with a reason. Needs pyspark[connect]."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kafka_rack.pipeline.spark.session import CONNECT_HAS_NO_TASKS, find_java
from kafka_rack.wire_tables.reading import decode_paths
from tests.fixture_data import CAPTURES
from tests.pipeline.cluster import LOOPBACK, QUICK_JAVA, running, told
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = str(CAPTURES / "kafkajs.jsonl.gz")
READY = re.compile("Spark Connect server started at")


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What a client said that read a capture and asked for a job."""
    find_java()
    folder = tmp_path_factory.mktemp("connect")
    (port,) = free_ports(1)
    settings = {
        "spark.master": "local[1]",
        "spark.driver.memory": "800m",
        "spark.driver.extraJavaOptions": QUICK_JAVA,
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
        "spark.pyspark.python": sys.executable,
    }
    given = [word for setting in settings.items() for word in ("--conf", "=".join(setting))]
    server = ["deploy.SparkSubmit", *given, "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    with running(
        folder / "server", [*server, "spark-internal"], PYSPARK_PYTHON=sys.executable, SPARK_DAEMON_MEMORY="800m"
    ) as process:
        told(process, READY)
        client = [
            str(ROOT / "tests/pipeline/connect_program.py"),
            f"sc://{LOOPBACK}:{port}",
            CAPTURE,
            str(folder / "out"),
        ]
        done = subprocess.run(
            [sys.executable, "-W", "ignore::FutureWarning", *client],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_captures_are_read_as_a_table(said):
    calls = Counter(row["api_name"] for row in decode_paths([CAPTURE]).as_dicts("calls"))
    assert said["calls"] == calls
    assert said["fetches"] == calls["Fetch"]


def test_a_job_says_why_it_cannot_run_there(said):
    assert said["refused"] == CONNECT_HAS_NO_TASKS
