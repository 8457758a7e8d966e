"""Captures to a ledger: how complete it says that it is, and what counts once."""

from __future__ import annotations

import gzip
import json
import struct

import pytest

from kafka_rack.locality.captures import capture_flows, ledger_of, measure
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from tests.fixture_data import CAPTURES, capture_summary
from tests.pipeline.packet_files import rotate

LINES = CAPTURES / "java41-range.jsonl.gz"


@pytest.fixture
def plain(tmp_path):
    """A capture of lines, not compressed."""
    path = tmp_path / "in" / "range.jsonl"
    path.parent.mkdir()
    path.write_bytes(gzip.decompress(LINES.read_bytes()))
    return path


def completeness(*paths):
    return measure([str(path) for path in paths]).result["completeness"]


def bytes_moved(*paths):
    return measure([str(path) for path in paths]).result["total"]["bytes"]


def test_a_whole_capture_lacks_only_the_replication_that_nobody_captured(plain):
    found = completeness(plain)
    assert (found["unreadable_frames"], found["missing_bytes"], found["problems"], found["refused"]) == (0, 0, [], [])
    frames = sum(line["request"] + line["response"] for line in capture_summary("java41-range")["counts"])
    assert found["frames"] == frames
    assert not found["replication_captured"]
    assert "replication between brokers not captured" in found["line"]


def test_a_torn_line_is_named_in_the_first_lines(plain):
    whole = plain.read_bytes()
    plain.write_bytes(whole[: len(whole) // 2 + 7])
    result = measure([str(plain)]).result
    assert sum(one["count"] for one in result["completeness"]["problems"]) == 1
    assert "1 problem in the files" in result["completeness"]["line"]
    assert "; missing: 1 problem in the files" in result["completeness"]["line"]


def test_packets_that_were_cut_are_counted_in_bytes(tmp_path):
    """``tcpdump -s 200`` leaves 200 bytes of each packet."""
    whole = gzip.decompress((CAPTURES / "java41-range.pcap.gz").read_bytes())
    order = "<" if whole[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    cut, at, lost = bytearray(whole[:24]), 24, 0
    while at < len(whole):
        seconds, fraction, held, size = struct.unpack_from(f"{order}IIII", whole, at)
        left = min(held, 200)
        cut += struct.pack(f"{order}IIII", seconds, fraction, left, size) + whole[at + 16 : at + 16 + left]
        at += 16 + held
        lost += held - left
    (tmp_path / "cut.pcap").write_bytes(cut)
    found = completeness(tmp_path / "cut.pcap")
    # bytes behind a gap that belong to no whole frame are missing too; what is cut off at the end leaves no gap
    assert 2 * lost > found["missing_bytes"] > lost // 2
    assert "of connections cut off or lost" in found["line"]


def test_packets_that_were_lost_are_counted_in_bytes(tmp_path):
    """Each twentieth packet is missing, as where tcpdump's buffer is full."""
    whole = gzip.decompress((CAPTURES / "java41-range.pcap.gz").read_bytes())
    order = "<" if whole[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    kept, at, number = bytearray(whole[:24]), 24, 0
    while at < len(whole):
        end = at + 16 + struct.unpack_from(f"{order}I", whole, at + 8)[0]
        number += 1
        if number % 20:
            kept += whole[at:end]
        at = end
    (tmp_path / "lost.pcap").write_bytes(kept)
    found = completeness(tmp_path / "lost.pcap")
    assert found["missing_bytes"] > 0
    assert "of connections cut off or lost" in found["line"]


def test_an_input_that_was_refused_is_named(plain, tmp_path):
    (tmp_path / "notes.txt").write_text("not a capture")
    found = completeness(plain, tmp_path / "notes.txt")
    assert found["refused"] == [
        {"input": str(tmp_path / "notes.txt"), "reason": "neither a capture of frames nor pcap or pcapng"}
    ]
    assert "1 input not read" in found["line"]


def test_a_connection_captured_at_both_ends_counts_once(plain):
    once = bytes_moved(plain)
    other = plain.with_name("other-end.jsonl")
    other.write_bytes(plain.read_bytes())
    assert bytes_moved(plain, other) == once
    found = completeness(plain, other)
    assert found["connections_captured_twice"] > 0
    assert "captured twice" in found["line"]


def test_files_that_tcpdump_rotated_are_one_capture(tmp_path):
    """Connections cross the files, and what one file says of racks holds in all of them."""
    whole, folder = tmp_path / "whole.pcap", tmp_path / "rotated"
    whole.write_bytes(gzip.decompress((CAPTURES / "java41-range.pcap.gz").read_bytes()))
    folder.mkdir()
    files = rotate(folder, "java41-range.pcap.gz", 5)
    found, expected = measure([str(folder)]), measure([str(whole)]).result
    assert found.unread == []
    assert {**found.result, "title": expected["title"]} == expected
    assert found.result["title"] == files[0].name


def shifted(path, days):
    """The same capture some days later."""
    lines = []
    for line in path.read_text().splitlines():
        one = json.loads(line)
        if "t" in one:
            one["t"] += days * 86_400_000_000
        lines.append(json.dumps(one))
    later = path.with_name(f"later-{days}.jsonl")
    later.write_text("\n".join(lines) + "\n")
    return later


def test_the_same_traffic_a_day_later_counts_again_and_the_gap_does_not_count(plain):
    once = measure([str(plain)]).result
    twice = measure([str(plain), str(shifted(plain, 1))]).result
    assert twice["total"]["bytes"] == 2 * once["total"]["bytes"]
    assert twice["span"]["covered_us"] == 2 * once["span"]["covered_us"]


def test_ledgers_add_up_in_any_order(plain):
    later = shifted(plain, 1)
    files, _ = find_files([str(plain), str(later)])
    first, second = (ledger_of([capture_flows(file, Options())]) for file in files)
    again, other = (ledger_of([capture_flows(file, Options())]) for file in files)
    one, two = first.merge(second), other.merge(again)
    assert one.flows == two.flows
    assert one.completeness == two.completeness
