"""kafka-rack what-if: a capture with other settings, before and after."""

from __future__ import annotations

from typing import Any

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.command import Arguments, argument, command, option, section
from kafka_rack.cli.options.locality import prices_of
from kafka_rack.cli.options.placement import placer_option
from kafka_rack.cli.options.places import not_read
from kafka_rack.cli.options.prices import prices_options
from kafka_rack.cli.options.shared import client_racks_option, format_option, packets_options, set_option
from kafka_rack.cli.options.text_files import racks_file
from kafka_rack.cli.options.types import MAX_BROKERS, PATH, Pair, WholeNumber, Words
from kafka_rack.cli.output.results import first_rows, report_unread, show_as
from kafka_rack.cli.output.tables import table
from kafka_rack.locality.amounts import bytes_text
from kafka_rack.locality.reasons import CONSUME, PRODUCE, REPLICATION
from kafka_rack.printable import printable
from kafka_rack.what_if.change import SELECTOR, change_of, from_followers
from kafka_rack.what_if.comparison import CROSS, LOCAL, UNKNOWN, Bill, ComparedTraffic, Comparison

MAX_ROWS, OTHERS = 12, " in --format json"
CLIENTS = (PRODUCE, CONSUME)
WORDS = {
    "client_rack": "client.rack",
    "reads_from_followers": "reads from followers",
    "placer_settings": "placer's settings",
    "replication_factor": "replication factor",
    "rack_aware_partitioner": "rack-aware partitioner",
}


@command()
@argument("captures", metavar="CAPTURE...", nargs=-1, required=True, type=PATH)
@section(
    "Change",
    set_option,
    option("--diskless", Words("TOPIC"), "Make these topics diskless; * matches anything.", multiple=True),
    placer_option,
    option("--replication-factor", WholeNumber(1, MAX_BROKERS), "Replicas of each partition."),
)
@section(
    "Capture",
    option(
        "--captured-with",
        Pair(),
        "Set replica.selector.class of the captured brokers; default: what redirects and configs show.",
        multiple=True,
    ),
    client_racks_option,
    packets_options,
)
@prices_options
@format_option
def what_if(arguments: Arguments) -> int:
    """Compare captures with what would have happened under other settings: bytes, money, rebalances and load.

    CAPTURE is a file or a folder of them, as kafka-rack serve --capture or tcpdump write them. Clients write and read
    the same records; the change decides which brokers they use, who reads what in a group, and where replicas are.
    docs/cost.md explains the rules.

    --set takes client.rack (auto: the rack that each client is in), replica.selector.class (rack-aware or leader),
    group.protocol (classic or consumer), partition.assignment.strategy, group.remote.assignor, partitioner.rack.aware
    (true), and settings of the placer. --placer places all replicas again.

    Examples:
      kafka-rack what-if trace.jsonl --set client.rack=auto --set replica.selector.class=rack-aware
      kafka-rack what-if captures/ --set group.protocol=consumer --client-racks racks.txt
      kafka-rack what-if captures/ --diskless 'logs-*' --set client.rack=auto --prices prices.toml --format json
      kafka-rack what-if captures/ --placer copyset --replication-factor 3
    """
    how = {"diskless": arguments.diskless, "placer": arguments.placer}
    change = change_of(dict(arguments.set), **how, replication_factor=arguments.replication_factor)
    if change.is_nothing:
        raise UsageError("say what to change, such as --set client.rack=auto, --diskless 'logs-*' or --placer copyset")
    captured_with = selector_captured(arguments)
    rules, prices = racks_file(arguments.client_racks), prices_of(arguments)
    from kafka_rack.what_if import compare
    from kafka_rack.what_if.reading import Nothing, read_workloads
    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.files import find_files, unread_inputs

    try:
        options = Options.parse(arguments.ports, arguments.addresses)
        files, refused = find_files(arguments.captures)
    except (ValueError, OSError) as error:
        raise not_read(error) from None
    try:
        workloads = read_workloads(files, options, rules, captured_with)
        workloads.completeness.refused.update(refused)
        compared = compare(workloads.clusters, change, prices, workloads.completeness)
    except Nothing as error:
        raise CommandError(f"{', '.join(arguments.captures)}: {error}") from None
    show_as(arguments.format, compared.as_json(), as_text(compared))
    return report_unread(unread_inputs(arguments.captures, workloads.read))


def selector_captured(arguments: Arguments) -> bool | None:
    """True if brokers had the rack-aware selector; None if the user does not say. Raises UsageError."""
    settings: dict[str, Any] = dict(arguments.captured_with)
    for name in settings:
        if name != SELECTOR:
            raise UsageError(f"--captured-with: expected {SELECTOR}, got {name!r}")
    return from_followers(settings.get(SELECTOR))


def as_text(compared: Comparison) -> str:
    changes = ", ".join(f"{WORDS.get(name, name)}={shown(value)}" for name, value in compared.change.as_json().items())
    before, after = compared.measured, compared.after
    lines = [
        printable(f"what if: {changes}"),
        *across_racks(compared),
        printable(compared.completeness.line()),
        "",
        by_category(compared),
        "",
        by_broker(compared),
    ]
    if compared.change.rack_aware_partitioner and before.skews:
        lines += ["", by_topic(before, after)]
    if before.groups:
        lines += ["", by_group(before, after)]
    lines += ["", *(f"note: {printable(note)}" for note in compared.notes)] if compared.notes else []
    for name, history in sorted(after.groups.items()):
        if history.note:
            lines.append(printable(f"note: group {name}: {history.note}"))
    return "\n".join(lines)


def across_racks(compared: Comparison) -> list[str]:
    """Client traffic and replication before and after, a line each."""
    lines = []
    for name, kinds in (("client traffic", CLIENTS), ("replication", (REPLICATION,))):
        was, would_be = (totals.bill(kinds) for totals in (compared.measured, compared.after))
        if not was.total and not would_be.total:
            continue
        begin = f"{name} across racks: {bytes_text(was.bytes[CROSS])}, {money(was, compared)} before"
        if compared.refused.intersection(kinds):
            lines.append(f"{begin}; no prediction, see the notes")
        else:
            after = f"{bytes_text(would_be.bytes[CROSS])}, {money(would_be, compared)} after"
            lines.append(f"{begin}; {after} ({compared.pace.heading})")
    return lines


def by_category(compared: Comparison) -> str:
    period = compared.pace.heading
    columns = ["kind", "local", "across racks", "unknown", period, "local after", "across after", "unknown after"]
    rows = []
    before, after = compared.measured.bills, compared.after.bills
    for name, was in before.items():
        row = [name, *sizes(was), money(was, compared)]
        if name in compared.refused:
            rows.append([*row, *["not predicted"] * 3, None])
        else:
            rows.append([*row, *sizes(after[name]), money(after[name], compared)])
    return table([*columns, f"{period} after"], rows)


def sizes(bill: Bill) -> list[str]:
    return [bytes_text(bill.bytes[kind]) for kind in (LOCAL, CROSS, UNKNOWN)]


def by_broker(compared: Comparison) -> str:
    before, after = compared.measured.brokers, compared.after.brokers
    found = sorted({*before, *after})
    several = len({cluster for cluster, _ in found}) > 1
    rows = []
    for key in found:
        loads = (before.get(key), after.get(key))
        rows.append(
            [
                f"{key[1]} of cluster {key[0] + 1}" if several else key[1],
                compared.brokers.get(key),
                *(bytes_text(load.bytes_in) if load else None for load in loads),
                *(bytes_text(load.bytes_out) if load else None for load in loads),
                *(load.leaders if load else None for load in loads),
            ]
        )
    columns = ["broker", "rack", "bytes into", "after", "bytes out of", "after", "leads", "after"]
    return first_rows(columns, rows, MAX_ROWS, "broker", OTHERS)


def by_topic(before: ComparedTraffic, after: ComparedTraffic) -> str:
    """The topics whose partitions are written to least evenly afterwards."""
    names = sorted(before.skews, key=lambda name: (-after.skews.get(name, 0), name))
    rows = [[printable(name), f"{before.skews[name]:.2f}", f"{after.skews[name]:.2f}"] for name in names]
    return first_rows(["topic", "fullest partition by the mean", "after"], rows, MAX_ROWS, "topic", OTHERS)


def by_group(before: ComparedTraffic, after: ComparedTraffic) -> str:
    rows = []
    for name, was in sorted(before.groups.items()):
        both = (was, after.groups[name])
        assigned = (f"{one.protocol} {one.assignor or ''}".strip() for one in both)
        counts = (getattr(one, column) for column in ("rebalances", "stopped", "moved") for one in both)
        rows.append([name, *assigned, *counts])
    columns = ["group", "assigned by", "after by", "rebalances", "after", "stopped", "after", "moved", "after"]
    return first_rows(columns, rows, MAX_ROWS, "group", OTHERS)


def money(bill: Bill, compared: Comparison) -> str:
    return compared.pace.money(bill.cost, compared.prices.currency)


def shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ",".join(f"{name}={own}" for name, own in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
