"""Rows that the native reader of frames adds, held equal to those of Python: captures, golden bytes, damaged bytes."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kafka_rack.wire_capture.captures import Options, read_frames
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_capture.frames import CapturedConnection, ReadingState
from kafka_rack.wire_tables.frame_decoding import FrameDecoder
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from protocol.apis.headers import RequestHeader, ResponseHeader
from protocol.apis.produce import ProduceRequest
from protocol.codec import codec
from protocol.fuzz import damaged
from protocol.headers import request_header_version, response_header_version
from protocol.records.batches import CRC_COVERS_FROM, LOG_OVERHEAD
from protocol.records.checksum import crc32, crc32c
from protocol.records.compression import CompressionCodec, compress
from protocol.records.message_sets import build_messages, write_message
from protocol.records.record import Record
from tests.fixture_data import CAPTURES, golden_vectors

SOME = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
FILES = sorted(path.name for path in CAPTURES.iterdir() if ".jsonl" in path.name or ".pcap" in path.name)
FILES = [name for name in FILES if "json-oracle" not in name]
FEW_FRAMES = 50
"""Frames whose rows are held at once, so few that numbers begin again."""


class Both:
    """Two decoders, the second without the native reader; ``taken`` counts the frames that the native one takes."""

    def __init__(self, state, python_state, only=TABLES):
        self.native, self.python = FrameDecoder(state, Rows(), only), FrameDecoder(python_state, Rows(), only)
        assert self.native.native is not None
        self.python.native = None
        self.frames = self.taken = 0

    def decode(self, frame, python_frame):
        left_to_python = []
        self.native.add_rows = lambda *given: (left_to_python.append(1), FrameDecoder.add_rows(self.native, *given))
        self.native.decode(frame)
        self.python.decode(python_frame)
        self.frames += frame.asked is not None and frame.index >= 0
        self.taken += frame.asked is not None and frame.index >= 0 and not left_to_python

    def have_same_rows(self):
        rows, python_rows = ([list(one.rows.of(table)) for table in TABLES] for one in (self.native, self.python))
        assert rows == python_rows
        return True

    def clear(self):
        for decoder in (self.native, self.python):
            decoder.rows.clear()
            decoder.go_on()


@pytest.mark.parametrize("name", FILES)
def test_captures_give_the_same_rows(name):
    (file,), _ = find_files([str(CAPTURES / name)])
    (state, frames), (python_state, python_frames) = (read_frames(file, Options(), []) for _ in range(2))
    both = Both(state, python_state)
    for frame, python_frame in zip(frames, python_frames, strict=True):
        both.decode(frame, python_frame)
        if both.frames % FEW_FRAMES == 0:
            assert both.have_same_rows()
            both.clear()
    assert both.have_same_rows()
    assert both.taken > both.frames / 2


@pytest.mark.parametrize("only", ["frames", "calls", "batches", "fetches", "produces", "settings"])
def test_one_table_alone_has_the_same_rows(only):
    both = reading(stream_of(CAPTURES / "aiokafka.jsonl.gz"), [only])
    assert both.have_same_rows()
    assert both.taken


def stream_of(path):
    """The frames of a capture, connection by connection: true for a request, and the bytes."""
    (file,), _ = find_files([str(path)])
    found = {}
    for frame in read_frames(file, Options(), [])[1]:
        if frame.index >= 0:
            found.setdefault(frame.connection.number, []).append((frame.is_request, frame.data))
    return [frame for frames in found.values() for frame in frames]


def reading(stream, only=TABLES):
    """Both decoders after the frames of one connection."""
    both = Both(*(ReadingState("a-capture") for _ in range(2)), only)
    connections = [CapturedConnection(1, 3, "az-a", "10.0.0.7:4711", "RACK_az-b") for _ in range(2)]
    states = both.native.target.state, both.python.target.state
    for ts, (is_request, data) in enumerate(stream):
        frames = (
            state.frame(ts, connection, is_request, data, ts)
            for state, connection in zip(states, connections, strict=True)
        )
        both.decode(*frames)
    return both


def golden_frames():
    """Every golden request; every golden response behind a request of its kind."""
    for number, vector in enumerate(golden_vectors()):
        if vector.api_key is None:
            continue
        key, version = vector.api_key, vector.version
        header_version = request_header_version(key, version)
        client_id = (f"client-{number % 7}",) if header_version else ()
        header = codec(RequestHeader, header_version).encode(RequestHeader(key, version, number, *client_id))
        yield True, header + (vector.body if vector.kind == "request" else b"")
        if vector.kind == "response":
            written = codec(ResponseHeader, response_header_version(key, version))
            yield False, written.encode(ResponseHeader(number)) + vector.body


def test_golden_messages_give_the_same_rows():
    both = reading(list(golden_frames()))
    assert both.have_same_rows()
    assert both.taken > both.frames / 2


def test_frames_that_come_again_give_the_same_rows_and_facts_whatever_was_reported_meanwhile():
    streams = [
        stream_of(CAPTURES / f"{name}.jsonl.gz")
        for name in ("zk39-ibp24", "kafka-python", "java41-coop", "confluent-kip848")
    ]
    both = reading([frame for _ in range(2) for stream in streams for frame in stream])
    assert both.have_same_rows()
    native, python = (decoder.target.known for decoder in (both.native, both.python))
    for facts in ("topics", "leaders", "in_sync", "racks", "endpoints"):
        assert getattr(native, facts) == getattr(python, facts)
    once = sum(reading(stream).taken for stream in streams)
    assert both.taken > 2 * once  # Python reads a frame once, not each time


STREAMS = {
    name: stream_of(CAPTURES / f"{name}.jsonl.gz")[:400] for name in ("java41-share", "java41-txn", "zk39-ibp24")
}


@SOME
@given(st.sampled_from(sorted(STREAMS)), st.data())
def test_damaged_frames_give_the_same_rows(name, data):
    stream = list(STREAMS[name])
    start = data.draw(st.integers(0, len(stream) - 1))
    for at in data.draw(st.lists(st.integers(start, min(start + 60, len(stream) - 1)), max_size=8)):
        is_request, bytes_of_it = stream[at]
        stream[at] = is_request, data.draw(damaged(bytes_of_it))
    assert reading(stream[start : start + 60]).have_same_rows()


@SOME
@given(st.integers(0, 1 << 32))
@example(0)
def test_damaged_records_with_a_right_checksum_give_the_same_rows(seed):
    chance = random.Random(seed)
    stream = []
    for is_request, sound in STREAMS["java41-txn"]:
        data = sound
        at = data.find(b"\2", 16)
        size = int.from_bytes(data[at - 8 : at - 4], "big") + LOG_OVERHEAD if at >= 16 else 0
        start = at - 16
        end = start + size
        if size > 61 and end <= len(data):
            changed = bytearray(data)
            changed[chance.randrange(start + CRC_COVERS_FROM, end)] = chance.choice((0, 1, 2, 127, 128, 255))
            checksum = crc32c(bytes(changed[start + CRC_COVERS_FROM : end]))
            changed[start + 17 : start + CRC_COVERS_FROM] = checksum.to_bytes(4, "big")
            data = bytes(changed)
        stream.append((is_request, data))
    assert reading(stream).have_same_rows()


def set_of_messages(chance, magic):
    """Messages of magic 0 and 1, now and then with a byte changed, checksums made right or not."""
    records = [
        Record(chance.randrange(4), 5, chance.choice((None, b"", b"key")), chance.choice((None, b"", b"value")))
        for _ in range(chance.randrange(4))
    ]
    changed = bytearray(build_messages(records, magic))
    if changed and chance.random() < 0.5:
        changed[chance.randrange(len(changed))] = chance.choice((0, 1, 2, 127, 255))
    if len(changed) > 17 and chance.random() < 0.5:
        end = min(int.from_bytes(changed[8:12], "big") + LOG_OVERHEAD, len(changed))
        changed[12:16] = crc32(bytes(changed[16:end])).to_bytes(4, "big")
    return bytes(changed)


@SOME
@given(st.integers(0, 1 << 32))
@example(0)
def test_messages_of_magic_0_and_1_sound_or_damaged_give_the_same_rows(seed):
    chance = random.Random(seed)
    stream = []
    for number in range(20):
        magic = chance.randrange(2)
        parts = [set_of_messages(chance, magic)]
        packing = CompressionCodec(chance.randrange(4))
        if packing != CompressionCodec.NONE:
            packed = compress(packing, set_of_messages(chance, chance.randrange(2)), magic=magic)
            write_message(parts, magic, chance.randrange(4), packing, 5, None, chance.choice((packed, packed[:-1])))
        topic = ProduceRequest.Topic("t", partition_data=[ProduceRequest.Topic.Partition(0, b"".join(parts))])
        header = codec(RequestHeader, 1).encode(RequestHeader(0, 2, number, "c"))
        request = header + codec(ProduceRequest, 2).encode(ProduceRequest(None, -1, 100, [topic]))
        stream += [(True, request), (False, number.to_bytes(4, "big") + bytes(8))]
    assert reading(stream).have_same_rows()
