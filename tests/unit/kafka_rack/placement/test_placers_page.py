"""docs/placers.md: its commands and its code run, and print what it shows."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest

from kafka_rack.cli import main
from tests.progress import while_it_works

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs" / "placers.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```console\n\$ (?:PYTHONPATH=\. )?kafka-rack ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)
PLACED = [(command, shown) for command, shown in COMMANDS if command.startswith("place ")]
(SERVED,) = (command for command, _ in COMMANDS if command.startswith("serve "))
PLACER, REFUSED = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the page has its reader save, in the present folder, from where Python imports."""
    (tmp_path / "my_placers.py").write_text(PLACER)
    (tmp_path / "brokers.json").write_text(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_placers", raising=False)
    return tmp_path


@pytest.mark.parametrize(("command", "shown"), PLACED)
def test_each_placement_is_what_the_page_shows(folder, capsys, command, shown):
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out == shown


async def test_the_cluster_of_the_page_serves(folder):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kafka_rack.cli", *shlex.split(SERVED)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f".{os.pathsep}{ROOT}"},
    )
    try:
        assert process.stdout is not None
        async with while_it_works("the banner, then the end"):
            async for line in process.stdout:
                if line.startswith(b"bootstrap.servers="):
                    process.send_signal(signal.SIGTERM)
            assert (await process.wait(), await process.stderr.read()) == (0, b"")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def test_a_failing_placer_prints_what_the_page_shows(folder, capsys):
    exec(REFUSED, {})
    assert f"```python\n{REFUSED}```\n```\n{capsys.readouterr().out}```" in PAGE
