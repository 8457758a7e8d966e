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
    ESTIMATE_US,
    MONTH_SECONDS,
    SHORT_SPAN_US,
    US,
    Pace,
    covered_us,
    duration_text,
    plain,
    window_text,
    with_currency,
)
from kafka_rack.locality.completeness import Completeness
from kafka_rack.locality.prices import NOTHING, Prices
from kafka_rack.locality.reasons import CATEGORIES, REASONS, REPLICATION
from kafka_rack.locality.summary import summary_of
from kafka_rack.locality.traffic import ALL_SUMS, MONEY
from kafka_rack.plurals import counted
from kafka_rack.rack_names import rack_hints

MAX_PAIRS = 400
MAX_DETAILS = 10
MAX_TITLES = 3
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

    def listed(self) -> dict[str, Any]:
        """The first rows, and all the others in one."""
        first = [shown(row) for row in self.rows[: self.top]]
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
    completeness: Completeness | None = None,
    *,
    names: Sequence[str] = (),
    racks_file: str | None = None,
    out: str | None = None,
) -> dict[str, Any]:
    """The result out of what was taken from each table, and each capture's first and last moment.

    Args:
        completeness: of the ledger; of its spans alone unless given.
        names: of the captures, for a title.
    """
    spans = list(spans)
    span_us = covered_us(spans)
    completeness = completeness or Completeness(spans)
    first, last = min(first for first, _ in spans), max(last for _, last in spans)
    apis, pairs, reasons = (excerpts[name].rows for name in WHOLE)
    windows = sorted(excerpts["windows"].rows, key=by_time)
    pace = pace_of(windows, span_us, window_us)
    return {
        "schema": 1,
        "title": ", ".join(names[:MAX_TITLES]) or counted(len(spans), "capture"),
        "out": out,
        "racks_file": racks_file,
        "span": {
            "captures": len(spans),
            "first": moment(first),
            "last": moment(last),
            "covered_us": span_us,
            "window": window_text(window_us),
            "window_us": window_us,
            "month_low": plain(pace.low),
            "month_high": plain(pace.high),
        },
        "prices": prices.as_json(),
        "month_seconds": MONTH_SECONDS,
        "assumptions": assumptions(prices, pace, window_us),
        "completeness": completeness.as_json(),
        "summary": summary_of(reasons, pace, prices.currency),
        "total": shown(added(apis)),
        "categories": [
            {"category": name, **shown(added(row for row in apis if row["category"] == name))}
            for name in CATEGORIES
            if any(row["category"] == name for row in apis)
        ],
        "rack_pairs": [shown(row) for row in pairs[:MAX_PAIRS]],
        "flows": flows(pairs, prices),
        "windows": [shown(row) for row in windows[:MAX_WINDOWS]],
        **{name: excerpts[name].listed() for name in LISTS},
        "avoidable": avoidable(reasons),
        "unknown_clients": [shown(row) for row in excerpts["clients"].most_unknown()],
        "notes": [*lacking(completeness), *notes(pairs, reasons, prices, span_us)],
    }


def pace_of(windows: Iterable[Row], span_us: int, window_us: int) -> Pace:
    """The pace of a month, from what crossed in each window; where nothing crossed, from all that was moved."""
    crossed: dict[Any, int] = {}
    moved: dict[Any, int] = {}
    for row in windows:
        start = row["window_start"]
        crossed[start] = crossed.get(start, 0) + row["cross_bytes"]
        moved[start] = moved.get(start, 0) + row["bytes"]
    return Pace.of(span_us, (crossed if any(crossed.values()) else moved).values(), window_us)


def pace_of_result(result: Mapping[str, Any]) -> Pace:
    """The same out of a result."""
    span = result["span"]
    return Pace(span["covered_us"], Decimal(span["month_low"]), Decimal(span["month_high"]))


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


def moment(us: int) -> str:
    return f"{datetime.fromtimestamp(us // US, UTC):%Y-%m-%dT%H:%M:%S}.{us % US:06d}Z"


def microseconds(value: datetime) -> int:
    since = value.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * US + since.microseconds


def flows(pairs: Sequence[Mapping[str, Any]], prices: Prices) -> list[dict[str, Any]]:
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
                "out_of": sender,
                "into": receiver,
                "bytes": size,
                "by_category": by_category,
                "cost": plain(cost),
            }
        )
    listed.sort(key=lambda flow: (-flow["bytes"], flow["out_of"] or "", flow["into"] or ""))
    return listed[:MAX_PAIRS]


def avoidable(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
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
                "action": reason.action,
                "who": reason.who,
                "docs": reason.docs,
                "avoidable": reason.avoidable,
                "details": sorted(by_detail, key=lambda text: (-by_detail[text], text))[:MAX_DETAILS],
                **shown(found[name]),
            }
        )
    return listed


def assumptions(prices: Prices, pace: Pace, window_us: int) -> list[str]:
    """What the figures rest on, in sentences."""
    egress, ingress = (with_currency(plain(part), prices.currency) for part in prices.default[:2])
    unit = "GB (10^9 bytes)" if prices.unit == "GB" else "GiB (2^30 bytes)"
    price = f"A {unit} that crosses costs {egress} where it leaves a rack and {ingress} where it enters one"
    if prices.pairs:
        price += f"; prices of their own: {counted(len(prices.pairs), 'direction')}"
    price += "; replication is free." if prices.free_replication else "."
    if prices.source:
        price += f" Source, {prices.dated}: {prices.source}."
    covered = duration_text(pace.covered_us)
    month = f"The captures cover {covered}: less than a minute says nothing about a month."
    if pace.has_month:
        month = (
            f"A month is {MONTH_SECONDS // 3_600} hours at the pace of the {covered} that the captures cover; its "
            f"range is the pace of the quieter and of the busier half of the windows of {window_text(window_us)}."
        )
    frames = (
        "Bytes of produce, consume and replication are record batches as sent; all other bytes of Kafka's frames, with "
        "their length fields, are other. TCP, IP and TLS come on top."
    )
    certain = (
        "A fix saves for certain where the capture shows what it takes, a replica in sync or a leader in the client's "
        "rack. At most, unknown bytes count as if all of them crossed at the highest price."
    )
    return [price, frames, month, certain]


def lacking(completeness: Completeness) -> list[str]:
    """What is not in the ledger, in a sentence."""
    lacks = completeness.lacks()
    return [f"Not in these figures: {'; '.join(lacks)}."] if lacks else []


def notes(pairs: Sequence[Row], reasons: Sequence[Row], prices: Prices, span_us: int) -> list[str]:
    """What a reader should know before trusting the figures."""
    found = []
    if ESTIMATE_US <= span_us < SHORT_SPAN_US:
        found.append(f"The captures cover {duration_text(span_us)} only; what is said of a month is rough.")
    racks = {row[name] for row in pairs for name in ("client_rack", "broker_rack") if row[name]}
    found += [f"Almost the same: {hint}." for hint in rack_hints(sorted(racks)[:200])]
    unused = sorted(prices.racks() - racks)
    if unused:
        found.append(f"The prices name racks that nobody here is in: {', '.join(unused)}.")
    conflicts = {row["detail"]: None for row in reasons if (row["detail"] or "").startswith("it says ")}
    found += [f"A client and the racks file differ: {detail}." for detail in list(conflicts)[:MAX_DETAILS]]
    return found
