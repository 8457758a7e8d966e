"""The output of `kafka-rack locality` and of its job: one screen for a result, and for a plan's forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from kafka_rack.cli.output.results import first_rows
from kafka_rack.cli.output.tables import table
from kafka_rack.locality.amounts import Pace, bytes_text, duration_text, money_text
from kafka_rack.locality.forecast import Forecast
from kafka_rack.locality.prices import Prices
from kafka_rack.locality.result import pace_of_result
from kafka_rack.plurals import counted
from kafka_rack.printable import printable

MAX_PAIRS, MAX_REASONS, MAX_NOTES = 8, 8, 6


def as_text(result: Mapping[str, Any]) -> str:
    """The headline, how complete it is, rack pairs that cross most, what to do, and what to know before trusting it."""
    currency, pace = result["prices"]["currency"], pace_of_result(result)
    span, total, told = result["span"], result["total"], result["summary"]["lines"]
    calls, captures = counted(total["calls"], "call"), counted(span["captures"], "capture")
    covered = f"{duration_text(span['covered_us'])}, from {span['first'][:19].replace('T', ' ')} UTC"
    lines = [
        *told.values(),
        printable(result["completeness"]["line"]),
        f"{bytes_text(total['bytes'])} in {calls} of {captures} over {covered}",
        "",
        by_category(result, pace, currency),
        "",
        crossing_pairs(result, pace, currency),
    ]
    if result["summary"]["actions"]:
        lines += ["", *what_to_do(result["summary"]["actions"])]
    notes = result["notes"]
    lines += ["", *(f"note: {printable(note)}" for note in notes[:MAX_NOTES])]
    if len(notes) > MAX_NOTES:
        lines.append(f"and {counted(len(notes) - MAX_NOTES, 'more note')} in locality.json")
    lines.append(result["assumptions"][0] + (f" Results below {result['out']}" if result["out"] else ""))
    return "\n".join(lines)


def by_category(result: Mapping[str, Any], pace: Pace, currency: str) -> str:
    columns = ["kind", "bytes", "local", "across racks", "unknown", pace.heading, "unknown, at most"]
    rows = [
        [
            row["category"],
            bytes_text(row["bytes"]),
            *(bytes_text(row[f"{name}_bytes"]) for name in ("local", "cross", "unknown")),
            pace.money(Decimal(row["cost"]), currency),
            pace.money(Decimal(row["possible_cost"]), currency),
        ]
        for row in result["categories"]
    ]
    return table(columns, rows)


def crossing_pairs(result: Mapping[str, Any], pace: Pace, currency: str) -> str:
    """The pairs of racks with most bytes from one known rack to another."""
    across = [row for row in result["rack_pairs"] if row["locality"] == "cross" and row["bytes"]]
    if not across:
        return "Nothing is known to have crossed racks."
    columns = ["client rack", "broker rack", "kind", "bytes", pace.heading]
    rows = [
        [
            row["client_rack"],
            row["broker_rack"],
            row["category"],
            bytes_text(row["bytes"]),
            pace.money(Decimal(row["cost"]), currency),
        ]
        for row in across
    ]
    return first_rows(columns, rows, MAX_PAIRS, "pair")


def what_to_do(actions: Sequence[Mapping[str, Any]]) -> list[str]:
    """The actions that keep client traffic in its rack, with what each saves; the largest first."""
    rows = [[row["action"], row["who"], row["avoidable"], bytes_text(row["bytes"]), row["saving"]] for row in actions]
    columns, shown = ["what to do", "who", "", "bytes", "saves"], actions[:MAX_REASONS]
    whys = [f"{row['what']} ({row['details'][0]})" if row["details"] else row["what"] for row in shown]
    return [first_rows(columns, rows, MAX_REASONS, "action", " in locality.json"), "", *map(printable, whys)]


def forecast_as_text(plan: Forecast, prices: Prices) -> str:
    month = plan.month(prices)
    rows = [
        [kind, rate(size), rate(plan.cross_by_kind[kind]), money_text(month[kind], prices.currency)]
        for kind, size in plan.by_kind.items()
    ]
    rows.append(
        ["all", rate(plan.total), rate(plan.cross), money_text(sum(month.values(), Decimal(0)), prices.currency)]
    )
    return table(["who moves them", "bytes", "across racks", "a month"], rows)


def rate(bytes_a_second: Any) -> str:
    """Bytes a second, in MiB where it is one and more."""
    return f"{float(bytes_a_second) / 2**20:,.1f} MiB/s"
