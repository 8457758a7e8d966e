"""The capture's files: whole lines at once, frames however bytes are cut, each file standing alone."""

from __future__ import annotations

import json
from itertools import count

import pytest

from mockbroker.adapters.capture import Capture


def frame(number, size=20):
    return (size).to_bytes(4, "big") + b"\0\x03\0\1" + number.to_bytes(4, "big") + bytes(size - 8)


def answer(number):
    return (8).to_bytes(4, "big") + number.to_bytes(4, "big") + bytes(4)


@pytest.fixture
def capture(tmp_path):
    clock = count(1_000)
    story = ({"routes": [{"broker": 1, "rack": "a"}]}, [("orders", bytes(16), [1, 2])])
    found = Capture(tmp_path / "trace.jsonl", now_us=lambda: next(clock), describe=lambda: story, file_bytes=500)
    yield found
    found.close()


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_file_can_be_read_while_it_grows(capture):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    tap.received(frame(1))
    lines = lines_of(capture.path)
    assert [line.get("ev", line.get("dir")) for line in lines] == ["capture", "topic", "open", "req"]
    assert lines[0]["format"] == 1
    assert lines[3]["n"] == 20


@pytest.mark.parametrize("cut", [1, 5, 24, 1000])
def test_frames_are_the_same_however_bytes_are_cut(capture, cut):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    data = frame(1) + frame(2, 30)
    for at in range(0, len(data), cut):
        tap.received(data[at : at + cut])
    assert [line["n"] for line in lines_of(capture.path) if "dir" in line] == [20, 30]


def test_a_full_file_is_followed_by_one_that_stands_alone(capture):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    for number in range(12):
        tap.received(frame(number))
        if number != 11:
            tap.sent(answer(number))
    assert len(capture.files) > 2
    for path in capture.files[1:]:
        events = [line["ev"] for line in lines_of(path) if "ev" in line]
        assert events[:3] == ["capture", "topic", "open"]
    together = [line for path in capture.files for line in lines_of(path)]
    assert sum(line.get("dir") == "req" for line in together) == 12


def test_a_request_without_an_answer_is_carried_over_until_it_has_one(capture):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    tap.received(frame(1) + frame(2))
    assert len(tap.unanswered()) == 2
    tap.sent(answer(2))
    assert tap.unanswered() == []


def test_what_is_no_frame_ends_with_its_connection(capture):
    tap = capture.connection(7, 1, "PLAINTEXT", "127.0.0.1:5")
    tap.received(b"GET / HTTP/1.1\r\n\r\n")
    tap.closed()
    assert [line.get("ev") for line in lines_of(capture.path)] == ["capture", "topic", "open", "close"]
    assert capture.taps == {}


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write .*trace"):
        Capture(tmp_path / "file" / "trace.jsonl", now_us=lambda: 0, describe=lambda: ({}, []))
