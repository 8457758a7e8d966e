"""docs/tutorial.md: its steps, taken in the order of the page, print what it shows."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.ports import free_ports
from tests.progress import run, wait_until
from tests.serve_process import ROOT

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"Save this as `(?P<file>[\w.]+)`:\n```python\n(?P<text>.*?)```|```console\n(?P<console>.*?)```", re.DOTALL
)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
TOLERANCE = 0.02
"""Of numbers: how producers cut their records into batches moves sizes a little."""
SETTINGS = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"


def as_shown(printed: str, shown: str) -> bool:
    """Whether the lines that a page shows are among those printed, in this order.

    A line counts if it begins with the words shown; widths do not count, and numbers may differ by ``TOLERANCE``.

    >>> as_shown("traffic: 3.86 MiB of 11.6 MiB, $1.00\\nnext\\nlast", "traffic: 3.85 MiB\\n...\\nlast\\n")
    True
    """
    lines = iter(printed.splitlines())
    wanted = [line for line in shown.splitlines() if line != "..."]
    return all(any(begins_with(line, text) for line in lines) for text in wanted)


def begins_with(line: str, text: str) -> bool:
    words, wanted = line.split(), text.split()
    return len(words) >= len(wanted) and all(map(is_like, words, wanted))


def is_like(word: str, wanted: str) -> bool:
    if NUMBER.sub("#", word).rstrip(",;.:") != NUMBER.sub("#", wanted).rstrip(",;.:"):
        return False
    pairs = zip(NUMBER.findall(word), NUMBER.findall(wanted), strict=True)
    return all(abs(number(one) - number(other)) <= TOLERANCE * number(other) for one, other in pairs)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def steps(page: str) -> Iterator[tuple[str, str, str]]:
    """``("file", name, text)`` and ``("command", words, what it prints)``, in the order of the page."""
    for found in STEP.finditer(page):
        if found["file"]:
            yield "file", found["file"], found["text"]
            continue
        for step in found["console"].split("$ ")[1:]:
            command, _, printed = step.partition("\n")
            yield "command", command, printed


@pytest.fixture
def page() -> str:
    """The page with free ports in place of those that it names."""
    ports = next(found for found in iter(lambda: free_ports(4), None) if found == list(range(found[0], found[0] + 4)))
    names = dict(zip(("9092", "9093", "9094", "8090"), map(str, ports), strict=True))
    return re.sub("|".join(names), lambda found: names[found[0]], PAGE)


@pytest.fixture
def environment(tmp_path, page) -> dict[str, str]:
    """Where ``kafka-rack``, ``python`` and ``pytest`` are this checkout's."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("kafka-rack", "-m kafka_rack.cli"), ("python", ""), ("pytest", "-m pytest")):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        (programs / name).chmod(0o755)
    (control,) = set(re.findall(r"127\.0\.0\.1:(\d+)/", page))
    port = re.findall(r"bootstrap\.servers=127\.0\.0\.1:(\d+)", page)[0]
    addresses = {"KAFKA_RACK_PORT": port, "KAFKA_RACK_CONTROL_PORT": control}
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **addresses, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def test_each_step_prints_what_the_page_shows(tmp_path, page, environment):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "pytest.ini").write_text(SETTINGS)
    control = f"http://127.0.0.1:{environment['KAFKA_RACK_CONTROL_PORT']}"
    served: subprocess.Popen[bytes] | None = None
    taken = []
    try:
        for kind, name, text in steps(page):
            if kind == "file":
                (folder / name).write_text(text, encoding="utf-8")
                continue
            taken.append(name.split()[0])
            if name.startswith("kafka-rack serve"):
                end(served)
                output = folder / "serve.txt"
                with output.open("wb") as written:
                    served = subprocess.Popen(
                        shlex.split(name), cwd=folder, env=environment, stdout=written, stderr=subprocess.STDOUT
                    )
                wait_until(
                    lambda output=output, text=text, process=served: (
                        as_shown(output.read_text(), text) or process.poll() is not None
                    ),
                    name,
                    output.read_text,
                )
                assert as_shown(output.read_text(), text), f"$ {name}\n{output.read_text()}"
                continue
            own = {} if name.startswith("kafka-rack certify") else {"KAFKA_RACK_CONTROL": control}
            done = run(["sh", "-c", name], cwd=folder, env={**environment, **own})
            assert as_shown(done.stdout, text), f"$ {name}\n{done.stdout}{done.stderr}"
    finally:
        end(served)
    assert {"kafka-rack", "python", "pytest"} <= set(taken)
    assert len(taken) >= 12


def end(process: subprocess.Popen[bytes] | None) -> None:
    if process is not None:
        process.send_signal(signal.SIGINT)
        process.wait(60)
