"""`spark-submit` runs the jobs on two workers that have nothing of this package, by the program of docs/pipeline.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from kafka_rack.pipeline.spark.session import find_java
from tests.pipeline.cluster import LOOPBACK, QUICK_JAVA, SPARK_HOME, bare_python, cluster
from tests.pipeline.fleets import SHARED_RACK
from tests.pipeline.plain import plain_tables, tables_of
from tests.pipeline.sent import needs_zip, settings_of, write_job

SMALL = {"spark.executor.memory": "600m", "spark.executor.extraJavaOptions": QUICK_JAVA, "spark.cores.max": "2"}


@pytest.fixture(scope="module")
def submitted(captures, tmp_path_factory):
    """What two jobs said, by their names, and the folder that they wrote into."""
    find_java()
    folder = tmp_path_factory.mktemp("submitted").resolve()
    (folder / "fleet.json").write_text(json.dumps(SHARED_RACK))
    jobs = {
        "decode": ["decode", str(captures), "--out", "tables", "--format", "json"],
        "audit": ["audit", str(folder / "fleet.json"), "--out", "audited", "--format", "json"],
    }
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": str(bare_python(folder / "python")),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_SUBMIT_OPTS": QUICK_JAVA,
    }
    said = {}
    with cluster(folder, 2) as master:
        settings = {**SMALL, **settings_of(needs_zip(folder))}
        told = [word for setting in settings.items() for word in ("--conf", "=".join(setting))]
        program = str(SPARK_HOME / "bin" / "spark-submit")
        for name, job in jobs.items():
            command = [program, "--master", master, *told, str(write_job(folder)), *job]
            said[name] = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
    return said, folder


def test_two_workers_decode_what_one_process_does(submitted, captures, tmp_path):
    said, folder = submitted
    assert said["decode"].returncode == 0, said["decode"].stderr[-3000:]
    assert tables_of(folder / "tables", captures) == plain_tables(captures, tmp_path / "plain")
    assert json.loads(said["decode"].stdout)["files"] == len(list(captures.iterdir()))


def test_a_jobs_exit_code_is_that_of_spark_submit_and_its_answer_all_that_is_printed(submitted):
    said, folder = submitted
    assert said["audit"].returncode == 3, said["audit"].stderr[-3000:]
    assert said["audit"].stdout == (folder / "audited" / "audit.json").read_text()
