"""A cluster in a data directory: what it says of what it finds, and when coordinators and the controller sync."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from mockbroker.data_directories.directory import METADATA, DataDirectoryError
from mockbroker.data_directories.files import Files, StorageError
from mockbroker.data_directories.storage import Storage
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from protocol.embedded.group_log import OffsetCommitValue
from tests.group_driver import commit_offsets


class NotedFiles(Files):
    """Files that note what is synced, and may fail to."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: list[str] = []
        self.fails = False

    def sync(self, path: Path) -> None:
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.synced.append(path.parent.name)
        super().sync(path)


class Kept:
    """A cluster over a data directory."""

    def __init__(self, path: Path, racks: str = "abc", *, release: str | None = None, always: bool = False) -> None:
        self.files = NotedFiles()
        self.storage = Storage(path, always=always, files=self.files)
        brokers = [Broker(index, rack) for index, rack in enumerate(racks)]
        with ExitStack() as on_error:
            on_error.callback(self.storage.unlock)
            self.cluster = Cluster.create(brokers, release=release, **self.storage.durable(0))
            self.storage.summarize(self.cluster)
            on_error.pop_all()

    def close(self) -> None:
        self.storage.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A directory that a cluster of three brokers has closed, with the topic orders and a group."""
    kept = Kept(tmp_path / "data")
    kept.cluster.replication_control.create("orders", 4, 3)
    commit_offsets(kept.cluster.groups, "readers", {("orders", 0): OffsetCommitValue(5)}, 0)
    kept.close()
    return tmp_path / "data"


def test_a_start_says_what_it_found(path):
    kept = Kept(path)
    assert f"data directory {path}: 2 topics, 54 partitions; " in kept.storage.summary
    kept.close()


def test_a_cluster_has_the_id_that_it_had_whether_it_was_closed_or_killed(path, tmp_path):
    kept = Kept(path)
    shutil.copytree(path, tmp_path / "killed")
    kept.close()
    for place in (path, tmp_path / "killed"):
        after = Kept(place)
        assert after.cluster.id == kept.cluster.id
        after.close()


def test_an_older_release_than_the_features_ask_for_is_refused(path):
    with pytest.raises(
        ValueError,
        match=r"expected brokers that support \S+ \d+ of the stored cluster, got 3.9",
    ):
        Kept(path, release="3.9")
    Kept(path).close()


def test_logs_without_their_metadata_are_refused(path):
    shutil.rmtree(path / METADATA)
    with pytest.raises(DataDirectoryError, match="has no metadata of them"):
        Kept(path)
    assert not list(path.glob("*.stray"))


def test_damage_in_the_middle_of_a_log_is_refused_and_the_directory_is_free_again(path):
    kept = Kept(path)
    for offset in range(2):
        commit_offsets(kept.cluster.groups, "readers", {("orders", 0): OffsetCommitValue(offset)}, 0)
    kept.close()
    (file,) = (one for one in path.glob("*/*.log") if one.parent.name != METADATA)
    data = bytearray(file.read_bytes())
    data[-30] ^= 1
    data[30] ^= 1
    file.write_bytes(data)
    for _ in range(2):
        with pytest.raises(OSError, match=f"{file}, byte 0: "):
            Kept(path)
    data[30] ^= 1
    file.write_bytes(data)
    Kept(path).close()


def test_with_fsync_always_a_commit_of_offsets_and_of_metadata_is_synced_before_it_is_acknowledged(path):
    kept = Kept(path, always=True)
    kept.storage.sync()
    kept.files.synced.clear()
    commit_offsets(kept.cluster.groups, "readers", {("orders", 0): OffsetCommitValue(6)}, 0)
    kept.storage.sync()
    assert len(kept.files.synced) == 1
    assert kept.files.synced[0] != METADATA
    kept.files.synced.clear()
    kept.cluster.replication_control.create("events", 1, 3)
    kept.storage.sync()
    assert kept.files.synced == [METADATA]
    kept.close()


def test_a_failed_sync_is_told_until_one_succeeds(path):
    kept = Kept(path, always=True)
    kept.files.fails = True
    commit_offsets(kept.cluster.groups, "readers", {("orders", 0): OffsetCommitValue(6)}, 0)
    for _ in range(2):
        with pytest.raises(StorageError):
            kept.storage.sync()
    kept.files.fails = False
    kept.storage.sync()
    kept.close()
    after = Kept(path)
    assert after.cluster.groups.offsets("readers").get(("orders", 0)) == OffsetCommitValue(6)
    after.close()


@pytest.mark.zookeeper
def test_a_cluster_of_zookeepers_time_goes_on_too(tmp_path):
    for _ in range(2):
        kept = Kept(tmp_path / "old", release="2.4")
        if "orders" not in kept.cluster.topics:
            kept.cluster.replication_control.create("orders", 2, 3)
        topic_id = kept.cluster.topics["orders"].id
        kept.close()
    assert kept.cluster.topics["orders"].id == topic_id
    assert kept.cluster.other_mode is not None
