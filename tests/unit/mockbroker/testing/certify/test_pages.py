"""docs/certify.md and docs/clients.md say what the code does: checks, weights, grades, bugs, clients' versions."""

import re
from pathlib import Path

from mockbroker.testing.certify.certificate import GRADES
from mockbroker.testing.certify.checks import CHECKS
from mockbroker.testing.museum.bugs import BUGS
from tests.interop.certified_clients import certified_clients
from tests.interop.certify_clients import READING, WRITING

DOCS = Path(__file__).resolve().parents[5] / "docs"
CERTIFY = (DOCS / "certify.md").read_text(encoding="utf-8")
CLIENTS = (DOCS / "clients.md").read_text(encoding="utf-8")


def test_every_check_stands_on_the_page_with_its_question_and_weight():
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (\d+) \|$", CERTIFY, re.MULTILINE)
    assert rows == [(name, question, str(weight)) for name, question, weight, _ in CHECKS]


def test_every_grade_stands_on_the_page_with_its_least_percentage():
    found = dict(re.findall(r"\b([A-E]) from (\d+)", CERTIFY))
    assert found == {grade: str(least) for grade, least in GRADES if least}


def test_every_bug_of_the_museum_stands_on_the_page():
    rows = re.findall(r"^\| `([\w-]+)` \| (\S+) \| (\S+) \| (\S+) \| (.*) \|$", CERTIFY, re.MULTILINE)
    assert rows == [(bug.id, bug.client, bug.bad, bug.good, bug.title) for bug in BUGS]


def test_the_clients_tables_have_the_versions_that_the_interop_suite_runs():
    rows = re.findall(r"^\| (.*?) \| [A-F] \| (.*) \|$", CLIENTS, re.MULTILINE)
    names = [f"{client.name} {client.version}" for client in certified_clients().values()]
    assert [name for name, _ in rows] == [*names, *names]
    widths = [len(cells.split(" | ")) for _, cells in rows]
    assert widths == [len(READING)] * len(names) + [len(WRITING)] * len(names)
