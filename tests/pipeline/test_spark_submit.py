"""`spark-submit` runs the jobs on two workers that have nothing of this package, by what `pipeline pack` writes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_rack.pipeline.spark.session import find_java
from tests.pipeline.cluster import LOOPBACK, QUICK_JAVA, SPARK_HOME, bare_python, cluster
from tests.pipeline.fleets import SHARED_RACK
from tests.pipeline.plain import plain_tables, tables_of

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"spark.executor.memory": "600m", "spark.executor.extraJavaOptions": QUICK_JAVA, "spark.cores.max": "2"}


@pytest.fixture(scope="module")
def submitted(captures, tmp_path_factory):
    """What two jobs said, by their names, and the folder that they wrote into."""
    find_java()
    folder = tmp_path_factory.mktemp("submitted").resolve()
    pack = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "pack", str(folder / "pack")]
    packed = subprocess.run(pack, cwd=ROOT, capture_output=True, text=True, check=True)
    program, *options = shlex.split(packed.stdout)
    assert program == "spark-submit"
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
        small = [word for setting in SMALL.items() for word in ("--conf", "=".join(setting))]
        begin = [master if word == "MASTER" else word for word in options if word not in {"JOB", "..."}]
        for name, job in jobs.items():
            at = begin.index(str(folder / "pack" / "kafka_rack_job.py"))
            command = [str(SPARK_HOME / "bin" / program), *begin[:at], *small, begin[at], *job]
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
