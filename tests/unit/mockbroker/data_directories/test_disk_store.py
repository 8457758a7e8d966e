"""A cluster's logs in a data directory: what a cluster after another finds there, and what a failing disk costs."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mockbroker.data_directories.directory import DataDirectory, DataDirectoryError, DataDirectoryInUseError
from mockbroker.data_directories.disk_store import DiskLogStore
from mockbroker.data_directories.files import Files, StorageError
from mockbroker.data_directories.log_file import DamagedLogError, LogFile
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.image import Image
from mockbroker.state.logs.appending import append, append_marker
from mockbroker.state.logs.batch_checks import RefusedAppendError
from mockbroker.state.logs.producers import Marker
from mockbroker.state.topics.topic import Partition
from protocol.error_codes import ErrorCode
from protocol.records import Record, build_batch
from protocol.uuids import uuid_to_text
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
    """One cluster after another over one data directory; ``restart`` ends one and begins the next."""

    def __init__(self, path: Path, *, always: bool = False, settings: dict[str, str] | None = None) -> None:
        self.path, self.always, self.settings = path, always, settings
        self.records: list[object] = []
        self.disk = FailingFiles()
        self.lives = 0
        self.begin(None)

    def begin(self, image: Image | None) -> None:
        self.lives += 1
        self.store = DiskLogStore(DataDirectory(self.path, files=self.disk, always=self.always))
        self.cluster = Cluster.create(
            [Broker(index, "abc"[index]) for index in range(3)],
            seed=self.lives,
            settings=self.settings,
            image=image,
            log_store=self.store,
            record_log=self.records,
            now_ms=0,
        )

    def end(self) -> None:
        """As the operating system ends a process: nothing is done for an orderly end."""
        self.store.data.unlock()

    def restart(self) -> None:
        self.end()
        image = Image()
        for records in self.records:
            for record in records:
                image.apply(record)
        self.begin(image)

    def partition(self, topic: str = "orders", index: int = 0) -> Partition:
        return self.cluster.topics[topic].partitions[index]

    def directory(self, topic: str = "orders", index: int = 0) -> Path:
        return self.path / f"{uuid_to_text(self.cluster.topics[topic].id)}-{index}"

    def file(self, topic: str = "orders", index: int = 0) -> Path:
        (path,) = self.directory(topic, index).iterdir()
        return path


@pytest.fixture
def runs(tmp_path):
    """Three brokers with the topic orders: two partitions on all brokers."""
    made = Runs(tmp_path / "data")
    made.cluster.replication_control.create("orders", 2, 3)
    yield made
    made.end()


def send(partition: Partition, *values: bytes, **producer: int) -> int:
    data = batch(*values, **producer)
    return append(partition, data, 0, size=len(data)).base_offset


def values(partition: Partition) -> list[bytes]:
    from protocol.records import iter_records

    log = partition.log
    return [one.value for data in log.batches(log.start_offset) for one in iter_records(data.data)]


def test_records_are_found_again(runs):
    send(runs.partition(), b"one", b"two")
    send(runs.partition(index=1), b"three")
    runs.restart()
    assert values(runs.partition()) == [b"one", b"two"]
    assert values(runs.partition(index=1)) == [b"three"]
    send(runs.partition(), b"four")
    assert values(runs.partition()) == [b"one", b"two", b"four"]


def test_a_repeated_batch_is_known_after_a_restart(runs):
    producer = {"producer_id": 7, "producer_epoch": 0}
    first = send(runs.partition(), b"one", **producer, base_sequence=0)
    second = send(runs.partition(), b"two", **producer, base_sequence=1)
    runs.restart()
    assert send(runs.partition(), b"two", **producer, base_sequence=1) == second
    assert send(runs.partition(), b"one", **producer, base_sequence=0) == first
    assert send(runs.partition(), b"three", **producer, base_sequence=2) == second + 1
    assert values(runs.partition()) == [b"one", b"two", b"three"]


def test_aborted_and_open_transactions_are_known_after_a_restart(runs):
    partition = runs.partition()
    for producer_id in (7, 8):
        send(partition, b"in", producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
    append_marker(partition, Marker(False, 7, 0, 0), now_ms=0, transaction_version=0)
    before = partition.producers.transactions
    runs.restart()
    after = runs.partition().producers.transactions
    assert (after.open, after.aborted) == (before.open, before.aborted)
    assert after.open == {8: 1}
    assert runs.partition().last_stable_offset(runs.partition().high_watermark) == 1


def test_where_a_log_starts_is_known_though_the_process_was_killed(runs):
    send(runs.partition(), b"one", b"two", b"three")
    send(runs.partition(index=1), b"four", b"five")
    runs.partition().advance_start(2)
    runs.partition(index=1).advance_start(1)
    runs.restart()
    assert (runs.partition().log.start_offset, runs.partition(index=1).log.start_offset) == (2, 1)


def test_a_deleted_topic_leaves_nothing_and_another_of_its_name_begins_anew(runs):
    send(runs.partition(), b"one", b"two")
    runs.partition().advance_start(1)
    runs.cluster.replication_control.delete(runs.cluster.topics["orders"])
    assert [one.name for one in runs.path.iterdir()] == [".lock"]
    runs.cluster.replication_control.create("orders", 1, 3)
    send(runs.partition(), b"three")
    runs.restart()
    assert values(runs.partition()) == [b"three"]


def test_what_no_topic_has_is_renamed(runs, caplog):
    send(runs.partition(), b"one")
    name = runs.directory().name
    runs.end()
    runs.records.clear()
    runs.begin(None)
    assert (runs.path / f"{name}.stray" / f"{0:020d}.log").exists()
    assert "belongs to no topic" in caplog.text


def test_a_damaged_batch_before_a_sound_one_is_refused_at_the_start_and_nothing_changes(runs):
    for value in (b"one", b"two", b"three"):
        send(runs.partition(), value)
    path = runs.file()
    data = bytearray(path.read_bytes())
    data[data.index(b"two")] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedLogError, match=f"{path}, byte "):
        runs.restart()
    assert path.read_bytes() == data


def test_a_torn_end_is_cut_off(runs):
    send(runs.partition(), b"one")
    send(runs.partition(), b"two")
    path = runs.file()
    path.write_bytes(path.read_bytes()[:-1])
    runs.restart()
    assert values(runs.partition()) == [b"one"]
    send(runs.partition(), b"three")
    runs.restart()
    assert values(runs.partition()) == [b"one", b"three"]


def test_segments_begin_where_they_did_before(tmp_path):
    runs = Runs(tmp_path / "data")
    runs.cluster.replication_control.create("small", 1, 3, configs={"segment.bytes": "1048576"})
    for _ in range(5):
        send(runs.partition("small"), b"v" * 400_000)
    before = [(one.base_offset, one.size_bytes, one.max_timestamp) for one in runs.partition("small").log.segments]
    assert len(before) == 3
    runs.restart()
    after = [(one.base_offset, one.size_bytes, one.max_timestamp) for one in runs.partition("small").log.segments]
    assert after == before
    runs.end()


def test_leader_epochs_are_those_of_the_batches(runs):
    send(runs.partition(), b"one")
    for broker_id in range(2):
        runs.cluster.cluster_control.stop(broker_id, 0)
        runs.cluster.cluster_control.start(broker_id, 0)
    send(runs.partition(), b"two")
    before = runs.partition().log.leader_epochs.entries
    assert len(before) == 2
    runs.restart()
    assert runs.partition().log.leader_epochs.entries[:2] == before


def test_a_full_disk_refuses_producers_and_goes_on_when_there_is_room(runs):
    send(runs.partition(), b"one")
    runs.disk.is_full = True
    for _ in range(3):
        for index in (0, 1):
            with pytest.raises(RefusedAppendError) as refused:
                send(runs.partition(index=index), b"two")
            assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert values(runs.partition()) == [b"one"]
    runs.disk.is_full = False
    send(runs.partition(), b"three")
    send(runs.partition(index=1), b"four")
    runs.restart()
    assert values(runs.partition()) == [b"one", b"three"]
    assert values(runs.partition(index=1)) == [b"four"]


def test_with_fsync_always_a_batch_is_to_be_synced_before_the_next_answer(tmp_path):
    runs = Runs(tmp_path / "data", always=True)
    runs.cluster.replication_control.create("orders", 1, 3)
    send(runs.partition(), b"one")
    send(runs.partition(), b"two")
    assert list(runs.store.data.unsynced) == [runs.partition().log.file]
    assert runs.disk.synced == []
    runs.disk.fails_sync = True
    for _ in range(2):
        with pytest.raises(StorageError) as refused:
            runs.store.data.sync()
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    runs.disk.fails_sync = False
    runs.store.data.sync()
    assert runs.disk.synced == [f"{0:020d}.log"]
    runs.store.data.sync()
    assert runs.disk.synced == [f"{0:020d}.log"]
    runs.end()


def test_without_it_nothing_is_synced(runs):
    send(runs.partition(), b"one")
    runs.store.data.close()
    assert runs.disk.synced == []


def test_a_fork_goes_on_in_memory(runs):
    send(runs.partition(), b"one")
    fork = runs.store.fork()
    log = fork.open(runs.cluster.topics["orders"].id, 0)
    send(runs.partition(), b"two")
    assert log.end_offset == 1
    assert next(log.batches()).data == next(runs.partition().log.batches()).data


def test_old_segments_leave_the_disk_once_they_are_half_of_it(runs):
    runs.cluster.replication_control.create("small", 1, 3, configs={"segment.bytes": "1048576", "retention.bytes": "1"})
    for _ in range(3):
        send(runs.partition("small"), b"v" * 600_000)
    runs.cluster.log_cleanup.clean(runs.partition("small"), 1)
    assert runs.partition("small").log.start_offset == 2
    assert runs.file("small").name == f"{2:020d}.log"
    assert runs.file("small").stat().st_size < 700_000
    before = values(runs.partition("small"))
    runs.restart()
    assert values(runs.partition("small")) == before
    assert runs.partition("small").log.start_offset == 2


def test_a_log_whose_records_are_all_gone_goes_on_at_its_offset(runs):
    send(runs.partition(), b"one", b"two")
    runs.partition().log.delete_old_segments(before=2, now_ms=0, size_bytes=0)
    runs.restart()
    log = runs.partition().log
    assert (log.start_offset, log.end_offset, log.size_bytes) == (2, 2, 0)
    assert send(runs.partition(), b"three") == 2


def test_a_compacted_log_is_found_again_as_it_was(runs):
    runs.cluster.replication_control.create(
        "keys", 1, 3, configs={"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0"}
    )
    partition = runs.partition("keys")
    for number in range(6):
        data = build_batch([Record(timestamp=10 * number, key=b"k", value=b"%d" % number)])
        append(partition, data, 0, size=len(data))
    runs.cluster.log_cleanup.clean(partition, 100)
    before = list(partition.log.batches())
    assert [one.base_offset for one in before] == [4, 5]
    runs.restart()
    assert list(runs.partition("keys").log.batches()) == before
    assert runs.partition("keys").log.start_offset == 0


def test_a_second_process_is_told_which_one_has_the_directory(runs):
    with pytest.raises(DataDirectoryInUseError, match="another cluster of this process"):
        DataDirectory(runs.path)
    code = (
        "import sys\n"
        "from mockbroker.data_directories.directory import DataDirectory, DataDirectoryInUseError\n"
        "try:\n    DataDirectory(sys.argv[1])\n"
        "except DataDirectoryInUseError as error:\n    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code, runs.path], capture_output=True, text=True, check=True)
    assert f"in use by process {os.getpid()}" in found.stdout


def test_the_lock_follows_no_symlink(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / ".lock").symlink_to(tmp_path / "precious")
    with pytest.raises(DataDirectoryError, match="cannot use the data directory"):
        DataDirectory(tmp_path / "data")
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("replace", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "endless"])
@pytest.mark.parametrize("name", ["cluster-id", f"log/{0:020d}.log"])
def test_a_file_that_is_a_pipe_or_endless_is_refused(name, replace, tmp_path):
    """Attack 23 of a review: such a start waited for ever, or filled the memory."""
    (tmp_path / "log").mkdir()
    replace(tmp_path / name)
    data = DataDirectory(tmp_path)
    with pytest.raises(OSError, match=r"regular file|symbolic links"):
        LogFile.open(tmp_path / "log", data.files), data.cluster_id("drawn")
    data.close()


def test_a_directory_is_free_again_once_its_process_is_killed(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from mockbroker.data_directories.directory import DataDirectory\n"
        "data = DataDirectory(sys.argv[1])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "data"], check=False)
    assert (tmp_path / "data" / ".lock").exists()
    DataDirectory(tmp_path / "data").close()


def test_a_brokers_own_directory_is_not_taken(tmp_path):
    (tmp_path / "meta.properties").write_text("version=1\n")
    with pytest.raises(DataDirectoryError, match="a broker of Apache Kafka"):
        DataDirectory(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["meta.properties"]


def test_a_directory_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataDirectoryError, match="cannot use the data directory"):
        DataDirectory(tmp_path / "file" / "data")
