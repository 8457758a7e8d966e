"""Captures with checkpoints: the same rows however they are cut, without a walk through the file before."""

from __future__ import annotations

import gzip
import json
import pickle
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_rack.wire_capture import captures, checkpoints, forms, splits
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.checkpoints import START
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_capture.filters import FrameFilters
from kafka_rack.wire_capture.lines import DECODER, read_lines
from kafka_rack.wire_capture.splits import CaptureBlock, cut_by_checkpoints, plan
from kafka_rack.wire_tables.reading import decode_into, decode_paths
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES
from tests.unit.kafka_rack.wire_capture.checkpointed import with_checkpoints

NAMES = ("kafka-python", "java41-share", "zk39-ibp0101", "java41-produce")


@cache
def lines_of(name: str) -> bytes:
    return gzip.decompress((CAPTURES / f"{name}.jsonl.gz").read_bytes())


@cache
def checkpointed(name: str, every_bytes: int = 10_000) -> bytes:
    return with_checkpoints(lines_of(name), every_bytes)


def tables(rows, *, hidden=()):
    return {
        table: sorted(
            repr({key: value for key, value in row.items() if key not in hidden}) for row in rows.as_dicts(table)
        )
        for table in TABLES
    }


def decoded(blocks, options=None, filters=None):
    rows, options = Rows(), options or Options()
    for block in pickle.loads(pickle.dumps(blocks)):
        for _ in decode_into(rows, block.file, block.opened(), options, end=block.end, filters=filters):
            pass
    return rows


def planned(path, partitions, filters=None):
    files, _ = find_files([str(path)])
    return [block for group in plan(files, Options(), partitions=partitions, filters=filters) for block in group]


@pytest.mark.parametrize("name", NAMES)
def test_checkpoints_change_nothing_of_what_their_file_tells(tmp_path, name):
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(lines_of(name))
    without = tables(decode_paths([str(path)]), hidden=("offset",))
    path.write_bytes(checkpointed(name))
    assert checkpointed(name).count(b"\n" + START) > 10
    assert tables(decode_paths([str(path)]), hidden=("offset",)) == without


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("partitions", [4, 64])
def test_cuts_never_show(tmp_path, name, partitions):
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(checkpointed(name))
    blocks = planned(path, partitions)
    assert len(blocks) > partitions // 2
    assert all(block.by_checkpoints and block.place is None for block in blocks)
    assert tables(decoded(blocks)) == tables(decode_paths([str(path)]))


@given(cuts=st.sets(st.integers(1, 500_000), max_size=8), every=st.integers(1, 100_000))
@example(cuts={1}, every=1)
def test_a_file_may_be_cut_anywhere(tmp_path_factory, cuts, every):
    path = tmp_path_factory.mktemp("cut") / "java41-produce.jsonl"
    path.write_bytes(with_checkpoints(lines_of("java41-produce"), every))
    (file,), _ = find_files([str(path)])
    edges = [0, *sorted(cut for cut in cuts if cut < file.size), file.size]
    blocks = [
        CaptureBlock(file, start, end, by_checkpoints=True, from_checkpoint=start > 0) for start, end in pairwise(edges)
    ]
    assert tables(decoded(blocks)) == tables(decode_paths([str(path)]))


@given(at=st.integers(0, 600_000), noise=st.binary(min_size=1, max_size=40), partitions=st.integers(2, 40))
def test_cuts_never_show_in_damaged_files(tmp_path_factory, at, noise, partitions):
    path = tmp_path_factory.mktemp("damaged") / "kafka-python.jsonl"
    whole = checkpointed("kafka-python", 5_000)
    path.write_bytes(whole[:at] + noise + whole[at + len(noise) :])
    (file,), _ = find_files([str(path)])
    blocks = list(cut_by_checkpoints(file, 0, max(1, file.size // partitions)))
    assert tables(decoded(blocks)) == tables(decode_paths([str(path)]))


def test_a_lost_line_does_not_change_what_comes_behind_the_next_checkpoint(tmp_path):
    path = tmp_path / "kafka-python.jsonl"
    whole = checkpointed("kafka-python", 5_000)
    path.write_bytes(whole)
    frames = {row["frame"] for row in decode_paths([str(path)]).as_dicts("frames")}
    lines = whole.splitlines(keepends=True)
    lost = next(number for number, line in enumerate(lines) if number > 100 and b'"dir"' in line)
    path.write_bytes(b"".join([*lines[:lost], *lines[lost + 1 :]]))
    behind = sum(b'"dir"' in line for line in lines[: lines.index(next(filter(is_checkpoint, lines[lost:])))])
    kept = {row["frame"] for row in decode_paths([str(path)]).as_dicts("frames")}
    assert {frame for frame in frames - kept if frame >= behind} == set()


def is_checkpoint(line):
    return line.startswith(START)


def test_a_large_request_is_read_again_where_its_line_stands(tmp_path, monkeypatch):
    path = tmp_path / "zk39-ibp0101.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kafka_rack.wire_capture.recording.MAX_INLINE_BYTES", 10)
        patch.setattr(checkpoints, "MAX_INLINE_BYTES", 10)
        path.write_bytes(with_checkpoints(lines_of("zk39-ibp0101"), 3_000))
    told = [json.loads(line) for line in path.read_bytes().splitlines() if is_checkpoint(line)]
    waiting = [
        request for one in told for connection in one["connections"] for request in connection.get("waiting", ())
    ]
    assert len(waiting) > 20
    assert all(set(request) == {"frame", "at"} for request in waiting)
    assert tables(decoded(planned(path, 16))) == tables(decode_paths([str(path)]))


def test_a_compressed_file_gives_the_same(tmp_path):
    plain, compressed = tmp_path / "kafkajs.jsonl", tmp_path / "kafkajs.jsonl.gz"
    plain.write_bytes(checkpointed("kafkajs"))
    wanted = tables(decode_paths([str(plain)]))
    plain.unlink()
    compressed.write_bytes(gzip.compress(checkpointed("kafkajs")))
    assert tables(decode_paths([str(compressed)])) == wanted


def test_to_plan_a_file_its_frames_are_not_read(tmp_path, monkeypatch):
    path = tmp_path / "kafka-python.jsonl"
    path.write_bytes(checkpointed("kafka-python"))

    def walk(*_, **__):
        raise AssertionError("a walk")

    monkeypatch.setattr(splits, "walk", walk)
    monkeypatch.setattr(splits, "beginning", walk)
    assert len(planned(path, 16, FrameFilters(since=1))) > 8


@pytest.mark.parametrize(("since", "until"), [(0.3, 0.35), (0.5, None), (None, 0.1), (0.9, 0.2), (2, None)])
def test_what_is_outside_the_wanted_time_is_passed_over_where_checkpoints_tell(tmp_path, monkeypatch, since, until):
    path = tmp_path / "kafka-python.jsonl"
    path.write_bytes(checkpointed("kafka-python", 3_000))
    frames = sorted(decode_paths([str(path)]).as_dicts("frames"), key=lambda row: row["frame"])
    first, span = frames[0]["ts"], frames[-1]["ts"] - frames[0]["ts"]
    filters = FrameFilters(*(None, None), *(None if at is None else first + int(at * span) for at in (since, until)))
    started = []
    counting = forms.LINES._replace(read=lambda *given, **more: started.append(1) or read_lines(*given, **more))
    monkeypatch.setattr(captures, "form_of", lambda kind: counting)
    found = decoded(planned(path, 4, filters), filters=filters).as_dicts("frames")
    wanted = [row for row in frames if filters.may_want(row["ts"], row["ts"])]
    assert sorted(found, key=lambda row: row["frame"]) == wanted
    assert len(started) < checkpointed("kafka-python", 3_000).count(b"\n" + START)


def test_a_growing_file_gives_each_frame_once_wherever_reading_went_on(tmp_path):
    path = tmp_path / "kafka-python.jsonl"
    whole = checkpointed("kafka-python")
    path.write_bytes(whole)
    (file,), _ = find_files([str(path)])
    ends = [0, *(whole.index(b"\n", at) + 1 for at in (100, 9_000, 80_000, 80_500, 120_000)), len(whole)]
    rows = [decoded(list(cut_by_checkpoints(file._replace(size=end), begin, 20_000))) for begin, end in pairwise(ends)]
    together = {table: sorted(row for one in rows for row in tables(one)[table]) for table in TABLES}
    assert together == tables(decode_paths([str(path)]))


def test_what_the_user_says_of_brokers_holds_in_every_block_where_the_capture_says_nothing(tmp_path):
    path = tmp_path / "kafka-python.jsonl"
    lines = lines_of("kafka-python").splitlines(keepends=True)
    first = {key: value for key, value in json.loads(lines[0]).items() if key != "routes"}
    lines[0] = json.dumps(first).encode() + b"\n"
    path.write_bytes(with_checkpoints(b"".join(lines), 10_000))
    options = Options.parse(None, "1@mine=:1,77@other=:77")
    (file,), _ = find_files([str(path)])
    assert tables(decoded(list(cut_by_checkpoints(file, 0, 30_000)), options)) == tables(
        decode_paths([str(path)], options)
    )


def test_a_reader_of_format_1_passes_a_checkpoint_over():
    line = next(filter(is_checkpoint, checkpointed("kafka-python").splitlines()))
    assert DECODER.decode(line).ev == "checkpoint"
