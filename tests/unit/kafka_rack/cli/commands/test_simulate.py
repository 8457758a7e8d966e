"""``kafka-rack simulate``: what it prints, and that the command it prints for a failure does the same again."""

from __future__ import annotations

import re
import shlex

import pytest

from kafka_rack.cli import main
from mockbroker.testing.simulation.faults import FAULTS
from tests.simulation.planted_bugs import PLANTED

SMALL = ["--storm-ms", "3000"]
FEW = ["--workloads", "producers,consumers,pipelines"]


def test_seeds_that_are_right_are_summed_up_in_one_line(capsys):
    assert main(["simulate", "--seeds", "2", "--processes", "1", "--storm-ms", "0", *FEW]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("2 seeds from 0 on: all right; ")


def test_the_story_tells_who_took_part_and_what_happened(capsys):
    assert main(["simulate", "--seed", "3", "--story", *SMALL]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("seed 3: all right; ")
    assert "orders-0 in rack" in shown
    assert "3000 ms  all is mended" in shown


def test_a_failing_seed_is_made_small_and_the_command_printed_does_it_again(capsys):
    with PLANTED["stable-offset-ignores-open"]():
        assert main(["simulate", "--first", "2", "--seeds", "1", "--processes", "1", "--storm-ms", "500", *FEW]) == 3
        shown = capsys.readouterr().out
        assert re.search(r"^1 seeds from 2 on: 1 failed; ", shown, re.MULTILINE)
        again = re.findall(r"^again: kafka-rack (.*)$", shown, re.MULTILINE)[0]
        first = shown.partition("\n\n")[2].partition("\nagain: ")[0]
        assert main(shlex.split(again)) == 3
        assert capsys.readouterr().out.strip() == first
        assert "--keep-clients" in again
    assert main(shlex.split(again)) == 0


def test_every_kind_of_fault_is_listed(capsys):
    assert main(["simulate", "--list-faults"]) == 0
    assert capsys.readouterr().out.split() == list(FAULTS)


def test_without_faults_nothing_happens_before_all_is_mended(capsys):
    assert (
        main(["simulate", "--seed", "1", "--faults", "none", "--workloads", "producers,consumers", "--story", *SMALL])
        == 0
    )
    story = [line for line in capsys.readouterr().out.splitlines() if " ms  " in line]
    assert [line.split("ms  ")[1] for line in story] == ["all is mended"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--faults", "earthquake"], "fault: expected one of stop-broker, "),
        (
            ["--workloads", "cooks"],
            "workload: expected one of producers, consumers, pipelines, admins, sharers, got 'cooks'",
        ),
        (["--racks", "a,b"], "racks: expected those of at least 3 brokers, got 2"),
        (["--set", "min.insync.replicas"], "--set: expected NAME=VALUE, got 'min.insync.replicas'"),
        (["--story"], "--story goes with --seed"),
        (["--seed", "1", "--keep-faults", "x"], "expected numbers with commas between, got 'x'"),
    ],
)
def test_wrong_usage_is_told_in_one_line(capsys, arguments, error):
    assert main(["simulate", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"kafka-rack simulate: {error}")
    assert told.count("\n") == 1
