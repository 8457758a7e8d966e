"""The README and docs/: their examples run and print what they show, and their tables are those of the code."""

import re
import sys
from pathlib import Path

import pytest

import protocol
from mockbroker.core.journal import Entry
from mockbroker.core.outcome import Ending
from mockbroker.handlers import MODULE_OF_API
from tests.progress import run

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
JOURNAL = (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")
PAIRS = re.findall(r"```python\n(.*?)```\n```\n(.*?)```", README + JOURNAL, re.DOTALL)


@pytest.mark.parametrize(("code", "shown"), PAIRS)
def test_each_python_example_of_the_readme_and_of_the_journals_page_prints_what_it_shows(code, shown):
    ran = run([sys.executable, "-c", code], cwd=ROOT)
    assert (ran.stdout, ran.returncode) == (shown, 0), ran.stderr


def test_the_journals_page_has_every_field_of_an_entry_and_every_ending():
    rows = re.findall(r"^\| (`.*?) \|", JOURNAL, re.MULTILINE)
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)].sort() == list(Entry._fields).sort()
    assert {ending.value for ending in Ending} <= set(re.findall(r"`([a-z ]+)`", JOURNAL))


def served_table() -> str:
    """The APIs that the cluster serves, from the registry of its handlers."""
    rows = ["| API | key | versions |", "|---|---|---|"]
    for api_key in sorted(MODULE_OF_API):
        request = protocol.message_class(api_key, "request")
        rows.append(f"| {request.name.removesuffix('Request')} | {api_key} | {request.valid_versions} |")
    return "\n".join(rows)


def test_the_readme_lists_what_the_cluster_serves():
    shown = README.partition("<!-- served -->\n")[2].partition("<!-- served ends -->")[0].strip()
    assert shown == served_table()


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_links_lead_to_files_that_are_there(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
