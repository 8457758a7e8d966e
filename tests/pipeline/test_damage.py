"""Damaged input and output that cannot be written, at the command: `kafka-rack pipeline decode` in this process, on the
session of the whole run.
"""

from __future__ import annotations

import gzip
import json
import os
from contextlib import nullcontext

import pytest

from kafka_rack import cli
from kafka_rack.cli.pipeline import decode as pipeline_decode
from kafka_rack.pipeline.output.writing import read_table
from tests.fixture_data import CAPTURES
from tests.pipeline.plain import plain_tables, tables_of

KCAT = gzip.decompress((CAPTURES / "kcat.jsonl.gz").read_bytes())
TXN = gzip.decompress((CAPTURES / "java41-txn.jsonl.gz").read_bytes())
PACKETS = gzip.decompress((CAPTURES / "aiokafka.pcap.gz").read_bytes())


def frames_in(lines):
    """Frames of whole lines."""
    return sum(b'"dir"' in line for line in lines.splitlines(keepends=True) if line.endswith(b"\n"))


@pytest.fixture
def decode(spark, monkeypatch, capsys):
    """Run the command; gives its exit code, its summary or None, and what it says on stderr."""
    monkeypatch.setattr(pipeline_decode, "spark_for", lambda arguments: nullcontext(spark))

    def run(*arguments):
        code = cli.main(["pipeline", "decode", "--format", "json", *map(str, arguments)])
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else None, said.err

    return run


def damaged(folder):
    """Write one of each damage; gives good frames by capture, and each problem as (capture, offset, reason)."""
    cut = KCAT[:60_000]
    begin = cut.rindex(b"\n") + 1
    (folder / "a b, ü 日本.jsonl").write_bytes(TXN)
    (folder / "cut.jsonl").write_bytes(cut)
    at = next(
        at
        for at in (KCAT.index(b"\n", 30_000 + 500 * step) + 1 for step in range(99))
        if b'"dir"' in KCAT[at : at + 60]
    )
    (folder / "line.jsonl").write_bytes(KCAT[:at] + b"\0" + KCAT[at + 1 :])
    squeezed = gzip.compress(KCAT)
    (folder / "short.jsonl.gz").write_bytes(squeezed[: len(squeezed) // 2])
    (folder / "packets.pcap").write_bytes(PACKETS[:-9])
    (folder / "noise.pcap").write_bytes(bytes(range(200)))
    (folder / "mem.jsonl").symlink_to("/proc/self/mem")
    (folder / os.fsdecode(b"\xff.jsonl")).write_bytes(KCAT)
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "other.jsonl").write_bytes(b'{"no":"capture"}\n{"at":"all"}\n')
    (folder / "folder.jsonl").mkdir()
    (folder / "round").symlink_to(folder)
    (folder / "itself.jsonl").symlink_to(folder / "itself.jsonl")
    good = {"a b, ü 日本": frames_in(TXN), "cut": frames_in(cut), "line": frames_in(KCAT) - 1}
    problems = {
        ("cut", begin, "not a line of a capture: the last line has no end"),
        ("line", at, "not a line of a capture"),
        ("noise.pcap", 0, "its name is that of a capture of packets"),
        ("mem", 0, "cannot be read: Input/output error"),
        ("\\xff", 0, "its name is no UTF-8"),
    }
    return good, problems


def test_each_damage_is_a_problem_and_all_around_it_is_in_the_tables(decode, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    good, problems = damaged(folder)
    code, summary, said = decode(folder, "--out", out)
    assert (code, said) == (0, "")
    found: dict[str, int] = {}
    for row in read_table(out, "frames"):
        found[row["capture"]] = found.get(row["capture"], 0) + 1
    assert {name: found[name] for name in good} == good
    assert set(found) == {*good, "short", "packets.pcap"}
    assert 0 < found["short"] < frames_in(KCAT)
    assert found["packets.pcap"] in (351, 352)  # all, but for what the last packet held
    told = read_table(out, "problems")
    for name, offset, reason in problems:
        assert [row for row in told if row["capture"] == name and row["offset"] == offset and reason in row["reason"]]
    whole = {"cut", "line", "noise.pcap", "mem", "\\xff"}
    assert len([row for row in told if row["capture"] in whole]) == len(whole)
    assert [row["reason"] for row in told if row["capture"] == "short" and "gzip" in row["reason"]] == [
        "gzip: the file ends before its data do"
    ]
    assert "the file ends within a packet" in " ".join(
        row["reason"] for row in told if row["capture"] == "packets.pcap"
    )
    assert summary["problems"] == len(told)
    assert all(row["file"].startswith("/") for row in told)


def test_output_beside_the_input_is_no_input(decode, tmp_path):
    (tmp_path / "trace.jsonl").write_bytes(TXN)
    first = decode(tmp_path, "--out", tmp_path / "tables")
    again = decode(tmp_path, "--out", tmp_path / "tables")
    assert first == again
    assert first[1]["tables"]["frames"] == frames_in(TXN)
    assert tables_of(tmp_path / "tables", tmp_path) == plain_tables(tmp_path, tmp_path / "plain")


def test_a_run_that_cannot_write_leaves_the_tables_as_they_were(decode, tmp_path):
    trace, out = tmp_path / "trace.jsonl", tmp_path / "out"
    trace.write_bytes(TXN)
    assert decode(trace, "--out", out)[0] == 0
    before = tables_of(out, tmp_path)
    trace.write_bytes(KCAT)
    (out / "_temporary").write_text("in the way of what a run writes")
    code, summary, said = decode(trace, "--out", out)
    assert (code, summary) == (1, None)
    assert said.count("\n") == 1
    assert "Not a directory" in said or "File exists" in said
    (out / "_temporary").unlink()
    assert tables_of(out, tmp_path) == before


@pytest.mark.parametrize(
    ("out", "exit_code", "said"), [("trace.jsonl/out", 2, "expected a folder, got"), ("/proc/out", 1, "No such file")]
)
def test_a_place_that_cannot_be_is_told_in_one_line(decode, tmp_path, out, exit_code, said):
    (tmp_path / "trace.jsonl").write_bytes(TXN)
    code, summary, told = decode(tmp_path / "trace.jsonl", "--out", tmp_path / out)
    assert (code, summary, told.count("\n")) == (exit_code, None, 1)
    assert said in told


def test_input_that_is_not_there_is_wrong_usage(decode, tmp_path):
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    for name in ("nowhere", "itself"):
        code, summary, said = decode(tmp_path / name, "--out", tmp_path / "out")
        assert (code, summary, said) == (
            2,
            None,
            f"kafka-rack pipeline decode: {tmp_path / name}: no such file or folder\n",
        )
    assert not (tmp_path / "out").exists()


def test_only_an_input_of_which_nothing_was_read_fails(decode, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "trace.jsonl").write_bytes(TXN)
    (tmp_path / "folder" / "torn.jsonl").write_bytes(b"no frame\n")
    assert decode(tmp_path / "folder", "--out", tmp_path / "out")[::2] == (0, "")
    both = decode(tmp_path / "folder", tmp_path / "folder" / "torn.jsonl", "--out", tmp_path / "out")
    assert (both[0], both[2].count("\n"), "torn.jsonl: not one frame" in both[2]) == (1, 1, True)
    assert both[1]["tables"]["frames"] == frames_in(TXN)


def test_a_file_that_was_named_and_is_no_capture_is_a_problem(decode, tmp_path):
    (tmp_path / "notes.txt").write_text("no capture")
    code, summary, said = decode(tmp_path / "notes.txt", "--out", tmp_path / "out")
    assert (code, summary["tables"]) == (1, {"problems": 1})
    assert said == f"kafka-rack pipeline decode: {tmp_path / 'notes.txt'}: not one frame could be read\n"
    (row,) = read_table(tmp_path / "out", "problems")
    assert (row["file"], row["reason"]) == (
        str(tmp_path / "notes.txt"),
        "neither a capture of frames nor pcap or pcapng",
    )
