"""What a user of the package finds: its classes with their types, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mockbroker
from mockbroker import MockCluster

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.proxy
def test_the_package_shows_its_classes_and_nothing_else():
    shown = subprocess.run(
        [sys.executable, "-c", "import mockbroker; print(dir(mockbroker))"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    assert shown.stdout == "['BlockingKafkaProxy', 'BlockingMockCluster', 'KafkaProxy', 'MockCluster']\n"
    assert [name for name in dir(mockbroker) if not hasattr(mockbroker, name)] == []


def test_a_name_that_is_not_there_is_named():
    with pytest.raises(AttributeError, match="module 'mockbroker' has no attribute 'MockClutser'"):
        mockbroker.MockClutser  # noqa: B018


def test_a_cluster_that_is_not_started_gives_no_addresses():
    cluster = MockCluster(port=9092)
    with pytest.raises(RuntimeError, match="expected a running cluster"):
        _ = cluster.bootstrap_servers
    with pytest.raises(RuntimeError, match="expected a running cluster"):
        cluster.bootstrap_servers_for("a")


def test_a_type_checker_sees_the_classes_behind_the_lazy_names(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
from kafka_rack import MockCluster as Same, select_replica
from mockbroker import MockClutser, MockCluster

reveal_type(MockCluster())
reveal_type(Same())
reveal_type(select_replica)
with MockCluster() as cluster:
    reveal_type(cluster)
    reveal_type(cluster.stop_rack("a"))
""")
    options = ["--config-file=", "--follow-imports=silent", "--cache-dir", str(tmp_path)]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, program],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    revealed = [line.partition("is ")[2].strip('"') for line in ran.stdout.splitlines() if "Revealed" in line]
    server = "mockbroker.adapters.server.MockCluster"
    assert revealed[:2] == [server, server], ran.stdout + ran.stderr
    assert revealed[2].startswith("def (")
    assert revealed[3:] == ["mockbroker.adapters.blocking.BlockingMockCluster", "list[int]"]
    assert 'Module "mockbroker" has no attribute "MockClutser"' in ran.stdout
