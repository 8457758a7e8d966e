"""Makes the table of released bugs in docs/certify.md: each bug with the version that has it and the one that fixes it.

    python -m tests.interop.museum

It takes some minutes, downloads and builds the clients, and prints the evidence of each verdict.
"""

from __future__ import annotations

import sys

from mockbroker.testing.certify.checks import FAIL, PASS, CertifyCheck
from mockbroker.testing.certify.programs import ProgramError
from tests.interop.certify_clients import write_part
from tests.interop.fetched import ToolMissingError
from tests.interop.museum.bugs import BUGS, Bug
from tests.interop.museum.replaying import replay

COLUMNS = ("bug", "client", "fails with", "passes with", "what goes wrong")


def main() -> None:
    described = []
    for bug in BUGS:
        bad, good = (verdict_on(bug, version, expected) for version, expected in ((bug.bad, FAIL), (bug.good, PASS)))
        links = ", ".join(f"[{number}]({link})" for number, link in enumerate(bug.links, start=1))
        described.append(f"- `{bug.id}` ({links}): {bug.story}")
        print(f"{bug.id}\n  {bug.bad}: {bad.evidence}\n  {bug.good}: {good.evidence}")
    write_part("released bugs", "\n".join([*table(), "", *described]))


def table() -> list[str]:
    """The header and one row a bug."""
    rows = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    return rows + [f"| `{bug.id}` | {bug.client} | {bug.bad} | {bug.good} | {bug.title} |" for bug in BUGS]


def verdict_on(bug: Bug, version: str, expected: str) -> CertifyCheck:
    """The verdict on one version. Ends the program if it is not the expected one, or if the client cannot be had."""
    try:
        check = replay(bug, version, lambda line: print(f"{bug.client} {version}: {line}", file=sys.stderr))
    except (ToolMissingError, ProgramError) as error:
        raise SystemExit(f"{bug.id}: {error}") from None
    if check.verdict != expected:
        raise SystemExit(f"{bug.id}: {version}: expected {expected}, got {check.verdict}: {check.evidence}")
    return check


if __name__ == "__main__":
    main()
