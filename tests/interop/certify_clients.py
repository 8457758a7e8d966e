"""Makes the tables of docs/certify.md: certify on every client, reading and writing.

    python -m tests.interop.certify_clients

It takes some minutes and downloads what Go, Java and Node need. It prints the evidence of each failed check.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.interop.certified_clients import CertifiedClient, certified_clients
from tests.interop.certify_run import CertifyRun, certify
from tests.interop.client_process import ROOT
from tests.interop.fetched import ToolMissingError

PAGE = ROOT / "docs" / "certify.md"
READING = {
    "fetch_rack": "rack in Fetch",
    "preferred_replica": "follows",
    "stays": "stays",
    "leader_on_minus_one": "-1",
    "out_of_range": "out of range",
    "follower_gone": "follower goes",
    "assignor_rack": "assignor's rack",
    "local_assignments": "local assignments",
    "leader_hints": "hints",
    "no_loss": "no loss",
    "goes_on": "continues",
    "near_reads": "reads near",
}
WRITING = {
    "leader_hints": "hints",
    "no_loss": "no loss",
    "goes_on": "continues",
    "no_duplicates": "nothing twice",
    "near_writes": "writes near",
}
WORDS = {"pass": "yes", "fail": "**no**", "not seen": "-"}

Runs = Mapping[str, tuple[CertifiedClient, CertifyRun]]


def main() -> None:
    reading, writing = runs_of("consume"), runs_of("produce")
    made = [
        "### Readers",
        table(reading, READING),
        "### Writers",
        table(writing, WRITING),
    ]
    write_part("certified", "\n\n".join(made))
    print(failures(reading, READING))


def write_part(name: str, text: str) -> None:
    """Replace the part of the page between the comments ``name`` and ``name ends``."""
    begin, end = f"<!-- {name} -->", f"<!-- {name} ends -->"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def runs_of(work: str) -> Runs:
    """A run for each client that can be had here."""
    found: dict[str, tuple[CertifiedClient, CertifyRun]] = {}
    for name, client in certified_clients().items():
        try:
            command = client.command(work, "{rack}")
        except ToolMissingError as missing:
            raise SystemExit(f"{name}: {missing}") from None
        with tempfile.TemporaryDirectory() as folder:
            ran = certify(command, Path(folder))
        if ran.exit_code:
            raise SystemExit(f"{name}: {ran.complaints}")
        sys.stderr.write(f"{name}, {work}: {ran.printed['grade']}\n")
        found[name] = client, ran
    return found


def table(runs: Runs, columns: Mapping[str, str]) -> str:
    """One row a client."""
    rows = [
        f"| client | grade | {' | '.join(columns.values())} |",
        f"|---|---|{'---|' * len(columns)}",
    ]
    for client, ran in runs.values():
        cells = " | ".join(WORDS[ran.verdicts[check]] for check in columns)
        rows.append(f"| {client.name} {client.version} | {ran.printed['grade']} | {cells} |")
    return "\n".join(rows)


def failures(runs: Runs, columns: Mapping[str, str]) -> str:
    """The evidence of what failed, client by client."""
    lines = []
    for client, ran in runs.values():
        failed = [check for check in columns if ran.verdicts[check] == "fail"]
        if failed:
            lines.append(f"- {client.name} {client.version}")
            lines += [f"  - {columns[check]}: {ran.evidence(check)}" for check in failed]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
