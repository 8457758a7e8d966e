"""Tables and lists in pages against the objects of the code that they show."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from tests.lint.project import (
    Check,
    Project,
    first_cells,
    in_backticks,
    line_differences,
    missing_names,
    set_differences,
)

COMMAND_LINE = re.compile(r"`(kafka-rack [^`\n]+)`|^(?:\$ )?(kafka-rack [a-z-]+(?: .*)?)$", re.MULTILINE)
"""As typed: inside a sentence, or a line of a block of its own."""
SHOWN_BY = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
VARIABLE = re.compile(r"\bKAFKA_RACK_[A-Z_]*[A-Z]\b")


def command_lines_have_existing_options(project: Project) -> Iterator[str]:
    from kafka_rack.cli.command import top
    from tests.cli_tree import commands

    options = {
        path: {name for param in command.params for name in param.opts} | {"--help", "--version"}
        for path, command in [("kafka-rack", top), *commands()]
    }
    for page in project.pages():
        for inline, line in COMMAND_LINE.findall(project.text(page).replace("\\\n", " ")):
            prog = "kafka-rack"
            for word in re.split(r" -- |  +#", inline or line)[0].split()[1:]:
                prog = f"{prog} {word}" if f"{prog} {word}" in options else prog
                option = word.partition("=")[0].rstrip(",.;)")
                if option.startswith("--") and option not in options[prog]:
                    yield f"{page}: {prog} has no option {option}, in `{inline or line}`"


def variables_are_options(project: Project) -> Iterator[str]:
    """KAFKA_RACK_... in pages and in the Containerfile."""
    from kafka_rack.cli.command import OWN_VARIABLES, Command
    from protocol.backends import VARIABLE as BACKEND
    from tests.cli_tree import commands

    known = {*OWN_VARIABLES, BACKEND}
    for _, command in commands():
        if isinstance(command, Command) and command.environment:
            known |= command.variables
    for file in [*project.pages(), "Containerfile"]:
        for name in sorted(set(VARIABLE.findall(project.text(file))) - known):
            yield f"{file}: names {name}, which is the variable of no option"


def the_page_on_the_command_line_is_current(project: Project) -> Iterator[str]:
    from tests import cli_page

    shown = project.text("docs/cli.md").split("\n")
    yield from line_differences("docs/cli.md", shown, cli_page.page().split("\n"), "`python -m tests.cli_page`")


def generated_parts_are_current(project: Project) -> Iterator[str]:
    """Each page or table that a program writes is up to date."""
    from tests import configs_page, reference
    from tests.answers import excuses

    right = {name: made() for name, made in reference.PAGES.items()}
    for name, made_parts in reference.PARTS.items():
        parts, text = made_parts(), project.text(f"docs/{name}")
        right[name] = configs_page.with_parts(text, parts)
        for part in parts:
            if f"<!-- {part} begins -->" not in text:
                yield f"docs/{name}: lacks the comment `{part} begins`, at which a list is written"
    for name, page in right.items():
        shown = project.text(f"docs/{name}").split("\n")
        yield from line_differences(f"docs/{name}", shown, page.split("\n"), "`python -m tests.reference`")
    path = "fixtures/answers/README.md"
    header, *rows = (excuses.HEADER + excuses.rows()).split("\n")
    shown = project.text(path).partition(f"{header}\n")[2].partition("\n\n")[0]
    yield from line_differences(path, shown.split("\n"), rows, "`python -m tests.answers excuses`")


def the_page_on_faults_has_each_moment_and_api(project: Project) -> Iterator[str]:
    from mockbroker.api import SERVED
    from mockbroker.core.faults.fault import When
    from protocol.registry import APIS

    page = "docs/faults.md"
    text = project.text(page)
    shown = "\n".join(first_cells(text, "| when |")).replace('"', "`")
    yield from missing_names(f"{page}, table of When", shown, When.__struct_fields__, "When")
    named = {name for cell in first_cells(text, "| API |") for name in cell.split(", ")}
    served = {APIS[key][1] for key in SERVED}
    yield from set_differences(f"{page}, table of errors", named, served, "mockbroker.api")


def the_page_on_the_journal_has_each_field(project: Project) -> Iterator[str]:
    from mockbroker.call import Ending
    from mockbroker.core.journal import JournalEntry

    page = "docs/journal.md"
    text = project.text(page)
    yield from missing_names(f"{page}, tables", "\n".join(first_cells(text)), JournalEntry._fields, "JournalEntry")
    yield from missing_names(page, text, [ending.value for ending in Ending], "Ending")


def tables_of_findings_have_each_kind(project: Project) -> Iterator[str]:
    from kafka_rack import audit, consistency

    for page, kinds in (("docs/plan.md", audit.KINDS), ("docs/journal.md", consistency.KINDS)):
        for kind, meaning in kinds.items():
            if f"| `{kind}` | {meaning} |" not in project.text(page):
                yield f"{page}: lacks the row | `{kind}` | {meaning} |"


def the_page_on_placers_has_each_name(project: Project) -> Iterator[str]:
    from kafka_rack.placement import BUILT_IN, PLACER_SETTINGS

    page = "docs/plan.md"
    yield from missing_names(page, project.text(page), [*BUILT_IN, *PLACER_SETTINGS], "kafka_rack.placement")


def the_page_on_testing_has_each_name(project: Project) -> Iterator[str]:
    from mockbroker import BlockingMockCluster
    from mockbroker.core.commands import StateCommands
    from mockbroker.testing import pytest_plugin
    from mockbroker.testing.marker import MARKER_ARGUMENTS

    page = "docs/testing.md"
    text = project.text(page)
    fixtures = in_backticks(first_cells(text, "| fixture |"), r"\w+")
    given = {name for name in vars(pytest_plugin) if name.startswith("kafka_")} - {"kafka_proxy_upstream"}
    yield from set_differences(f"{page}, fixtures", fixtures, given, "the plugin")
    arguments = in_backticks(first_cells(text, "| argument |"), r"\w+")
    yield from set_differences(f"{page}, arguments", arguments, MARKER_ARGUMENTS, "MARKER_ARGUMENTS")
    commands = {name for cell in first_cells(text, "| command |") for name in re.findall(r"`(\w+)\(", cell)}
    of_state = {name for name, _ in inspect.getmembers(StateCommands, inspect.isfunction) if not name.startswith("_")}
    yield from set_differences(f"{page}, commands", commands & of_state, of_state, "StateCommands")
    for name in sorted(commands):
        if not hasattr(BlockingMockCluster, name):
            yield f"{page}: has the command `{name}`, which BlockingMockCluster lacks"


def the_page_on_certify_has_each_check(project: Project) -> Iterator[str]:
    from mockbroker.testing.certify.certificate import GRADES
    from mockbroker.testing.certify.checks import CHECKS as RULES
    from mockbroker.testing.certify.server_checks import SERVER_CHECKS

    page = "docs/certify.md"
    text = project.text(page)
    shown = re.findall(r"^\| `\w+` \| .* \| \d+ \|$", text, re.MULTILINE)
    rules = [f"| `{name}` | {question} | {weight} |" for name, question, weight, _ in RULES]
    yield from line_differences(page, shown, rules, "mockbroker/testing/certify/checks.py")
    shown = re.findall(r"^\| `\w+` \| .* \| (?:Kafka|KIP-\d+) \|$", text, re.MULTILINE)
    rules = [f"| `{name}` | {question} | {source} |" for name, question, source, *_ in SERVER_CHECKS]
    yield from line_differences(page, shown, rules, "mockbroker/testing/certify/server_checks.py")
    shown = re.findall(r"\b[A-E] from \d+", text)
    grades = [f"{grade} from {least}" for grade, least in GRADES if least]
    yield from line_differences(page, shown, grades, "GRADES")


def the_page_on_certify_has_the_versions_that_are_run(project: Project) -> Iterator[str]:
    from tests.interop.certified_clients import certified_clients
    from tests.interop.certify_clients import READING, WRITING
    from tests.interop.museum.__main__ import table

    page = "docs/certify.md"
    text = project.text(page)
    rows = re.findall(r"^\| (.*?) \| [A-F] \| (.*) \|$", text, re.MULTILINE)
    shown = [f"{name}: {cells.count(' | ') + 1} columns" for name, cells in rows]
    right = [
        f"{client.name} {client.version}: {len(columns)} columns"
        for columns in (READING, WRITING)
        for client in certified_clients().values()
    ]
    yield from line_differences(page, shown, right, "`python -m tests.interop.certify_clients`")
    shown = re.findall(r"^\| (?:bug|`[\w-]+`) \| \S+ \| .* \|$", text, re.MULTILINE)
    header, _, *bugs = table()
    yield from line_differences(page, shown, [header, *bugs], "`python -m tests.interop.museum`")


def the_page_on_proposals_names_existing_tests(project: Project) -> Iterator[str]:
    """Each row of docs/kips.md has a test that exists, but those of proposals that have no part here."""
    page = "docs/kips.md"
    for number, line in enumerate(project.text(page).splitlines(), 1):
        if not line.startswith(("| KIP-", "| KAFKA-")):
            continue
        name, _, _, here, tests = (cell.strip() for cell in line.strip("|").split(" | "))
        for test in tests.split(", ") if (here, tests) != ("not", "-") else ():
            found = SHOWN_BY.fullmatch(test)
            if found is None:
                yield f"{page}:{number}: {name}: expected the path and the name of a test, got {test}"
            elif not re.search(rf"def {found[2]}\(", project.text(found[1]) if project.exists(found[1]) else ""):
                yield f"{page}:{number}: {name}: there is no {test}"


CHECKS: tuple[Check, ...] = (
    command_lines_have_existing_options,
    variables_are_options,
    generated_parts_are_current,
    the_page_on_the_command_line_is_current,
    the_page_on_faults_has_each_moment_and_api,
    the_page_on_the_journal_has_each_field,
    tables_of_findings_have_each_kind,
    the_page_on_placers_has_each_name,
    the_page_on_testing_has_each_name,
    the_page_on_certify_has_each_check,
    the_page_on_certify_has_the_versions_that_are_run,
    the_page_on_proposals_names_existing_tests,
)
