"""Captures in Arrow's format: the rows of the same capture as lines, whole, cut, damaged, and in many parts."""

from __future__ import annotations

import gzip
import json
import pickle
from functools import cache
from io import BytesIO
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_rack.consistency.captures import check_capture
from kafka_rack.locality.captures import measure
from kafka_rack.wire_capture import checkpoints, files
from kafka_rack.wire_capture import read as read_capture
from kafka_rack.wire_capture.arrow_files import marks_in, whole_bytes
from kafka_rack.wire_capture.arrow_frames import RowReader
from kafka_rack.wire_capture.arrow_messages import END_OF_STREAM
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.checkpoints import START
from kafka_rack.wire_capture.conversion import to_lines
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_capture.filters import FrameFilters
from kafka_rack.wire_capture.splits import CaptureBlock, cut_by_checkpoints, plan
from kafka_rack.wire_tables.reading import decode_into, decode_paths
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES, capture_names
from tests.unit.kafka_rack.wire_capture.arrow_form import FILE_ID, as_arrow
from tests.unit.kafka_rack.wire_capture.checkpointed import with_checkpoints

FEW = 20
"""Examples of what takes a whole capture each."""
NAMES = ("kafka-python", "zk39-ibp0101", "java41-produce")


def tables(rows, *, hidden=("offset", "file"), leave=()):
    return {
        table: sorted(
            repr({key: value for key, value in row.items() if key not in hidden}) for row in rows.as_dicts(table)
        )
        for table in TABLES
        if table not in leave
    }


def source(name):
    return CAPTURES / f"{name}.jsonl.gz"


@cache
def lines_of(name):
    return gzip.decompress(source(name).read_bytes())


@pytest.fixture(scope="module")
def arrow(tmp_path_factory):
    """Gives a capture of fixtures as Arrow."""

    @cache
    def made(name, **how):
        path = tmp_path_factory.mktemp("arrow") / f"{name}.arrow"
        as_arrow(source(name), path, **how)
        return path

    return made


def decoded(blocks, options=None, filters=None):
    rows, options = Rows(), options or Options()
    for block in pickle.loads(pickle.dumps(blocks)):
        for _ in decode_into(rows, block.file, block.opened(), options, end=block.end, filters=filters):
            pass
    return rows


def planned(path, partitions, filters=None):
    found, _ = find_files([str(path)])
    return [block for group in plan(found, Options(), partitions=partitions, filters=filters) for block in group]


@pytest.mark.parametrize("name", capture_names())
def test_every_table_is_that_of_the_same_capture_as_lines(name, arrow):
    assert tables(decode_paths([str(arrow(name))])) == tables(decode_paths([str(source(name))]))


@pytest.mark.parametrize("name", NAMES)
def test_its_rows_are_taken_many_at_once_and_one_by_one_alike(name, arrow, monkeypatch):
    one_by_one = []
    each = RowReader.one_row_each
    monkeypatch.setattr(
        RowReader, "one_row_each", lambda self, rows: one_by_one.append(rows.batch.num_rows) or each(self, rows)
    )
    together = tables(decode_paths([str(arrow(name))]))
    not_together = sum(one_by_one)
    frames = sum(frame.index >= 0 for frame in read_capture(arrow(name)))
    assert not_together < frames / 3
    assert sum(one_by_one) > frames
    monkeypatch.setattr(RowReader, "many_rows", lambda self, rows, take_many: each(self, rows))
    assert tables(decode_paths([str(arrow(name))])) == together


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("partitions", [4, 24])
def test_cuts_never_show(name, partitions, arrow):
    path = arrow(name, batch_bytes=2_000, every_bytes=4_000)
    blocks = planned(path, partitions)
    assert len(blocks) > partitions // 2
    assert all(block.by_checkpoints and block.place is None for block in blocks)
    assert tables(decoded(blocks)) == tables(decode_paths([str(source(name))]))


@settings(max_examples=FEW)
@given(cuts=st.sets(st.integers(1, 200_000), max_size=8))
@example(cuts={1})
def test_a_file_may_be_cut_anywhere(arrow, cuts):
    path = arrow("java41-produce", batch_bytes=1_000, every_bytes=1_000)
    (file,), _ = find_files([str(path)])
    edges = [0, *sorted(cut for cut in cuts if cut < file.size), file.size]
    blocks = [
        CaptureBlock(file, start, end, by_checkpoints=True, from_checkpoint=start > 0) for start, end in pairwise(edges)
    ]
    assert tables(decoded(blocks)) == tables(decode_paths([str(source("java41-produce"))]))


def rows_up_to(path, end):
    """How many rows that are no checkpoints stand in messages that end before a byte."""
    marks = [*marks_in(str(path), FILE_ID, 0, None)]
    ends = [mark.offset for mark in marks[1:]] + [path.stat().st_size]
    return sum(mark.rows - mark.is_checkpoint for mark, behind in zip(marks, ends, strict=True) if behind <= end)


@settings(max_examples=FEW)
@given(share=st.floats(0, 1))
@example(share=1.0)
def test_a_file_that_was_cut_off_holds_its_whole_messages_and_says_where_it_ends(tmp_path_factory, arrow, share):
    whole, folder = arrow("java41-produce", batch_bytes=5_000, every_bytes=9_000), tmp_path_factory.mktemp("cut")
    first = next(marks_in(str(whole), FILE_ID, 0, None)).offset
    size = first + int(share * (whole.stat().st_size - first))
    cut, lines = folder / "java41-produce.arrow", folder / "lines" / "java41-produce.jsonl"
    cut.write_bytes(whole.read_bytes()[:size])
    lines.parent.mkdir()
    lines.write_bytes(b"".join(lines_of("java41-produce").splitlines(keepends=True)[: rows_up_to(whole, size)]))
    found = decode_paths([str(cut)])
    assert tables(found, leave=("problems",)) == tables(decode_paths([str(lines)]), leave=("problems",))
    is_whole = size == first or whole_bytes(str(cut), size) == size
    assert len(found.as_dicts("problems")) == (0 if is_whole else 1)


@settings(max_examples=FEW)
@given(at=st.integers(300, 130_000), noise=st.binary(min_size=1, max_size=40), partitions=st.integers(2, 40))
@example(at=12467, noise=bytes(6), partitions=22)
def test_damage_is_passed_over_and_cuts_never_show_there(tmp_path_factory, arrow, at, noise, partitions):
    whole = arrow("kafka-python", batch_bytes=3_000, every_bytes=5_000).read_bytes()
    path = tmp_path_factory.mktemp("damaged") / "kafka-python.arrow"
    path.write_bytes(whole[:at] + noise + whole[at + len(noise) :])
    (file,), _ = find_files([str(path)])
    blocks = list(cut_by_checkpoints(file, 0, max(1, file.size // partitions)))
    assert tables(decoded(blocks), hidden=()) == tables(decode_paths([str(path)]), hidden=())


@settings(max_examples=FEW)
@given(at=st.integers(300, 120_000), missing=st.integers(1, 5_000))
def test_what_is_missing_is_told_and_costs_no_more_than_its_messages(tmp_path_factory, arrow, at, missing):
    whole = arrow("kafka-python", batch_bytes=3_000, every_bytes=5_000)
    path = tmp_path_factory.mktemp("missing") / "kafka-python.arrow"
    content = whole.read_bytes()
    path.write_bytes(content[:at] + bytes(missing) + content[at + missing :])
    marks = [*marks_in(str(whole), FILE_ID, 0, None)]
    ends = [*(mark.offset for mark in marks[1:]), len(content)]
    touched = [mark for mark, end in zip(marks, ends, strict=True) if mark.offset < at + missing and end > at]
    found = decode_paths([str(path)])
    frames = len(decode_paths([str(whole)]).as_dicts("frames"))
    assert len(found.as_dicts("frames")) >= frames - sum(mark.rows for mark in touched)


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_of_format_2_gives_the_same_with_lost_lines_too(name, tmp_path, monkeypatch):
    monkeypatch.setattr("kafka_rack.wire_capture.recording.MAX_INLINE_BYTES", 100)
    monkeypatch.setattr(checkpoints, "MAX_INLINE_BYTES", 100)
    lines = with_checkpoints(lines_of(name), 10_000).splitlines(keepends=True)
    kept = [line for number, line in enumerate(lines) if number < 3 or number % 29]
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(b"".join(kept))
    wanted = tables(decode_paths([str(path)]))
    as_arrow(path, tmp_path / f"{name}.arrow", batch_bytes=5_000)
    path.unlink()
    arrow_path = tmp_path / f"{name}.arrow"
    assert tables(decode_paths([str(arrow_path)])) == wanted
    assert tables(decoded(planned(arrow_path, 16))) == wanted


def test_lines_that_cannot_be_read_are_told_as_they_were(tmp_path):
    lines = lines_of("kafka-python").splitlines(keepends=True)
    wrong = [
        b"not JSON\n",
        b"\xff\xfe\n",
        b'{"t":5,"conn":1,"dir":"req","n":9,"data":"AAAA"}\n',
        b'{"dir":"no"}\n',
        b"\n",
    ]
    path = tmp_path / "kafka-python.jsonl"
    path.write_bytes(b"".join([*lines[:50], *wrong, *lines[50:]]))
    wanted = tables(decode_paths([str(path)]))
    assert len(wanted["problems"]) == 4
    as_arrow(path, tmp_path / "kafka-python.arrow")
    path.unlink()
    assert tables(decode_paths([str(tmp_path / "kafka-python.arrow")])) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_back_as_lines_it_is_the_capture_that_it_was(name, arrow, tmp_path):
    (file,), _ = find_files([str(arrow(name))])
    back = BytesIO()
    converted = to_lines(file, back)

    def said(content):
        found = [json.loads(line) for line in content.splitlines() if not line.startswith(START)]
        return [dict(sorted(line.items())) for line in found]

    assert said(back.getvalue()) == said(lines_of(name))
    assert converted.problems == []


@pytest.mark.parametrize("name", NAMES)
def test_locality_and_check_say_the_same(name, arrow):
    told = [measure([str(path)]).result for path in (arrow(name), source(name))]
    assert told[0] == told[1]
    checked = []
    for path in (arrow(name), source(name)):
        found, _ = find_files([str(path)])
        judged = check_capture(found, Options(), max_examples=5, max_records=None).as_json()
        checked.append({key: value for key, value in judged.items() if key != "files"})
    assert checked[0] == checked[1]


@pytest.mark.parametrize(("since", "until"), [(0.3, 0.35), (0.5, None), (None, 0.1)])
def test_only_what_is_wanted_of_time_comes(arrow, since, until):
    path = arrow("kafka-python", batch_bytes=2_000, every_bytes=4_000)
    frames = sorted(decode_paths([str(path)]).as_dicts("frames"), key=lambda row: row["frame"])
    first, span = frames[0]["ts"], frames[-1]["ts"] - frames[0]["ts"]
    filters = FrameFilters(*(None, None), *(None if at is None else first + int(at * span) for at in (since, until)))
    found = decoded(planned(path, 4, filters), filters=filters).as_dicts("frames")
    wanted = [row for row in frames if filters.may_want(row["ts"], row["ts"])]
    assert sorted(found, key=lambda row: row["frame"]) == wanted


def test_a_growing_file_gives_each_frame_once_wherever_reading_went_on(arrow):
    path = arrow("kafka-python", batch_bytes=2_000, every_bytes=4_000)
    (file,), _ = find_files([str(path)])
    ends = [0, *(whole_bytes(str(path), at) for at in (100, 9_000, 50_000, 50_500, 80_000)), file.size]
    assert ends[1] == 0
    assert ends == sorted(ends)
    rows = [decoded(list(cut_by_checkpoints(file._replace(size=end), begin, 20_000))) for begin, end in pairwise(ends)]
    together = {table: sorted(row for one in rows for row in tables(one)[table]) for table in TABLES}
    assert together == tables(decode_paths([str(path)]))


def test_a_compressed_file_gives_the_same(arrow, tmp_path):
    path = tmp_path / "kafkajs.arrow.gz"
    path.write_bytes(gzip.compress(arrow("kafkajs").read_bytes()))
    assert tables(decode_paths([str(path)])) == tables(decode_paths([str(source("kafkajs"))]))


def test_arrows_own_readers_read_it_and_its_end_may_be_said(arrow, tmp_path):
    path = tmp_path / "kcat.arrow"
    content = arrow("kcat").read_bytes()
    path.write_bytes(content + END_OF_STREAM)
    table = pa.ipc.open_stream(content).read_all()
    frames = sorted(decode_paths([str(path)]).as_dicts("frames"), key=lambda row: row["frame"])
    rows = [row for row in table.to_pylist() if row["line"] is None]
    assert [len(row["data"]) + 4 for row in rows] == [frame["frame_bytes"] for frame in frames]
    assert [(row["api_key"], row["api_version"]) for row in rows] == [
        (frame["api_key"], frame["api_version"]) for frame in frames
    ]
    assert decode_paths([str(path)]).as_dicts("problems") == []


def test_a_copy_of_the_capture_within_a_frame_is_no_place_to_begin(tmp_path, arrow):
    inner = arrow("kcat").read_bytes()
    lines = lines_of("kcat").splitlines(keepends=True)
    request = b"\0\x03\0\1\0\0\0\1\xff\xff" + bytes(2) + inner
    line = {"t": 5, "conn": 999, "dir": "req", "n": len(request), "data": request}
    path = tmp_path / "outer.jsonl"
    path.write_bytes(b"".join([*lines[:30], files.msgspec.json.encode(line) + b"\n", *lines[30:]]))
    wanted = tables(decode_paths([str(path)]))
    as_arrow(path, tmp_path / "outer.arrow", batch_bytes=3_000, every_bytes=3_000)
    path.unlink()
    assert tables(decoded(planned(tmp_path / "outer.arrow", 40))) == wanted


def test_one_file_of_a_capture_is_read_and_arrow_before_lines(arrow, tmp_path):
    (tmp_path / "kcat.jsonl.gz").write_bytes(source("kcat").read_bytes())
    (tmp_path / "kcat.arrow").write_bytes(arrow("kcat").read_bytes())
    found, refused = find_files([str(tmp_path)])
    assert [file.path for file in found] == [str(tmp_path / "kcat.arrow")]
    assert refused == []
    assert files.unread_inputs([str(tmp_path / "kcat.jsonl.gz")], [found[0].path]) == []


def test_another_table_of_arrow_is_no_capture(tmp_path):
    path = tmp_path / "other.arrow"
    table = pa.table({"n": [1, 2]})
    with pa.OSFile(str(path), "wb") as target, pa.ipc.new_stream(target, table.schema) as stream:
        stream.write_table(table)
    assert find_files([str(tmp_path)]) == ([], [])
    _, ((_, reason),) = find_files([str(path)])
    assert "neither a capture of frames nor pcap" in reason


def test_without_pyarrow_one_line_says_what_to_install(arrow, monkeypatch):
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    found, ((_, reason),) = find_files([str(arrow("kcat"))])
    assert found == []
    assert "takes pyarrow, which is not installed: pip install" in reason
