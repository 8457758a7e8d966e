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


WITH_EXAMPLES = (
    "README.md",
    "docs/clusters.md",
    "docs/codec.md",
    "docs/journal.md",
    "docs/faults.md",
    "docs/consistency.md",
    "docs/transactions.md",
    "docs/share-groups.md",
    "docs/logs.md",
    "docs/groups.md",
    "docs/security.md",
)


@pytest.mark.parametrize(("code", "shown"), [example for page in WITH_EXAMPLES for example in examples_of(page)])
def test_each_python_example_prints_what_the_page_shows(monkeypatch, capsys, code, shown):
    monkeypatch.chdir(ROOT)
    exec(compile(code, "example", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_test_on_the_page_passes(pytester, page):
    (code,) = (code for code in re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL) if "\ndef test_" in code)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(test_billing=code)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


@pytest.mark.parametrize("page", ["docs/consistency.md", "docs/what-if.md"])
def test_the_command_on_a_page_prints_what_it_shows(monkeypatch, capsys, page):
    monkeypatch.chdir(ROOT)
    ((command, shown),) = re.findall(r"```console\n\$ kafka-rack ([^\n]*)\n(.*?)```", text_of(page), re.DOTALL)
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("suffix", "text"), re.findall(r"```(yaml|json)\n(.*?)```", text_of("docs/faults.md"), re.DOTALL)
)
def test_each_file_on_the_page_of_faults_can_be_used(tmp_path, suffix, text):
    path = tmp_path / f"faults.{suffix}"
    path.write_text(text)
    assert faults_from_file(path)
