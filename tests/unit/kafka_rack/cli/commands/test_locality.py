"""kafka-rack locality: captures' bytes by rack in this process, without Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_rack.cli import main
from tests.fixture_data import CAPTURES, capture_summary

ROOT = Path(__file__).resolve().parents[5]
RANGE = CAPTURES / "java41-range.jsonl.gz"


def locality(*arguments):
    return main(["locality", *map(str, arguments)])


def test_it_counts_every_byte_of_the_capture_and_prints_one_screen(capsys):
    assert locality(RANGE) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith("client traffic across racks: ")
    assert "\n313 KiB in 468 calls of 1 capture over 7.2 s, from 2026-11-21 07:54:05 UTC\n" in printed.out
    assert "Results below" not in printed.out
    assert locality(RANGE, "--format", "json") == 0
    total = json.loads(capsys.readouterr().out)["total"]
    counts = capture_summary("java41-range")["counts"]
    assert total["bytes"] == sum(line["request_bytes"] + line["response_bytes"] for line in counts)
    assert total["calls"] == sum(line["request"] for line in counts)


def test_prices_racks_and_windows_reach_the_result_and_the_files(tmp_path, capsys):
    (tmp_path / "prices.toml").write_text("currency = 'EUR'\negress = 0.5\ningress = 0")
    (tmp_path / "racks").write_text("az-c@client:live-writer\n")
    options = (
        "--prices",
        tmp_path / "prices.toml",
        "--client-racks",
        tmp_path / "racks",
        "--window",
        "1s",
        "--top",
        "1",
    )
    assert locality(RANGE, "--out", tmp_path / "out", *options, "--format", "json") == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "out" / "locality.json").read_text() == printed
    result = json.loads(printed)
    assert (result["prices"]["currency"], result["span"]["window"]) == ("EUR", "1s")
    assert result["total"]["unknown_bytes"] < 10_000  # the writer's are known now
    assert [len(result[name]["top"]) for name in ("topics", "clients", "groups", "apis")] == [1, 1, 1, 1]
    assert result["clients"]["others"]["rows"] > 1
    page = (tmp_path / "out" / "locality.html").read_text()
    assert page.startswith("<!doctype html>")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["locality.html", "locality.json"]


def test_an_input_without_a_frame_is_told_and_fails(tmp_path, capsys):
    (tmp_path / "notes.jsonl").write_text("no capture\n")
    assert locality(tmp_path / "notes.jsonl") == 1
    assert "notes.jsonl: not one frame could be read" in capsys.readouterr().err
    assert locality(RANGE, tmp_path / "notes.jsonl") == 1
    printed = capsys.readouterr()
    assert "1 input not read" not in printed.out  # it was read, and is no capture
    assert "problem in the files" in printed.out
    assert printed.err == f"kafka-rack locality: {tmp_path / 'notes.jsonl'}: no frame could be read\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "CAPTURE is missing"),
        (["nosuch.jsonl"], "nosuch.jsonl: no such file or folder"),
        ([RANGE, "--out", RANGE], "is a file"),
        ([RANGE, "--window", "5 weeks"], "--window: expected a time, such as 200ms, 30s or 5m, got '5 weeks'"),
        ([RANGE, "--top", "0"], "--top: expected a whole number from 1 to 1000, got '0'"),
        ([RANGE, "--ports", "many"], "many"),
        ([RANGE, "--forecast", "racks=3,rf=3,in=1"], "omit CAPTURE"),
    ],
)
def test_wrong_usage_is_told_in_one_line(arguments, said, capsys):
    assert locality(*arguments) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert (printed.err.count("\n"), printed.out) == (1, "")


def test_it_needs_neither_spark_nor_arrow_nor_numpy(capsys):
    """None of them can be imported there; numpy makes it faster where it is."""
    program = (
        "import sys; sys.modules.update(dict.fromkeys(('pyspark', 'pyarrow', 'numpy', 'pandas'))); "
        "from kafka_rack.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "locality", str(RANGE), "--format", "json"]
    done = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
    assert locality(RANGE, "--format", "json") == 0
    assert done.stdout == capsys.readouterr().out
