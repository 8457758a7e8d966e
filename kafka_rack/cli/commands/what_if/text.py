"""A comparison as one screen: bytes and money, brokers, groups, and what to know before trusting it."""

from __future__ import annotations

import json

from kafka_rack.cli.output.tables import table
from kafka_rack.locality.amounts import bytes_text, duration_text, in_a_month, money_text
from kafka_rack.locality.prices import Prices
from kafka_rack.printable import printable
from kafka_rack.what_if.comparison import CROSS, LOCAL, UNKNOWN, Bill, Comparison, TrafficTotals

MAX_ROWS = 12
WORDS = {
    "client_rack": "client.rack",
    "reads_from_followers": "reads from followers",
    "placer_settings": "placer's settings",
    "replication_factor": "replication factor",
}


def as_json(compared: Comparison) -> str:
    return json.dumps(compared.as_json(), indent=2, ensure_ascii=False) + "\n"


def as_text(compared: Comparison, prices: Prices) -> str:
    changes = ", ".join(f"{WORDS.get(name, name)}={shown(value)}" for name, value in compared.change.as_json().items())
    before, after = compared.measured, compared.after
    lines = [
        printable(f"{bytes_text(before.all.total)} in {duration_text(compared.span_us)}; what if: {changes}"),
        across_racks(compared, prices),
        "",
        by_category(compared, prices),
        "",
        by_broker(compared),
    ]
    if before.groups:
        lines += ["", by_group(before, after)]
    lines += ["", *(f"note: {printable(note)}" for note in compared.notes)] if compared.notes else []
    for name, history in sorted(after.groups.items()):
        if history.note:
            lines.append(printable(f"note: group {name}: {history.note}"))
    return "\n".join(lines) + "\n"


def across_racks(compared: Comparison, prices: Prices) -> str:
    was, would_be = compared.measured.all, compared.after.all
    sizes = f"across racks {bytes_text(was.bytes[CROSS])} before, {bytes_text(would_be.bytes[CROSS])} after"
    money = f"{monthly(was, compared, prices)} a month before, {monthly(would_be, compared, prices)} after"
    return f"{sizes}: {money}"


def by_category(compared: Comparison, prices: Prices) -> str:
    columns = ["", "local", "across racks", "unknown", "a month", "local after", "across after", "unknown after"]
    rows = []
    for name in (*compared.measured.bills, "all"):
        was, would_be = (
            outcome.all if name == "all" else outcome.bills[name] for outcome in (compared.measured, compared.after)
        )
        cells = [[bytes_text(bill.bytes[kind]) for kind in (LOCAL, CROSS, UNKNOWN)] for bill in (was, would_be)]
        rows.append([name, *cells[0], monthly(was, compared, prices), *cells[1], monthly(would_be, compared, prices)])
    return table([*columns, "a month after"], rows)


def by_broker(compared: Comparison) -> str:
    before, after = compared.measured.brokers, compared.after.brokers
    found = sorted({*before, *after})
    rows = []
    for broker in found[:MAX_ROWS]:
        was, would_be = before.get(broker), after.get(broker)
        rows.append(
            [
                broker,
                compared.brokers.get(broker),
                *(bytes_text(load.bytes_in) if load else None for load in (was, would_be)),
                *(bytes_text(load.bytes_out) if load else None for load in (was, would_be)),
                *(load.leaders if load else None for load in (was, would_be)),
            ]
        )
    columns = ["broker", "rack", "in", "in after", "out", "out after", "leads", "leads after"]
    more = f"\nand {len(found) - MAX_ROWS} brokers more in --format json" if len(found) > MAX_ROWS else ""
    return table(columns, rows) + more


def by_group(before: TrafficTotals, after: TrafficTotals) -> str:
    rows = []
    for name, was in sorted(before.groups.items())[:MAX_ROWS]:
        would_be = after.groups[name]
        rows.append(
            [
                name,
                f"{was.protocol} {was.assignor or ''}".strip(),
                f"{would_be.protocol} {would_be.assignor or ''}".strip(),
                *(history.rebalances for history in (was, would_be)),
                *(history.stopped for history in (was, would_be)),
                *(history.moved for history in (was, would_be)),
            ]
        )
    columns = ["group", "assigned by", "after by", "rebalances", "after", "stopped", "after", "moved", "after"]
    more = len(before.groups) - MAX_ROWS
    return table(columns, rows) + (f"\nand {more} groups more in --format json" if more > 0 else "")


def monthly(bill: Bill, compared: Comparison, prices: Prices) -> str:
    return money_text(in_a_month(bill.cost, compared.span_us), prices.currency)


def shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ",".join(f"{name}={own}" for name, own in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
