"""A log's file: what was appended is there again, a torn end is cut off, and damage in the middle is refused."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mockbroker.data_directories.files import Files, StorageError
from mockbroker.data_directories.log_file import DamagedLogError, LogFile
from protocol.records import CompressionCodec, Record, build_batch


class KilledError(BaseException):
    """The process ends here."""


class FaultyFiles(Files):
    """A disk with so many bytes of space, and a process that is killed at a step by name."""

    def __init__(self, room: int = 1 << 40, kill_at: str = "") -> None:
        super().__init__()
        self.room, self.kill_at = room, kill_at

    def write(self, descriptor: int, data: bytes, position: int) -> int:
        if not self.room and data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = min(self.room, len(data))
        self.room -= taken
        return super().write(descriptor, data[:taken], position)

    def sync(self, path: Path) -> None:
        self._step("sync")
        super().sync(path)

    def rename(self, path: Path, to: Path) -> None:
        self._step("rename")
        super().rename(path, to)

    def remove(self, path: Path) -> None:
        self._step("remove")
        super().remove(path)

    def _step(self, name: str) -> None:
        if self.kill_at == name:
            raise KilledError


def batch(base_offset: int, count: int = 1, size: int = 20) -> bytes:
    records = [Record(timestamp=1000 + base_offset + place, value=b"v" * size) for place in range(count)]
    return build_batch(records, base_offset=base_offset, leader_epoch=0)


SIZE = len(batch(0))


def filled(directory: Path, count: int, files: Files | None = None) -> LogFile:
    made, _ = LogFile.open(directory, Files() if files is None else files)
    for offset in range(count):
        made.append(batch(offset))
    return made


def reopened(directory: Path) -> tuple[LogFile, list[int]]:
    """The file, and the offsets of its batches."""
    file, found = LogFile.open(directory, Files())
    return file, [one.base_offset for one in found]


def path_in(directory: Path) -> Path:
    (path,) = directory.iterdir()
    return path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "orders-0"


def test_what_was_appended_is_there_again_in_one_file_that_is_named_as_a_segment(directory):
    filled(directory, 10)
    file, offsets = reopened(directory)
    assert offsets == list(range(10))
    assert path_in(directory).name == f"{0:020d}.log"
    assert file.read(0, file.size) == b"".join(batch(offset) for offset in range(10))


def test_a_batch_is_read_where_it_was_written(directory):
    file = filled(directory, 2)
    position = file.append(batch(2))
    assert file.read(position, SIZE) == batch(2)
    with pytest.raises(StorageError, match="it ends at byte"):
        file.read(position, SIZE + 1)


def test_there_is_no_file_before_there_is_something_to_write(directory):
    LogFile.open(directory, Files())
    assert not directory.exists()


def test_a_torn_end_is_cut_off_wherever_it_was_torn(directory, caplog):
    filled(directory, 3)
    path = path_in(directory)
    whole = path.read_bytes()
    for torn in range(1, SIZE):
        path.write_bytes(whole[: len(whole) - torn])
        assert reopened(directory)[1] == [0, 1]
        assert path.read_bytes() == whole[: 2 * SIZE]
        assert f"{SIZE - torn} bytes cut off {path} (byte {2 * SIZE}: " in caplog.text


@pytest.mark.parametrize("tail", [bytes(5), bytes(5000), b"noise" * 50, batch(0)[:40], batch(3)[:-1]])
def test_bytes_that_are_no_batch_are_cut_off_the_end(directory, tail):
    filled(directory, 3)
    path = path_in(directory)
    path.write_bytes(path.read_bytes() + tail)
    assert reopened(directory)[1] == [0, 1, 2]
    assert path.stat().st_size == 3 * SIZE


def test_a_torn_record_that_has_a_batch_of_lower_offsets_in_it_is_cut_off_as_well(directory):
    filled(directory, 3)
    path = path_in(directory)
    outer = build_batch([Record(value=batch(0) + batch(1))], base_offset=3, leader_epoch=0)
    path.write_bytes(path.read_bytes() + outer[:-3])
    assert reopened(directory)[1] == [0, 1, 2]


@pytest.mark.parametrize("byte", range(16, SIZE))
def test_a_flipped_bit_in_the_last_batch_cuts_it_off(directory, byte):
    filled(directory, 3)
    flip(path_in(directory), 2 * SIZE + byte)
    assert reopened(directory)[1] == [0, 1]


@pytest.mark.parametrize("byte", [*range(12), *range(16, SIZE)])
def test_a_flipped_bit_before_sound_batches_is_refused_with_file_and_byte(directory, byte):
    filled(directory, 4)
    path = path_in(directory)
    flip(path, SIZE + byte)
    before = path.read_bytes()
    with pytest.raises(DamagedLogError) as refused:
        reopened(directory)
    # a larger offset is noticed at the next batch, whose offset is too small then
    where = 2 * SIZE if byte < 8 else SIZE
    assert f"{path}, byte {where}: " in str(refused.value)
    assert f"sound batch at byte {2 * SIZE}" in str(refused.value)
    assert path.read_bytes() == before


def test_a_damaged_length_is_told_from_a_torn_end_by_the_batch_after_it(directory):
    filled(directory, 3)
    path = path_in(directory)
    data = bytearray(path.read_bytes())
    data[SIZE + 8 : SIZE + 12] = b"\x7f\xff\xff\xff"
    path.write_bytes(data)
    with pytest.raises(DamagedLogError, match=f"byte {SIZE}: .*sound batch at byte {2 * SIZE}"):
        reopened(directory)


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(data)


def test_the_start_of_a_log_is_the_name_of_its_file(directory):
    file = filled(directory, 5)
    file.move_start(3)
    file.append(batch(5))
    file, offsets = reopened(directory)
    assert (file.start, offsets) == (3, [0, 1, 2, 3, 4, 5])
    assert path_in(directory).name == f"{3:020d}.log"


def test_a_start_that_could_not_be_noted_is_noted_by_the_next_sync(directory, monkeypatch, caplog):
    files = Files()
    file = filled(directory, 5, files)
    with monkeypatch.context() as patched:
        patched.setattr(files, "rename", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        file.move_start(3)
        with pytest.raises(StorageError, match="broken"):
            file.sync()
    assert "cannot note that the log starts at 3" in caplog.text
    file.sync()
    assert reopened(directory)[0].start == 3


def test_a_rewritten_log_begins_with_what_it_is_given_and_goes_on(directory):
    file = filled(directory, 5)
    file.move_start(1)
    file.rewrite([batch(1), batch(2)], 4 * SIZE)
    assert file.append(batch(5)) == 3 * SIZE
    file, offsets = reopened(directory)
    assert (file.start, offsets) == (1, [1, 2, 4, 5])


@pytest.mark.parametrize("step", ["sync", "rename", "remove"])
def test_a_rewrite_that_is_broken_off_anywhere_leaves_the_old_or_the_new_batches(directory, step):
    disk = FaultyFiles()
    file = filled(directory, 6, disk)
    file.start = 4  # as where it could not be noted: then the old file goes after the new one is there
    disk.kill_at = step
    with pytest.raises(KilledError):
        file.rewrite([], 4 * SIZE)
    file, offsets = reopened(directory)
    assert (file.start, offsets) == ((4, [4, 5]) if step == "remove" else (0, [0, 1, 2, 3, 4, 5]))
    assert path_in(directory).name == f"{file.start:020d}.log"


def test_a_rewrite_without_space_leaves_the_log_as_it_is(directory):
    disk = FaultyFiles()
    file = filled(directory, 6, disk)
    disk.room = 30
    with pytest.raises(StorageError, match="No space left"):
        file.rewrite([batch(1)], 4 * SIZE)
    disk.room = 1 << 20
    file.append(batch(6))
    assert reopened(directory)[1] == list(range(7))


def test_a_truncated_log_goes_on_from_there(directory):
    file = filled(directory, 6)
    file.truncate(2 * SIZE)
    file.append(batch(2))
    assert reopened(directory)[1] == [0, 1, 2]


def test_a_full_disk_leaves_nothing_half_written_and_goes_on_with_space(directory):
    disk = FaultyFiles()
    file = filled(directory, 3, disk)
    before = path_in(directory).read_bytes()
    for room in (0, 1, 40):
        disk.room = room
        with pytest.raises(StorageError, match="No space left"):
            file.append(batch(3))
        assert path_in(directory).read_bytes() == before
    disk.room = 1 << 20
    assert file.append(batch(3)) == len(before)
    assert reopened(directory)[1] == [0, 1, 2, 3]


def test_what_could_not_be_taken_back_is_taken_back_before_the_next_batch(directory, monkeypatch):
    disk = FaultyFiles()
    file = filled(directory, 3, disk)
    disk.room = 10
    with monkeypatch.context() as patched:
        patched.setattr(disk, "truncate", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        for _ in range(2):
            with pytest.raises(StorageError):
                file.append(batch(3))
    disk.room = 1 << 20
    file.append(batch(3))
    assert reopened(directory)[1] == [0, 1, 2, 3]
    assert path_in(directory).stat().st_size == file.size


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_before_kafka_0_11_are_found_again(directory, magic):
    file, _ = LogFile.open(directory, Files())
    two = [Record(value=b"one"), Record(value=b"two")]
    file.append(build_batch(two, magic=magic))
    file.append(build_batch(two, magic=magic, base_offset=2, codec=CompressionCodec.GZIP))
    _, found = LogFile.open(directory, Files())
    assert [(one.base_offset, one.last_offset) for one in found] == [(0, 0), (1, 1), (2, 3)]


def test_a_symlink_in_place_of_the_file_is_not_followed(directory, tmp_path):
    (tmp_path / "other").write_bytes(b"precious")
    directory.mkdir()
    file = LogFile(directory, Files())
    (directory / f"{0:020d}.log").symlink_to(tmp_path / "other")
    with pytest.raises(StorageError):
        file.append(batch(0))
    assert (tmp_path / "other").read_bytes() == b"precious"


BOUNDED = """
import resource, sys
from pathlib import Path
from mockbroker.data_directories.files import StorageError
from tests.unit.mockbroker.data_directories.test_log_file import batch, filled, path_in, reopened

directory = Path(sys.argv[1])
file = filled(directory, 3)
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (file.size + 30, limits[1]))
try:
    file.append(batch(3))
except StorageError as error:
    print(error.message.rpartition(": ")[2])
print(path_in(directory).stat().st_size - file.size)
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
file.append(batch(3))
print(len(reopened(directory)[1]))
"""


def test_what_the_operating_system_takes_in_part_only_is_taken_back(directory):
    found = subprocess.run([sys.executable, "-c", BOUNDED, directory], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n") == [os.strerror(errno.EFBIG), "0", "4", ""]
