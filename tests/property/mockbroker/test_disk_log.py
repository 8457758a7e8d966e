"""A log on disk does what the one in memory does, whatever is done to it, and however it was ended in between."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.data_directories import disk_log
from mockbroker.data_directories.disk_log import DiskLog
from mockbroker.data_directories.files import Files
from mockbroker.data_directories.log_file import DamagedLogError, LogFile
from mockbroker.state.logs.log import Log, StoredBatch
from mockbroker.state.logs.producers import Marker, recover
from protocol.records import Record, build_batch, build_transaction_marker, iter_batches
from protocol.records.appending import assign_offsets

SEGMENT_BYTES = 400
CHECKED_FROM = 16  # offset and leader epoch are not covered by a checksum

OPERATIONS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 3), st.integers(0, 3)),  # records, producer; 0 is none
    st.tuples(st.just("marker"), st.integers(1, 3), st.booleans()),
    st.tuples(st.just("transactional"), st.integers(1, 2), st.integers(1, 3)),
    st.tuples(st.just("epoch"), st.just(0), st.just(0)),
    st.tuples(st.just("start"), st.integers(0, 10), st.just(0)),
    st.tuples(st.just("retain"), st.integers(0, 1500), st.just(0)),
    st.tuples(st.just("truncate"), st.integers(0, 10), st.just(0)),
    st.tuples(st.just("compact"), st.integers(0, 3), st.just(0)),
    st.tuples(st.just("reopen"), st.just(0), st.just(0)),
)


@pytest.fixture(autouse=True, scope="module")
def small_rewrites():
    """Files are rewritten for few bytes, too."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(disk_log, "MIN_DEAD_BYTES", 300)
        yield


def opened(directory: Path, files: Files) -> DiskLog:
    """The log of a directory."""
    file, found = LogFile.open(directory, files)
    log = DiskLog(file, lambda *_: None)
    log.take(found, 5, SEGMENT_BYTES)
    return log


class Pair:
    """The same log twice."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.memory = Log()
        self.files = Files()
        self.disk = opened(directory, self.files)
        self.producers, self.disk_producers = recover(self.memory), recover(self.disk)
        self.epoch = 0
        self.sequences: dict[int, int] = {}
        self.is_compacted = False  # then a producer's last batch may be gone, which a real compaction keeps

    def append(self, data: bytes, last_offset: int, max_timestamp: int) -> None:
        for log in (self.memory, self.disk):
            log.append(data, last_offset, max_timestamp, self.epoch, now_ms=5, segment_bytes=SEGMENT_BYTES)

    def write(self, count: int, producer_id: int, *, transactional: bool = False) -> None:
        base = self.memory.end_offset
        sequence = self.sequences.get(producer_id, 0)
        records = [Record(timestamp=1000 + (base * 7) % 13, value=b"v" * 30) for _ in range(count)]
        known = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence} if producer_id else {}
        data = build_batch(records, base_offset=base, leader_epoch=self.epoch, transactional=transactional, **known)
        timestamp = records[0].timestamp
        self.append(data, base + count - 1, timestamp)
        if producer_id:
            self.sequences[producer_id] = sequence + count
            for producers in (self.producers, self.disk_producers):
                producers.note(next(iter_batches(data)), base, timestamp)

    def write_marker(self, producer_id: int, committed: bool) -> None:
        marker = build_transaction_marker(
            commit=committed, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp=2000
        )
        appended = assign_offsets(marker, self.memory.end_offset, self.epoch, None)
        self.append(appended.records, appended.last_offset, appended.max_timestamp)
        for producers in (self.producers, self.disk_producers):
            producers.note_marker(Marker(committed, producer_id, 0, 0), appended.last_offset, 2000)

    def compact(self, kept: int) -> None:
        """Have every ``kept``-th batch stay, of all segments but the last."""
        segments = self.memory.segments
        if len(segments) < 2:
            return
        self.is_compacted = True
        end_offset = segments[-1].base_offset
        batches = [one for one in self.memory.batches(segments[0].base_offset) if one.base_offset < end_offset]
        cleaned: list[StoredBatch] = [one for place, one in enumerate(batches) if kept and place % kept == 0]
        for log in (self.memory, self.disk):
            made = [replace(one) for one in segments[:-1]]
            for segment, following in zip(made, [*made[1:], segments[-1]], strict=True):
                inside = [one for one in cleaned if segment.base_offset <= one.base_offset < following.base_offset]
                segment.size_bytes = sum(len(one.data) for one in inside)
                segment.max_timestamp = max((one.max_timestamp for one in inside), default=-1)
            log.compact(cleaned, made, end_offset)

    def reopen(self) -> None:
        """As after a kill: nothing is done for an orderly end. Segments before the log's start go with that."""
        self.memory.delete_old_segments(before=self.memory.end_offset, now_ms=9)
        self.disk = opened(self.directory, self.files)
        self.producers, self.disk_producers = recover(self.memory), recover(self.disk)
        if self.is_compacted:  # its segments are cut by size again
            self.memory.segments[:] = [replace(one) for one in self.disk.segments]

    def carry_out(self, what: str, first: int, second: int) -> None:
        memory = self.memory
        match what:
            case "append":
                self.write(first, second)
            case "transactional":
                self.write(first, second, transactional=True)
            case "marker":
                self.write_marker(first, bool(second))
            case "epoch":
                self.epoch += 1
            case "start":
                offset = min(memory.end_offset, memory.start_offset + first)
                for log in (memory, self.disk):
                    log.advance_start(offset)
            case "retain":
                for log in (memory, self.disk):
                    log.delete_old_segments(before=memory.end_offset, now_ms=9, size_bytes=first)
            case "truncate":
                starts = [one.base_offset for one in memory.batches(memory.start_offset)]
                place = max(0, len(starts) - first)
                # What was compacted lies before the high watermark, and what is cut off behind it.
                if first and starts and starts[place] > max(memory.start_offset, memory.cleaned_offset):
                    for log in (memory, self.disk):
                        log.truncate(starts[place])
                    self.producers, self.disk_producers = recover(memory), recover(self.disk)
                    self.sequences = {
                        producer_id: one.batches[-1].last_sequence + 1
                        for producer_id, one in self.producers.by_id.items()
                        if one.batches
                    }
            case "compact":
                self.compact(first)
            case "reopen":
                self.reopen()

    def check_equal(self) -> None:
        memory, disk = self.memory, self.disk
        assert (disk.start_offset, disk.end_offset) == (memory.start_offset, memory.end_offset)
        assert (disk.size_bytes, len(disk)) == (memory.size_bytes, len(memory))
        assert [one.base_offset for one in disk.segments] == [one.base_offset for one in memory.segments]
        assert [one.size_bytes for one in disk.segments] == [one.size_bytes for one in memory.segments]
        first = memory.segments[0].base_offset if memory.segments else 0
        assert list(disk.batches(first)) == list(memory.batches(first))
        for offset in range(memory.start_offset, memory.end_offset + 1):
            for max_bytes in (1, 250, 1000):
                assert disk.read(offset, max_bytes) == memory.read(offset, max_bytes)
        if len(memory):
            assert disk.leader_epochs.latest_epoch() == memory.leader_epochs.latest_epoch()
        for timestamp in range(999, 1015):
            assert disk.first_batch_since(timestamp) == memory.first_batch_since(timestamp)
        ours, theirs = self.disk_producers, self.producers
        if self.is_compacted:
            return
        for producer_id, known in theirs.by_id.items():  # those before the log's start may be known for longer
            assert ours.by_id[producer_id].epoch == known.epoch
            assert last(theirs, producer_id) in (None, last(ours, producer_id))
        for producer_id, first_offset in theirs.transactions.open.items():
            assert ours.transactions.open[producer_id] <= first_offset


def last(producers, producer_id):
    batches = producers.by_id[producer_id].batches
    return batches[-1][:3] if batches else None


@given(st.lists(OPERATIONS, max_size=25))
def test_a_log_on_disk_is_the_log_in_memory(operations):
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder) / "orders-0")
        for operation in operations:
            pair.carry_out(*operation)
        pair.check_equal()
        pair.reopen()
        pair.check_equal()


@given(st.lists(OPERATIONS, min_size=5, max_size=25), st.integers(0, 400), st.integers(0, 255))
def test_a_file_that_is_cut_anywhere_or_has_a_flipped_end_loses_whole_batches_from_there_on(operations, back, flip):
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder) / "orders-0")
        for operation in operations:
            pair.carry_out(*operation)
        if not pair.disk.file.size:
            return
        (path,) = pair.directory.iterdir()
        whole = path.read_bytes()
        ends = [one.position + one.size for one in iter_batches(whole)]
        last = list(iter_batches(whole))[-1].position
        if flip:
            place = max(last + CHECKED_FROM, len(whole) - 1 - back)
            path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            expected = last
        else:
            place = max(0, len(whole) - back)
            path.write_bytes(whole[:place])
            expected = max((end for end in ends if end <= place), default=0)
        LogFile.open(pair.directory, pair.files)
        assert path.read_bytes() == whole[:expected]


@given(st.lists(OPERATIONS, min_size=5, max_size=25), st.data())
def test_a_flipped_bit_before_the_last_batch_is_refused_and_changes_nothing(operations, data):
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder) / "orders-0")
        for operation in operations:
            pair.carry_out(*operation)
        headers = list(iter_batches(pair.disk.file.read(0, pair.disk.file.size))) if pair.disk.file.size else []
        if len(headers) < 2:
            return
        damaged = data.draw(st.sampled_from(headers[:-1]))
        place = damaged.position + data.draw(st.integers(CHECKED_FROM, damaged.size - 1))
        (path,) = pair.directory.iterdir()
        whole = bytearray(path.read_bytes())
        whole[place] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(whole)
        with pytest.raises(DamagedLogError, match=f"byte {damaged.position}: "):
            LogFile.open(pair.directory, pair.files)
        assert path.read_bytes() == whole
