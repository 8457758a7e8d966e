"""kafka-rack pipeline locality: a plan's forecast, what it prints of a result, and wrong input in one line."""

from __future__ import annotations

import json

import pytest

from kafka_rack.cli import main
from kafka_rack.cli.output.locality import as_text

PLAN = "racks=3,rf=3,in=300MiB/s,readers=2"


def locality(*arguments):
    return main(["pipeline", "locality", *map(str, arguments)])


def test_a_plan_of_three_even_racks_moves_1200_mib_a_second_across(capsys):
    assert locality("--forecast", PLAN) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["produce", "300.0", "MiB/s", "200.0", "MiB/s", "$11,022.63"],
        ["replication", "600.0", "MiB/s", "600.0", "MiB/s", "$33,067.89"],
        ["consume", "600.0", "MiB/s", "400.0", "MiB/s", "$22,045.26"],
        ["all", "1,500.0", "MiB/s", "1,200.0", "MiB/s", "$66,135.79"],
    ]


def test_a_plan_for_programs_with_other_prices_and_free_replication(tmp_path, capsys):
    prices = tmp_path / "prices.toml"
    prices.write_text("currency = 'EUR'\negress = 0.005\ningress = 0")
    plan = f"{PLAN},local-consumers=0.5"
    assert locality("--forecast", plan, "--prices", prices, "--free-replication", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cross_bytes_per_second"]["consume"] == 200 * 2**20
    # 400 MiB/s * 2628000 s are 1102263091200000 bytes, at 0.005 a GB
    assert found["month_cost"]["replication"] == "0"
    assert float(found["month_cost"]["all"]) == 5511.315456


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "what to read is missing"),
        (["nosuch.jsonl", "--out", "x"], "nosuch.jsonl: no such file or folder"),
        (["CAPTURE"], "--out DIR is missing"),
        (["CAPTURE", "--out", "CAPTURE"], "expected a folder, got a file"),
        (["CAPTURE", "--out", "x", "--window", "5 weeks"], "--window: expected a number with ms"),
        (["CAPTURE", "--out", "x", "--tasks", "0"], "--tasks: expected 1 or more, got 0"),
        (["CAPTURE", "--out", "x", "--top", "0"], "--top: expected 1 to 1000, got 0"),
        (["CAPTURE", "--out", "x", "--ports", "many"], "many"),
        (["CAPTURE", "--out", "x", "--prices", "nosuch.toml"], "nosuch.toml: No such file or directory"),
        (["CAPTURE", "--out", "x", "--prices", "CAPTURE"], "line 1, column 2: no JSON"),
        (["CAPTURE", "--out", "x", "--client-racks", "CAPTURE"], "line 1: expected RACK@RANGE"),
        (["CAPTURE", "--forecast", PLAN], "it goes without IN"),
        (["--forecast", "racks=3"], "--forecast has no rf="),
        (["--forecast", "racks=3,racks=3"], "--forecast 'racks=3': each of racks, rf, in"),
        (["--forecast", "racks=0,rf=3,in=1"], "--forecast: racks: expected 1 at least, got 0"),
        (["--forecast", "racks=x,rf=3,in=1"], "--forecast: racks: expected a whole number, got 'x'"),
        (["--forecast", "racks=3,rf=3,in=fast"], "--forecast: size: expected a number with B"),
        (
            ["--forecast", "racks=3,rf=3,in=1,local-producers=1/0"],
            "local-producers: expected a share from 0 to 1, got '1/0'",
        ),
        (["--forecast", "racks=3,rf=3,in=1,local-producers=2"], "local producers: expected a share from 0 to 1, got 2"),
    ],
)
def test_wrong_usage_is_told_in_one_line_before_spark_starts(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "CAPTURE").write_text("{bytes}")
    assert locality(*arguments) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_a_file_that_is_no_text_is_told_in_one_line(tmp_path, capsys):
    (tmp_path / "racks").write_bytes(b"az-a@\xff")
    assert locality(tmp_path / "racks", "--out", tmp_path / "out", "--client-racks", tmp_path / "racks") == 2
    assert "byte 5 is not UTF-8" in capsys.readouterr().err


def month(cost, possible="0", saves="0", most="0"):
    return {"cost": cost, "possible_cost": possible, "saves_cost": saves, "at_most_cost": most}


def test_a_screen_shows_totals_pairs_reasons_and_notes():
    total = {"calls": 7, "bytes": 3 * 2**20, "local_bytes": 2**20, "cross_bytes": 2**20, "unknown_bytes": 2**20}
    result = {
        "out": "here",
        "prices": {"currency": "$"},
        "span": {"captures": 2, "first": "2026-01-01T10:00:00.000000Z", "covered_us": 7_200_000_000},
        "total": {**total, "month": month("100", "50", "30", "80")},
        "categories": [{"category": "consume", **total, "month": month("100", "50", "30", "80")}],
        "flows": [
            {"from": "az-a", "to": "az-a", "bytes": 9, "by_category": {"consume": 9}, "month_cost": "0"},
            {"from": None, "to": "az-a", "bytes": 8, "by_category": {"produce": 8}, "month_cost": "0"},
            {"from": "az-a", "to": "az-b", "bytes": 2048, "by_category": {"other": 1, "consume": 7}, "month_cost": "4"},
        ],
        "avoidable": [
            {
                "reason": "no_client_rack",
                "what": "names none",
                "fix": "set it",
                "avoidable": "yes",
                "details": ["AZ-A is almost az-a\nall is well\x1b[2J"],
                "bytes": 2**20,
                "month": month("40", saves="30", most="40"),
            },
            {
                "reason": "redirect",
                "what": "an answer",
                "fix": "none needed",
                "avoidable": "no",
                "details": [],
                "bytes": 1,
                "month": month("0"),
            },
        ],
        "notes": [f"note {number}" for number in range(8)],
        "assumptions": ["Prices are so."],
    }
    lines = as_text(result).splitlines()
    assert lines[:2] == [
        "3.00 MiB in 7 calls of 2 captures over 2 h, from 2026-01-01 10:00:00 UTC",
        "known to cross racks: $100.00 a month; fixes save $30.00 to $80.00",
    ]
    assert "az-a  az-b  2.00 KiB  $4.00    consume, other" in lines
    assert sum(line.startswith("az-a") for line in lines) == 1
    assert "no_client_rack  1.00 MiB  yes        $30.00 to $40.00" in lines
    assert r"no_client_rack: names none (AZ-A is almost az-a\x0aall is well\x1b[2J); set it" in lines
    assert not any(line.startswith("redirect:") for line in lines)
    assert lines[-2:] == ["and 2 notes more in locality.json", "Prices are so. Results below here"]
