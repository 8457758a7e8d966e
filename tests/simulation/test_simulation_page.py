"""The page on simulation has the code's own names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from kafka_rack.cli import main
from mockbroker.testing.simulation.plan import STORM_MS
from mockbroker.testing.simulation.workloads import WORKLOADS
from tests.simulation.test_planted_bugs import FOUND_BY

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")


def test_the_command_on_the_page_prints_what_it_shows(capsys):
    ((command, shown),) = re.findall(r"```console\n\$ kafka-rack ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out == shown


def test_the_page_has_the_workloads_and_the_length_of_a_storm():
    assert f"of {', '.join(f'`{name}`' for name in WORKLOADS)}; all" in PAGE
    assert f"in virtual time; {STORM_MS} |" in PAGE


def test_the_page_says_of_each_planted_bug_which_seed_found_it():
    assert {
        name: int(seed) for name, seed in re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", PAGE, re.MULTILINE)
    } == FOUND_BY
