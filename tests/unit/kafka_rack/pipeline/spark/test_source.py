"""The data source's options and its stream's offsets, without Spark."""

from __future__ import annotations

import gzip
import json
import os

import pytest

from kafka_rack.pipeline.spark.source import KafkaWire, Request, WireStreamReader
from kafka_rack.wire_capture.blocks import CaptureBlock
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from tests.fixture_data import CAPTURES

LINES = gzip.decompress((CAPTURES / "kafka-python.jsonl.gz").read_bytes())


def test_options_are_understood_whatever_their_case():
    found = Request.parse(
        {
            "PATH": "a,b",
            "Table": "calls",
            "api": " Fetch , Produce",
            "client": "one",
            "SINCE": "2026-11-21T08:00:00+01:00",
            "until": "1795244400000001",
            "numpartitions": "3",
            "ports": "9092, 9093",
            "brokers": "0@az-a=[::1]:9092",
        }
    )
    assert found.paths == ("a", "b")
    assert found.table == "calls"
    assert found.filters.apis == {"Fetch", "Produce"}
    assert found.filters.clients == {"one"}
    assert (found.filters.since, found.filters.until) == (1795244400000000, 1795244400000001)
    assert found.partitions == 3
    assert found.options == Options(frozenset({9092, 9093}), ((0, "az-a", "::1", 9092),))


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("tabel", "calls", "unknown option tabel: did you mean table"),
        ("numpartition", "3", "unknown option numpartition: did you mean numPartitions"),
        ("zzz", "3", "unknown option zzz, but there are api, brokers"),
        ("table", "frame", "table 'frame', but there are frames, calls"),
        ("api", "fetch", "api 'fetch', but Kafka has none of this name: did you mean Fetch?"),
        ("api", "Produce,42", "api '42', but Kafka has none of this name"),
        ("since", "yesterday", "since: expected ISO 8601, .*, got 'yesterday'"),
        ("until", "2026-13-01", "until: expected ISO 8601, .*, got '2026-13-01'"),
        ("numPartitions", "0", "numPartitions: expected a number from 1, got '0'"),
        ("ports", "9092;9093", "ports: expected numbers between commas, as 9092,9093, got '9092;9093'"),
        ("ports", "70000", "ports: expected .*, got '70000'"),
        ("brokers", "az-a=:9092", r"brokers: expected ID\[@RACK\]=\[HOST\]:PORT, got 'az-a=:9092'"),
        ("brokers", "9999999999=:9092", "brokers: expected .*, got '9999999999=:9092'"),
        ("brokers", "0=:99999", "brokers: expected .*, got '0=:99999'"),
    ],
)
def test_a_wrong_option_is_named_with_what_would_be_right(option, value, said):
    with pytest.raises(ValueError, match=said):
        Request.parse({"path": "a", option: value})


def test_a_load_without_a_path_is_refused():
    for ask in (KafkaWire({}).reader, KafkaWire({"path": ""}).streamReader):
        with pytest.raises(ValueError, match="no path"):
            ask(None)


def test_names_with_spaces_commas_and_letters_of_all_kinds_are_captures(tmp_path):
    names = ["a b.jsonl", "a,b.jsonl", "überwacht-ελ-日本.jsonl", "100%25.jsonl", "quote'\".jsonl"]
    for name in names:
        (tmp_path / name).write_bytes(LINES)
    found, refused = find_files([str(tmp_path)])
    assert [file.path for file in found] == sorted(str(tmp_path / name) for name in names)
    assert refused == []
    paths = Request.parse({"paths": json.dumps([str(tmp_path / names[1])])}).paths
    assert [file.path for file in find_files(paths)[0]] == [str(tmp_path / names[1])]


def test_a_name_that_is_no_text_is_told(tmp_path):
    (tmp_path / os.fsdecode(b"\xff.jsonl")).write_bytes(LINES)
    found, refused = find_files([str(tmp_path)])
    assert found == []
    assert refused == [(f"{tmp_path}/\\xff.jsonl", "its name is no UTF-8, which the tables need")]


def test_a_capture_and_its_compressed_form_are_read_once(tmp_path):
    (tmp_path / "trace.jsonl").write_bytes(LINES)
    (tmp_path / "trace.jsonl.gz").write_bytes(gzip.compress(LINES))
    found, refused = find_files([str(tmp_path)])
    assert [file.path for file in found] == [str(tmp_path / "trace.jsonl")]
    assert refused == []


def test_links_that_go_in_circles_end(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "trace.jsonl").write_bytes(LINES)
    (tmp_path / "inside" / "up").symlink_to(tmp_path)
    (tmp_path / "itself.jsonl").symlink_to(tmp_path / "itself.jsonl")
    (tmp_path / "other.jsonl").symlink_to(tmp_path / "inside" / "trace.jsonl")
    found, refused = find_files([str(tmp_path), str(tmp_path / "inside")])
    assert [file.path for file in found] == [str(tmp_path / "inside" / "trace.jsonl")]
    assert refused == []
    with pytest.raises(FileNotFoundError, match=r"itself.jsonl: no such file or folder"):
        find_files([str(tmp_path / "itself.jsonl")])


class Stream:
    """A stream's reader with the batches that Spark would ask it for."""

    def __init__(self, folder):
        self.reader = WireStreamReader(Request.parse({"path": str(folder)}))
        self.at: dict[str, object] = {}

    def batch(self) -> list[CaptureBlock]:
        end = json.loads(json.dumps(self.reader.latestOffset()))
        groups = self.reader.partitions(self.at, end)
        self.at = end
        return [block for group in groups for block in group.blocks]


def test_a_stream_tells_what_is_no_capture_once_and_reads_it_when_it_is_one(tmp_path):
    stream = Stream(tmp_path)
    path = tmp_path / "late.pcap"
    path.write_bytes(b"noise, but no packets")
    (first,) = stream.batch()
    assert first.refused == "its name is that of a capture of packets, but it is neither pcap nor pcapng"
    assert stream.batch() == []
    content = gzip.decompress((CAPTURES / "aiokafka.pcap.gz").read_bytes())
    path.write_bytes(content)
    (second,) = stream.batch()
    assert (second.refused, second.start, second.end) == (None, 0, len(content))


def test_what_a_stream_has_read_stays_when_the_file_cannot_be_read_any_more(tmp_path):
    stream = Stream(tmp_path)
    path = tmp_path / "trace.pcap"
    path.write_bytes(gzip.decompress((CAPTURES / "aiokafka.pcap.gz").read_bytes()))
    assert len(stream.batch()) == 1
    path.write_bytes(b"noise in its place")
    assert stream.batch() == []


def test_a_restarted_stream_goes_on_at_the_byte_where_it_was(tmp_path):
    path = tmp_path / "trace.jsonl"
    middle = LINES.index(b"\n", len(LINES) // 2) + 1
    path.write_bytes(LINES[: middle + 10])
    before = Stream(tmp_path)
    assert [(block.start, block.end) for block in before.batch()] == [(0, middle)]
    path.write_bytes(LINES)
    after = Stream(tmp_path)
    after.at = before.at
    assert [(block.start, block.end) for block in after.batch()] == [(middle, len(LINES))]
