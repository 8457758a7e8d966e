"""docs/control.md: what it says to type is typed, and its table has each operation that there is."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from mockbroker.adapters.control import app  # noqa: F401 - declares the operations
from mockbroker.adapters.control.operations import operation
from tests.progress import run
from tests.serve_process import ROOT, serve_process

PAGE = (ROOT / "docs" / "control.md").read_text(encoding="utf-8")
URL = "http://127.0.0.1:8090"


def console_steps() -> list[tuple[str, str]]:
    """Each command of the page, and what it is shown to print."""
    steps = []
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for step in block.split("$ ")[1:]:
            command, _, printed = step.partition("\n")
            steps.append((command, printed))
    return steps


def as_shown(printed: str, shown: str) -> bool:
    """Whether what was printed is what the page shows, where ``...`` stands for anything."""
    pattern = "".join(".*?" if part == "..." else re.escape(part) for part in re.split(r"(\.\.\.)", shown))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed (Debian, Ubuntu: apt-get install curl)")
def test_each_command_prints_what_the_page_shows(tmp_path):
    script = tmp_path / "kafka-rack"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m kafka_rack.cli "$@"\n')
    script.chmod(0o755)
    (first,) = re.findall(r"```sh\n(kafka-rack serve .*8090.*)\n```", PAGE)
    options = shlex.split(first.replace("8090", "0"))[2:]
    steps = console_steps()
    assert len(steps) >= 10
    with serve_process(*options, "--quiet") as served:
        control = served.ready["control"]
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "KAFKA_RACK_CONTROL": control}
        for command, shown in steps:
            done = run(["sh", "-c", command.replace(URL, control)], env=environment)
            printed = done.stdout + done.stderr
            assert as_shown(printed, shown), f"$ {command}\n{printed}"


def test_the_table_has_each_operation_and_no_other():
    table = PAGE.partition("| call | does | answer |")[2].partition("\n\n")[0]
    named: set[tuple[str, str]] = set()
    for row in table.splitlines()[2:]:
        cell = row.split("|")[1]
        method, base = "", ""
        for part in re.findall(r"`([^`]+)`", cell):
            if part.startswith(("GET ", "POST ", "DELETE ")):
                method, _, path = part.partition(" ")
                base = path.replace("...", "/topics/{topic}/partitions/{n}") if path.startswith("...") else path
                named.add((method, base))
            elif re.fullmatch(r"[a-z-]+", part) and "with" not in cell[: cell.index(f"`{part}`")]:
                named.add((method, f"{base.rpartition('/')[0]}/{part}"))
    there = {(method, path.replace("{partition}", "{n}")) for method, path in operation.table}
    assert named == there - {("GET", "/openapi.json")}


def test_the_variables_that_the_page_names_are_options():
    from kafka_rack.cli import Parser
    from kafka_rack.cli.commands import serve as serve_command
    from kafka_rack.cli.options import environment

    parser = Parser()
    serve_command.add_arguments(parser)
    variables = getattr(parser.parse_args([]), environment.ATTRIBUTE)
    named = set(re.findall(r"KAFKA_RACK_[A-Z_]+", PAGE))
    assert named <= {*variables, environment.CONTROL, environment.CONTROL_TOKEN}
    assert Path(ROOT / "Containerfile").exists()
