"""kafka-rack check."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from datetime import UTC, datetime

import pytest

from kafka_rack.cli import main
from kafka_rack.cli.commands.check import lossy_topics
from tests.fixture_data import CAPTURES

KAFKAJS = CAPTURES / "kafkajs.jsonl.gz"


def check(*arguments):
    return main(["check", *map(str, arguments)])


def lines_of(path):
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def written(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def produced_twice(lines):
    """The same lines, in which the answer to a Produce names another offset than the one that was read."""
    asked = {}
    changed = []
    for line in lines:
        if line.get("dir") == "req":
            data = base64.b64decode(line["data"])
            asked[line["conn"], data[4:8]] = struct.unpack(">hh", data[:4])
        if line.get("dir") == "resp":
            data = base64.b64decode(line["data"])
            api_key, version = asked[line["conn"], data[:4]]
            if api_key == 0 and version < 9 and not any(one is not line and "planted" in one for one in changed):
                data = with_another_offset(data)
                line = {**line, "data": base64.b64encode(data).decode(), "planted": True}  # noqa: PLW2901
        changed.append(line)
    return changed


def with_another_offset(data):
    """The first partition's base offset in a Produce answer of version 7 or so, one higher by 10,000."""
    (length,) = struct.unpack_from(">h", data, 8)
    at = 8 + 2 + length + 4 + 4 + 2
    (offset,) = struct.unpack_from(">q", data, at)
    return data[:at] + struct.pack(">q", offset + 10_000) + data[at + 8 :]


def test_a_recording_of_real_kafka_is_consistent_with_exit_code_0(capsys):
    assert check(KAFKAJS) == 0
    assert capsys.readouterr().out == "kafkajs: consistent: 44 sends, 2 polls, 41 reads\n"


def test_an_anomaly_ends_with_exit_code_3_and_its_evidence(tmp_path, capsys):
    planted = written(tmp_path / "trace.jsonl", produced_twice(lines_of(KAFKAJS)))
    assert check(planted) == 3
    shown = capsys.readouterr().out
    assert shown.startswith("trace: not consistent: 44 sends, 2 polls, 41 reads (times count from 2026-11-21T08:00:29")
    assert "duplicate (1): one record is at several offsets" in shown
    assert "it was sent once" in shown


def test_json_has_the_same_for_programs(tmp_path, capsys):
    planted = written(tmp_path / "trace.jsonl", produced_twice(lines_of(KAFKAJS)))
    assert check("--format", "json", planted, KAFKAJS) == 3
    said = json.loads(capsys.readouterr().out)
    assert said["is_consistent"] is False
    assert {one["name"]: one["is_consistent"] for one in said["captures"]} == {"trace": False, "kafkajs": True}
    (trace,) = [one for one in said["captures"] if one["name"] == "trace"]
    assert trace["files"] == [str(planted)]
    assert {one["kind"]: one["count"] for one in trace["anomalies"]}["duplicate"] == 1


def test_a_file_that_goes_on_in_another_is_one_history(tmp_path, capsys):
    lines = lines_of(KAFKAJS)
    middle = len(lines) // 2
    opened = [line for line in lines[:middle] if line.get("ev") == "open"]
    written(tmp_path / "trace.jsonl", lines[:middle])
    written(tmp_path / "trace-0001.jsonl", [lines[0], *opened, *lines[middle:]])
    assert check("--format", "json", tmp_path) == 0
    (one,) = json.loads(capsys.readouterr().out)["captures"]
    assert one["started"].startswith("2026-11-21T08:00:29"), "the first file is the one without a number"
    assert (one["sends"], one["polls"], one["reads"]) == (44, 2, 41)


def test_files_from_beside_each_other_are_one_history_if_asked(tmp_path, capsys):
    lines = lines_of(KAFKAJS)
    frames = [line for line in lines if "dir" in line]
    for broker in (0, 1, 2):
        numbers = {line["conn"] for line in lines if line.get("ev") == "open" and line["broker"] == broker}
        kept = [line for line in lines if line.get("conn") in numbers or line.get("ev") == "capture"]
        begins = next(line["t"] for line in kept if "dir" in line)
        written(tmp_path / f"{10**16 - begins}.jsonl", kept)  # the latest first
    assert check("--together", "--format", "json", tmp_path) == 0
    (together,) = json.loads(capsys.readouterr().out)["captures"]
    assert (together["sends"], together["polls"], together["reads"]) == (44, 2, 41)
    first = datetime.fromtimestamp(frames[0]["t"] / 1e6, UTC)
    assert together["started"] == first.isoformat(timespec="milliseconds"), "the earliest of all"
    assert check("--format", "json", tmp_path) == 0
    apart = json.loads(capsys.readouterr().out)["captures"]
    assert sum(one["sends"] for one in apart) == 44
    assert len(apart) == 3


def test_a_lossy_topic_is_one_whose_name_fits_a_pattern():
    assert lossy_topics(["ord*"])("orders")
    assert not lossy_topics(["payments"])("orders")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["/nowhere"], 2, "/nowhere: no such file or folder"),
        (["--ports", "x", str(KAFKAJS)], 2, "ports: expected numbers between commas, as 9092,9093, got 'x'"),
        ([str(CAPTURES / "README.md")], 1, "expected captures, got none in"),
    ],
)
def test_wrong_usage_is_told_in_a_line(arguments, code, text, capsys):
    assert check(*arguments) == code
    assert text in capsys.readouterr().err


def test_damage_is_told_and_the_rest_is_checked(tmp_path, capsys):
    damaged = tmp_path / "trace.jsonl"
    damaged.write_text("".join(json.dumps(line) + "\n" for line in lines_of(KAFKAJS)) + '{"t":1,"conn"')
    assert check(damaged) == 0
    captured = capsys.readouterr()
    assert "not a line of a capture" in captured.err
    assert "consistent: 44 sends" in captured.out
