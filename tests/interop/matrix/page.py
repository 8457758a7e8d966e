"""docs/compatibility.md: the tables that runs of the matrix write, and what clients lack."""

from __future__ import annotations

from collections.abc import Mapping

from tests.interop.client_process import ROOT
from tests.interop.matrix.clients import CLIENTS
from tests.interop.matrix.scenarios import SCENARIOS

PAGE = ROOT / "docs" / "compatibility.md"
OURS_ALONE = ("diskless",)
"""What real Kafka has not."""

Found = Mapping[str, Mapping[str, str]]
"""Client -> scenario -> what was wrong, "" for nothing."""


def marks(target: str) -> tuple[str, str]:
    """What stands around the table of a target."""
    return f"<!-- beside {target} -->\n", "<!-- ends -->"


def columns(target: str) -> list[str]:
    return [name for name in SCENARIOS if target == "kafka-rack" or name not in OURS_ALONE]


def table(found: Found, target: str) -> str:
    """A row for each client: ``yes``, **no**, or - for what it cannot do at all."""
    names = columns(target)
    lines = [f"| client | as | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for name, client in CLIENTS.items():
        cells = [cell(found.get(name, {}).get(scenario), scenario in client.lacks) for scenario in names]
        lines.append(f"| {name} {client.version} | {client.release} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(wrong: str | None, is_lacking: bool) -> str:
    if is_lacking:
        return "-"
    return "yes" if wrong == "" else "**no**"


def lacking() -> str:
    """Why cells are empty."""
    reasons: dict[str, list[str]] = {}
    for name, client in CLIENTS.items():
        for reason in dict.fromkeys(client.lacks.values()):
            what = ", ".join(scenario for scenario, why in client.lacks.items() if why == reason)
            reasons.setdefault(f"{what}: {reason}", []).append(name)
    return "\n".join(f"- {reason}: {', '.join(names)}." for reason, names in reasons.items())


def between(target: str) -> str:
    """What the page has of a target."""
    begin, end = marks(target)
    return PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(f"\n{end}")[0]


def write(target: str, text: str) -> None:
    """Put a text in the place of what the page has of a target."""
    begin, end = marks(target)
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(f"\n{end}")
    PAGE.write_text(f"{before}{begin}{text}\n{end}{after}", encoding="utf-8")
