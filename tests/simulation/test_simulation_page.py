"""docs/simulation.md: its command prints what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from kafka_rack.cli import main

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")


def test_the_command_on_the_page_prints_what_it_shows(capsys):
    ((command, shown),) = re.findall(r"```console\n\$ kafka-rack ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out == shown
