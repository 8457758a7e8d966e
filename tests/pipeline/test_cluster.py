"""A cluster of two workers that have nothing of this package runs the program of docs/pipeline.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from kafka_rack.pipeline.spark.session import find_java
from tests.on_spark import complaints
from tests.pipeline.cluster import QUICK_JAVA, bare_python, cluster
from tests.pipeline.plain import plain_tables, tables_of
from tests.pipeline.sent import NEEDS, PAGE, needs_zip, settings_of

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2


def documented() -> str:
    """The page's program, with settings that have Spark wait for both workers: it begins with one otherwise.

    And its executors are to take little of this machine.
    """
    program = re.search(r"## On a cluster\n.*?```python\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    text = program[1]
    waits = {
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.cores.max": str(WORKERS),
        "spark.executor.memory": "600m",
        "spark.executor.extraJavaOptions": QUICK_JAVA,
    }
    return replaced(text, "spark = spark_session(", f"settings |= {waits!r}\nspark = spark_session(")


def replaced(text: str, before: str, after: str) -> str:
    assert text.count(before) == 1, before
    return text.replace(before, after)


@pytest.fixture(scope="module")
def ran(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program said, and the folder that all of it was in."""
    find_java()
    folder = tmp_path_factory.mktemp("cluster").resolve()
    python = bare_python(folder / "python")
    sent = [word for setting in settings_of(needs_zip(folder)).items() for word in ("--conf", "=".join(setting))]
    program = replaced(documented(), '"/usr/bin/python3"', repr(str(python)))
    program = replaced(program, '["captures"]', repr([str(captures)]))
    with cluster(folder, WORKERS) as master:
        (folder / "program.py").write_text(replaced(program, "spark://master:7077", master), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(ROOT / "tests/pipeline/cluster_program.py"), "program.py"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            check=False,
        )
        command = ["pipeline", "decode", str(captures), "--out", "by-command", "--master", master, *sent]
        by_command = subprocess.run(
            [sys.executable, "-m", "kafka_rack.cli", *command, "--tasks", "4", "--format", "json"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert by_command.returncode == 0, by_command.stderr[-3000:]
    return {**json.loads(done.stdout.splitlines()[-1]), "folder": folder, "python": python, "stderr": done.stderr}


def test_two_workers_decode_what_one_process_does(ran, captures, tmp_path):
    assert tables_of(ran["folder"] / "tables", captures) == plain_tables(captures, tmp_path / "plain")


def test_the_command_takes_the_same_settings(ran, captures, tmp_path):
    assert tables_of(ran["folder"] / "by-command", captures) == plain_tables(captures, tmp_path / "plain")


def test_both_workers_take_part(ran):
    assert len(ran["tasks"]) == WORKERS
    assert all(done > 0 for done in ran["tasks"].values()), ran["tasks"]
    homes = {Path(worker["folder"]).relative_to(ran["folder"]).parts[0] for worker in ran["workers"]}
    assert homes == {f"worker-{number}" for number in range(WORKERS)}


def test_workers_run_the_packages_that_were_sent(ran):
    for worker in ran["workers"]:
        assert worker["python"] == str(ran["python"])
        for name, file in worker["modules"].items():
            assert Path(file).is_relative_to(Path(worker["folder"], NEEDS)), (name, file)


def test_workers_see_neither_this_checkout_nor_its_packages(ran):
    for worker in ran["workers"]:
        assert str(ROOT) not in worker["path"]
        assert sysconfig.get_path("purelib") not in worker["path"]


def test_the_log_of_a_job_on_a_cluster_is_quiet(ran):
    assert complaints(ran["stderr"]) == ""
