"""A ledger's main figures: client traffic, its avoidable part with actions, and replication separately.

The command line, the control API and the pages all show these figures and sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from kafka_rack.locality.amounts import Pace, bytes_text, plain, share_text
from kafka_rack.locality.prices import NOTHING
from kafka_rack.locality.reasons import AVOIDABLE_WORDS, CONSUME, OTHER, PRODUCE, REASONS, REPLICATION
from kafka_rack.locality.traffic import MONEY

KINDS = {"client": (PRODUCE, CONSUME), "replication": (REPLICATION,), "other": (OTHER,)}
"""Part of a summary -> the kinds of its flows."""
BYTES = ("local_bytes", "cross_bytes", "unknown_bytes", "avoidable_bytes", "perhaps_bytes", "unavoidable_bytes")
MAX_DETAILS = 10
Row = Mapping[str, Any]


def summary_of(rows: Iterable[Row], pace: Pace, currency: str) -> dict[str, Any]:
    """The figures and sentences of a ledger's rows.

    Args:
        rows: with ``category``, ``locality``, ``reason``, ``bytes``, ``saves_bytes``, ``at_most_bytes`` and ``MONEY``,
            and ``detail`` if any: those of ``traffic``, or sums of them.

    Returns ``client``, ``replication`` and ``other``: bytes by locality, crossing ones by avoidability, and costs;
    ``actions``: remedies for client traffic that crossed or may have, by reason, with their savings, largest first;
    ``lines``: sentences for ``client``, ``avoidable``, ``unknown`` and ``replication``.
    """
    parts = {name: no_sums() for name in KINDS}
    by_reason: dict[str, dict[str, Any]] = {}
    details: dict[str, Counter[str]] = {}
    for row in rows:
        name = next(name for name, kinds in KINDS.items() if row["category"] in kinds)
        add(parts[name], row)
        if name == "client" and row["reason"] is not None and row["bytes"]:
            add(by_reason.setdefault(row["reason"], no_sums()), row)
            found = details.setdefault(row["reason"], Counter())
            if row.get("detail"):
                found[row["detail"]] += row["bytes"]
    for part in parts.values():
        part["cost_text"] = pace.money(part["cost"], currency)
        part["cross_share"] = share_text(part["cross_bytes"], part["bytes"])
    found_actions = [action(name, sums, details[name], pace, currency) for name, sums in by_reason.items()]
    order = ("avoidable_bytes", "at_most_bytes", "bytes")
    found_actions.sort(key=lambda one: (*(-one[size] for size in order), one["reason"]))
    return {
        **{name: shown(part) for name, part in parts.items()},
        "actions": [shown(one) for one in found_actions],
        "period": pace.heading,
        "lines": lines(parts, pace, currency),
    }


def no_sums() -> dict[str, Any]:
    return {"bytes": 0, **dict.fromkeys(BYTES, 0), "at_most_bytes": 0, **dict.fromkeys(MONEY, NOTHING)}


def shown(row: Row) -> dict[str, Any]:
    """A row as JSON, with amounts of money as text."""
    return {name: plain(value) if isinstance(value, Decimal) else value for name, value in row.items()}


def add(sums: dict[str, Any], row: Row) -> None:
    size = row["bytes"]
    sums["bytes"] += size
    sums["at_most_bytes"] += row["at_most_bytes"]
    if row["locality"] != "cross":
        sums[f"{row['locality']}_bytes"] += size
    else:
        saves = row["saves_bytes"]
        perhaps = row["at_most_bytes"] - saves
        sums["cross_bytes"] += size
        sums["avoidable_bytes"] += saves
        sums["perhaps_bytes"] += perhaps
        sums["unavoidable_bytes"] += size - saves - perhaps
    for name in MONEY:
        sums[name] += row[name]


def action(name: str, sums: Row, details: Counter[str], pace: Pace, currency: str) -> dict[str, Any]:
    """The action against client traffic that crossed racks, or may have, for one reason."""
    reason = REASONS[name]
    return {
        "reason": name,
        "what": reason.what,
        "action": reason.action,
        "who": reason.who,
        "docs": reason.docs,
        "avoidable": AVOIDABLE_WORDS[
            "yes" if sums["avoidable_bytes"] else "perhaps" if sums["at_most_bytes"] else "no"
        ],
        "details": sorted(details, key=lambda text: (-details[text], text))[:MAX_DETAILS],
        **sums,
        "saving": saving(sums, pace, currency),
    }


def saving(sums: Row, pace: Pace, currency: str) -> str:
    """The amount saved for certain, and at most if that is more.

    >>> saving({"saves_cost": Decimal(1), "at_most_cost": Decimal(3)}, Pace(0), "$")
    '$1.00, at most $3.00'
    """
    certain, most = (pace.money(sums[name], currency) for name in ("saves_cost", "at_most_cost"))
    return certain if certain == most else f"at most {most}" if not sums["saves_cost"] else f"{certain}, at most {most}"


def lines(parts: Mapping[str, Mapping[str, Any]], pace: Pace, currency: str) -> dict[str, str]:
    """The sentences at the top of every view."""
    client, copies = parts["client"], parts["replication"]

    def paid(amount: Decimal, size: int) -> str:
        return pace.sentence(amount, size, currency)

    found = {
        "client": f"client traffic across racks: {client['cross_share']} ({bytes_text(client['cross_bytes'])} of "
        f"{bytes_text(client['bytes'])}), {paid(client['cost'], client['bytes'])}"
    }
    if client["avoidable_bytes"]:
        amount = paid(client["saves_cost"], client["bytes"])
        found["avoidable"] = f"avoidable: {bytes_text(client['avoidable_bytes'])}, {amount}"
    else:
        found["avoidable"] = "avoidable: nothing"
    if client["perhaps_bytes"]:
        found["avoidable"] += f"; cannot tell: {bytes_text(client['perhaps_bytes'])}"
    if client["unknown_bytes"]:
        found["unknown"] = (
            f"unknown: {bytes_text(client['unknown_bytes'])}, at most {paid(client['possible_cost'], 0)}; "
            "name them in a racks file (--client-racks)"
        )
    if copies["bytes"]:
        crossed = f"{bytes_text(copies['cross_bytes'])} across racks, {paid(copies['cost'], copies['bytes'])}"
        found["replication"] = f"replication: {crossed}, unavoidable with replicas in several racks"
    return found
