"""docs/tools.md: its examples run in the order of the page, and print what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from kafka_rack.cli import main

PAGE = (Path(__file__).resolve().parents[5] / "docs" / "tools.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```console\n\$ kafka-rack ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_print_what_the_page_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
    assert len(EXAMPLES) >= 3
    for command, shown in EXAMPLES:
        main(shlex.split(command))
        assert capsys.readouterr().out == shown, command
