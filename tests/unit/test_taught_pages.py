"""Pages with examples: each command and program prints what its page shows."""

from __future__ import annotations

import re
import shlex
import sys
from io import StringIO
from pathlib import Path

import pytest

from kafka_rack.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ("cluster", "codec", "configs", "cost", "limits", "plan", "racks", "security", "tables")
SAVED = re.compile(r"Save this as `([\w.]+)`:\n```\w+\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
COMMAND = re.compile(
    r"^\$ (?:PYTHONPATH=\. )?(?:echo '(?P<given>[^']*)' \| )?kafka-rack (?P<words>.*)\n(?P<shown>(?:(?!\$ ).*\n)*)",
    re.MULTILINE,
)
PYTHON = re.compile(r"```python\n((?:(?!```).)*)```\n```\n(.*?)```", re.DOTALL)
COMMANDS = [
    pytest.param(page, found["words"], found["given"], found["shown"], id=f"{page}-{number}")
    for page in PAGES
    for number, found in enumerate(
        found
        for block in CONSOLE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
        for found in COMMAND.finditer(block)
    )
]
PROGRAMS = [
    pytest.param(page, code, shown, id=f"{page}-{number}")
    for page in PAGES
    for number, (code, shown) in enumerate(PYTHON.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")))
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The reader's folder, with the fixtures of a clone: Python finds modules in it, as with PYTHONPATH=."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def save_files(page, folder, monkeypatch):
    """Save the files that the page shows."""
    for name, text in SAVED.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        (folder / name).write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, Path(name).stem, raising=False)


def test_each_command_of_the_pages_is_run():
    text = "".join((DOCS / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)
    assert len(COMMANDS) == len(re.findall(r"^\$ ", text, re.MULTILINE))
    assert {program.values[0] for program in PROGRAMS} == set(PAGES)


@pytest.mark.parametrize(("page", "words", "given", "shown"), COMMANDS)
def test_each_command_prints_what_the_page_shows(folder, monkeypatch, capsys, page, words, given, shown):
    save_files(page, folder, monkeypatch)
    monkeypatch.setattr(sys, "stdin", StringIO(given or ""))
    main(shlex.split(words))
    printed = capsys.readouterr()
    assert (printed.out + printed.err).rstrip("\n") == shown.rstrip("\n")


@pytest.mark.parametrize(("page", "code", "shown"), PROGRAMS)
def test_each_program_prints_what_the_page_shows(folder, monkeypatch, capsys, page, code, shown):
    save_files(page, folder, monkeypatch)
    exec(compile(code, page, "exec", dont_inherit=True), {"__name__": "__main__"})
    assert capsys.readouterr().out == shown
