"""A capture as packets: what the pipeline and tshark read of it, and that each file stands alone."""

from __future__ import annotations

import re
import shutil
from itertools import count

import pytest

import protocol
from kafka_rack.wire_tables.reading import decode_paths
from mockbroker.adapters.capture import Capture
from mockbroker.adapters.capture_packets import SEGMENT_BYTES, checksum
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.apis.produce import ProduceRequest
from protocol.headers import response_header_version
from protocol.records import Record, build_batch
from tests.progress import run

ROUTES = [
    {"listener": "PLAINTEXT", "broker": 1, "rack": "a", "host": "broker-1", "port": 9092},
    {"listener": "PLAINTEXT", "broker": 2, "rack": "b", "host": "broker-2", "port": 9093},
]
PREAMBLE = ({"kafka": "kafka-rack", "routes": ROUTES}, [("orders", b"i" * 16, [1, 2])])
CLIENT, SERVER = "10.0.0.5:40000", "10.0.0.1:9092"


def metadata_request(number):
    return protocol.request_frame(MetadataRequest(topics=None), 9, correlation_id=number, client_id="app")[4:]


def metadata_response(number):
    brokers = [MetadataResponse.Broker(node_id=1, host="broker-1", port=9092, rack="a")]
    body = protocol.encode(MetadataResponse(brokers=brokers), 9)
    tags = b"\0" if response_header_version(3, 9) else b""
    return number.to_bytes(4, "big") + tags + body


def produce_request(number, size):
    records = build_batch([Record(value=bytes(size), timestamp=1000)])
    partition = ProduceRequest.Topic.Partition(index=0, records=records)
    request = ProduceRequest(acks=1, topic_data=[ProduceRequest.Topic(name="orders", partition_data=[partition])])
    newest_that_tshark_reads = 8
    return protocol.request_frame(request, newest_that_tshark_reads, correlation_id=number, client_id="app")[4:]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trace.pcapng"


def capture_into(path, file_bytes=1 << 30):
    clock = count(1_700_000_000_000_000, 250)
    return Capture(path, now_us=lambda: next(clock), describe=lambda: PREAMBLE, file_bytes=file_bytes)


def tables(*paths):
    """Frames, calls and problems, without where they are in their file."""
    rows = decode_paths([str(path) for path in paths])
    hidden = ("offset", "capture", "file")
    return {
        table: [{name: value for name, value in row.items() if name not in hidden} for row in rows.as_dicts(table)]
        for table in ("frames", "calls", "produces", "problems")
    }


def dissected(path, *fields, wanted="", ports="9092-9093"):
    """What tshark reads: a line for each packet with these fields; skips without it."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is missing: apt-get install tshark")
    checks = [f"{option}:TRUE" for option in ("tcp.check_checksum", "ip.check_checksum")]
    command = ["tshark", "-r", str(path), "-d", f"tcp.port=={ports},kafka", "-T", "fields"]
    command += [word for check in checks for word in ("-o", check)]
    command += [word for field in fields for word in ("-e", field)]
    ran = run([*command, *(["-Y", wanted] if wanted else [])])
    assert ran.returncode == 0, ran.stderr
    return [tuple(line.split("\t")) for line in ran.stdout.splitlines()]


FAULTS = "_ws.malformed || tcp.analysis.flags || tcp.checksum.status == Bad || ip.checksum.status == Bad"


def work(capture, client=CLIENT, server=SERVER):
    """Two calls on one connection and a large one on another, both of which end."""
    first = capture.connection(7, 1, "PLAINTEXT", client, server)
    second = capture.connection(8, 2, "RACK_b", client.replace("40000", "40001"), server.replace("9092", "9093"))
    first.request(metadata_request(1))
    first.response(metadata_response(1))
    second.request(produce_request(5, 3 * SEGMENT_BYTES))
    first.request(metadata_request(2))
    first.response(metadata_response(2)[:20], metadata_response(2)[20:])
    first.closed(0)
    second.closed(3)


@pytest.mark.parametrize(
    ("client", "server"),
    [(CLIENT, SERVER), ("2001:db8::5:40000", "2001:db8::1:9092"), ("10.0.0.5:40000", "::ffff:10.0.0.1:9092"), ("", "")],
    ids=["IPv4", "IPv6", "mixed", "unknown"],
)
def test_tshark_finds_nothing_wrong(path, client, server):
    capture = capture_into(path)
    work(capture, client, server)
    capture.close()
    assert dissected(path, "frame.number", "_ws.col.info", wanted=FAULTS) == []


def test_tshark_dissects_each_frame_as_kafkas_with_its_addresses(path):
    capture = capture_into(path)
    work(capture)
    capture.close()
    found = dissected(path, "ip.src", "tcp.dstport", "kafka.api_key", "kafka.correlation_id", wanted="kafka")
    assert found == [
        ("10.0.0.5", "9092", "3", "1"),
        ("10.0.0.1", "40000", "3", "1"),
        ("10.0.0.5", "9093", "0", "5"),
        ("10.0.0.5", "9092", "3", "2"),
        ("10.0.0.1", "40000", "3", "2"),
    ]


def test_a_connection_has_its_handshake_its_segments_and_its_end(path):
    capture = capture_into(path)
    work(capture)
    capture.close()
    flags = dissected(path, "tcp.flags.str", "tcp.len", wanted="tcp.port == 40001")
    letters = [(re.sub(r"[^A-Z]", "", one), int(size)) for one, size in flags]
    assert letters[:3] == [("S", 0), ("AS", 0), ("A", 0)]
    assert letters[-3:] == [("AF", 0), ("AF", 0), ("A", 0)]
    sizes = [size for _, size in letters[3:-3]]
    assert sizes[:3] == [SEGMENT_BYTES] * 3
    assert sum(sizes) == len(produce_request(5, 3 * SEGMENT_BYTES)) + 4
    assert [one for one, _ in letters[3:-3]] == ["A", "A", "A", "AP"]


def test_the_pipeline_reads_the_same_of_packets_as_of_lines(path, tmp_path):
    lines = tmp_path / "trace.jsonl"
    for one in (path, lines):
        capture = capture_into(one)
        work(capture)
        capture.close()
    found = tables(path)
    assert found == tables(lines)
    assert {(row["conn"], row["broker"], row["broker_rack"], row["listener"]) for row in found["frames"]} == {
        (7, 1, "a", "PLAINTEXT"),
        (8, 2, "b", "RACK_b"),
    }
    assert len(found["calls"]) == 2
    assert found["problems"] == []


def test_files_that_follow_each_other_hold_together_what_one_file_would(tmp_path):
    read = {}
    for suffix in ("pcapng", "jsonl"):
        folder = tmp_path / suffix
        capture = capture_into(folder / f"trace.{suffix}")
        capture._file_limit = 3000
        tap = capture.connection(7, 1, "PLAINTEXT", CLIENT, SERVER)
        for number in range(60):
            tap.request(metadata_request(number))
            if number % 7:
                tap.response(metadata_response(number))
        tap.closed(0)
        capture.close()
        assert len(capture.files) > 3
        read[suffix] = tables(folder)
        if suffix == "pcapng":
            for file in capture.files[1:3]:
                assert dissected(file, "frame.number", "_ws.col.info", wanted=FAULTS) == []
    assert read["pcapng"] == read["jsonl"]
    assert len(read["pcapng"]["calls"]) == sum(bool(number % 7) for number in range(60))


def test_a_frame_behind_the_end_of_its_connection_is_left_out(path):
    capture = capture_into(path)
    tap = capture.connection(7, 1, "PLAINTEXT", CLIENT, SERVER)
    tap.closed(0)
    tap.request(metadata_request(1))
    tap.closed(0)
    capture.close()
    assert tables(path)["frames"] == []


def test_a_topic_whose_leaders_fill_no_comment_is_left_out_of_the_head(path):
    many = [("large", b"l" * 16, [1] * 40_000), ("small", b"s" * 16, [2])]
    capture = Capture(path, now_us=lambda: 5, describe=lambda: (PREAMBLE[0], many), file_bytes=1 << 30)
    capture.close()
    head = path.read_bytes()
    assert b'"small"' in head
    assert b'"large"' not in head


@pytest.mark.parametrize(
    "data", [b"", b"\x01", b"\xff\xff", b"\xff\xff\x00\x00", bytes(range(256)) * 9, b"\x12\x34\x56"]
)
def test_the_checksum_is_that_of_words_added_one_by_one(data):
    padded = data + bytes(len(data) % 2)
    total = sum(int.from_bytes(padded[at : at + 2], "big") for at in range(0, len(padded), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    expected = 0xFFFF - total
    assert checksum(data) == expected or (not any(data) and checksum(data) == 0)
