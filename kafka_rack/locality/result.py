"""The result of ``locality``, small enough for one file: ``locality.json``, the input of the page and the terminal.

Amounts of money are text with all decimals; bytes are numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from kafka_rack.locality.amounts import (
    ESTIMATE_US,
    MONTH_SECONDS,
    SHORT_SPAN_US,
    Pace,
    covered_us,
    duration_text,
    moment,
    plain,
    window_text,
    with_currency,
)
from kafka_rack.locality.completeness import Completeness
from kafka_rack.locality.prices import NOTHING, Prices
from kafka_rack.locality.reasons import CATEGORIES
from kafka_rack.locality.settings import DEFAULT_TOP
from kafka_rack.locality.summary import shown, summary_of
from kafka_rack.locality.traffic import ALL_SUMS, MONEY, by_size
from kafka_rack.plurals import counted
from kafka_rack.rack_names import rack_hints

MAX_PAIRS = 400
MAX_DETAILS = 10
MAX_TITLES = 3
MAX_WINDOWS = 5_000
LISTS = ("topics", "clients", "groups", "apis")
"""The tables of which the result lists the rows with the most crossing bytes."""
Row = Mapping[str, Any]


def collect_result(
    tables: Mapping[str, Sequence[Row]],
    prices: Prices,
    spans: Iterable[tuple[int, int]],
    window_us: int,
    completeness: Completeness | None = None,
    *,
    top: int = DEFAULT_TOP,
    names: Sequence[str] = (),
    racks_file: str | None = None,
    out: str | None = None,
) -> dict[str, Any]:
    """The result from the tables of ``grouped`` and each capture's first and last time.

    Args:
        completeness: the ledger's; by default that of its spans alone.
        top: rows of each list.
        names: the captures', for a title.
    """
    spans = list(spans)
    span_us = covered_us(spans)
    completeness = completeness or Completeness(spans)
    first, last = min(first for first, _ in spans), max(last for _, last in spans)
    apis, pairs, reasons = (tables[name] for name in ("apis", "rack_pairs", "reasons"))
    windows = sorted(tables["windows"], key=lambda row: (row["window_start"], row["category"]))
    unknown = [row for row in tables["clients"] if row["unknown_bytes"]]
    unknown.sort(key=lambda row: by_size(row, ("unknown_bytes",), ("client_id", "client_host", "client_rack")))
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
        "windows": [shown(row) for row in windows[:MAX_WINDOWS]],
        **{name: listed(tables[name], top) for name in LISTS},
        "unknown_clients": [shown(row) for row in unknown[:top]],
        "notes": notes(pairs, reasons, prices, span_us),
    }


def pace_of(windows: Iterable[Row], span_us: int, window_us: int) -> Pace:
    """The pace of a month, from the bytes that crossed in each window; if none crossed, from all bytes."""
    crossed, moved = Counter[str](), Counter[str]()
    for row in windows:
        crossed[row["window_start"]] += row["cross_bytes"]
        moved[row["window_start"]] += row["bytes"]
    return Pace.of(span_us, (crossed if any(crossed.values()) else moved).values(), window_us)


def pace_of_result(result: Mapping[str, Any]) -> Pace:
    """The pace of a result."""
    span = result["span"]
    return Pace(span["covered_us"], Decimal(span["month_low"]), Decimal(span["month_high"]))


def listed(rows: Sequence[Row], top: int) -> dict[str, Any]:
    """The first rows, and the sum of the others."""
    others = rows[top:]
    rest = {"rows": len(others), **shown(added(others))} if others else None
    return {"top": [shown(row) for row in rows[:top]], "others": rest}


def added(rows: Iterable[Row]) -> dict[str, Any]:
    total: dict[str, Any] = {name: NOTHING if name in MONEY else 0 for name in ALL_SUMS}
    for row in rows:
        for name in ALL_SUMS:
            total[name] += row[name]
    return total


def assumptions(prices: Prices, pace: Pace, window_us: int) -> list[str]:
    """The assumptions of the figures, as sentences."""
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


def notes(pairs: Sequence[Row], reasons: Sequence[Row], prices: Prices, span_us: int) -> list[str]:
    """Notes to read before trusting the figures."""
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
