"""A capture recorded as Arrow: what the same capture as lines tells, in files that are whole up to the last message."""

from __future__ import annotations

import errno
import json
import os
import threading
from itertools import count

import pyarrow as pa
import pytest

from kafka_rack.wire_capture import arrow_recording, files, recording
from kafka_rack.wire_capture.arrow_files import whole_bytes
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_capture.splits import cut_by_checkpoints
from kafka_rack.wire_tables.reading import decode_into, decode_paths
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from mockbroker.adapters import capture as module
from mockbroker.adapters.capture import Capture
from tests.progress import wait_until

PREAMBLE = ({"routes": [{"broker": 1, "rack": "a"}]}, [("orders", bytes(16), [1, 2])])


def frame(number, size=20):
    return b"\0\x03\0\1" + number.to_bytes(4, "big") + bytes(size - 8)


def answer(number):
    return number.to_bytes(4, "big"), bytes(4)


def capture_at(path, file_bytes=1 << 20):
    clock = count(1_700_000_000_000_000)
    return Capture(path, now_us=lambda: next(clock), describe=lambda: PREAMBLE, file_bytes=file_bytes)


def note(capture, requests=400):
    """Five connections' requests, of which some are answered; one connection ends."""
    taps = [capture.connection(number, 1, "PLAINTEXT", f"127.0.0.1:{number}") for number in range(5)]
    for number in range(requests):
        tap = taps[number * 7 % 5]
        tap.request(frame(number, 20 + number * 37 % 9_000))
        if number % 3:
            tap.response(*answer(number))
    taps[0].closed(0)
    capture.close()


def tables(rows):
    return {
        table: sorted(repr({**row, "offset": None, "file": None}) for row in rows.as_dicts(table)) for table in TABLES
    }


def rows_in(path):
    return [row for message in pa.ipc.open_stream(path.read_bytes()) for row in message.to_pylist()]


def events_in(path):
    return [json.loads(row["line"]) for row in rows_in(path) if row["line"] is not None]


@pytest.fixture
def often(monkeypatch):
    """Checkpoints and messages come after a few thousand bytes."""
    monkeypatch.setattr(recording, "CHECKPOINT_BYTES", 4_000)
    monkeypatch.setattr(recording, "CHECKPOINT_SHARE", 0)
    monkeypatch.setattr(arrow_recording.ArrowRecording.__init__, "__kwdefaults__", {"batch_bytes": 3_000})


def test_it_tells_what_the_same_capture_as_lines_tells(tmp_path, often):
    for name in ("arrow/trace.arrow", "lines/trace.jsonl"):
        note(capture_at(tmp_path / name, file_bytes=1 << 30), requests=120)
    whole = tables(decode_paths([str(tmp_path / "arrow")]))
    assert whole == tables(decode_paths([str(tmp_path / "lines")]))
    assert len(whole["frames"]) == 200
    (file,), _ = find_files([str(tmp_path / "arrow")])
    rows = Rows()
    blocks = list(cut_by_checkpoints(file, 0, 10_000))
    assert len(blocks) > 20
    for block in blocks:
        for _ in decode_into(rows, block.file, block.opened(), Options(), end=block.end):
            pass
    assert tables(rows) == whole


def test_a_full_file_is_followed_by_one_that_stands_alone(tmp_path):
    capture = capture_at(tmp_path / "trace.arrow", file_bytes=200_000)
    note(capture)
    assert len(capture.files) > 4
    assert [path.name for path in capture.files[:2]] == ["trace.arrow", "trace-0001.arrow"]
    for path in capture.files[1:]:
        assert [event["ev"] for event in events_in(path)[:2]] == ["capture", "topic"]
        assert any(event["ev"] == "asked" for event in events_in(path))
    frames = decode_paths([str(path) for path in capture.files]).as_dicts("frames")
    assert sum(row["direction"] == "request" for row in frames) == 400
    assert not [row for row in frames if "no request" in (row["error"] or "")]


def test_a_file_can_be_read_while_it_grows(tmp_path):
    path = tmp_path / "trace.arrow"
    capture = capture_at(path)
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    tap.request(frame(1))
    wait_until(lambda: len(decode_paths([str(path)]).as_dicts("frames")) == 1, "the writing of the capture")
    assert whole_bytes(str(path), path.stat().st_size) == path.stat().st_size
    assert [row["api_key"] for row in rows_in(path) if row["line"] is None] == [3]
    capture.close()


def test_rows_that_a_full_disk_did_not_take_are_counted_and_no_part_of_a_message_stays(tmp_path, monkeypatch):
    full, write_whole = threading.Event(), module.write_whole

    def write(file, pieces):
        if full.is_set() and pieces:
            file.write(b"".join(pieces)[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_whole(file, pieces)

    monkeypatch.setattr(module, "write_whole", write)
    monkeypatch.setattr(module, "RETRY_S", 0.0)
    capture = capture_at(tmp_path / "trace.arrow")
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")

    def written(number):
        tap.request(frame(number))
        wait_until(lambda: capture._noted_bytes == capture._writer.done_bytes, "the writing of the capture")

    written(1)
    full.set()
    number = 1
    while capture._writer._file is not None:
        number += 1
        written(number)
    for _ in range(2):
        number += 1
        written(number)
    full.clear()
    while len(capture.files) == 1:
        number += 1
        written(number)
    capture.close()
    first, second = capture.files
    assert whole_bytes(str(first), first.stat().st_size) == first.stat().st_size
    (gap,) = (event for event in events_in(second) if event["ev"] == "gap")
    frames = decode_paths([str(first), str(second)]).as_dicts("frames")
    assert gap["lines"] + len(frames) == number


def test_without_pyarrow_the_start_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    with pytest.raises(OSError, match=r"cannot write .*trace\.arrow: .*pyarrow, which is not installed: pip install"):
        capture_at(tmp_path / "trace.arrow")
    assert not (tmp_path / "trace.arrow").exists()
