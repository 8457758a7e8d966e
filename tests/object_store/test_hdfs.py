"""A name node and a data node of Hadoop's own on loopback: captures, tables and results on hdfs://."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from kafka_rack.cli import main
from kafka_rack.storage import StorageSettings, use_settings
from tests.interop.fetched import maven_jars, skipped_without_tools
from tests.object_store.conftest import HADOOP
from tests.object_store.places import check_tables_and_results
from tests.progress import wait_until

CLUSTER = "org.apache.hadoop.test.MiniDFSClusterManager"


@pytest.fixture(scope="module")
def name_node(tmp_path_factory):
    """``hdfs://127.0.0.1:PORT`` of an HDFS of one data node, empty at first."""
    with skipped_without_tools():
        jars = maven_jars("hdfs", Path(__file__).with_name("hdfs-pom.xml"), f"hadoop-client-minicluster-{HADOOP}.jar")
    folder = tmp_path_factory.mktemp("hdfs")
    command = ["java", "-Xmx400m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", CLUSTER]
    command += ["-format", "-datanodes", "1", "-writeDetails", "details.json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            details = folder / "details.json"
            wait_until(
                lambda: (details.is_file() and details.read_text().endswith("}")) or process.poll() is not None,
                "the name node's port",
                seen=lambda: sum(1 for _ in folder.rglob("*")),
            )
            assert process.poll() is None
            yield f"hdfs://127.0.0.1:{json.loads(details.read_text())['namenode_port']}"
        finally:
            process.kill()


@pytest.fixture
def place(name_node):
    """The URL of a folder of its own."""
    use_settings(StorageSettings())
    return f"{name_node}/trace/{uuid4().hex}"


def test_captures_become_tables_and_results_on_hdfs(spark, place, capsys, tmp_path):
    check_tables_and_results(spark, place, capsys, tmp_path)


class ProcessDied(BaseException):
    """In the place of a kill."""


CHANGES = {"create_dir", "open_output_stream", "move", "copy_file", "delete_file", "delete_dir"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("/nothing", "no such file or folder"),
        (":1/x", "the store cannot be reached"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(spark, name_node, capsys, tmp_path, given, said):
    url = f"{name_node}{given}" if given.startswith("/") else f"hdfs://127.0.0.1{given}"
    assert main(["pipeline", "decode", url, "--out", str(tmp_path / "out"), "--quiet"]) in (1, 2)
    printed, complaints = capsys.readouterr()
    assert (printed, complaints.count("\n")) == ("", 1)
    assert url in complaints
    assert said in complaints
