"""Frames that the native reader of lines gives, held equal to those of Python: captures, order of answers, damage."""

from __future__ import annotations

import gc
import gzip
import json
import weakref
from base64 import b64encode
from unittest import mock

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kafka_rack.wire_capture import lines
from kafka_rack.wire_capture.frames import ReadingState
from kafka_rack.wire_tables.frame_decoding import FrameDecoder
from kafka_rack.wire_tables.rows import Rows
from protocol.fuzz import damaged
from tests.fixture_data import CAPTURES

SOME = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
FILES = [path for path in sorted(CAPTURES.glob("*.jsonl.gz")) if "json-oracle" not in path.name]


def described(asked):
    return asked and (asked.frame, asked.ts, asked.correlation_id, asked.data, asked.kind.head, asked.message)


def frames_in(path):
    """All that the frames of a file have, what could not be read, and the state afterwards."""
    state, problems = ReadingState(), []
    found = [
        (
            *(frame.index, frame.ts, frame.connection.number, frame.is_request, frame.data, described(frame.asked)),
            *(frame.correlation_id, frame.error, frame.offset, [*map(described, frame.passed_over)]),
            *(frame.connection.asked_bytes, [*frame.connection.asked]),
        )
        for frame in lines.read_lines(str(path), state, problems)
    ]
    return found, problems, state.frames, state.known


def same_frames(path):
    """The frames of both readers, which are the same, and how many lines the native one left to Python."""
    with mock.patch.object(lines, "core", None):
        expected = frames_in(path)
    with mock.patch.object(lines, "DECODER", wraps=lines.DECODER) as decoder:
        assert frames_in(path) == expected
    return expected[0], decoder.decode.call_count


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_captures_give_the_same_frames_of_which_python_reads_few(path):
    frames, left_to_python = same_frames(path)
    assert left_to_python < len(frames) / 2


@SOME
@given(st.data())
def test_damaged_lines_give_the_same_frames(tmp_path_factory, data):
    text = b"".join(gzip.decompress((CAPTURES / "java41-txn.jsonl.gz").read_bytes()).splitlines(keepends=True)[:40])
    path = tmp_path_factory.mktemp("damaged") / "capture.jsonl"
    path.write_bytes(data.draw(damaged(text)))
    assert same_frames(path)


def line(is_request, connection, data, **more):
    said = {"t": 5, "conn": connection, "dir": "req" if is_request else "resp", "n": len(data)}
    return json.dumps({**said, "data": b64encode(data).decode(), **more}, separators=(",", ":")).encode() + b"\n"


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 2)), max_size=40)
"""True for a request; its correlation id; and how it is sent."""
REQUESTS = (b"\0\3\0\1%b\0\1a\0\0\0\0", b"\0\0\0\3%b\0\1a\xff\xff\0\0\0\0\0\0\0\0\0\0", b"\0\7\0\0%b\0\0\0\1")
"""Metadata, Produce without acks, ControlledShutdown without a client id."""


@SOME
@given(STEPS)
@example([(True, 1, 0), (True, 2, 0), (False, 2, 0), (False, 1, 0)])
def test_answers_in_any_order_find_the_same_requests(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("order") / "capture.jsonl"
    text = [b'{"t":1,"ev":"open","conn":1,"broker":0,"client":"h:1"}\n']
    for is_request, number, sort in steps:
        correlation_id = number.to_bytes(4, "big")
        text.append(line(is_request, 1, REQUESTS[sort] % correlation_id if is_request else correlation_id + b"\0\0"))
    path.write_bytes(b"".join(text))
    frames, _ = same_frames(path)
    assert len(frames) == len(steps)


@pytest.mark.parametrize("padded", ["QQ==", "QUI=", "QR==", "QUJ=", "QUJD", "QUJ", "Q===", "QU-D", ""])
def test_base64_is_read_or_refused_as_in_python(tmp_path, padded):
    path = tmp_path / "capture.jsonl"
    path.write_bytes(b'{"t":1,"ev":"open","conn":1}\n{"t":5,"conn":1,"dir":"req","data":"%b"}\n' % padded.encode())
    assert same_frames(path)


def test_a_decoder_with_a_native_reader_is_collected():
    decoder = FrameDecoder(ReadingState(), Rows())
    assert decoder.native is not None
    gone = weakref.ref(decoder)
    del decoder
    gc.collect()
    assert gone() is None
