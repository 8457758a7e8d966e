"""What a user of the package finds: its classes with their types, what they can do, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mockbroker
from mockbroker import MockCluster

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = {
    "bootstrap_servers",
    "bootstrap_servers_for",
    "client_settings",
    "close",
    "configure_broker",
    "connections",
    "crash_broker",
    "create_topic",
    "cut_link",
    "delete_topic",
    "empty_disk",
    "engine",
    "faults",
    "fence_broker",
    "fill_disk",
    "finish",
    "fork",
    "grow_isr",
    "isolate_broker",
    "jump_clock",
    "kept",
    "mend_link",
    "metadata_propagated",
    "move_coordinator",
    "move_leader",
    "move_replicas",
    "now_ms",
    "rejoin_broker",
    "reset",
    "restart_broker",
    "restart_rack",
    "set_follower_lag",
    "set_isr",
    "settings_without_effect",
    "settle",
    "shrink_isr",
    "start",
    "start_broker",
    "start_rack",
    "stop_broker",
    "stop_rack",
    "tls",
    "unfence_broker",
}


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


def test_a_cluster_shows_its_commands_and_nothing_else():
    assert {name for name in dir(MockCluster) if not name.startswith("_")} == COMMANDS
    assert {name for name in vars(MockCluster()) if not name.startswith("_")} == {"journal", "state", "traffic"}


def test_a_cluster_that_is_not_started_gives_no_addresses():
    cluster = MockCluster(port=9092)
    with pytest.raises(RuntimeError, match="expected a running cluster"):
        _ = cluster.bootstrap_servers
    with pytest.raises(RuntimeError, match="expected a running cluster"):
        cluster.bootstrap_servers_for("a")


@pytest.mark.slow
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
