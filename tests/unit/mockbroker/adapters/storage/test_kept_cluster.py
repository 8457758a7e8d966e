"""A cluster in a data directory: what it says of what it finds, and when coordinators and the controller sync."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from mockbroker.adapters.storage.data_directory import DataDirectoryError
from mockbroker.adapters.storage.files import Files, StorageError
from mockbroker.adapters.storage.running import Storage
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.groups.offsets import Committed


class NotedFiles(Files):
    """Files that note what is synced, and may fail to."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: list[str] = []
        self.fails = False

    def sync(self, path: Path) -> None:
        if self.fails and not path.is_dir():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.synced.append(f"{path.parent.name}/{path.suffix}")
        super().sync(path)


class Kept:
    """A cluster over a data directory."""

    def __init__(self, path: Path, racks: str = "abc", *, release: str | None = None, fsync: str = "os") -> None:
        self.files = NotedFiles()
        self.storage = Storage(path, fsync=fsync, files=self.files)
        brokers = [Broker(index, rack) for index, rack in enumerate(racks)]
        try:
            durable = self.storage.durable(brokers, None, 0)
            self.cluster = Cluster.create(brokers, release=release, **durable)
        except BaseException:
            self.storage.close(clean=False)
            raise
        self.storage.went_on(self.cluster)

    def close(self) -> None:
        self.storage.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A directory that a cluster of three brokers has closed, with the topic orders and a group."""
    kept = Kept(tmp_path / "data")
    kept.cluster.create_topic("orders", 4, 3)
    kept.cluster.groups.commit("readers", -1, "", None, {("orders", 0): Committed(5)}, 0)
    kept.close()
    return tmp_path / "data"


def test_a_start_says_what_it_found(path):
    kept = Kept(path)
    assert f"data directory {path}: 2 topics, 54 partitions, 1 group, 0 transactional ids; " in kept.storage.summary
    assert "not closed in order" not in kept.storage.summary
    kept.close()


def test_a_start_after_a_kill_says_so(path, tmp_path):
    kept = Kept(path)
    shutil.copytree(path, tmp_path / "killed", ignore=shutil.ignore_patterns(".lock"))
    kept.close()
    after = Kept(tmp_path / "killed")
    assert "it was not closed in order" in after.storage.summary
    assert after.cluster.id == kept.cluster.id
    after.close()


def test_other_brokers_and_racks_are_told(path, caplog):
    Kept(path, "az").close()
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "broker 1 was in rack b and is in z now: its replicas stay where they are" in said
    assert "no broker of that id starts: its replicas of 54 partitions are offline" in said
    caplog.clear()
    Kept(path, "azcd").close()
    assert "broker 3 is new to the data directory" in caplog.text


def test_an_older_release_than_the_features_ask_for_is_refused(path):
    with pytest.raises(ValueError, match=r"goes by \S+ \d+, but brokers of 3.9 know it up to"):
        Kept(path, release="3.9")
    Kept(path).close()


def test_logs_without_their_metadata_are_refused(path):
    shutil.rmtree(path / "controller")
    with pytest.raises(DataDirectoryError, match="has no metadata of them"):
        Kept(path)
    assert not list(path.glob("broker-*/*/*-stray"))


def test_with_fsync_always_a_commit_of_offsets_and_of_metadata_is_on_the_disk_before_it_counts(path):
    kept = Kept(path, fsync="always")
    kept.files.synced.clear()
    kept.cluster.groups.commit("readers", -1, "", None, {("orders", 0): Committed(6)}, 0)
    assert any(name.startswith("__consumer_offsets-") and name.endswith(".log") for name in kept.files.synced)
    kept.files.synced.clear()
    kept.cluster.create_topic("events", 1, 3)
    assert "__cluster_metadata-0/.log" in kept.files.synced
    kept.close()


def test_offsets_that_do_not_reach_the_disk_do_not_count(path):
    kept = Kept(path, fsync="always")
    kept.files.fails = True
    with pytest.raises(StorageError):
        kept.cluster.groups.commit("readers", -1, "", None, {("orders", 0): Committed(6)}, 0)
    found = kept.cluster.groups.offsets("readers").get(("orders", 0))
    assert found is not None
    assert found.offset == 5
    kept.files.fails = False
    kept.cluster.groups.commit("readers", -1, "", None, {("orders", 0): Committed(7)}, 0)
    kept.close()
    after = Kept(path)
    assert after.cluster.groups.offsets("readers").get(("orders", 0)) == Committed(7)
    after.close()


def test_a_cluster_of_zookeepers_time_goes_on_too(tmp_path):
    for _ in range(2):
        kept = Kept(tmp_path / "old", release="2.4")
        if "orders" not in kept.cluster.topics:
            kept.cluster.create_topic("orders", 2, 3)
        topic_id = kept.cluster.topics["orders"].id
        kept.close()
    assert kept.cluster.topics["orders"].id == topic_id
    assert kept.cluster.zookeeper is not None
