"""What a run of ``locality`` found, small enough for one file: ``locality.json``, which a page and a terminal can show.

Amounts of money are text with all their decimals; bytes are numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from kafka_rack.locality.amounts import (
    MONTH_SECONDS,
    SHORT_SPAN_US,
    US,
    covered_us,
    duration_text,
    in_a_month,
    window_text,
    with_currency,
)
from kafka_rack.locality.prices import NOTHING, Prices
from kafka_rack.locality.reasons import CATEGORIES, REASONS, REPLICATION
from kafka_rack.locality.traffic import ALL_SUMS, MONEY
from kafka_rack.plurals import counted
from kafka_rack.rack_names import rack_hints

MAX_PAIRS = 400
MAX_DETAILS = 10
MAX_WINDOWS = 5_000
LISTS = ("topics", "clients", "groups", "apis")
"""Tables whose largest crossers the result lists."""
WHOLE = ("apis", "rack_pairs", "reasons")
"""Tables that the result needs all rows of: as many as there are APIs, pairs of racks, reasons."""
Row = Mapping[str, Any]


@dataclass(slots=True)
class Excerpt:
    """What the result needs of a table, taken row by row in the table's order: no more is held than the result holds.

    ``rows``: all of ``WHOLE``, of windows the earliest, of others the first. ``others``: how many more there are, and
    their sums. ``unknown``: the clients with the most unknown bytes.
    """

    name: str
    top: int
    rows: list[Row] = field(default_factory=list)
    others: int = 0
    other_sums: dict[str, Any] = field(default_factory=lambda: added([]))
    unknown: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        if self.name == "windows":
            self.rows = earliest(self.rows, row)
        elif self.name in WHOLE or len(self.rows) < self.top:
            self.rows.append(row)
        else:
            self.others += 1
            for column in ALL_SUMS:
                self.other_sums[column] += row[column]
        if self.name == "clients" and row["unknown_bytes"]:
            self.unknown.append(row)
            if len(self.unknown) > 2 * self.top:
                self.unknown = self.most_unknown()

    def most_unknown(self) -> list[Row]:
        names = ("client_id", "client_host", "client_rack", "category")
        order = sorted(
            self.unknown,
            key=lambda row: (-row["unknown_bytes"], *((row[name] is None, row[name] or "") for name in names)),
        )
        return order[: self.top]

    def listed(self, span_us: int) -> dict[str, Any]:
        """The first rows, and all the others in one."""
        first = [with_month(row, span_us) for row in self.rows[: self.top]]
        if self.name in WHOLE:
            rest = self.rows[self.top :]
            count, sums = len(rest), added(rest)
        else:
            count, sums = self.others, self.other_sums
        return {"top": first, "others": {"rows": count, **shown(sums)} if count else None}


def earliest(rows: list[Row], row: Row) -> list[Row]:
    """The rows of the earliest windows, with one more."""
    rows.append(row)
    if len(rows) <= 2 * MAX_WINDOWS:
        return rows
    return sorted(rows, key=by_time)[:MAX_WINDOWS]


def by_time(row: Row) -> tuple[Any, ...]:
    return row["window_start"], row["category"]


def collect_result(
    excerpts: Mapping[str, Excerpt],
    prices: Prices,
    spans: Iterable[tuple[int, int]],
    window_us: int,
    *,
    racks_file: str | None = None,
    out: str | None = None,
) -> dict[str, Any]:
    """The result out of what was taken from each table, and each capture's first and last moment."""
    spans = list(spans)
    span_us = covered_us(spans)
    first, last = min(first for first, _ in spans), max(last for _, last in spans)
    apis, pairs, reasons = (excerpts[name].rows for name in WHOLE)
    windows = sorted(excerpts["windows"].rows, key=by_time)
    return {
        "schema": 1,
        "out": out,
        "racks_file": racks_file,
        "span": {
            "captures": len(spans),
            "first": moment(first),
            "last": moment(last),
            "covered_us": span_us,
            "window": window_text(window_us),
            "window_us": window_us,
        },
        "prices": prices.as_json(),
        "month_seconds": MONTH_SECONDS,
        "assumptions": assumptions(prices, span_us),
        "total": with_month(added(apis), span_us),
        "categories": [
            {"category": name, **with_month(added(row for row in apis if row["category"] == name), span_us)}
            for name in CATEGORIES
            if any(row["category"] == name for row in apis)
        ],
        "rack_pairs": [shown(row) for row in pairs[:MAX_PAIRS]],
        "flows": flows(pairs, prices, span_us),
        "windows": [shown(row) for row in windows[:MAX_WINDOWS]],
        **{name: excerpts[name].listed(span_us) for name in LISTS},
        "avoidable": avoidable(reasons, span_us),
        "unknown_clients": [shown(row) for row in excerpts["clients"].most_unknown()],
        "notes": notes(pairs, reasons, prices, span_us),
    }


def added(rows: Iterable[Row]) -> dict[str, Any]:
    total: dict[str, Any] = {name: NOTHING if name in MONEY else 0 for name in ALL_SUMS}
    for row in rows:
        for name in ALL_SUMS:
            total[name] += row[name]
    return total


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON has it."""
    return {
        name: plain(value)
        if isinstance(value, Decimal)
        else moment(microseconds(value))
        if name == "window_start"
        else value
        for name, value in row.items()
    }


def with_month(row: Mapping[str, Any], span_us: int) -> dict[str, Any]:
    """A row and what it comes to in a month, where the span allows to say so."""
    return {
        **shown(row),
        "month": {name: monthly(row[name], span_us) for name in ("bytes", "cross_bytes", "unknown_bytes", *MONEY)},
    }


def monthly(amount: Decimal | int, span_us: int) -> str | int | None:
    found = in_a_month(amount, span_us)
    if found is None:
        return None
    return plain(found) if isinstance(amount, Decimal) else round(found)


def plain(amount: Decimal) -> str:
    """An amount as text without an exponent and without zeros at its end.

    >>> plain(Decimal("0.060000000000000000")), plain(Decimal("1E-9")), plain(Decimal("100"))
    ('0.06', '0.000000001', '100')
    """
    text = f"{amount:.18f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def moment(us: int) -> str:
    return f"{datetime.fromtimestamp(us // US, UTC):%Y-%m-%dT%H:%M:%S}.{us % US:06d}Z"


def microseconds(value: datetime) -> int:
    since = value.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * US + since.microseconds


def flows(pairs: Sequence[Mapping[str, Any]], prices: Prices, span_us: int) -> list[dict[str, Any]]:
    """Who sent how much to whom: requests from clients' racks, responses from brokers'. None is an unknown rack."""
    found: dict[tuple[str | None, str | None], dict[str, int]] = {}
    for row in pairs:
        client, broker = row["client_rack"], row["broker_rack"]
        for way, size in (((client, broker), row["request_bytes"]), ((broker, client), row["response_bytes"])):
            by_category = found.setdefault(way, {})
            by_category[row["category"]] = by_category.get(row["category"], 0) + size
    listed: list[dict[str, Any]] = []
    for (sender, receiver), by_category in found.items():
        size = sum(by_category.values())
        cost = NOTHING
        if sender is not None and receiver is not None:
            cost = sum(
                (
                    prices.cost(sender, receiver, part, replication=category == REPLICATION)
                    for category, part in by_category.items()
                ),
                NOTHING,
            )
        listed.append(
            {
                "from": sender,
                "to": receiver,
                "bytes": size,
                "by_category": by_category,
                "cost": plain(cost),
                "month_cost": monthly(cost, span_us),
            }
        )
    listed.sort(key=lambda flow: (-flow["bytes"], flow["from"] or "", flow["to"] or ""))
    return listed[:MAX_PAIRS]


def avoidable(rows: Iterable[Mapping[str, Any]], span_us: int) -> list[dict[str, Any]]:
    """Each reason with what it cost and what its fix saves, the largest saving first."""
    found: dict[str, dict[str, Any]] = {}
    details: dict[str, dict[str, int]] = {}
    for row in rows:
        name = row["reason"]
        if name is None:
            continue
        sums = found.setdefault(name, added([]))
        for column in ALL_SUMS:
            sums[column] += row[column]
        if row["detail"]:
            by_detail = details.setdefault(name, {})
            by_detail[row["detail"]] = by_detail.get(row["detail"], 0) + row["bytes"]
    order = sorted(
        found,
        key=lambda name: (
            -found[name]["saves_bytes"],
            -found[name]["at_most_bytes"],
            -found[name]["bytes"],
            name,
        ),
    )
    listed = []
    for name in order:
        by_detail = details.get(name, {})
        reason = REASONS[name]
        listed.append(
            {
                "reason": name,
                "what": reason.what,
                "fix": reason.fix,
                "avoidable": reason.avoidable,
                "details": sorted(by_detail, key=lambda text: (-by_detail[text], text))[:MAX_DETAILS],
                **with_month(found[name], span_us),
            }
        )
    return listed


def assumptions(prices: Prices, span_us: int) -> list[str]:
    """What the figures rest on, in sentences."""
    egress, ingress = (with_currency(plain(part), prices.currency) for part in prices.default)
    unit = "GB (10^9 bytes)" if prices.unit == "GB" else "GiB (2^30 bytes)"
    price = f"A {unit} that crosses costs {egress} where it leaves a rack and {ingress} where it enters one"
    if prices.pairs:
        price += f"; prices of their own: {counted(len(prices.pairs), 'direction')}"
    price += "; replication is free." if prices.free_replication else "."
    month = "The captures cover no span of time, so nothing can be said about a month."
    if span_us > 0:
        covered = duration_text(span_us)
        month = f"A month is {MONTH_SECONDS // 3_600} hours that all go on like the {covered} that the captures cover."
    frames = "Bytes are those of Kafka's frames with their length fields, both ways; TCP, IP and TLS come on top."
    certain = (
        "A fix saves for certain where the capture shows what it takes, a replica in sync or a leader in the client's "
        "rack. At most, unknown bytes count as if all of them crossed at the highest price."
    )
    return [price, frames, month, certain]


def notes(pairs: Sequence[Row], reasons: Sequence[Row], prices: Prices, span_us: int) -> list[str]:
    """What a reader should know before trusting the figures."""
    found = []
    if 0 < span_us < SHORT_SPAN_US:
        found.append(f"The captures cover {duration_text(span_us)} only; what is said of a month is rough.")
    racks = {row[name] for row in pairs for name in ("client_rack", "broker_rack") if row[name]}
    found += [f"Almost the same: {hint}." for hint in rack_hints(sorted(racks)[:200])]
    unused = sorted(prices.racks() - racks)
    if unused:
        found.append(f"The prices name racks that nobody here is in: {', '.join(unused)}.")
    conflicts = {row["detail"]: None for row in reasons if (row["detail"] or "").startswith("it says ")}
    found += [f"A client and the racks file differ: {detail}." for detail in list(conflicts)[:MAX_DETAILS]]
    return found
