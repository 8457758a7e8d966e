"""docs/control.md: its commands, typed in the order of the page, print what it shows."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys

import pytest

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
    (first,) = re.findall(r"```sh\n(kafka-rack serve --brokers .*)\n```", PAGE)
    options = [*shlex.split(first)[2:], "--control-port", "0"]
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
