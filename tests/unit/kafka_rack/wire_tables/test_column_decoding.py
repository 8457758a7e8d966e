"""Frames decoded many at once, and one after the other: the same rows in the same order, whatever the frames are."""

from __future__ import annotations

import gzip
from random import Random

import msgspec
import pytest

from kafka_rack.wire_capture import lines
from kafka_rack.wire_capture.captures import Options, whole_file
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables import batch_columns, column_decoding
from kafka_rack.wire_tables.column_decoding import ColumnDecoder
from kafka_rack.wire_tables.frame_decoding import FrameDecoder
from kafka_rack.wire_tables.history import Clock, HistoricDict
from kafka_rack.wire_tables.reading import add_problems, decode_into
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.fuzz.mutation import mutated
from protocol.headers import request_frame, response_frame
from protocol.records.checksum import crc32c_of_part
from tests.fixture_data import CAPTURES, capture_names

TRAFFIC = ("java41-range", "librdkafka-old", "java41-kip932")


def decoded(decoder_class, path, only=TABLES):
    """A file's rows by table and API, in their order."""
    (file,) = find_files([str(path)])[0]
    rows = Rows()
    problems = []
    place, frames = whole_file(file, Options(), problems)
    decoder = decoder_class(place.state, rows, only)
    for frame in frames:
        decoder.decode(frame)
    decoder.finish()
    if "problems" in only:
        add_problems(rows, decoder, problems)
    return by_table(rows)


def read_many(path, only=TABLES):
    """The same with whole lines at a time, as the jobs read them."""
    (file,) = find_files([str(path)])[0]
    rows = Rows()
    for _ in decode_into(rows, file, None, Options(), only=only, max_frames=1 << 62):
        pass
    return by_table(rows)


def by_table(rows):
    found = {}
    for table in TABLES:
        for row in rows.of(table):
            found.setdefault((table, row[-1]), []).append(row)
    return found


def check(path, only=TABLES):
    one_by_one = decoded(FrameDecoder, path, only)
    for together in (decoded(ColumnDecoder, path, only), read_many(path, only)):
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


@pytest.mark.parametrize("name", capture_names())
def test_a_capture_gives_the_same_rows_a_few_frames_at_a_time(name, few):
    check(CAPTURES / f"{name}.jsonl.gz")


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*")), ids=lambda path: path.name)
def test_packets_give_the_same_rows(path):
    check(path)


def damaged(name, chance, share, target):
    """A capture with a share of its frames damaged."""
    texts = []
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
        texts.append(msgspec.json.encode(line))
    target.write_bytes(b"\n".join(texts) + b"\n")
    return target


@pytest.mark.parametrize("name", ["java41-range", "java41-share"])
@pytest.mark.parametrize("share", [0.05, 0.9])
def test_damaged_frames_give_the_same_rows_and_reasons(name, share, few, tmp_path):
    check(damaged(name, Random(share), share, tmp_path / "damaged.jsonl"))


@pytest.mark.parametrize("name", capture_names())
def test_every_capture_when_damaged_gives_the_same_rows_and_reasons(name, few, tmp_path):
    for seed, share in enumerate((0.02, 0.3, 1.0)):
        check(damaged(name, Random(seed), share, tmp_path / "damaged.jsonl"))


def disordered(name, chance, share, target):
    """A capture of which a share of the lines is gone, stands twice or later, or is of another connection."""
    first, *texts = gzip.decompress((CAPTURES / f"{name}.jsonl.gz").read_bytes()).splitlines()
    numbers = sorted({line["conn"] for line in map(msgspec.json.decode, texts) if "conn" in line})
    found = [first]
    for text in texts:
        way = chance.randrange(5) if chance.random() < share else 5
        if way == 1:
            found.append(text)
        elif way == 2:
            found.insert(-chance.randrange(1, min(20, len(found) + 1)), text)
            continue
        elif way == 3:
            line = msgspec.json.decode(text)
            found.append(msgspec.json.encode({**line, "conn": chance.choice(numbers)} if "conn" in line else line))
        elif way == 4:
            found.append(chance.choice((b"", b"{}", b'{"ev":"gap"}', b'{"ev":"open"}', text[:-9], b'{"dir":"req"}')))
        if way not in (0, 3):
            found.append(text)
    target.write_bytes(b"\n".join(found) + b"\n" * chance.randrange(2))
    return target


@pytest.mark.parametrize("name", ["java41-range", "confluent-kip848"])
@pytest.mark.parametrize("share", [0.003, 0.1])
def test_lines_without_order_give_the_same_rows(name, share, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MIN_RUN_BYTES", 1000)
    for seed in range(4):
        check(disordered(name, Random(seed + share), share, tmp_path / "disordered.jsonl"))


@pytest.mark.parametrize("name", capture_names())
def test_every_capture_without_order_gives_the_same_rows(name, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MIN_RUN_BYTES", 1000)
    for seed, share in enumerate((0.001, 0.02, 0.5)):
        check(disordered(name, Random(seed), share, tmp_path / "disordered.jsonl"))


@pytest.mark.parametrize("table", TABLES)
def test_a_single_table_has_the_same_rows(table):
    check(CAPTURES / "java41-range.jsonl.gz", [table])


def test_pieces_of_a_few_frames_hold_all_rows(few):
    (file,) = find_files([str(CAPTURES / "java41-range.jsonl.gz")])[0]
    rows, counted = Rows(), dict.fromkeys(TABLES, 0)
    for piece in decode_into(rows, file, None, Options(), max_frames=70):
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


def metadata_told(target, leaders):
    """A capture of a client that is told about one partition again and again, with these leaders."""
    texts = [{"ev": "capture", "name": "again"}]
    for number, leader in enumerate(leaders):
        request = request_frame(MetadataRequest(topics=None), 9, correlation_id=number, client_id="one")
        partition = MetadataResponse.Topic.Partition(partition_index=0, leader_id=leader, replica_nodes=[1, 2])
        brokers = [MetadataResponse.Broker(node_id=id_, host="b", port=id_, rack=f"r{id_}") for id_ in (1, 2)]
        topic = MetadataResponse.Topic(name="t", partitions=[partition])
        told = response_frame(MetadataResponse(brokers=brokers, topics=[topic]), 9, correlation_id=number)
        for way, frame in (("req", request), ("resp", told)):
            data = frame[4:]
            texts.append({"t": 10 * number, "conn": number % 3, "dir": way, "n": len(data), "data": data})
    target.write_bytes(b"".join(msgspec.json.encode(text) + b"\n" for text in texts))
    return target


@pytest.mark.parametrize("least_run_bytes", [1, lines.MIN_RUN_BYTES])
def test_answers_that_are_alike_are_read_once_while_nothing_changes(least_run_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MIN_RUN_BYTES", least_run_bytes)
    read = []
    monkeypatch.setattr(
        column_decoding.ColumnDecoder,
        "read_now",
        lambda self, frame, *others, read_now=ColumnDecoder.read_now: (
            read.append(frame.index) or read_now(self, frame, *others)
        ),
    )
    path = metadata_told(tmp_path / "again.jsonl", leaders=[1, 1, 1, 2, 1, 1])
    rows = read_many(path)
    assert [index for index in read if index % 2] == [1, 7, 9]
    assert len(rows["partitions", "Metadata"]) == 6
    assert rows == decoded(FrameDecoder, path)


@pytest.mark.parametrize("max_known_bytes", [batch_columns.MAX_KNOWN_BYTES, 1_000])
def test_batches_that_come_again_are_counted_once_while_they_are_known(max_known_bytes, monkeypatch):
    monkeypatch.setattr(batch_columns, "MAX_KNOWN_BYTES", max_known_bytes)
    summed = []
    monkeypatch.setattr(
        batch_columns,
        "crc32c_of_part",
        lambda data, start, end: summed.append(data[start:end]) or crc32c_of_part(data, start, end),
    )
    check(CAPTURES / "java41-coop.jsonl.gz")
    repeated = len(summed) - 2 * len({*summed})  # each capture is read twice
    assert repeated == 0 if max_known_bytes > 1_000 else repeated > 0
