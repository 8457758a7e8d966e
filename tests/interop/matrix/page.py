"""The tables of docs/compatibility.md about clients: who passes which scenario, and what clients lack."""

from __future__ import annotations

from tests.interop.matrix.clients import CLIENTS
from tests.interop.matrix.scenarios import SCENARIOS

MEANINGS = {
    "create": "a topic of six partitions with three replicas",
    "none, gzip, snappy, lz4, zstd": "60 records are written with this compression and read back by a group",
    "rebalance": "a group of one, of two, of one again: partitions move, each record is read once",
    "resume": "a second process continues at the committed offsets",
    "transactions": "of three transactions the middle one is aborted; a reader of committed records gets the others",
    "consumer protocol": "the rebalance again, by `group.protocol=consumer` (KIP-848)",
    "share group": "two members of a share group, one after the other: each record is delivered once (KIP-932)",
    "follower": "a consumer with `client.rack` reads from the replica in its rack (KIP-392)",
    "diskless": "`client.id=reader,diskless_az=b` is enough to write and read in rack b",
    "admin": "topics are listed, a config is set and read back, a topic is deleted",
}


def table() -> str:
    """A row for each client: ``yes``, or - for what it cannot do at all."""
    lines = [f"| client | as | {' | '.join(SCENARIOS)} |", "|---" * (len(SCENARIOS) + 2) + "|"]
    for name, client in CLIENTS.items():
        cells = ["-" if scenario in client.lacks else "yes" for scenario in SCENARIOS]
        lines.append(f"| {name} {client.version} | {client.release} | {' | '.join(cells)} |")
    return "\n".join(lines)


def scenarios() -> str:
    """What each scenario is."""
    return "\n".join(
        ["| scenario | |", "|---|---|", *(f"| {name} | {meaning} |" for name, meaning in MEANINGS.items())]
    )


def lacking() -> str:
    """Why cells are empty."""
    reasons: dict[str, list[str]] = {}
    for name, client in CLIENTS.items():
        for reason in dict.fromkeys(client.lacks.values()):
            what = ", ".join(scenario for scenario, why in client.lacks.items() if why == reason)
            reasons.setdefault(f"{what}: {reason}", []).append(name)
    return "\n".join(f"- {reason}: {', '.join(names)}." for reason, names in reasons.items())
