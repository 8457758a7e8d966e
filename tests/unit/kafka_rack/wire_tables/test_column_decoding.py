"""Frames decoded many at once, and one after the other: the same rows in the same order, whatever the frames are."""

from __future__ import annotations

import gzip
from random import Random

import msgspec
import pytest

from kafka_rack.wire_capture.captures import Options, whole_file
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables import batch_columns, column_decoding
from kafka_rack.wire_tables.column_decoding import ColumnDecoder
from kafka_rack.wire_tables.decoding import FrameDecoder
from kafka_rack.wire_tables.history import Clock, HistoricDict
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from protocol.fuzz.mutation import mutated
from tests.fixture_data import CAPTURES, capture_names

TRAFFIC = ("java41-range", "librdkafka-old", "java41-kip932")


def decoded(decoder_class, path, only=TABLES):
    """A file's rows by table and API, in their order."""
    (file,) = find_files([str(path)])[0]
    rows = Rows()
    place, frames = whole_file(file, Options(), [])
    decoder = decoder_class(place.state, rows, only)
    for frame in frames:
        decoder.decode(frame)
    decoder.finish()
    found = {}
    for table in TABLES:
        for row in rows.of(table):
            found.setdefault((table, row[-1]), []).append(row)
    return found


def check(path, only=TABLES):
    one_by_one, together = decoded(FrameDecoder, path, only), decoded(ColumnDecoder, path, only)
    assert together.keys() == one_by_one.keys()
    for table, rows in one_by_one.items():
        assert together[table] == rows, table


@pytest.fixture
def few(monkeypatch):
    """Column readers take even two frames, and no more than a hundred wait."""
    monkeypatch.setattr(column_decoding, "MIN_FRAMES", 2)
    monkeypatch.setattr(column_decoding, "MAX_FRAMES", 100)
    monkeypatch.setattr(batch_columns, "MIN_TOGETHER", 2)


@pytest.mark.parametrize("name", capture_names())
def test_a_capture_gives_the_same_rows(name):
    check(CAPTURES / f"{name}.jsonl.gz")


@pytest.mark.slow
@pytest.mark.parametrize("name", capture_names())
def test_a_capture_gives_the_same_rows_a_few_frames_at_a_time(name, few):
    check(CAPTURES / f"{name}.jsonl.gz")


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*")), ids=lambda path: path.name)
def test_packets_give_the_same_rows(path):
    check(path)


def damaged(name, chance, share, target):
    """A capture with a share of its frames damaged."""
    lines = []
    for text in gzip.decompress((CAPTURES / f"{name}.jsonl.gz").read_bytes()).splitlines():
        line = msgspec.json.decode(text)
        if "dir" in line and chance.random() < share:
            data = msgspec.json.decode(msgspec.json.encode(line["data"]), type=bytes)
            keep = data[: 14 if line["dir"] == "req" else 4]
            data = (
                keep + mutated(data[len(keep) :], chance)
                if chance.random() < 0.7
                else data[: chance.randrange(len(data))]
            )
            line |= {"data": data, "n": len(data)}
        lines.append(msgspec.json.encode(line))
    target.write_bytes(b"\n".join(lines) + b"\n")
    return target


@pytest.mark.parametrize("name", ["java41-range", "java41-share"])
@pytest.mark.parametrize("share", [0.05, 0.9])
def test_damaged_frames_give_the_same_rows_and_reasons(name, share, few, tmp_path):
    check(damaged(name, Random(share), share, tmp_path / "damaged.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize("name", capture_names())
def test_every_capture_when_damaged_gives_the_same_rows_and_reasons(name, few, tmp_path):
    for seed, share in enumerate((0.02, 0.3, 1.0)):
        check(damaged(name, Random(seed), share, tmp_path / "damaged.jsonl"))


@pytest.mark.parametrize("table", TABLES)
def test_a_single_table_has_the_same_rows(table):
    check(CAPTURES / "java41-range.jsonl.gz", [table])


def test_pieces_of_a_few_frames_hold_all_rows(few):
    (file,) = find_files([str(CAPTURES / "java41-range.jsonl.gz")])[0]
    rows, counted = Rows(), dict.fromkeys(TABLES, 0)
    for piece in decode_into(rows, file, None, Options(), most_frames=70):
        for table in TABLES:
            counted[table] += sum(piece.count(table, api) for api in piece.tables[table])
        piece.clear()
    whole = decoded(FrameDecoder, file.path)
    assert counted == {table: sum(len(rows) for (name, _), rows in whole.items() if name == table) for table in TABLES}


def test_what_was_known_is_known_as_it_was():
    clock = Clock()
    leaders = HistoricDict({"a": 1}, clock)
    times = [clock.now]
    for leader in (2, 2, None):
        leaders["a"] = leader
        times.append(clock.now)
    leaders.update({"b": 7})
    assert [leaders.at(time).get("a") for time in times] == [1, 2, 2, None]
    assert leaders.at(times[-1]).get("b") is None
    assert leaders.at(clock.now).get("b") == 7
    before = clock.now
    leaders.become({"b": 8})
    assert (leaders.at(before).get("b"), leaders.get("b")) == (7, 8)
    leaders.forget()
    assert leaders.at(clock.now).get("a") is None
