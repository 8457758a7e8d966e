"""Hadoop's YARN runs the jobs by `spark-submit` on nodes whose Python has no packages, the driver there too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_rack.cli import main
from kafka_rack.pipeline.spark.session import find_java
from tests.cluster.conftest import HERE
from tests.interop.fetched import java_program, maven_jars, skipped_without_tools
from tests.pipeline.cluster import KEPT, LOOPBACK, QUICK_JAVA, SPARK_HOME, kill_all_of
from tests.pipeline.fleets import SHARED_RACK
from tests.pipeline.sent import NEEDS, needs_zip, settings_of, write_job
from tests.progress import run

ROOT = HERE.parents[1]
NODES = 2
A_JAR = "jaxb-impl-2.2.3-1.jar"
SETTINGS = {
    "spark.yarn.jars": f"local:{SPARK_HOME}/jars/*",  # else Spark sends them, 400 MB, to each node
    "spark.executor.instances": "2",
    "spark.executor.memory": "600m",
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.driver.memory": "600m",
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.ui.enabled": "false",
}


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster's folder: its settings for clients are in conf/, what its containers print below target/."""
    with skipped_without_tools():
        jars = maven_jars("yarn", HERE / "yarn-pom.xml", A_JAR)
        program = java_program(HERE / "YarnCluster.java", jars)
    folder = tmp_path_factory.mktemp("yarn")
    (folder / "conf").mkdir()
    opened = "--add-opens=java.base/java.lang=ALL-UNNAMED"
    with subprocess.Popen(
        ["java", "-Xmx500m", *QUICK_JAVA.split(), opened, *program, str(NODES), "conf/yarn-site.xml"],
        cwd=folder,
        env={**{name: os.environ[name] for name in KEPT if name in os.environ}, "JAVA_HOME": java_home()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield folder
        finally:
            kill_all_of(process.pid)


def java_home() -> str:
    """Where the Java is that containers are started with."""
    return str(Path(find_java()).resolve().parents[1])


def submitted(
    yarn: Path, python: Path, deploy_mode: str, *jobs: list[str], packed: Path
) -> list[subprocess.CompletedProcess[str]]:
    """What `spark-submit` says to each job."""
    packed.mkdir(exist_ok=True)
    settings = {
        **SETTINGS,
        **settings_of(needs_zip(packed)),
        "spark.yarn.stagingDir": (yarn / "staging").as_uri(),
        "spark.yarn.appMasterEnv.PYTHONPATH": NEEDS,
        "spark.yarn.maxAppAttempts": "1",  # a job that ends with another exit code than 0 would be run again
    }
    told = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    environment |= {
        "HADOOP_CONF_DIR": str(yarn / "conf"),
        "JAVA_HOME": java_home(),
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_SUBMIT_OPTS": QUICK_JAVA,
    }
    if deploy_mode == "client":
        environment |= {"PYSPARK_DRIVER_PYTHON": sys.executable}
    program = str(SPARK_HOME / "bin" / "spark-submit")
    command = [program, "--master", "yarn", "--deploy-mode", deploy_mode, *told, str(write_job(packed))]
    return [run([*command, *job], cwd=packed, env=environment) for job in jobs]


def test_a_driver_there_finds_all_that_it_needs_in_the_archive(yarn, python, whole, tmp_path, capsys):
    """Nothing of this package is outside the archive, and the page needs its style sheet."""
    fleet = tmp_path / "fleet.json"
    fleet.write_text(json.dumps(SHARED_RACK))
    locality, audited = submitted(
        yarn,
        python,
        "cluster",
        ["locality", str(whole), "--out", str(tmp_path / "locality")],
        ["audit", str(fleet), "--out", str(tmp_path / "audited"), "--format", "json"],
        packed=tmp_path / "pack",
    )
    assert (locality.returncode, locality.stdout) == (0, ""), locality.stderr[-3000:]
    assert main(["locality", str(whole), "--format", "json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert {**json.loads((tmp_path / "locality" / "locality.json").read_text()), "out": None} == {**plain, "out": None}
    assert (tmp_path / "locality" / "locality.html").stat().st_size > 0
    assert audited.returncode == 1, audited.stderr[-3000:]  # spark-submit's, where the driver there ended with 3
    printed = [path.read_text() for path in yarn.glob("target/**/*_000001/stdout") if "{" in path.read_text()]
    assert printed == [(tmp_path / "audited" / "audit.json").read_text()]
