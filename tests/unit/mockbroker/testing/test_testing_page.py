"""docs/testing.md: its projects run, and print what the page shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "testing.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")}
PROGRAM = "In a program"
OF_PARTS = {"The proxy": pytest.mark.proxy, "Logins": pytest.mark.access_control}
WITH_CODE = [
    pytest.param(title, marks=OF_PARTS.get(title, ()))
    for title, text in SECTIONS.items()
    if "```python" in text and title != PROGRAM
]
SETTINGS = "[tool.pytest.ini_options]\nasyncio_default_fixture_loop_scope = 'function'\n"


@pytest.mark.parametrize("title", WITH_CODE)
def test_each_project_of_the_page_shows_what_it_says(pytester, title):
    blocks = re.findall(r"```(python|)\n(.*?)```", SECTIONS[title], re.DOTALL)
    files = {code.partition("\n")[0].removeprefix("# "): code for kind, code in blocks if kind}
    shown = blocks[-1][1].splitlines()
    pytester.makepyprojecttoml(SETTINGS)
    for name, code in files.items():
        (pytester.path / name).write_text(code, encoding="utf-8")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    for name in ("last_exc", "last_traceback", "last_type", "last_value"):
        vars(sys).pop(name, None)  # what a failing test leaves there keeps its client alive
    told = "\n".join(result.outlines)
    for line in shown:
        assert line in told
    if "failed" not in shown[-1]:
        assert result.ret == 0
    if title == "What a failure looks like":
        assert "kafka_journal.assert_rack_local(topic=" in told  # the user's own line
        assert "mockbroker/" not in told


def test_the_program_of_the_page_prints_what_it_shows(capsys):
    code, shown = re.findall(r"```(?:python)?\n(.*?)```", SECTIONS[PROGRAM], re.DOTALL)
    exec(compile(code, "example", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert capsys.readouterr().out == shown
