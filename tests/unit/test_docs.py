"""The README and docs/: their examples run and print what they show, and their tables are those of the code."""

import re
import shlex
import sys
from pathlib import Path
from runpy import run_path

import pytest

import protocol
from kafka_rack.cli import main
from kafka_rack.cli.commands.completion import whole_parser
from kafka_rack.cli.parser import arguments_of, parsers_below
from kafka_rack.consistency import KINDS
from mockbroker.adapters.fault_files import faults_from_file
from mockbroker.core.faults.vocabulary import CHOICES, EFFECTS, MATCH_FIELDS
from mockbroker.core.journal import JournalEntry
from mockbroker.core.outcome import Ending
from mockbroker.handlers import MODULE_OF_API
from mockbroker.handlers.api_versions import declared_versions
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.configs.definitions import BROKER, definition
from mockbroker.state.configs.effects import TOPICS
from mockbroker.state.configs.values import text_of
from mockbroker.state.groups.streams.topology import StatusCode
from mockbroker.state.settings import DEFAULTS
from tests.progress import run

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
FAULTS = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
JOURNAL = (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")
TRANSACTIONS = (ROOT / "docs" / "transactions.md").read_text(encoding="utf-8")
GROUPS = (ROOT / "docs" / "groups.md").read_text(encoding="utf-8")
CONSISTENCY = (ROOT / "docs" / "consistency.md").read_text(encoding="utf-8")
STREAMS_GROUPS = (ROOT / "docs" / "streams-groups.md").read_text(encoding="utf-8")
SHARE_GROUPS = (ROOT / "docs" / "share-groups.md").read_text(encoding="utf-8")
LOGS = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
CLUSTERS = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CODEC = (ROOT / "docs" / "codec.md").read_text(encoding="utf-8")
PAGES = (
    README
    + CLUSTERS
    + CODEC
    + JOURNAL
    + FAULTS
    + CONSISTENCY
    + TRANSACTIONS
    + SHARE_GROUPS
    + STREAMS_GROUPS
    + LOGS
    + GROUPS
    + SECURITY
)
PAIRS = re.findall(r"```python\n((?:(?!```).)*)```\n```\n(.*?)```", PAGES, re.DOTALL)


@pytest.mark.parametrize(("code", "shown"), PAIRS)
def test_each_python_example_of_the_readme_and_the_pages_prints_what_it_shows(code, shown):
    ran = run([sys.executable, "-c", code], cwd=ROOT)
    assert (ran.stdout, ran.returncode) == (shown, 0), ran.stderr


@pytest.mark.parametrize("page", [README, START], ids=["README", "index"])
def test_the_test_on_the_page_passes(tmp_path, page):
    (code,) = (code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "\ndef test_" in code)
    (tmp_path / "test_billing.py").write_text(code)
    ran = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)], cwd=tmp_path)
    assert "1 passed" in ran.stdout, ran.stdout


OPTIONS = {
    parser.prog: {name for action in arguments_of(parser) for name in action.option_strings}
    for parser in parsers_below(whole_parser())
}
COMMAND_LINE = re.compile(r"`(kafka-rack [^`\n]+)`|^(?:\$ )?(kafka-rack [a-z-]+(?: .*)?)$", re.MULTILINE)
"""What is shown as typed: inside a sentence, or a line of a block of its own."""


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_each_command_line_on_a_page_has_a_command_and_options_that_there_are(page):
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for inline, line in COMMAND_LINE.findall(text):
        prog, unknown = "kafka-rack", []
        for word in re.split(r" -- |  +#", inline or line)[0].split()[1:]:
            prog = f"{prog} {word}" if f"{prog} {word}" in OPTIONS else prog
            option = word.partition("=")[0].rstrip(",.;)")
            unknown += [option] if option.startswith("--") and option not in OPTIONS[prog] else []
        assert unknown == [], inline or line


@pytest.mark.parametrize("page", ["assignment", "consistency", "what-if"])
def test_the_command_on_a_page_prints_what_it_shows(monkeypatch, capsys, page):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    ((command, shown),) = re.findall(r"```console\n\$ kafka-rack ([^\n]*)\n(.*?)```", text, re.DOTALL)
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("kind", KINDS)
def test_each_anomaly_is_on_the_page_on_consistency(kind):
    assert f"| `{kind}` | {KINDS[kind]} | " in CONSISTENCY


def test_the_journals_page_has_every_field_of_an_entry_and_every_ending():
    rows = re.findall(r"^\| (`.*?) \|", JOURNAL, re.MULTILINE)
    assert set(JournalEntry._fields) <= {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert {ending.value for ending in Ending} <= set(re.findall(r"`([a-z ]+)`", JOURNAL))


@pytest.mark.parametrize(("suffix", "text"), re.findall(r"```(yaml|json)\n(.*?)```", FAULTS, re.DOTALL))
def test_each_file_on_the_page_of_faults_can_be_used(tmp_path, suffix, text):
    path = tmp_path / f"faults.{suffix}"
    path.write_text(text)
    assert faults_from_file(path)


def test_the_page_of_faults_says_of_each_api_where_an_error_stands():
    table = FAULTS.partition("| API | the error stands at |\n|---|---|\n")[2].partition("\n\n")[0]
    named = [name for row in table.splitlines() for name in row.split("|")[1].strip().split(", ")]
    served = [protocol.message_class(key, "request").name.removesuffix("Request") for key in MODULE_OF_API]
    assert sorted(named) == sorted(served)


def test_the_page_of_faults_has_every_word_of_the_vocabulary():
    words = (*MATCH_FIELDS, *EFFECTS, *CHOICES, "times", "jitter_ms", "between", "from", "to")
    assert [word for word in words if not re.search(rf"[`\"{{]{word}[`\"]", FAULTS)] == []


def test_the_page_on_transactions_has_the_defaults_of_its_settings():
    rows = re.findall(r"^\| `([a-z.]+)` \| (\w+) \|", TRANSACTIONS, re.MULTILINE)
    assert rows
    assert {name: text_of(DEFAULTS[name]) for name, _ in rows} == dict(rows)


@pytest.mark.parametrize("page", [SHARE_GROUPS, STREAMS_GROUPS], ids=["share", "streams"])
def test_the_pages_on_groups_have_the_defaults_of_their_settings(page):
    rows = re.findall(r"^\| `([a-z.]+)` \| (\w+) \|", page, re.MULTILINE)
    defaults = {name: DEFAULTS.get(name, definition(BROKER, name).default) for name, _ in rows}
    assert rows
    assert defaults == {name: int(shown) for name, shown in rows}


def test_the_page_on_streams_groups_names_every_status():
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", STREAMS_GROUPS, re.MULTILINE)) == {code.name for code in StatusCode}


def test_the_page_on_logs_has_the_defaults_of_its_settings():
    rows = re.findall(r"^\| `([a-z.]+)` \| (\S+) \|", LOGS, re.MULTILINE)
    topic = Cluster.create([Broker(0, "a")]).create_topic("orders", 1, 1)
    assert rows
    assert {name: text_of(topic.config(name)) for name, _ in rows} == dict(rows)
    assert {name for name, _ in rows} <= TOPICS


def served_table() -> str:
    """The APIs that the cluster serves, from the registry of its handlers."""
    rows = ["| API | key | versions |", "|---|---|---|"]
    for api_key in sorted(MODULE_OF_API):
        request = protocol.message_class(api_key, "request")
        lowest, highest = declared_versions(api_key)
        versions = f"{lowest}-{highest}" if lowest < highest else str(highest)
        rows.append(f"| {request.name.removesuffix('Request')} | {api_key} | {versions} |")
    return "\n".join(rows)


def test_the_readme_lists_what_the_cluster_serves():
    shown = README.partition("<!-- served -->\n")[2].partition("<!-- served ends -->")[0].strip()
    assert shown == served_table()


LINKED_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", LINKED_PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_are_there(page):
    for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not heading or heading in anchors_of(file), f"{target}#{heading}"


def anchors_of(page: Path) -> set[str]:
    """What links name the headings of a page by, as GitHub makes it."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_each_page_is_linked_from_the_readme():
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in README] == []


def test_each_page_is_in_the_sites_navigation_once():
    """Without building the site: `make docs` does that."""
    site = run_path(str(ROOT / "website" / "conf.py"))
    there = [path for pattern in site["include_patterns"] for path in ROOT.glob(pattern)]
    named = [path for pages in site["NAVIGATION"].values() for _, path in pages]
    assert sorted([*named, site["root_doc"]]) == sorted(str(path.relative_to(ROOT).with_suffix("")) for path in there)


def test_the_map_names_only_modules_that_are_there():
    (shown,) = re.findall(r"## Where things are\n```\n(.*?)```", CONTRIBUTING, re.DOTALL)
    named = set(re.findall(r"\w+\.py", shown))
    there = {path.name for top in ("protocol", "kafka_rack", "mockbroker") for path in (ROOT / top).rglob("*.py")}
    assert named - there == set()
