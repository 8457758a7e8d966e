"""A cluster's logs in a data directory: what a cluster after another finds there, and what a failing disk costs."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mockbroker.adapters.storage.data_directory import DataDirectory, DataDirectoryError, DataDirectoryInUseError
from mockbroker.adapters.storage.disk_store import DiskLogStore
from mockbroker.adapters.storage.files import Files, StorageError
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError
from mockbroker.state.image.image import Image
from mockbroker.state.logs.appending import append, append_marker
from mockbroker.state.topics.topic import Partition
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import batch


class FailingFiles(Files):
    """A disk that can be full, and that can refuse to sync."""

    is_full = fails_sync = False
    synced: list[str]

    def __init__(self) -> None:
        super().__init__()
        self.synced = []

    def write(self, descriptor: int, data: bytes, position: int) -> int:
        if self.is_full and data:
            super().write(descriptor, data[:7], position)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(descriptor, data, position)

    def sync(self, path: Path) -> None:
        if self.fails_sync:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.synced.append(path.name)


class Runs:
    """One cluster after another over one data directory; ``restart`` ends one, in order or not, and begins the next."""

    def __init__(self, path: Path, fsync: str = "os", brokers: int = 3) -> None:
        self.path, self.fsync, self.brokers = path, fsync, brokers
        self.records: list[object] = []
        self.disk = FailingFiles()
        self.lives = 0
        self.begin(None)

    def begin(self, image: Image | None) -> None:
        self.lives += 1
        self.store = DiskLogStore(DataDirectory.open(self.path, files=self.disk), fsync=self.fsync)
        self.cluster = Cluster.create(
            [Broker(index, "abc"[index]) for index in range(self.brokers)],
            seed=self.lives,
            cluster_id="lab",
            image=image,
            log_store=self.store,
            record_log=self.records,
            now_ms=0,
        )

    def end(self, *, clean: bool) -> None:
        self.store.close(clean=clean)

    def restart(self, *, clean: bool = True) -> None:
        self.end(clean=clean)
        image = Image()
        for records in self.records:
            for record in records:
                image.apply(record)
        self.begin(image)

    def partition(self, topic: str = "orders", index: int = 0) -> Partition:
        return self.cluster.topics[topic].partitions[index]

    def directory(self, broker_id: int = 0, topic: str = "orders", index: int = 0) -> Path:
        return self.path / f"broker-{broker_id}" / "0" / f"{topic}-{index}"


@pytest.fixture
def runs(tmp_path):
    """Three brokers with the topic orders: two partitions on all brokers."""
    made = Runs(tmp_path / "data")
    made.cluster.create_topic("orders", 2, 3)
    yield made
    made.end(clean=False)


def send(partition: Partition, *values: bytes, **producer: int) -> int:
    data = batch(*values, **producer)
    return append(partition, data, 0, one_batch=True, allow_zstd=True).base_offset


def values(partition: Partition) -> list[bytes]:
    from protocol.records import iter_records

    log = partition.log
    return [one.value for data in log.batches(log.start_offset) for one in iter_records(data.data)]


@pytest.mark.parametrize("clean", [True, False])
def test_records_are_found_again(runs, clean):
    send(runs.partition(), b"one", b"two")
    send(runs.partition(index=1), b"three")
    runs.restart(clean=clean)
    assert values(runs.partition()) == [b"one", b"two"]
    assert values(runs.partition(index=1)) == [b"three"]
    send(runs.partition(), b"four")
    assert values(runs.partition()) == [b"one", b"two", b"four"]


def test_each_replicas_broker_has_the_files_of_which_there_is_one(runs):
    send(runs.partition(), b"one")
    names = {one.name for one in runs.directory(0).iterdir()}
    assert names == {f"{0:020d}{suffix}" for suffix in (".log", ".index", ".timeindex")} | {
        "leader-epoch-checkpoint",
        "partition.metadata",
    }
    for broker_id in (1, 2):
        assert {one.name for one in runs.directory(broker_id).iterdir()} == names
        assert all((runs.directory(broker_id) / name).samefile(runs.directory(0) / name) for name in names)


@pytest.mark.parametrize("clean", [True, False])
def test_a_repeated_batch_is_known_after_a_restart(runs, clean):
    producer = {"producer_id": 7, "producer_epoch": 0}
    first = send(runs.partition(), b"one", **producer, base_sequence=0)
    second = send(runs.partition(), b"two", **producer, base_sequence=1)
    runs.restart(clean=clean)
    assert send(runs.partition(), b"two", **producer, base_sequence=1) == second
    assert clean or send(runs.partition(), b"one", **producer, base_sequence=0) == first
    assert send(runs.partition(), b"three", **producer, base_sequence=2) == second + 1
    assert values(runs.partition()) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("clean", [True, False])
def test_aborted_and_open_transactions_are_known_after_a_restart(runs, clean):
    partition = runs.partition()
    for producer_id in (7, 8):
        send(partition, b"in", producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
    append_marker(
        partition,
        0,
        committed=False,
        producer_id=7,
        producer_epoch=0,
        coordinator_epoch=0,
        transaction_version=0,
    )
    before = partition.producers.transactions
    runs.restart(clean=clean)
    after = runs.partition().producers.transactions
    assert (after.open, after.aborted) == (before.open, before.aborted)
    assert after.open == {8: 1}
    assert runs.partition().last_stable_offset(runs.partition().high_watermark) == 1


def test_where_a_log_starts_is_known_though_the_process_was_killed(runs):
    send(runs.partition(), b"one", b"two", b"three")
    send(runs.partition(index=1), b"four", b"five")
    runs.partition().advance_start(2)
    runs.partition(index=1).advance_start(1)
    runs.restart(clean=False)
    assert (runs.partition().log.start_offset, runs.partition(index=1).log.start_offset) == (2, 1)
    assert runs.directory().parent.joinpath("log-start-offset-checkpoint").read_text() == (
        "0\n2\norders 0 2\norders 1 1\n"
    )


def test_a_deleted_topic_leaves_nothing_and_another_of_its_name_begins_anew(runs):
    send(runs.partition(), b"one", b"two")
    runs.partition().advance_start(1)
    runs.cluster.delete_topic(runs.cluster.topics["orders"])
    assert not [one for one in runs.directory().parent.iterdir() if one.is_dir()]
    runs.cluster.create_topic("orders", 1, 3)
    send(runs.partition(), b"three")
    runs.restart(clean=False)
    assert values(runs.partition()) == [b"three"]


def test_the_files_go_where_the_replicas_go(runs):
    runs.cluster.create_topic("bills", 1, assignment=[[0, 1]])
    send(runs.partition("bills"), b"one")
    runs.cluster.reassign("bills", 0, [2])
    runs.store.tick(1)
    assert not runs.directory(0, "bills").exists()
    assert not runs.directory(1, "bills").exists()
    send(runs.partition("bills"), b"two")
    runs.restart(clean=False)
    assert values(runs.partition("bills")) == [b"one", b"two"]
    assert runs.directory(2, "bills").is_dir()


def test_a_directory_that_lacks_what_another_has_gets_it_when_it_is_opened(runs):
    send(runs.partition(), b"one")
    runs.end(clean=False)
    for one in runs.directory(0).iterdir():
        one.unlink()
    runs.begin(runs.cluster.image.copy())
    assert values(runs.partition()) == [b"one"]
    assert (runs.directory(0) / f"{0:020d}.log").samefile(runs.directory(2) / f"{0:020d}.log")


def test_what_no_topic_has_is_put_aside(runs, caplog):
    send(runs.partition(), b"one")
    runs.end(clean=True)
    runs.records.clear()
    runs.begin(None)
    names = [one.name for one in (runs.path / "broker-0" / "0").iterdir() if one.is_dir()]
    assert [name.endswith("-stray") for name in names] == [True]
    assert "belongs to no topic" in caplog.text


def test_a_directory_of_another_cluster_is_left_alone(runs):
    send(runs.partition(), b"one")
    runs.end(clean=True)
    store = DiskLogStore(DataDirectory.open(runs.path))
    with pytest.raises(DataDirectoryError, match="expected cluster other and node 0, got cluster lab and node 0"):
        Cluster.create([Broker(0, "a")], log_store=store, cluster_id="other")
    store.close(clean=False)
    assert (runs.directory() / f"{0:020d}.log").exists()


def test_a_damaged_batch_is_told_and_not_served(runs, caplog):
    send(runs.partition(), b"one")
    send(runs.partition(), b"two")
    send(runs.partition(), b"three")
    runs.end(clean=True)
    path = runs.directory() / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[data.index(b"two")] ^= 1
    path.write_bytes(data)
    runs.begin(runs.cluster.image.copy())
    log = runs.partition().log
    assert len(log.read(0, 1 << 20)) == 1
    with pytest.raises(ApiError) as refused:
        log.read(1, 1 << 20)
    assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
    assert len(log.read(2, 1 << 20)) == 1
    assert caplog.text.count("it is not served") == 1


def test_a_full_disk_refuses_producers_and_goes_on_when_there_is_room(runs, caplog):
    caplog.set_level(logging.WARNING)
    send(runs.partition(), b"one")
    runs.disk.is_full = True
    for _ in range(3):
        with pytest.raises(StorageError) as refused:
            send(runs.partition(), b"two")
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        with pytest.raises(StorageError):
            send(runs.partition(index=1), b"two")
    assert caplog.text.count("KAFKA_STORAGE_ERROR") == 1
    assert values(runs.partition()) == [b"one"]
    runs.disk.is_full = False
    send(runs.partition(), b"three")
    send(runs.partition(index=1), b"four")
    assert caplog.text.count("can be written to again") == 1
    runs.restart(clean=False)
    assert values(runs.partition()) == [b"one", b"three"]
    assert values(runs.partition(index=1)) == [b"four"]


def test_with_fsync_always_a_batch_is_flushed_before_it_counts(tmp_path):
    runs = Runs(tmp_path / "data", fsync="always")
    runs.cluster.create_topic("orders", 1, 3)
    jobs = []
    runs.store.run_flush = lambda job, done: jobs.append((job, done))
    send(runs.partition(), b"one")
    send(runs.partition(), b"two")
    log = runs.partition().log
    assert (log.is_flushed(1), log.is_flushed(2), len(jobs)) == (False, False, 1)
    job, done = jobs.pop()
    job.run()
    done(None)
    assert (log.is_flushed(1), log.is_flushed(2), len(jobs)) == (True, False, 1)
    assert f"{0:020d}.log" in runs.disk.synced
    jobs.pop()[1](OSError(errno.EIO, "broken"))
    with pytest.raises(StorageError):
        log.is_flushed(2)
    send(runs.partition(), b"three")
    jobs.pop()[1](None)
    assert log.is_flushed(2)
    assert log.is_flushed(3)
    runs.end(clean=False)


def test_flush_messages_and_flush_ms_of_a_topic_say_when_it_is_flushed(tmp_path):
    runs = Runs(tmp_path / "data")
    runs.cluster.create_topic("counted", 1, 3, configs={"flush.messages": "3"})
    runs.cluster.create_topic("timed", 1, 3, configs={"flush.ms": "500"})
    counted, timed = runs.partition("counted").log, runs.partition("timed").log
    send(runs.partition("counted"), b"one", b"two")
    assert counted.flush.flushed_to == 0
    send(runs.partition("counted"), b"three")
    assert counted.flush.flushed_to == 3
    send(runs.partition("timed"), b"one")
    runs.store.tick(499)
    assert timed.flush.flushed_to == 0
    runs.store.tick(500)
    assert timed.flush.flushed_to == 1
    runs.end(clean=False)


def test_a_topics_index_interval_says_how_many_entries_there_are(runs):
    runs.cluster.create_topic("dense", 1, 3, configs={"index.interval.bytes": "100"})
    for topic in ("dense", "orders"):
        for _ in range(10):
            send(runs.partition(topic), b"v" * 60)
        runs.partition(topic).log.files.write_index()
    assert (runs.directory(topic="dense") / f"{0:020d}.index").stat().st_size == 8 * 9
    assert (runs.directory(topic="orders") / f"{0:020d}.index").stat().st_size == 0


def test_without_either_nothing_is_flushed_before_the_end(runs):
    send(runs.partition(), b"one")
    runs.store.tick(10_000_000)
    assert runs.partition().log.flush.flushed_to == 0
    runs.restart(clean=True)
    assert runs.partition().log.flush.flushed_to == 1


def test_checkpoints_say_what_is_flushed_and_what_readers_see(runs):
    send(runs.partition(), b"one", b"two")
    runs.store.flush(runs.partition().log)
    runs.store.tick(100_000)
    for broker_id in range(3):
        directory = runs.directory(broker_id).parent
        assert directory.joinpath("recovery-point-offset-checkpoint").read_text() == "0\n1\norders 0 2\n"
        assert directory.joinpath("replication-offset-checkpoint").read_text() == "0\n1\norders 0 2\n"


def test_a_fork_goes_on_in_memory(runs):
    send(runs.partition(), b"one")
    fork = runs.store.fork()
    log = fork.open(runs.cluster.topics["orders"].id, 0)
    send(runs.partition(), b"two")
    assert log.end_offset == 1
    assert next(log.batches()).data == next(runs.partition().log.batches()).data


def test_old_segments_leave_the_disk(runs):
    runs.cluster.create_topic("small", 1, 3, configs={"segment.bytes": "1048576", "retention.bytes": "1"})
    for _ in range(3):
        send(runs.partition("small"), b"v" * 600_000)
    runs.cluster.upkeep.look(runs.partition("small"), 1)
    assert runs.partition("small").log.start_offset == 2
    runs.store.tick(2)
    runs.store.tick(100_000)
    assert [one.name for one in runs.directory(1, "small").glob("*.log*")] == [f"{2:020d}.log"]


def test_a_second_process_is_told_which_one_has_the_directory(runs):
    with pytest.raises(DataDirectoryInUseError, match="another cluster of this process"):
        DataDirectory.open(runs.path)
    code = (
        "import sys\n"
        "from mockbroker.adapters.storage.data_directory import DataDirectory, DataDirectoryInUseError\n"
        "try:\n    DataDirectory.open(sys.argv[1])\n"
        "except DataDirectoryInUseError as error:\n    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code, runs.path], capture_output=True, text=True, check=True)
    assert f"in use by process {os.getpid()}" in found.stdout


LOCKER = """
import fcntl, sys
file = open(sys.argv[1], "w")
try:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    print("refused", flush=True)
else:
    print("locked", flush=True)
    input()
"""


@pytest.mark.parametrize("place", ["broker-0/0", "controller"])
def test_a_broker_of_kafka_and_ours_keep_each_other_out_of_a_log_directory(tmp_path, place):
    path = tmp_path / "data"

    def opened() -> DataDirectory:
        data = DataDirectory.open(path)
        for node, directory in enumerate((data.log_directory(0), path / "controller")):
            data.write_meta(directory, "cluster", node, bytes(16))
        return data

    data = opened()
    command = [sys.executable, "-c", LOCKER, str(path / place / ".lock")]  # as Kafka does
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout == "refused\n"
    data.close(clean=True)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        for _ in range(2):
            with pytest.raises(DataDirectoryInUseError, match="in use by a broker of Apache Kafka"):
                opened()
        other.communicate("\n")
    opened().close(clean=True)


def test_a_brokers_own_directory_is_not_taken(tmp_path):
    (tmp_path / "kraft").mkdir()
    (tmp_path / "kraft" / "meta.properties").write_text("version=1\n")
    for path in (tmp_path, tmp_path / "kraft"):
        with pytest.raises(DataDirectoryError, match="a broker of Apache Kafka"):
            DataDirectory.open(path)


def test_a_directory_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataDirectoryError, match="cannot use the data directory"):
        DataDirectory.open(tmp_path / "file" / "data")
