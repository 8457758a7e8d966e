"""kafka-rack convert."""

from __future__ import annotations

import json

import pytest

from kafka_rack.cli import main
from tests.fixture_data import CAPTURES

KAFKAJS = CAPTURES / "kafkajs.jsonl.gz"


def convert(*arguments):
    return main(["convert", *map(str, arguments)])


def test_a_capture_goes_to_arrow_and_back_and_answers_the_same(tmp_path, capsys):
    arrow, lines = tmp_path / "kafkajs.arrow", tmp_path / "back" / "kafkajs.jsonl"
    lines.parent.mkdir()
    assert convert(KAFKAJS, arrow) == 0
    assert "466 frames, 56 events" in capsys.readouterr().out
    assert convert(arrow, lines) == 0
    capsys.readouterr()
    told = []
    for path in (KAFKAJS, arrow, lines):
        assert main(["what-if", str(path), "--set", "client.rack=auto", "--format", "json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0] == told[1] == told[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back", "kafkajs.arrow"]


@pytest.mark.parametrize(
    ("given", "out", "code", "said"),
    [
        (KAFKAJS, "x.parquet", 2, "expected a name that ends with .arrow or .jsonl"),
        (KAFKAJS, "x.jsonl", 2, "expected a capture in Arrow's format to write .jsonl, got lines"),
        (CAPTURES / "kafkajs.pcap.gz", "x.arrow", 2, "expected lines of JSON to write .arrow, got packets"),
        (CAPTURES / "README.md", "x.arrow", 1, "neither a capture of frames nor pcap"),
        ("nowhere.jsonl", "x.arrow", 2, "nowhere.jsonl: no such file or folder"),
    ],
)
def test_what_cannot_be_converted_is_told_in_one_line(tmp_path, capsys, given, out, code, said):
    assert convert(given, tmp_path / out) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_can_be_read_of_a_damaged_capture_is_there_and_the_rest_is_told(tmp_path, capsys):
    damaged = tmp_path / "damaged.jsonl.gz"
    damaged.write_bytes(KAFKAJS.read_bytes()[:9_000])
    assert convert(damaged, tmp_path / "damaged.arrow") == 1
    told = capsys.readouterr()
    assert "gzip: the file ends before its data do" in told.err
    assert (tmp_path / "damaged.arrow").stat().st_size > 10_000
