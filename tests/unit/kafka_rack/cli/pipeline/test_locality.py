"""kafka-rack pipeline locality: a plan's forecast, what it prints of a result, and wrong input in one line."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from kafka_rack.cli import main
from kafka_rack.cli.output.locality import as_text
from kafka_rack.locality.amounts import Pace
from kafka_rack.locality.summary import summary_of

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
        ([], "IN is missing"),
        (["nosuch.jsonl", "--out", "x"], "nosuch.jsonl: no such file or folder"),
        (["CAPTURE"], "--out is missing"),
        (["CAPTURE", "--out", "CAPTURE"], "'CAPTURE' is a file"),
        (["CAPTURE", "--out", "x", "--window", "5 weeks"], "--window: expected a time, such as"),
        (["CAPTURE", "--out", "x", "--tasks", "0"], "--tasks: expected a whole number from 1"),
        (["CAPTURE", "--out", "x", "--top", "0"], "--top: expected a whole number from 1"),
        (["CAPTURE", "--out", "x", "--ports", "many"], "many"),
        (["CAPTURE", "--out", "x", "--prices", "nosuch.toml"], "nosuch.toml: No such file or directory"),
        (["CAPTURE", "--out", "x", "--prices", "CAPTURE"], "CAPTURE: JSON is malformed"),
        (["CAPTURE", "--out", "x", "--client-racks", "CAPTURE"], "line 1: expected RACK@RANGE"),
        (["CAPTURE", "--forecast", PLAN], "omit IN and --out"),
        (["--forecast", "racks=3"], "--forecast: rf is missing"),
        (["--forecast", "racks=3,racks=3"], "--forecast: expected each of racks, rf, in"),
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


def row(category, locality, reason, size, cost="0", saves="0", saved=0):
    """A sum of traffic; what a fix saves is saved for certain."""
    money = {
        "cost": Decimal(cost),
        "possible_cost": Decimal(0),
        "saves_cost": Decimal(saves),
        "at_most_cost": Decimal(saves),
    }
    return {
        "category": category,
        "locality": locality,
        "reason": reason,
        "bytes": size,
        "saves_bytes": saved,
        "at_most_bytes": saved,
        **{name: Decimal(amount) for name, amount in money.items()},
    }


def test_a_screen_shows_the_headline_what_is_missing_pairs_actions_and_notes():
    hours = Pace(73 * 3_600 * 1_000_000)  # a tenth of a month
    rows = [
        {
            **row("consume", "cross", "no_client_rack", 2**20, "10", "3", 2**19),
            "detail": "AZ-A is almost az-a\nall is well\x1b[2J",
        },
        row("consume", "cross", "redirect", 0),
        row("produce", "local", None, 3 * 2**20),
        row("replication", "cross", "replication", 2**21, "20"),
    ]
    total = {"calls": 7, "bytes": 6 * 2**20, "local_bytes": 0, "cross_bytes": 2**20, "unknown_bytes": 0}
    money = {"cost": "10", "possible_cost": "0"}
    result = {
        "out": "here",
        "prices": {"currency": "$"},
        "span": {
            "captures": 2,
            "first": "2026-01-01T10:00:00.000000Z",
            "covered_us": hours.covered_us,
            "month_low": "0.5",
            "month_high": "2",
        },
        "completeness": {"line": "7 frames over 73 h; missing: 5 B of connections cut off or lost\x1b[2J"},
        "summary": summary_of(rows, hours, "$"),
        "total": total,
        "categories": [{"category": "consume", **total, **money}],
        "rack_pairs": [
            {
                "client_rack": "az-a",
                "broker_rack": "az-a",
                "category": "consume",
                "locality": "local",
                "bytes": 9,
                **money,
            },
            {
                "client_rack": "az-a",
                "broker_rack": "az-b",
                "category": "other",
                "locality": "cross",
                "bytes": 2048,
                **money,
            },
        ],
        "notes": [f"note {number}" for number in range(8)],
        "assumptions": ["Prices are so."],
    }
    lines = as_text(result).splitlines()
    assert lines[:5] == [
        "client traffic across racks: 25.0 % (1.00 MiB of 4.00 MiB), $100.00 a month",
        "avoidable: 512 KiB, $30.00 a month",
        "replication: 2.00 MiB across racks, $200.00 a month, unavoidable with replicas in several racks",
        r"7 frames over 73 h; missing: 5 B of connections cut off or lost\x1b[2J",
        "6.00 MiB in 7 calls of 2 captures over 3 d 1 h, from 2026-01-01 10:00:00 UTC",
    ]
    assert "az-a         az-b         other  2.00 KiB  $50.00 to $200.00" in lines
    assert sum(line.startswith("az-a") for line in lines) == 1
    assert "  client  avoidable  1.00 MiB  $30.00" in "\n".join(lines)
    assert any(line.startswith("The consumer does not send client.rack") for line in lines)
    assert r"(AZ-A is almost az-a\x0aall is well\x1b[2J)" in "\n".join(lines)
    assert not any(line.startswith("redirect:") for line in lines)
    assert lines[-2:] == ["and 2 more notes in locality.json", "Prices are so. Results below here"]
