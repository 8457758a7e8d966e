"""What `kafka-rack locality` and the job of that name print: one screen of a result, and of a plan's forecast."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from kafka_rack.cli.output.tables import table
from kafka_rack.locality.amounts import MONTH_SECONDS, bytes_text, duration_text, money_text
from kafka_rack.locality.forecast import Forecast
from kafka_rack.locality.prices import Prices
from kafka_rack.plurals import counted
from kafka_rack.printable import printable

MAX_PAIRS, MAX_REASONS, MAX_NOTES = 8, 8, 6


def as_text(result: Mapping[str, Any]) -> str:
    """Totals, the rack pairs that cross most, why, and what a reader should know before trusting it."""
    currency = result["prices"]["currency"]
    span, total = result["span"], result["total"]
    month = total["month"]
    calls, captures = counted(total["calls"], "call"), counted(span["captures"], "capture")
    covered = f"{duration_text(span['covered_us'])}, from {span['first'][:19].replace('T', ' ')} UTC"
    lines = [
        f"{bytes_text(total['bytes'])} in {calls} of {captures} over {covered}",
        f"known to cross racks: {money(month['cost'], currency)} a month; fixes save {saving(month, currency)}",
        "",
        by_category(result, currency),
        "",
        crossing_pairs(result, currency),
    ]
    if result["avoidable"]:
        lines += ["", *reasons(result, currency)]
    notes = result["notes"]
    lines += [f"note: {printable(note)}" for note in notes[:MAX_NOTES]]
    if len(notes) > MAX_NOTES:
        lines.append(f"and {len(notes) - MAX_NOTES} notes more in locality.json")
    lines.append(result["assumptions"][0] + (f" Results below {result['out']}" if result["out"] else ""))
    return "\n".join(lines) + "\n"


def by_category(result: Mapping[str, Any], currency: str) -> str:
    columns = ["who moves them", "bytes", "local", "across racks", "unknown", "a month", "unknown, at most"]
    rows = [
        [
            row["category"],
            bytes_text(row["bytes"]),
            *(bytes_text(row[f"{name}_bytes"]) for name in ("local", "cross", "unknown")),
            money(row["month"]["cost"], currency),
            money(row["month"]["possible_cost"], currency),
        ]
        for row in [*result["categories"], {"category": "all", **result["total"]}]
    ]
    return table(columns, rows)


def crossing_pairs(result: Mapping[str, Any], currency: str) -> str:
    """The directions with most bytes from one known rack to another."""
    across = [flow for flow in result["flows"] if flow["from"] and flow["to"] and flow["from"] != flow["to"]]
    if not across:
        return "Nothing is known to have crossed racks."
    columns = ["from", "to", "bytes", "a month", "by"]
    rows = [
        [
            flow["from"],
            flow["to"],
            bytes_text(flow["bytes"]),
            money(flow["month_cost"], currency),
            ", ".join(name for name, _ in sorted(flow["by_category"].items(), key=lambda item: (-item[1], item[0]))),
        ]
        for flow in across[:MAX_PAIRS]
    ]
    text = table(columns, rows)
    return f"{text}\nand {len(across) - MAX_PAIRS} directions more" if len(across) > MAX_PAIRS else text


def reasons(result: Mapping[str, Any], currency: str) -> list[str]:
    """Why bytes crossed or are unknown; below the table what would help, for those that something helps."""
    shown = result["avoidable"][:MAX_REASONS]
    rows = [
        [row["reason"], bytes_text(row["bytes"]), row["avoidable"], saving(row["month"], currency)] for row in shown
    ]
    lines = [table(["why", "bytes", "avoidable", "a month saved"], rows)]
    more = len(result["avoidable"]) - len(shown)
    if more:
        lines.append(f"and {more} reasons more in locality.json")
    lines.append("")
    for row in shown:
        if row["avoidable"] != "no":
            details = f" ({row['details'][0]})" if row["details"] else ""
            lines.append(printable(f"{row['reason']}: {row['what']}{details}; {row['fix']}"))
    return lines


def saving(month: Mapping[str, Any], currency: str) -> str:
    """What is saved for certain, and at most where that is more."""
    certain, most = month["saves_cost"], month["at_most_cost"]
    if certain is None or certain == most:
        return money(certain, currency)
    return f"{money(certain, currency)} to {money(most, currency)}"


def money(amount: str | None, currency: str) -> str:
    return money_text(None if amount is None else Decimal(amount), currency)


def forecast_as_text(plan: Forecast, prices: Prices) -> str:
    month = plan.month(prices)
    whole = {"produce": plan.produced, "replication": plan.replicated, "consume": plan.consumed}
    cross = plan.cross_by_category()
    rows = [[name, rate(whole[name]), rate(cross[name]), money_text(month[name], prices.currency)] for name in whole]
    rows.append(
        ["all", rate(plan.total), rate(plan.cross), money_text(sum(month.values(), Decimal(0)), prices.currency)]
    )
    return table(["who moves them", "bytes", "across racks", "a month"], rows) + "\n"


def rate(bytes_a_second: Any) -> str:
    """Bytes a second, in MiB where it is one and more."""
    return f"{float(bytes_a_second) / 2**20:,.1f} MiB/s"


def forecast_as_json(plan: Forecast, prices: Prices) -> str:
    month = plan.month(prices)
    found = {
        "bytes_per_second": {
            "produce": float(plan.produced),
            "replication": float(plan.replicated),
            "consume": float(plan.consumed),
            "all": float(plan.total),
        },
        "cross_bytes_per_second": {
            **{name: float(size) for name, size in plan.cross_by_category().items()},
            "all": float(plan.cross),
        },
        "month_seconds": MONTH_SECONDS,
        "month_cost": {
            **{name: f"{amount:f}" for name, amount in month.items()},
            "all": f"{sum(month.values(), Decimal(0)):f}",
        },
        "prices": prices.as_json(),
    }
    return json.dumps(found, indent=2) + "\n"
