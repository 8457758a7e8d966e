"""The README and docs/: their examples run, and print what the page shows."""

import re
import shlex
from pathlib import Path

import pytest

from kafka_rack.cli import main
from mockbroker.adapters.fault_files import faults_from_file

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = re.compile(r"```python\n((?:(?!```).)*)```\n```\n(.*?)```", re.DOTALL)
"""Code, and the block after it that shows what it prints."""


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def examples_of(page):
    found = EXAMPLE.findall(text_of(page))
    assert found, f"{page} has no example"
    return [pytest.param(code, shown, id=f"{page}-{number}") for number, (code, shown) in enumerate(found)]


WITH_EXAMPLES = ("docs/journal.md", "docs/faults.md")


@pytest.mark.parametrize(("code", "shown"), [example for page in WITH_EXAMPLES for example in examples_of(page)])
def test_each_python_example_prints_what_the_page_shows(monkeypatch, capsys, code, shown):
    monkeypatch.chdir(ROOT)
    exec(compile(code, "example", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert capsys.readouterr().out == shown


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


def test_the_command_on_the_page_of_the_journal_prints_what_it_shows(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    text = text_of("docs/journal.md")
    ((command, shown),) = re.findall(r"```console\n\$ kafka-rack ([^\n]*)\n(.*?)```", text, re.DOTALL)
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("suffix", "text"), re.findall(r"```(yaml|json)\n(.*?)```", text_of("docs/faults.md"), re.DOTALL)
)
def test_each_file_on_the_page_of_faults_can_be_used(tmp_path, suffix, text):
    path = tmp_path / f"faults.{suffix}"
    path.write_text(text)
    assert faults_from_file(path)
