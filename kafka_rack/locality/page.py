"""What a run of ``locality`` found as one page that needs nothing beside it: no script, no picture, no style sheet.

``report`` takes what ``locality.json`` holds and asks nobody else, not even for the time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka_rack.locality.amounts import bytes_text, duration_text
from kafka_rack.locality.markup import LOCALITIES, STYLE, Terms, name, seen, share, table, text
from kafka_rack.locality.svg import bar, heat_map, over_time, swatch

MOST_FLOWS, MOST_EXAMPLES = 50, 6
"""Rows of the table of who sends to whom; lines of the racks file that is proposed."""
PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
"""Client ids that stand for themselves as a pattern of a racks file."""
PLAIN_HOST = re.compile(r"[0-9A-Fa-f:.]{1,45}")
KINDS = {
    "produce": "producers' requests and what they are answered",
    "replication": "followers' fetches",
    "consume": "consumers' fetches",
    "other": "all else: metadata, groups, transactions",
}
SECTIONS = {
    "racks": "Between racks",
    "time": "Over time",
    "avoidable": "What could be avoided",
    "topics": "Topics",
    "clients": "Clients",
    "groups": "Groups",
    "apis": "APIs",
    "unknown": "What is not known",
    "assumptions": "What this rests on",
}


class Column(NamedTuple):
    """A column of a top list that names something: heading, key, and what stands for none."""

    heading: str
    key: str
    absent: str


LISTS = {
    "topics": (Column("topic", "topic", "no topic"), Column("kind", "category", "")),
    "clients": (
        Column("client id", "client_id", "no client id"),
        Column("address", "client_host", "unknown"),
        Column("rack", "client_rack", "unknown"),
        Column("kind", "category", ""),
    ),
    "groups": (Column("group", "group_id", "no group"), Column("topic", "topic", "no topic")),
    "apis": (Column("API", "api", ""), Column("kind", "category", "")),
}


def report(result: Mapping[str, Any]) -> str:
    """The page.

    Args:
        result: what ``kafka_rack.pipeline.locality.job.measure`` returns and ``locality.json`` holds.
    """
    terms = Terms(result["prices"]["currency"], result["span"]["covered_us"])
    contents = "".join(f'<a href="#{key}">{text(title)}</a>' for key, title in SECTIONS.items())
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>Traffic across racks</title><style>{STYLE}</style></head>\n<body>",
        *opening(result, terms),
        f"<nav>{contents}</nav>",
    ]
    bodies = {
        "racks": between_racks(result, terms),
        "time": [times(result)],
        "avoidable": avoidable(result, terms),
        **{key: [top_list(result[key], columns, key, terms)] for key, columns in LISTS.items()},
        "unknown": unknown(result, terms),
        "assumptions": assumptions(result),
    }
    for key, title in SECTIONS.items():
        parts += [f'<section id="{key}"><h2>{text(title)}</h2>', *bodies[key], "</section>"]
    return "\n".join([*parts, "</body></html>", ""])


def opening(result: Mapping[str, Any], terms: Terms) -> list[str]:
    """What the page is about, the figures that matter most, and what a reader should know before trusting them."""
    span, total = result["span"], result["total"]
    known = total["cross_bytes"] + total["local_bytes"]
    captures = f"{span['captures']} {'capture' if span['captures'] == 1 else 'captures'}"
    racks_file = f"Racks file: {result['racks_file']}" if result["racks_file"] else "No racks file"
    cards = [
        (
            "crossed racks",
            share(total["cross_bytes"], total["bytes"]),
            (
                f"{bytes_text(total['cross_bytes'])} of {bytes_text(total['bytes'])}; "
                f"{share(total['cross_bytes'], known)} of what is known"
            ),
        ),
        (
            f"what crossing costs {terms.period}",
            terms.money(total["cost"]),
            (
                f"for {terms.size(total['cross_bytes'])}, plus at most {terms.money(total['possible_cost'])} "
                "if all unknown bytes cross"
            ),
        ),
        (
            f"could be saved {terms.period}, for certain",
            terms.money(total["saves_cost"]),
            f"and at most {terms.money(total['at_most_cost'])}, if all that is not known turns out so",
        ),
        (
            "unknown",
            share(total["unknown_bytes"], total["bytes"]),
            f"{bytes_text(total['unknown_bytes'])} of which nobody says whether they crossed",
        ),
    ]
    shown = "".join(f'<div class="card"><span>{what}</span><b>{figure}</b><span>{more}</span></div>'
                    for what, figure, more in cards)  # fmt: skip
    categories = [
        [text(row["category"]), f'<span class="soft">{text(KINDS.get(row["category"], ""))}</span>', *figures]
        for row, figures in zip(result["categories"], all_figures(result["categories"], terms), strict=True)
    ]
    legend = "".join(f"<span>{swatch(way)}</span>" for way in LOCALITIES)
    return [
        "<header><h1>Traffic across racks</h1>",
        (
            f'<p class="soft">{captures}, {at(span["first"])} to {at(span["last"])} UTC, '
            f"{text(duration_text(span['covered_us']))} covered. {text(racks_file)}.</p>"
        ),
        f'<div class="cards">{shown}</div>',
        *(f'<p class="note">{text(note)}</p>' for note in result["notes"]),
        f'<p class="legend">{legend}</p>',
        table("By kind of traffic", ["kind", "", *figure_heads(terms)], categories, classes(terms))
        if categories
        else "<p>No traffic.</p>",
        "</header>",
    ]


def at(told: str) -> str:
    """A moment of the result, to the second.

    >>> at("2026-01-01T00:00:00.250000Z")
    '2026-01-01 00:00:00'
    """
    return text(told[:19].replace("T", " "))


def between_racks(result: Mapping[str, Any], terms: Terms) -> list[str]:
    """The map of rack pairs, and each direction's bytes."""
    pairs, flows = result["rack_pairs"], result["flows"]
    if not pairs:
        return ["<p>No traffic.</p>"]
    found = [
        (
            f'<p class="soft">Requests and responses together, and what they cost {terms.period}; of unknown bytes, '
            "what they cost at most.</p>"
        ),
        f'<div class="wide figure">{heat_map(pairs, terms)}</div>',
    ]
    missing = result["total"]["bytes"] - sum(row["bytes"] for row in pairs)
    if missing:
        found.append(f"<p>The map leaves out {bytes_text(missing)} of the smallest pairs; the tables have them.</p>")
    rows = [
        [
            name(flow["from"], "unknown"),
            name(flow["to"], "unknown"),
            bytes_text(flow["bytes"]),
            terms.money(flow["cost"]),
        ]
        for flow in flows[:MOST_FLOWS]
    ]
    head = ["sender in", "receiver in", "bytes", f"cost {terms.period}"]
    kinds = dict.fromkeys(head[2:], "number")
    found.append(f"<details><summary>Each direction</summary>{table('Who sent to whom', head, rows, kinds)}</details>")
    return found


def times(result: Mapping[str, Any]) -> str:
    """Bytes over time."""
    windows, span = result["windows"], result["span"]
    if not windows:
        return "<p>No traffic.</p>"
    missing = result["total"]["bytes"] - sum(row["bytes"] for row in windows)
    more = f"<p>And {bytes_text(missing)} later, in the tables.</p>" if missing else ""
    return f'<div class="wide figure">{over_time(windows, span["window_us"])}</div>{more}'


def avoidable(result: Mapping[str, Any], terms: Terms) -> list[str]:
    """Reasons with fixes and savings; then those that nothing can or need be done about."""
    fixable = [row for row in result["avoidable"] if row["avoidable"] != "no"]
    rest = [row for row in result["avoidable"] if row["avoidable"] == "no"]
    found = []
    if fixable:
        head = ["why", "what helps", "bytes", f"saved {terms.period}, for certain", "at most"]
        rows = [
            [
                reason(row),
                text(row["fix"]),
                bytes_text(row["bytes"]),
                terms.money(row["saves_cost"]),
                terms.money(row["at_most_cost"]),
            ]
            for row in fixable
        ]
        kinds = dict.fromkeys(head[2:], "number")
        found.append(table("Bytes that crossed, or may have, and need not", head, rows, kinds))
    else:
        found.append("<p>Nothing: no bytes crossed racks, or may have, that a known fix keeps in.</p>")
    if rest:
        head = ["why", "what helps", "bytes", f"cost {terms.period}"]
        rows = [[reason(row), text(row["fix"]), bytes_text(row["bytes"]), terms.money(row["cost"])] for row in rest]
        found.append(table("What crosses all the same", head, rows, dict.fromkeys(head[2:], "number")))
    return found


def reason(row: Mapping[str, Any]) -> str:
    """A reason's name, what it means, and the details that it came with."""
    details = "".join(f"<li>{text(detail)}</li>" for detail in row["details"])
    return f"<b>{text(row['reason'])}</b><br>{text(row['what'])}" + (f"<ul>{details}</ul>" if details else "")


def top_list(found: Mapping[str, Any], columns: Sequence[Column], what: str, terms: Terms) -> str:
    """The largest crossers of something, and all the others in one row."""
    rows = list(found["top"])
    if not rows:
        return "<p>None.</p>"
    others = found["others"]
    shown = [[name(row[column.key], column.absent) for column in columns] for row in rows]
    if others:
        shown.append([f"<i>{others['rows']} more</i>", *[""] * (len(columns) - 1)])
    figures = all_figures([*rows, others] if others else rows, terms)
    head = [*(column.heading for column in columns), *figure_heads(terms)]
    lines = [[*names, *own] for names, own in zip(shown, figures, strict=True)]
    return table(f"The {what} with the most bytes across racks first", head, lines, classes(terms))


def figure_heads(terms: Terms) -> list[str]:
    return ["where the bytes went", "bytes", "crossed", "unknown", f"cost {terms.period}", "saved, at most"]


def classes(terms: Terms) -> dict[str, str]:
    first, *others = figure_heads(terms)
    return {first: "bar", **dict.fromkeys(others, "number")}


def all_figures(rows: Sequence[Mapping[str, Any]], terms: Terms) -> list[list[str]]:
    """For each row a bar and the figures under ``figure_heads``."""
    longest = max((row["bytes"] for row in rows), default=0)
    return [
        [
            bar(row, longest),
            bytes_text(row["bytes"]),
            bytes_text(row["cross_bytes"]),
            bytes_text(row["unknown_bytes"]),
            terms.money(row["cost"]),
            terms.money(row["at_most_cost"]),
        ]
        for row in rows
    ]


def unknown(result: Mapping[str, Any], terms: Terms) -> list[str]:
    """How much it is, whose, and a racks file to begin with."""
    total, clients = result["total"], result["unknown_clients"]
    if not total["unknown_bytes"]:
        return ["<p>Nothing: of all bytes both ends' racks are known.</p>"]
    head = ["client id", "address", "rack", "kind", "bytes", f"cost {terms.period}, at most"]
    rows = [
        [
            name(row["client_id"], "no client id"),
            name(row["client_host"], "unknown"),
            name(row["client_rack"], "unknown"),
            text(row["category"]),
            bytes_text(row["unknown_bytes"]),
            terms.money(row["possible_cost"]),
        ]
        for row in clients
    ]
    found = [
        (
            f"<p>{share(total['unknown_bytes'], total['bytes'])} of all bytes ({bytes_text(total['unknown_bytes'])}) "
            "went between ends of which one's rack is not known. They count neither as local nor as crossing.</p>"
        )
    ]
    if rows:
        found.append(table("Clients with the most such bytes", head, rows, dict.fromkeys(head[4:], "number")))
    lines = example(clients)
    if lines:
        found += [
            (
                "<p>To know more, say where they are in a file and give it with <code>--racks FILE</code>. A line is "
                "<code>RACK@RANGE</code>, <code>RACK@client:PATTERN</code> or <code>RACK@broker:ID</code>. To begin "
                "with, with the rack's name in the place of RACK:</p>"
            ),
            f"<pre>{text_lines(lines)}</pre>",
        ]
    if any(row["reason"] == "broker_rack_unknown" for row in result["avoidable"]):
        found.append(
            "<p>Of some brokers no rack is known either: set <code>broker.rack</code>, or name them in the file, as "
            "<code>az-a@broker:4</code>.</p>"
        )
    return found


def example(clients: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of a racks file for clients without a rack: by address, or by id where several share an address."""
    ids: dict[str, dict[str, int]] = {}
    for row in clients:
        host, client_id = row["client_host"] or "", row["client_id"] or ""
        if row["client_rack"] is None and PLAIN_HOST.fullmatch(host):
            by_id = ids.setdefault(host, {})
            by_id[client_id] = by_id.get(client_id, 0) + row["unknown_bytes"]
    sizes: dict[str, int] = {}
    for host, by_id in ids.items():
        for client_id, size in by_id.items():
            named = len(by_id) > 1 and PLAIN_ID.fullmatch(client_id)
            line = f"RACK@client:{client_id}" if named else f"RACK@{host}"
            sizes[line] = sizes.get(line, 0) + size
    largest = sorted(sizes, key=lambda line: (-sizes[line], line))[:MOST_EXAMPLES]
    longest = max(map(len, largest), default=0)
    return [f"{line:{longest}}  # {bytes_text(sizes[line])}" for line in largest]


def assumptions(result: Mapping[str, Any]) -> list[str]:
    """Prices, the month, what a byte is."""
    prices = result["prices"]
    told = [
        *result["assumptions"],
        "Sizes on this page are in KiB, MiB and GiB: 1,024 bytes, 1,024 KiB, 1,024 MiB.",
        "An unknown rack is never guessed, and unknown bytes are in no sum of what crossed.",
    ]
    found = ["<ul>", *(f"<li>{text(one)}</li>" for one in told), "</ul>"]
    if prices["pairs"]:
        head = ["from", "to", "sender pays", "receiver pays"]
        rows = [
            [
                text(pair["from"]),
                text(pair["to"]),
                *(f"{text(pair[part])} {text(prices['currency'])}" for part in ("egress", "ingress")),
            ]
            for pair in prices["pairs"]
        ]
        caption = f"Prices of their own, for a {prices['unit']}"
        found.append(table(caption, head, rows, dict.fromkeys(head[2:], "number")))
    return found


def text_lines(lines: Sequence[str]) -> str:
    return "\n".join(text(seen(line)) for line in lines)
