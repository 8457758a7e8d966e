"""docs/testing.md: its projects run and show what the page says, and its tables name what there is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from mockbroker import BlockingMockCluster
from mockbroker.core.commands import StateCommands
from mockbroker.testing.marker import MARKER_ARGUMENTS
from mockbroker.testing.pytest_plugin import FIXTURES

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "testing.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")}
WITH_CODE = [title for title, text in SECTIONS.items() if "```python" in text]
SETTINGS = "[tool.pytest.ini_options]\nasyncio_default_fixture_loop_scope = 'function'\n"
OTHER_COMMANDS = {
    "stop_broker",
    "start_broker",
    "restart_broker",
    "stop_rack",
    "start_rack",
    "restart_rack",
    "crash_broker",
    "reset",
    "fork",
}


@pytest.mark.slow
@pytest.mark.parametrize("title", WITH_CODE)
def test_each_project_of_the_page_shows_what_it_says(pytester, title):
    blocks = re.findall(r"```(python|)\n(.*?)```", SECTIONS[title], re.DOTALL)
    files = {code.partition("\n")[0].removeprefix("# "): code for kind, code in blocks if kind}
    shown = blocks[-1][1].splitlines()
    pytester.makepyprojecttoml(SETTINGS)
    for name, code in files.items():
        (pytester.path / name).write_text(code, encoding="utf-8")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    told = "\n".join(result.outlines)
    for line in shown:
        assert line in told
    if "failed" not in shown[-1]:
        assert result.ret == 0


@pytest.mark.slow
def test_a_failure_ends_at_the_users_own_line(pytester):
    code = re.findall(r"```python\n(.*?)```", SECTIONS["What a failure looks like"], re.DOTALL)[0]
    pytester.makepyprojecttoml(SETTINGS)
    pytester.makepyfile(test_racks=code)
    told = "\n".join(pytester.runpytest_subprocess("-p", "no:cacheprovider").outlines)
    assert "kafka_journal.assert_rack_local(topic=" in told
    assert "mockbroker/" not in told


def named_in_table(title: str, heading: str) -> set[str]:
    table = SECTIONS[title].partition(f"| {heading} |")[2].partition("\n\n")[0]
    return {name for row in table.splitlines() for name in re.findall(r"`(\w+)[`(]", row.split(" | ")[0])}


def test_the_page_has_every_fixture():
    assert named_in_table("Fixtures", "fixture") == FIXTURES | {"kafka_cluster_seed"}


def test_the_page_has_every_argument_of_the_marker():
    assert named_in_table("Fixtures", "argument") == set(MARKER_ARGUMENTS)


def test_the_page_has_every_command():
    commands = {name for name, _ in inspect.getmembers(StateCommands, inspect.isfunction) if not name.startswith("_")}
    assert named_in_table("Commands", "command") == commands | OTHER_COMMANDS
    assert all(hasattr(BlockingMockCluster, name) for name in commands | OTHER_COMMANDS)
