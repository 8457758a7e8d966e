"""The capture's files: whole lines soon after they were noted, each file standing alone, and what a full disk does."""

from __future__ import annotations

import errno
import json
import os
import threading
from base64 import b64decode
from itertools import count

import pytest

import protocol
from mockbroker.adapters import capture as module
from mockbroker.adapters.capture import Capture
from mockbroker.call import Outcome
from mockbroker.core.simulation import Simulation
from protocol.apis.metadata import MetadataRequest

PREAMBLE = ({"routes": [{"broker": 1, "rack": "a"}]}, [("orders", bytes(16), [1, 2])])


def frame(number, size=20):
    return b"\0\x03\0\1" + number.to_bytes(4, "big") + bytes(size - 8)


def answer(number):
    return number.to_bytes(4, "big") + bytes(4)


def at_once(_, write):
    write()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "captures" / "trace.jsonl"


@pytest.fixture
def capture(path):
    clock = count(1_000)
    found = Capture(path, now_us=lambda: next(clock), later=at_once, describe=lambda: PREAMBLE, file_bytes=500)
    yield found
    found.close()


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def events_of(path):
    return [line.get("ev", line.get("dir")) for line in lines_of(path)]


@pytest.fixture
def failing_writes(monkeypatch):
    """While it is set, the disk is full: what is written is cut off after its first ten bytes."""
    full = threading.Event()
    write_whole = module.write_whole

    def write(file, lines):
        if not full.is_set():
            return write_whole(file, lines)
        file.write(lines[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "write_whole", write)
    return full


def test_a_file_can_be_read_while_it_grows(capture, path):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    tap.request(frame(1))
    lines = lines_of(path)
    assert [line.get("ev", line.get("dir")) for line in lines] == ["capture", "topic", "open", "req"]
    assert lines[0]["format"] == 1
    assert lines[3]["n"] == 20


def test_the_end_of_a_capture_has_all_that_was_noted_in_its_order(path):
    capture = Capture(path, now_us=lambda: 5, later=at_once, describe=lambda: PREAMBLE, file_bytes=1 << 20)
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    for number in range(1000):
        tap.request(frame(number, 20 + number))
        tap.response(answer(number))
    tap.closed(3)
    capture.close()
    lines = lines_of(path)
    assert [line["n"] for line in lines if line.get("dir") == "req"] == [20 + number for number in range(1000)]
    assert [line["n"] for line in lines if line.get("dir") == "resp"] == [8] * 1000
    assert lines[-2:] == [
        {"t": 5, "ev": "close", "conn": 7, "partial_req": 3, "partial_resp": 0},
        {"t": 5, "ev": "end"},
    ]


def test_a_full_file_is_followed_by_one_that_stands_alone(capture):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    for number in range(12):
        tap.request(frame(number))
        if number != 11:
            tap.response(answer(number))
    capture.close()
    assert len(capture.files) > 2
    for file in capture.files[1:]:
        assert events_of(file)[:3] == ["capture", "topic", "open"]
        assert len(file.read_text()) < 1000
    together = [line for file in capture.files for line in lines_of(file)]
    assert sum(line.get("dir") == "req" for line in together) == 12


def test_a_request_without_an_answer_is_carried_over_until_it_has_one(capture):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    tap.request(frame(1))
    tap.request(frame(2, 600))
    tap.response(answer(1))  # the second file begins here
    tap.request(frame(3, 600))
    tap.response(answer(3))  # and here a third
    tap.closed(0)
    capture.close()
    asked = [[line["data"] for line in lines_of(file) if line.get("ev") == "asked"] for file in capture.files]
    assert [len(data) for data in asked] == [0, 2, 2]
    assert asked[2][0] == asked[1][1]


def test_a_frame_behind_the_end_of_its_connection_is_written_and_stops_nothing(capture, path):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    tap.closed(0)
    tap.request(frame(1))
    tap.closed(0)
    capture.close()
    assert events_of(path) == ["capture", "topic", "open", "close", "req", "close", "end"]


def test_a_connection_that_has_ended_is_in_no_later_file(capture):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    tap.request(frame(1, 600))
    tap.closed(0)
    capture.connection(8, 1, "PLAINTEXT", "127.0.0.1:6").request(frame(1, 600))
    capture.connection(9, 1, "PLAINTEXT", "127.0.0.1:7")
    capture.close()
    opened = [[line["conn"] for line in lines_of(file) if line.get("ev") == "open"] for file in capture.files]
    assert opened == [[7], [7, 8], [8, 9]]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write .*trace"):
        Capture(
            tmp_path / "file" / "trace.jsonl",
            now_us=lambda: 0,
            later=at_once,
            describe=lambda: PREAMBLE,
            file_bytes=1 << 20,
        )


def test_a_full_disk_is_logged_once_and_ends_the_capture_at_a_whole_line(capture, path, failing_writes, caplog):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    tap.request(frame(1))
    failing_writes.set()
    tap.response(answer(1))
    failing_writes.clear()
    for number in range(2, 20):
        tap.request(frame(number, 200))
    capture.close()
    assert events_of(path) == ["capture", "topic", "open", "req"]  # without half a line
    assert capture.files == [path]
    assert [record.message for record in caplog.records] == [
        f"capture: cannot write {path}: No space left on device; it ends here"
    ]


def test_a_folder_that_became_a_file_ends_the_capture_and_nothing_else(capture, path, caplog):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("")
    for number in range(20):
        tap.request(frame(number, 200))
    capture.close()
    (only,) = (record.message for record in caplog.records)
    assert only == f"capture: cannot write {path.with_name('trace-0001.jsonl')}: File exists; it ends here"


def test_lines_are_written_together_unless_they_are_large(path):
    due = []
    capture = Capture(
        path, now_us=lambda: 0, later=lambda _, write: due.append(write), describe=lambda: PREAMBLE, file_bytes=1 << 20
    )
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    tap.request(frame(1))
    tap.response(answer(1))
    assert events_of(path) == ["capture", "topic"]
    (write,) = due
    write()
    assert events_of(path) == ["capture", "topic", "open", "req", "resp"]
    tap.request(frame(2, 50_000))
    assert events_of(path)[5:] == ["req"]
    capture.close()


def test_calls_and_their_outcomes_are_told_frame_by_frame(capture, path):
    sim = Simulation()
    sim.engine.path.arrivals.append(capture.call_arrived)
    sim.engine.path.observers.append(capture)
    session = sim.engine.session(sim.cluster.brokers[0], connection=7)
    tap = capture.connection(7, 0, "PLAINTEXT", "127.0.0.1:5")
    outcomes: list[Outcome] = []
    request = protocol.request_frame(MetadataRequest(topics=None), 12, correlation_id=3)[4:]
    sim.engine.path.take(request, session, 0, outcomes.append)
    tap.closed(2)
    capture.close()
    shown = [json.loads(line) for line in path.read_text().splitlines()]
    frames = [(each["dir"], b64decode(each["data"])) for each in shown if "dir" in each]
    assert frames == [("req", request), ("resp", b"".join(outcomes[0].output)[4:])]
