"""What a stranger's file may have in memory: lines, connections and packets larger than is read are told and cut."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import tracemalloc

import pytest

from kafka_rack.wire_capture import connections, files, frames, lines, packets, reassembly
from kafka_rack.wire_capture.captures import Options, PacketReading
from kafka_rack.wire_capture.files import look_at
from kafka_rack.wire_capture.frames import kind_of
from kafka_rack.wire_capture.reassembly import Direction
from kafka_rack.wire_capture.segments import ACK, FIN, SYN, TcpSegment
from kafka_rack.wire_tables import reading
from kafka_rack.wire_tables.reading import decode_into, decode_paths
from kafka_rack.wire_tables.rows import Rows
from tests.unit.kafka_rack.wire_capture.packet_files import CLIENT, SERVER, Sent, pcap, pcapng

MB = 1 << 20
HEAD = b'{"ev":"capture","format":1,"t":1}\n'
OPEN = b'{"ev":"open","conn":1,"client":"a:1","t":1}\n'


def request(correlation_id, size=20, key=3):
    data = struct.pack(">hhih", key, 1, correlation_id, -1)
    return data + bytes(size - len(data))


def response(correlation_id, size=8):
    return struct.pack(">i", correlation_id) + bytes(size - 4)


def line(data, ts=1, *, is_request=True):
    said = {"t": ts, "conn": 1, "dir": "req" if is_request else "resp", "data": base64.b64encode(data).decode()}
    return json.dumps(said).encode() + b"\n"


def peak_of(work):
    tracemalloc.start()
    try:
        result = work()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def problems_of(path):
    return [(row["offset"], row["reason"]) for row in decode_paths([str(path)]).as_dicts("problems")]


@pytest.mark.parametrize("opened", [open, gzip.open])
@pytest.mark.parametrize(("first", "second", "is_one"), [(b"{}", b'{"dir":"req","data":"', True), (b"{}", b'"', False)])
def test_a_file_is_known_by_the_beginnings_of_its_first_lines(tmp_path, opened, first, second, is_one):
    path = tmp_path / "a.jsonl"
    with opened(path, "wb") as file:
        file.write(first + b"\n" + second + b"A" * (48 * MB))
    found, peak = peak_of(lambda: look_at(path))
    assert (found is not None) == is_one
    assert peak < 8 * MB


def test_a_line_that_is_too_long_is_told_with_its_place_and_never_held(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_LINE_BYTES", MB)
    long = b'{"t":1,"conn":1,"dir":"req","data":"' + b"A" * (40 * MB) + b'"}\n'
    path = tmp_path / "a.jsonl"
    path.write_bytes(HEAD + OPEN + line(request(7)) + long + line(response(7), is_request=False))
    problems, peak = peak_of(lambda: problems_of(path))
    offset = len(HEAD + OPEN + line(request(7)))
    assert problems == [(offset, f"a line of {len(long)} bytes is passed over, since at most {MB} are read")]
    assert peak < 12 * MB
    assert [row["frame"] for row in decode_paths([str(path)]).as_dicts("calls")] == [0]


@pytest.mark.parametrize("head", [HEAD, HEAD.replace(b"1,", b"2,", 1)])
def test_a_line_that_is_too_long_is_told_once_wherever_a_file_is_cut(tmp_path, monkeypatch, head):
    monkeypatch.setattr(files, "MAX_LINE_BYTES", MB)
    parts = [head, OPEN]
    for number in range(60):
        parts += [line(request(number, 200)), line(response(number), is_request=False)]
        if number % 20 == 0:
            parts.append(line(request(1000, 8 * MB)))
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(parts))
    assert len(problems_of(path)) == 3


def test_problems_become_rows_while_a_file_of_nothing_else_is_read(tmp_path, monkeypatch):
    for reader in (lines, reading):
        monkeypatch.setattr(reader, "MAX_PROBLEMS_HELD", 100)
    path = tmp_path / "a.jsonl"
    path.write_bytes(HEAD + (b"x" * 2047 + b"\n") * 4096)
    rows, held, told = Rows(), [], 0
    for _ in decode_into(rows, look_at(path), Options(), only=["problems"]):
        held.append(rows.count("problems", "unknown"))
        told += held[-1]
        rows.clear()
    assert told == 4096
    assert max(held) <= 1024


def test_a_connection_gives_up_its_oldest_requests_where_many_bytes_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "MAX_ASKED_BYTES", 1000)
    path = tmp_path / "a.jsonl"
    asked = [line(request(number, 400)) for number in range(4)]
    answers = [line(response(number), is_request=False) for number in (3, 0)]
    path.write_bytes(HEAD + OPEN + b"".join(asked + answers))
    rows = decode_paths([str(path)])
    calls = [row["correlation_id"] for row in rows.as_dicts("calls")]
    assert calls == [3]
    told = [row["reason"] for row in rows.as_dicts("problems")]
    reason = (
        "connection 1 has too many requests that wait for their answers: 1 of 400 bytes are given up, since at most "
        "10000 of 1000 bytes are kept"
    )
    assert told == [reason, reason]
    errors = [row["error"] for row in rows.as_dicts("frames") if row["direction"] == "response"]
    assert errors[1] == "no request with correlation id 0 on connection 1"


def test_a_single_request_is_kept_however_large_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "MAX_ASKED_BYTES", 1000)
    path = tmp_path / "a.jsonl"
    path.write_bytes(HEAD + OPEN + line(request(1, 5000)) + line(response(1), is_request=False))
    assert len(decode_paths([str(path)]).as_dicts("calls")) == 1
    assert problems_of(path) == []


def test_the_bytes_that_wait_are_those_of_the_requests_that_wait():
    state = frames.ReadingState()
    connection = state.connections[1] = frames.CapturedConnection(1)
    for step in range(200):
        number = step * 7 % 5
        if step % 3:
            state.frame(step, connection, True, request(number, 20 + step % 11))
        else:
            state.frame(step, connection, False, response(number))
        assert connection.asked_bytes == sum(len(asked.data) for asked in connection.asked.values())


def test_memory_stays_bounded_while_nothing_is_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "MAX_ASKED_BYTES", 4 * MB)
    connection, state = frames.CapturedConnection(1), frames.ReadingState()

    def ask():
        for number in range(300):
            state.frame(1, connection, True, request(number, 300_000))

    _, peak = peak_of(ask)
    assert peak < 6 * MB


def test_answers_without_requests_are_held_up_to_a_number_of_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "MAX_HELD_BYTES", 2000)
    answers = [struct.pack(">i", 500) + response(90 + number, 500) for number in range(9)]
    segments = [Sent(1, CLIENT, SERVER, 999, flags=2), Sent(1, SERVER, CLIENT, 4999, flags=18)]
    segments += [Sent(1, CLIENT, SERVER, 1000, struct.pack(">i", 20) + request(1))]
    segments += [Sent(2, SERVER, CLIENT, 5000, struct.pack(">i", 8) + response(1))]
    at = 5012
    for one in answers:
        segments.append(Sent(3, SERVER, CLIENT, at, one))
        at += len(one)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(segments))
    options = Options(ports=frozenset([9092]))
    file = look_at(path)
    reading, held = PacketReading(file, options, []), []
    for frame in reading.frames():
        held.append(max(found.held_bytes for found in reading.traffic.conversations.values()))
        error = f"no request with correlation id {88 + frame.index} on connection 127.0.0.1:40000"
        assert frame.index < 2 or frame.error == error
    assert len(held) == 11
    assert max(held) <= 2000


def test_what_waits_behind_a_hole_is_bounded_though_the_file_has_none_of_its_bytes(monkeypatch):
    monkeypatch.setattr(reassembly, "MAX_WAITING", 50)
    direction = Direction(following=1)
    pieces = []
    for number in range(200):
        pieces += direction.take(TcpSegment(number, 1, CLIENT, SERVER, 100 + 10 * number, 16, b"", 10))
        assert len(direction.waiting) <= 51
    assert pieces


def test_interfaces_of_a_section_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(packets, "MAX_INTERFACES", 3)
    rest = pcapng([Sent(1, CLIENT, SERVER, 1000, b"")])
    interface_at = rest.index(struct.pack("<I", 1), 8)
    length = struct.unpack_from("<I", rest, interface_at + 4)[0]
    interface = rest[interface_at : interface_at + length]
    path = tmp_path / "a.pcapng"
    path.write_bytes(rest[:interface_at] + interface * 5 + rest[interface_at:])
    reasons = [reason for _, reason in problems_of(path)]
    assert sum("more than 3 interfaces" in reason for reason in reasons) == 3


def test_request_kinds_are_kept_up_to_a_number_of_bytes(monkeypatch):
    monkeypatch.setattr(frames, "MAX_KINDS_BYTES", 100_000)
    frames.KINDS.clear()
    for number in range(500):
        kind_of(struct.pack(">hhh", 3, 1, 2000) + b"%2000d" % number)
        assert sum(map(len, frames.KINDS)) <= 105_000


def test_connections_that_both_sides_closed_are_let_go_of_and_counted_as_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "LINGER_BYTES", 10_000)
    sent = []
    for number in range(500):
        client = "10.0.0.2", 40_000 + number
        for end, other, data in ((client, SERVER, request(number)), (SERVER, client, response(number))):
            frame = len(data).to_bytes(4, "big") + data
            sent.append(Sent(number, end, other, 100, b"", SYN if end == client else SYN | ACK))
            sent.append(Sent(number, end, other, 101, frame))
        sent.append(Sent(number, client, SERVER, 125, b"", FIN | ACK))
        sent.append(Sent(number, SERVER, client, 113, b"", FIN | ACK))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(sent))
    file = look_at(path)
    options = Options.parse("9092", None)
    reading = PacketReading(file, options, [])
    for _ in reading.frames():
        assert len(reading.traffic.conversations) < 50
        assert len(reading.state.connections) < 50
    assert len(decode_paths([str(path)], options).as_dicts("calls")) == 500
