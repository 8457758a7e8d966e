"""The README and docs/: their examples run, and print what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mockbroker.adapters.fault_files import faults_from_file

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = (
    *("cluster", "codec", "configs", "cost", "faults", "journal", "limits", "plan", "racks", "security", "tables"),
    *("performance", "proxy", "certify", "index", "capture"),
)
"""Pages below docs/; testing, control, pipeline and the tutorial have tests of their own."""
FILES = {"plan": (("json", "cluster.json"), ("python", "my_placers.py"), ("json", "group.json"))}
"""Blocks that a page tells to save: those of a page without an output after them, in this order."""


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def steps_of(page):
    """A page's steps in order: (language, code, what it prints, None where the page shows nothing)."""
    blocks = BLOCK.findall(text_of(f"docs/{page}.md"))
    for (kind, text), (following, shown) in zip(blocks, [*blocks[1:], ("end", "")], strict=True):
        if kind == "console":
            command, _, output = text.removeprefix("$ ").partition("\n")
            yield "console", command, output
        elif kind in ("python", "json"):
            yield kind, text, shown if kind == "python" and following == "" else None


PAGES_WITH_EXAMPLES = [page for page in PAGES if any(shown is not None for *_, shown in steps_of(page))]


def shell(command, folder):
    """The output of a command in a folder."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    run = {"shell": True, "cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(command, env={**os.environ, "PATH": path}, check=False, **run).stdout


@pytest.mark.parametrize("page", PAGES_WITH_EXAMPLES)
def test_each_example_prints_what_its_page_shows(monkeypatch, tmp_path, capsys, page):
    """The examples of a page are followed in their order, in one folder."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    saved = iter(FILES.get(page, ()))
    for kind, code, shown in steps_of(page):
        if kind == "console":
            assert shell(code, tmp_path) == shown, code
        elif shown is not None:
            exec(compile(code, "example", "exec", dont_inherit=True), {"__name__": "__main__"})
            assert capsys.readouterr().out == shown
        elif (file := next(saved, None)) is not None:
            assert file[0] == kind
            (tmp_path / file[1]).write_text(code)


README_TEST = next(code for code in re.findall(r"```python\n(.*?)```", text_of("README.md"), re.DOTALL))
MARKER = 'topics={"orders": (6, 3)}'
RACK_AWARE = re.findall(r"`(follower_fetching=True)`", text_of("README.md"))[0]
ASSERTION = 'kafka_journal.assert_rack_local(client_id="billing", api="Fetch")'
SHARE = """of = {}
    for call in kafka_journal.find(client_id="billing", api="Fetch"):
        of[call.locality] = of.get(call.locality, 0) + sum((call.traffic or {}).values())
    assert round(100 * of.get("cross", 0) / sum(of.values())) == """
"""Of the bytes that the consumer read, the percentage from other racks."""


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, "failed"),
        ({ASSERTION: f"{SHARE}67"}, "passed"),
        ({MARKER: f"{MARKER}, {RACK_AWARE}"}, "passed"),
        ({MARKER: f"{MARKER}, {RACK_AWARE}", ASSERTION: f"{SHARE}0"}, "passed"),
    ],
    ids=["as shown", "67 %", "with the setting", "0 %"],
)
def test_the_readme_fails_with_67_percent_and_passes_with_the_setting(pytester, changes, outcome):
    code = README_TEST
    for old, new in changes.items():
        assert old in code
        code = code.replace(old, new)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(test_billing=code)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(**{outcome: 1})


@pytest.mark.parametrize(
    ("suffix", "text"), re.findall(r"```(yaml|json)\n(.*?)```", text_of("docs/faults.md"), re.DOTALL)
)
def test_each_file_on_the_page_of_faults_can_be_used(tmp_path, suffix, text):
    path = tmp_path / f"faults.{suffix}"
    path.write_text(text)
    assert faults_from_file(path)
