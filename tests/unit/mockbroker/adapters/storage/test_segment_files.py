"""A log's directory: what was appended is there again, and what was torn or damaged is not served."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mockbroker.adapters.storage.batch_scan import scan
from mockbroker.adapters.storage.files import Files, StorageError
from mockbroker.adapters.storage.index_files import OFFSET_ENTRY, TIME_ENTRY
from mockbroker.adapters.storage.segment_files import CorruptLogError, LogFiles, WrittenBatch
from protocol.records import Record, build_batch


class KilledError(BaseException):
    """The process ends here."""


class FaultyFiles(Files):
    """A disk with so many bytes of room, and a process that is killed at its n-th rename."""

    def __init__(self, room: int = 1 << 40, kill_at_rename: int = -1) -> None:
        super().__init__()
        self.room, self.kill_at_rename = room, kill_at_rename

    def write(self, descriptor: int, data: bytes, position: int) -> int:
        if not self.room and data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = min(self.room, len(data))
        self.room -= taken
        return super().write(descriptor, data[:taken], position)

    def rename(self, path: Path, to: Path) -> None:
        if path.exists():
            self.kill_at_rename -= 1
            if self.kill_at_rename == -1:
                raise KilledError
        super().rename(path, to)


def batch(base_offset: int, count: int = 1, size: int = 20, timestamp: int = 1000) -> WrittenBatch:
    records = [Record(timestamp=timestamp + base_offset + place, value=b"v" * size) for place in range(count)]
    data = build_batch(records, base_offset=base_offset, leader_epoch=0)
    return WrittenBatch(data, base_offset + count - 1, timestamp + base_offset + count - 1)


def filled(directory: Path, count: int, *, per_segment: int = 1 << 30, files: Files | None = None, **how) -> LogFiles:
    made, _ = LogFiles.open(directory, files=files, **how)
    for offset in range(count):
        if offset % per_segment == 0:
            made.roll(offset)
        made.append(*batch(offset))
    return made


def offsets(found) -> list[int]:
    return [one.base_offset for segment in found.segments for one in segment.batches]


def last_segment(directory: Path) -> Path:
    return max(directory.glob("*.log"))


def test_what_was_appended_is_there_again(tmp_path):
    written = filled(tmp_path / "orders-0", 10, per_segment=4)
    written.close()
    files, found = LogFiles.open(tmp_path / "orders-0", clean=True)
    assert offsets(found) == list(range(10))
    assert files.bases == [0, 4, 8]
    assert list(files.all_batches()) == [batch(offset).data for offset in range(10)]
    assert found.message("orders-0") is None


def test_a_batch_is_read_where_it_was_written(tmp_path):
    files = filled(tmp_path / "orders-0", 2)
    position = files.append(*batch(2))
    assert files.read(0, position, len(batch(2).data)) == batch(2).data


def test_a_torn_tail_is_cut_off_wherever_it_was_torn(tmp_path):
    directory = tmp_path / "orders-0"
    filled(directory, 3).close()
    whole = last_segment(directory).read_bytes()
    size = len(batch(2).data)
    for torn in range(1, size):
        last_segment(directory).write_bytes(whole[: len(whole) - torn])
        _, found = LogFiles.open(directory)
        assert offsets(found) == [0, 1]
        assert found.cut_bytes == size - torn
        assert last_segment(directory).read_bytes() == whole[: 2 * size]


@pytest.mark.parametrize("byte", range(len(batch(2).data)))
def test_a_flipped_bit_in_the_last_batch_cuts_it_off_or_changes_nothing_but_its_epoch(tmp_path, byte):
    directory = tmp_path / "orders-0"
    filled(directory, 3).close()
    whole = bytearray(last_segment(directory).read_bytes())
    whole[-len(batch(2).data) + byte] ^= 0x10
    last_segment(directory).write_bytes(whole)
    _, found = LogFiles.open(directory)
    # what the checksum does not cover are the offset, of which a larger one is as good, and the leader epoch
    assert len(offsets(found)) == 2 or byte < 16
    assert offsets(found)[:2] == [0, 1]


def test_what_comes_behind_a_damaged_batch_is_cut_off_too(tmp_path):
    directory = tmp_path / "orders-0"
    filled(directory, 9, per_segment=3).close()
    path = sorted(directory.glob("*.log"))[1]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    files, found = LogFiles.open(directory, recovery_point=4)
    assert offsets(found) == [0, 1, 2, 3, 4]
    assert files.bases == [0, 3]
    assert "cut off" in (found.message("orders-0") or "")


def test_what_had_reached_the_disk_is_not_given_up_for_a_damaged_batch_before_it(tmp_path):
    directory = tmp_path / "orders-0"
    filled(directory, 3).close()
    path = last_segment(directory)
    size = len(batch(0).data)
    data = bytearray(path.read_bytes())
    data[2 * size - 1] ^= 1
    path.write_bytes(data)
    files, found = LogFiles.open(directory, recovery_point=3)
    assert offsets(found) == [0, 1, 2]
    assert "is damaged" in (found.message("orders-0") or "")
    with pytest.raises(CorruptLogError, match="checksum"):
        files.checked(files.read(0, size, size), 0, size)
    with pytest.raises(CorruptLogError):
        list(files.all_batches())


def test_bytes_that_no_batch_can_be_found_in_stay_as_one_that_nobody_is_served(tmp_path):
    directory = tmp_path / "orders-0"
    filled(directory, 6, per_segment=3).close()
    path = min(directory.glob("*.log"))
    size = len(batch(0).data)
    data = bytearray(path.read_bytes())
    data[size + 8] = 0x7F  # a length beyond all bounds
    path.write_bytes(data)
    files, found = LogFiles.open(directory, clean=True)
    assert [(one.base_offset, one.last_offset) for one in found.segments[0].batches] == [(0, 0), (1, 2)]
    with pytest.raises(CorruptLogError):
        files.checked(files.read(0, size, 2 * size), 0, size)


def test_an_index_entry_comes_once_more_than_the_interval_was_written(tmp_path):
    files, _ = LogFiles.open(tmp_path / "orders-0", interval_bytes=100)
    files.roll(5)
    size = len(batch(5).data)
    assert 50 < size < 100
    for offset in range(5, 11):
        files.append(*batch(offset))
    files.finish_index()
    # a batch has an entry where more than 100 bytes came since the last one
    assert list(OFFSET_ENTRY.iter_unpack((tmp_path / "orders-0" / f"{5:020d}.index").read_bytes())) == [
        (2, 2 * size),
        (4, 4 * size),
    ]
    assert list(TIME_ENTRY.iter_unpack((tmp_path / "orders-0" / f"{5:020d}.timeindex").read_bytes())) == [
        (1007, 2),
        (1009, 4),
        (1010, 5),
    ]


@pytest.mark.parametrize("damage", ["missing", "torn", "falling"])
def test_an_index_that_cannot_be_right_is_made_anew(tmp_path, damage):
    directory = tmp_path / "orders-0"
    made = filled(directory, 50, interval_bytes=100)
    made.finish_index()
    made.close()
    path = next(directory.glob("*.index"))
    sound = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "torn":
            path.write_bytes(sound[:-3])
        case _:
            path.write_bytes(sound[8:16] + sound)
    _, found = LogFiles.open(directory, clean=True, interval_bytes=100)
    assert path.read_bytes() == sound
    assert found.repairs


def test_an_unclean_end_has_the_indexes_of_what_is_checked_made_anew(tmp_path):
    directory = tmp_path / "orders-0"
    filled(directory, 50, interval_bytes=100)  # and its entries were not written out
    _, found = LogFiles.open(directory, interval_bytes=100)
    assert found.batches_checked == 50
    assert len(next(directory.glob("*.index")).read_bytes()) > 8 * 10


def test_a_full_disk_leaves_nothing_half_written_and_goes_on_with_room(tmp_path):
    disk = FaultyFiles()
    files = filled(tmp_path / "orders-0", 3, files=disk)
    before = last_segment(tmp_path / "orders-0").read_bytes()
    for room in (0, 1, 40):
        disk.room = room
        with pytest.raises(StorageError, match="No space left"):
            files.append(*batch(3))
        assert last_segment(tmp_path / "orders-0").read_bytes() == before
    disk.room = 1 << 20
    assert files.append(*batch(3)) == len(before)
    _, found = LogFiles.open(tmp_path / "orders-0")
    assert offsets(found) == [0, 1, 2, 3]
    assert not found.cut_bytes


def test_what_could_not_be_taken_back_is_taken_back_before_the_next_batch(tmp_path, monkeypatch):
    disk = FaultyFiles()
    files = filled(tmp_path / "orders-0", 3, files=disk)
    whole = os.ftruncate

    def fails(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    disk.room = 10
    monkeypatch.setattr(os, "ftruncate", fails)
    for _ in range(2):
        with pytest.raises(StorageError):
            files.append(*batch(3))
    monkeypatch.setattr(os, "ftruncate", whole)
    disk.room = 1 << 20
    files.append(*batch(3))
    assert list(files.all_batches())[3] == batch(3).data
    assert sum(files.sizes) == last_segment(tmp_path / "orders-0").stat().st_size


def test_mirrors_have_the_same_files_and_no_bytes_of_their_own(tmp_path):
    first, second = tmp_path / "broker-0" / "orders-0", tmp_path / "broker-1" / "orders-0"
    files, _ = LogFiles.open(first, [second])
    files.roll(0)
    files.append(*batch(0))
    files.write_topic_id(bytes(16))
    files.roll(1)
    files.append(*batch(1))
    assert {one.name for one in second.iterdir()} == {one.name for one in first.iterdir()}
    assert all((second / one.name).samefile(one) for one in first.iterdir())
    files.delete_segments([0])
    files.remove_deleted()
    assert [one.name for one in sorted(second.glob("*.log"))] == [f"{1:020d}.log"]
    assert not list(second.glob("*.deleted"))


def test_a_log_moves_to_other_directories(tmp_path):
    places = [tmp_path / f"broker-{index}" / "orders-0" for index in range(4)]
    files, _ = LogFiles.open(places[0], places[1:2])
    files.roll(0)
    files.append(*batch(0))
    files.place(places[2:4])
    files.append(*batch(1))
    assert [one.exists() for one in places] == [False, False, True, True]
    assert files.directory == places[2]
    for place in places[2:]:
        assert scan(last_segment(place).read_bytes(), 0).batches[-1].last_offset == 1


def test_segments_are_renamed_when_they_are_deleted_and_removed_later(tmp_path):
    files = filled(tmp_path / "orders-0", 6, per_segment=2)
    files.write_snapshot(2, b"")
    files.delete_segments([0, 2])
    assert files.bases == [4]
    names = {one.name for one in (tmp_path / "orders-0").iterdir()}
    assert f"{0:020d}.log.deleted" in names
    assert f"{2:020d}.snapshot.deleted" in names
    files.remove_deleted()
    assert {one.name.split(".")[0] for one in (tmp_path / "orders-0").iterdir()} == {f"{4:020d}"}


@pytest.mark.parametrize("step", range(12))
def test_a_compaction_that_is_broken_off_anywhere_leaves_the_old_or_the_new_batches(tmp_path, step):
    directory = tmp_path / "orders-0"
    disk = FaultyFiles()
    files = filled(directory, 6, per_segment=2, files=disk)
    disk.kill_at_rename = step
    try:
        files.swap([0, 2], 0, [batch(1), batch(3)])
        was_killed = False
    except KilledError:
        was_killed = True
    assert was_killed == (step < 12)
    _, found = LogFiles.open(directory)
    assert offsets(found) in ([0, 1, 2, 3, 4, 5], [1, 3, 4, 5])
    assert {one.suffix for one in directory.iterdir()} <= {".log", ".index", ".timeindex"}
    assert list(LogFiles.open(directory, clean=True)[0].all_batches())[-1] == batch(5).data


def test_a_compaction_without_room_leaves_the_segments_as_they_are(tmp_path):
    disk = FaultyFiles()
    files = filled(tmp_path / "orders-0", 6, per_segment=2, files=disk)
    disk.room = 30
    with pytest.raises(StorageError):
        files.swap([0, 2], 0, [batch(1), batch(3)])
    disk.room = 1 << 20
    assert files.bases == [0, 2, 4]
    assert len(list(files.all_batches())) == 6
    assert files.swap([0, 2], 0, [batch(1), batch(3)]) == [0, len(batch(1).data)]
    assert list(files.all_batches()) == [batch(offset).data for offset in (1, 3, 4, 5)]


def test_a_cut_segment_goes_on_from_there(tmp_path):
    files = filled(tmp_path / "orders-0", 6, per_segment=3)
    size = len(batch(0).data)
    index = files.new_index(0)
    for offset in range(2):
        index.add(offset * size, size, offset, 1000 + offset)
    files.truncate(0, 2 * size, index)
    files.append(*batch(2))
    assert [one[:8] for one in files.all_batches()] == [batch(offset).data[:8] for offset in range(3)]
    assert files.bases == [0]


def test_a_flush_syncs_what_was_written_since_the_last_one(tmp_path):
    synced: list[Path] = []

    class Watched(Files):
        def sync(self, path: Path) -> None:
            synced.append(path)

    files = filled(tmp_path / "orders-0", 2, files=Watched())
    files.flush()
    assert last_segment(tmp_path / "orders-0") in synced
    assert tmp_path / "orders-0" in synced
    synced.clear()
    files.flush()
    assert synced == []
    files.append(*batch(2))
    job = files.flush_job()
    assert job is not None
    files.flush_failed(job)
    assert files.flush_job() is not None


def test_leader_epochs_and_the_topic_id_are_there_again(tmp_path):
    files = filled(tmp_path / "orders-0", 1)
    files.write_leader_epochs([(0, 0), (3, 7)])
    assert (tmp_path / "orders-0" / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n3 7\n"
    assert LogFiles.open(tmp_path / "orders-0")[0].leader_epochs() == [(0, 0), (3, 7)]


BOUNDED = """
import resource, sys
from pathlib import Path
from mockbroker.adapters.storage.files import StorageError
from tests.unit.mockbroker.adapters.storage.test_segment_files import LogFiles, batch, filled

directory = Path(sys.argv[1])
files = filled(directory, 3)
size, limits = sum(files.sizes), resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 30, limits[1]))
try:
    files.append(*batch(3))
except StorageError as error:
    print(error.message.rpartition(": ")[2])
print(next(directory.glob("*.log")).stat().st_size - size)
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
files.append(*batch(3))
print(len(list(files.all_batches())))
"""


def test_what_the_operating_system_takes_in_part_only_is_taken_back(tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", BOUNDED, tmp_path / "orders-0"], capture_output=True, text=True, check=True
    )
    assert found.stdout.split("\n") == [os.strerror(errno.EFBIG), "0", "4", ""]
