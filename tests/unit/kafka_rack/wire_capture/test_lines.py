"""Captures as lines: damage, cuts, going on from another file."""

from __future__ import annotations

import errno
import gzip
import json
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kafka_rack.wire_capture import files
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import DamagedCapture, DecompressedFile, capture_name, find_files
from kafka_rack.wire_capture.frames import ReadingState
from kafka_rack.wire_capture.lines import read_lines
from kafka_rack.wire_tables.arrow import record_batch
from kafka_rack.wire_tables.reading import decode_into, decode_paths
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES

LINES = gzip.decompress((CAPTURES / "kafka-python.jsonl.gz").read_bytes())


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "kafka-python.jsonl"
    path.write_bytes(LINES)
    return path


def tables(rows, *, without=("problems",)):
    return {table: sorted(map(repr, rows.of(table))) for table in TABLES if table not in without}


def test_lines_of_unknown_kinds_are_passed_over(capture):
    whole = tables(decode_paths([str(capture)]), without=("problems", "frames"))
    checkpoint = b'{"ev":"checkpoint","t":5,"frames":3,"connections":[],"topic_ids":[],"broker_racks":{}}\n'
    lines = LINES.splitlines(keepends=True)
    capture.write_bytes(b"".join([line + checkpoint for line in lines]).replace(b'"format":1', b'"format":2'))
    rows = decode_paths([str(capture)])
    assert rows.as_dicts("problems") == []
    assert tables(rows, without=("problems", "frames")) == whole


def test_empty_lines_are_passed_over_undecoded(tmp_path, monkeypatch):
    """Attack 16 of a review: 32 million of them, 31 KB of gzip, took 16 s."""
    monkeypatch.setattr("kafka_rack.wire_capture.lines.DECODER", None)
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"\n" * 100)
    problems = []
    assert (list(read_lines(str(path), ReadingState(), problems)), problems) == ([], [])


def test_a_damaged_line_costs_its_frame_and_is_told(capture):
    lines = LINES.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if number > 100 and b'"dir"' in line)
    offset = sum(map(len, lines[:at]))
    lines[at] = lines[at][:20] + b"\xff\x00" + lines[at][22:]
    capture.write_bytes(b"".join(lines))
    rows = decode_paths([str(capture)])
    (problem,) = rows.as_dicts("problems")
    assert (problem["offset"], problem["file"]) == (offset, str(capture))
    whole = json.loads(LINES.splitlines()[at])
    expected = sum(b'"dir"' in line for line in lines) - 1
    assert len(rows.as_dicts("frames")) == expected
    if whole["dir"] == "req":
        assert any("no request" in (row["error"] or "") for row in rows.as_dicts("frames"))


@pytest.mark.parametrize("at", [1, 5])
def test_a_line_that_is_no_utf_8_costs_itself_alone(capture, at):
    lines = LINES.splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if number >= at and b'"client":"' in line)
    damaged = lines[place].replace(b'"client":"', b'"client":"\xff\xfe')
    capture.write_bytes(b"".join([*lines[:place], damaged, *lines[place:]]))
    rows = decode_paths([str(capture)])
    (problem,) = rows.as_dicts("problems")
    assert problem["offset"] == sum(map(len, lines[:place]))
    assert len(rows.as_dicts("frames")) == sum(b'"dir"' in line for line in lines)


def test_a_first_line_that_is_no_utf_8_leaves_the_file_a_capture(capture):
    capture.write_bytes(LINES.replace(b'"name":"', b'"name":"\xff', 1))
    rows = decode_paths([str(capture)])
    assert [problem["offset"] for problem in rows.as_dicts("problems")] == [0]
    assert rows.as_dicts("frames")


def test_a_frame_with_fewer_bytes_than_it_says_is_told(capture):
    lines = [json.loads(line) for line in LINES.splitlines()]
    frame = next(line for line in lines if "dir" in line)
    frame["n"] += 1
    capture.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "bytes, but here are" in decode_paths([str(capture)]).as_dicts("problems")[0]["reason"]


@given(size=st.integers(0, len(LINES)))
@example(size=614)  # a whole line without its end
def test_every_prefix_gives_its_whole_lines(tmp_path_factory, size):
    path = tmp_path_factory.mktemp("prefix") / "cut.jsonl"
    path.write_bytes(LINES[:size])
    rows = decode_paths([str(path)])
    kept = LINES[:size]
    whole = kept + LINES[size : size + 1]
    assert len(rows.as_dicts("frames")) == sum(b'"dir"' in line for line in whole.split(b"\n")[:-1])
    # a JSON line is no JSON before its last byte, so a cut one is always told
    torn = not kept.endswith(b"\n") and kept != b"" and LINES[size : size + 1] != b"\n"
    assert len(rows.as_dicts("problems")) == torn


FIRST_LINES = LINES[: LINES.index(b"\n", 12_000) + 1]


@given(at=st.integers(0, len(FIRST_LINES) - 1), byte=st.integers(0, 255))
@example(at=FIRST_LINES.index(b'"ev"') + 1, byte=32)  # the first line is none of a capture any more
def test_a_changed_byte_costs_its_own_line_and_no_other(tmp_path_factory, at, byte):
    """What is left goes into Arrow's types, whatever numbers it has now."""
    path = tmp_path_factory.mktemp("changed") / "changed.jsonl"
    changed = bytearray(FIRST_LINES)
    changed[at] = byte
    path.write_bytes(changed)
    rows = decode_paths([str(path)])
    for table in TABLES:
        record_batch(rows, table)
    begins = FIRST_LINES.rfind(b"\n", 0, at) + 1
    ends = FIRST_LINES.index(b"\n", at) + 1
    if at == ends - 1:  # two lines are one now
        ends = FIRST_LINES.find(b"\n", ends) + 1 or ends
    offsets = {row["offset"] for row in rows.as_dicts("frames")}
    untouched, offset = set(), 0
    for line in FIRST_LINES.splitlines(keepends=True):
        if b'"dir"' in line and not begins <= offset < ends:
            untouched.add(offset)
        offset += len(line)
    assert untouched <= offsets
    lost = FIRST_LINES.count(b'"dir"') - len(offsets)
    assert lost <= 2
    assert len(rows.as_dicts("problems")) >= bool(lost)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"t": 10**30, "conn": 1, "dir": "req", "n": 1, "data": "AA=="}, "t"),
        ({"t": -1, "conn": 1, "dir": "req", "n": 1, "data": "AA=="}, "t"),
        ({"t": 1, "conn": 1 << 63, "dir": "req", "n": 1, "data": "AA=="}, ""),
        ({"t": 1, "ev": "open", "conn": 1, "broker": 1 << 31}, "broker"),
        ({"ev": "topic", "name": "t", "leaders": [1 << 31]}, "leaders"),
        ({"t": 1, "conn": 1, "dIr": "req", "n": 1, "data": "AA=="}, "dir and ev are missing"),
        ({"t": 1, "conn": 1, "dir": "reQ", "n": 1, "data": "AA=="}, "req and resp are known"),
    ],
)
def test_a_line_with_a_number_or_name_that_cannot_be_is_told(tmp_path, line, said):
    path = tmp_path / "odd.jsonl"
    path.write_text('{"ev":"capture","format":1}\n' + json.dumps(line) + "\n")
    rows = decode_paths([str(path)])
    (problem,) = rows.as_dicts("problems")
    assert said in problem["reason"]
    assert problem["offset"] == 28
    assert rows.as_dicts("frames") == []


SQUEEZED = zlib.compressobj(wbits=31)
GZIPPED = SQUEEZED.compress(LINES) + SQUEEZED.flush()


@given(size=st.integers(20, len(GZIPPED) - 1))
@example(size=10957)  # zlib holds back what does not fit into a chunk
def test_a_truncated_gzip_gives_what_it_holds_and_says_where_it_ends(tmp_path_factory, size):
    path = tmp_path_factory.mktemp("gzip") / "cut.jsonl.gz"
    path.write_bytes(GZIPPED[:size])
    held = zlib.decompressobj(31).decompress(GZIPPED[:size])
    rows = decode_paths([str(path)])
    assert len(rows.as_dicts("frames")) >= sum(b'"dir"' in line for line in held.split(b"\n")[:-1])
    assert rows.as_dicts("problems")[-1]["offset"] == len(held)


def is_unharmed(zipped: bytes) -> bool:
    try:
        return gzip.decompress(zipped) == LINES
    except (EOFError, OSError, zlib.error):
        return False


@given(at=st.integers(10, len(GZIPPED) - 1), bit=st.integers(0, 7))
def test_a_corrupted_gzip_gives_all_before_the_damage(tmp_path_factory, at, bit):
    path = tmp_path_factory.mktemp("gzip") / "bad.jsonl.gz"
    damaged = bytearray(GZIPPED)
    damaged[at] ^= 1 << bit
    assume(not is_unharmed(bytes(damaged)))  # one bit in some thousands does not count, as bit 5 of byte 459
    path.write_bytes(damaged)
    with DecompressedFile(str(path)) as source, pytest.raises(DamagedCapture) as caught:
        source.read(2 * len(LINES))
    assert caught.value.offset <= len(LINES) + 1000
    assert decode_paths([str(path)]).as_dicts("problems")


def test_gzip_members_follow_each_other(tmp_path):
    path = tmp_path / "two.jsonl.gz"
    middle = LINES.index(b"\n", len(LINES) // 2) + 1
    path.write_bytes(gzip.compress(LINES[:middle]) + gzip.compress(LINES[middle:]))
    assert len(decode_paths([str(path)]).as_dicts("frames")) == LINES.count(b'"dir"')


def test_a_folder_is_searched_and_what_is_no_capture_is_passed_over(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "kafka-python.jsonl").write_bytes(LINES)
    (tmp_path / "notes.txt").write_text("no capture")
    (tmp_path / "other.jsonl").write_text('{"message": "something else"}\n')
    found, refused = find_files([str(tmp_path)])
    assert [capture_name(file.path) for file in found] == ["kafka-python"]
    assert refused == []
    assert find_files([str(tmp_path / "other.jsonl")])[1][0][0] == str(tmp_path / "other.jsonl")
    with pytest.raises(FileNotFoundError, match="no such file"):
        find_files([str(tmp_path / "missing")])


def test_what_cannot_be_read_is_told_and_the_rest_is_read(tmp_path):
    """/proc/self/mem can be opened and not read, by root too."""
    (tmp_path / "good.jsonl").write_bytes(LINES)
    (tmp_path / "unreadable.jsonl").symlink_to("/proc/self/mem")
    (tmp_path / "noise.pcap").write_bytes(bytes(range(100)))
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    rows = decode_paths([str(tmp_path)])
    assert len(rows.as_dicts("frames")) == LINES.count(b'"dir"')
    assert {(row["capture"], row["reason"]) for row in rows.as_dicts("problems")} == {
        ("mem", "cannot be read: Input/output error"),
        ("noise.pcap", "its name is that of a capture of packets, but it is neither pcap nor pcapng"),
    }


def test_a_file_that_goes_between_planning_and_reading_is_a_problem(capture):
    (file,), _ = find_files([str(capture)])
    capture.unlink()
    rows = Rows()
    list(decode_into(rows, file, Options()))
    assert [row["reason"] for row in rows.as_dicts("problems")] == ["cannot be read: No such file or directory"]


def test_a_folder_that_may_not_be_listed_is_told(tmp_path, monkeypatch):
    (tmp_path / "good.jsonl").write_bytes(LINES)
    shut = tmp_path / "shut"
    shut.mkdir()
    scandir = os.scandir

    def refuse(path):
        if Path(path) == shut:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found, refused = find_files([str(tmp_path)])
    assert [file.path for file in found] == [str(tmp_path / "good.jsonl")]
    assert refused == [(str(shut), "cannot be listed: Permission denied")]


def test_a_response_without_its_request_is_kept_as_such(tmp_path):
    path = tmp_path / "late.jsonl"
    path.write_text(
        '{"t":5,"conn":3,"dir":"resp","n":4,"data":"AAAACQ=="}\n{"t":6,"conn":3,"dir":"req","n":2,"data":"AAE="}\n'
    )
    frames = decode_paths([str(path)]).as_dicts("frames")
    assert [row["error"] for row in frames] == [
        "no request with correlation id 9 on connection 3",
        "a request of 2 bytes, but its header takes 8 at least",
    ]
    assert [row["api"] for row in frames] == ["unknown", "unknown"]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_long_line_is_put_together_once(tmp_path, compressed, monkeypatch):
    """Not again with each chunk, which would cost the square of its length."""
    monkeypatch.setattr(files, "CHUNK_BYTES", 64)
    path = tmp_path / "long.jsonl"
    text = b"first\n" + b"x" * 500_000 + b"\nlast"
    path.write_bytes(gzip.compress(text) if compressed else text)
    with files.DecompressedFile(str(path)) as source:
        joined = []
        more = source._more

        def counted(*arguments, **named):
            found = more(*arguments, **named)
            joined.append(len(source._buffer))
            return found

        monkeypatch.setattr(source, "_more", counted)
        lines = []
        while found := source.text_of_lines():
            lines += files.lines_of(found)
        assert b"\n".join(lines) == text
        assert sum(joined) < 3 * len(text)
        assert source.position == len(text)
    with files.DecompressedFile(str(path)) as source:
        assert [source.read_line(1 << 20) for _ in range(4)] == [*text.splitlines(keepends=True), b""]
