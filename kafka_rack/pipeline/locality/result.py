"""What a run of ``locality`` found, small enough for one file: ``locality.json``, which a page and a terminal can show.

Amounts of money are text with all their decimals; bytes are numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from heapq import nlargest
from pathlib import Path
from typing import Any

from kafka_rack.locality.amounts import (
    MONTH_SECONDS,
    SHORT_SPAN_US,
    US,
    covered_us,
    duration_text,
    in_a_month,
    window_text,
)
from kafka_rack.locality.prices import NOTHING, Prices
from kafka_rack.locality.reasons import CATEGORIES, REASONS, REPLICATION
from kafka_rack.pipeline.locality.verdicts import COUNTS

SPLIT = ("local_bytes", "cross_bytes", "unknown_bytes")
SUMS = (*COUNTS, *SPLIT)
MONEY = ("cost", "possible_cost", "saves_cost", "at_most_cost")
MOST_PAIRS = 400
MOST_DETAILS = 10
MOST_WINDOWS = 5_000


class Top:
    """How many rows lists have."""

    ROWS = 20


def collect_result(
    where: Path, prices: Prices, spans: Mapping[int, tuple[int, int]], window_us: int, top: int
) -> dict[str, Any]:
    """The result out of the tables below ``where``, each sorted by what crosses."""
    span_us = covered_us(spans.values())
    first, last = min(first for first, _ in spans.values()), max(last for _, last in spans.values())
    apis = list(rows_of(where / "apis"))
    pairs = list(rows_of(where / "rack_pairs"))
    total = added(apis)
    windows = sorted(rows_of(where / "windows"), key=lambda row: (row["window_start"], row["category"]))
    return {
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
        "total": with_month(total, span_us),
        "categories": [
            {"category": name, **with_month(added(row for row in apis if row["category"] == name), span_us)}
            for name in CATEGORIES
            if any(row["category"] == name for row in apis)
        ],
        "rack_pairs": [shown(row) for row in pairs[:MOST_PAIRS]],
        "flows": flows(pairs, prices, span_us),
        "windows": [shown(row) for row in windows[:MOST_WINDOWS]],
        **{name: listed(where / name, top, span_us) for name in ("topics", "clients", "groups", "apis")},
        "avoidable": avoidable(rows_of(where / "reasons"), span_us),
        "unknown_clients": [
            shown(row)
            for row in nlargest(
                top,
                (row for row in rows_of(where / "clients") if row["unknown_bytes"]),
                key=lambda row: (row["unknown_bytes"], repr(row)),
            )
        ],
        "notes": notes(pairs, prices, span_us, where),
    }


def rows_of(folder: Path) -> Iterator[dict[str, Any]]:
    """A table's rows in order, some thousand at a time."""
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=4_096):
                yield from batch.to_pylist()


def added(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {name: NOTHING if name in MONEY else 0 for name in SUMS}
    for row in rows:
        for name in SUMS:
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
    return listed[:MOST_PAIRS]


def listed(folder: Path, top: int, span_us: int) -> dict[str, Any]:
    """The first rows of a table, and all the others in one."""
    rows: list[dict[str, Any]] = []
    others, count = added([]), 0
    for row in rows_of(folder):
        if len(rows) < top:
            rows.append(with_month(row, span_us))
        else:
            count += 1
            for name in SUMS:
                others[name] += row[name]
    return {"top": rows, "others": {"rows": count, **shown(others)} if count else None}


def avoidable(rows: Iterable[Mapping[str, Any]], span_us: int) -> list[dict[str, Any]]:
    """Each reason with what it cost and what its fix saves, the largest saving first."""
    found: dict[str, dict[str, Any]] = {}
    details: dict[str, dict[str, int]] = {}
    for row in rows:
        name = row["reason"]
        if name is None:
            continue
        sums = found.setdefault(name, added([]))
        for column in SUMS:
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
                "details": sorted(by_detail, key=lambda text: (-by_detail[text], text))[:MOST_DETAILS],
                **with_month(found[name], span_us),
            }
        )
    return listed


def assumptions(prices: Prices, span_us: int) -> list[str]:
    """What the figures rest on, in sentences."""
    egress, ingress = (f"{plain(part)} {prices.currency}" for part in prices.default)
    unit = "GB (10^9 bytes)" if prices.unit == "GB" else "GiB (2^30 bytes)"
    price = f"A {unit} that crosses costs {egress} where it leaves a rack and {ingress} where it enters one"
    if prices.pairs:
        price += f"; {len(prices.pairs)} directions have prices of their own"
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


def notes(pairs: Sequence[Mapping[str, Any]], prices: Prices, span_us: int, where: Path) -> list[str]:
    """What a reader should know before trusting the figures."""
    from kafka_rack.rack_names import rack_hints

    found = []
    if 0 < span_us < SHORT_SPAN_US:
        found.append(f"The captures cover {duration_text(span_us)} only; what is said of a month is rough.")
    racks = {row[name] for row in pairs for name in ("client_rack", "broker_rack") if row[name]}
    found += [f"Almost the same: {hint}." for hint in rack_hints(sorted(racks)[:200])]
    unused = sorted(prices.racks() - racks)
    if unused:
        found.append(f"The prices name racks that nobody here is in: {', '.join(unused)}.")
    quarrels = {
        row["detail"]: None for row in rows_of(where / "reasons") if (row["detail"] or "").startswith("it says ")
    }
    found += [f"A client and the racks file differ: {detail}." for detail in list(quarrels)[:MOST_DETAILS]]
    return found
