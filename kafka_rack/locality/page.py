"""What a run of ``locality`` found as one page that needs nothing beside it: no script, no picture, no style sheet.

``report`` takes what ``locality.json`` holds and asks nobody else, not even for the time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from kafka_rack.locality.amounts import bytes_text, duration_text, share_text, with_currency
from kafka_rack.locality.markup import LOCALITIES, Html, PageTable, Terms, html, joined, name
from kafka_rack.locality.result import pace_of_result
from kafka_rack.locality.svg import bar, heat_map, over_time, swatch
from kafka_rack.plurals import counted

MAX_FLOWS, MAX_EXAMPLES = 50, 6
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


class TopListColumn(NamedTuple):
    """A column of a top list that names something: heading, key, and what stands for none."""

    heading: str
    key: str
    absent: str


LISTS = {
    "topics": (TopListColumn("topic", "topic", "no topic"), TopListColumn("kind", "category", "")),
    "clients": (
        TopListColumn("client id", "client_id", "no client id"),
        TopListColumn("address", "client_host", "unknown"),
        TopListColumn("rack", "client_rack", "unknown"),
        TopListColumn("kind", "category", ""),
    ),
    "groups": (TopListColumn("group", "group_id", "no group"), TopListColumn("topic", "topic", "no topic")),
    "apis": (TopListColumn("API", "api", ""), TopListColumn("kind", "category", "")),
}


CSS = files(__package__) / "page.css"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>Traffic across racks: {}</title><style>
{}
</style></head>
<body>
<header><h1>Traffic across racks</h1>
<p class="soft">{}, {} to {} UTC, {} covered. {}.</p>
<p class="soft">{}</p>
<div class="cards">{}</div>
{}
<p class="legend">{}</p>
{}
</header>
<nav>{}</nav>
{}
</body></html>
"""


def report(result: Mapping[str, Any]) -> str:
    """The page.

    Args:
        result: what ``kafka_rack.pipeline.locality.measure`` returns and ``locality.json`` holds.
    """
    terms, span = Terms(result["prices"]["currency"], pace_of_result(result)), result["span"]
    bodies = sections(result, terms)
    return html(
        PAGE,
        result["title"],
        Html(CSS.read_text(encoding="utf-8")),
        counted(span["captures"], "capture"),
        at(span["first"]),
        at(span["last"]),
        duration_text(span["covered_us"]),
        f"Racks file: {result['racks_file']}" if result["racks_file"] else "No racks file",
        result["completeness"]["line"],
        joined(
            html('<div class="card"><span>{}</span><b>{}</b><span>{}</span></div>', *card)
            for card in cards(result, terms)
        ),
        joined(html('<p class="note">{}</p>\n', note) for note in result["notes"]),
        joined(html("<span>{}</span>", picture(swatch(way))) for way in LOCALITIES),
        shown(categories(result, terms), "No traffic."),
        joined(html('<a href="#{}">{}</a>', key, title) for key, title in SECTIONS.items()),
        joined(
            html('<section id="{}"><h2>{}</h2>\n{}\n</section>\n', key, title, bodies[key])
            for key, title in SECTIONS.items()
        ),
    )


def shown(found: PageTable | None, otherwise: str) -> Html:
    """A table, or a sentence where it has no rows."""
    return html("<p>{}</p>", otherwise) if found is None else found.as_html()


def sections(result: Mapping[str, Any], terms: Terms) -> dict[str, Html]:
    """The content below each heading of ``SECTIONS``."""
    lists = {key: shown(top_list(result[key], columns, key, terms), "None.") for key, columns in LISTS.items()}
    return {
        "racks": between_racks(result, terms),
        "time": through_time(result),
        "avoidable": what_could_be_avoided(result, terms),
        **lists,
        "unknown": what_is_not_known(result, terms),
        "assumptions": what_this_rests_on(result),
    }


def between_racks(result: Mapping[str, Any], terms: Terms) -> Html:
    """The map of racks, and each direction in a table."""
    if not result["rack_pairs"]:
        return Html("<p>No traffic.</p>")
    missing = left_out(result, "rack_pairs")
    form = "<p>The map leaves out {} of the smallest pairs; the tables have them.</p>"
    return html(
        '<p class="soft">Requests and responses together, and what they cost {}; of unknown bytes, what they cost at '
        'most.</p>\n<div class="wide figure">{}</div>\n{}<details><summary>Each direction</summary>{}</details>',
        terms.period,
        picture(heat_map(result["rack_pairs"], terms)),
        html(form, missing) if missing else "",
        directions(result["flows"], terms).as_html(),
    )


def through_time(result: Mapping[str, Any]) -> Html:
    """Bytes over time."""
    if not result["windows"]:
        return Html("<p>No traffic.</p>")
    missing = left_out(result, "windows")
    return html(
        '<div class="wide figure">{}</div>\n{}',
        picture(over_time(result["windows"], result["span"]["window_us"])),
        html("<p>And {} later, in the tables.</p>", missing) if missing else "",
    )


def what_could_be_avoided(result: Mapping[str, Any], terms: Terms) -> Html:
    """Reasons with fixes, then those without."""
    can_be, cannot_be = avoidable(result, terms)
    nothing = "Nothing: no bytes crossed racks, or may have, that a known fix keeps in."
    return joined((shown(can_be, nothing), "" if cannot_be is None else cannot_be.as_html()))


def what_is_not_known(result: Mapping[str, Any], terms: Terms) -> Html:
    """Bytes of which an end's rack is not known, and lines for a file that would name it."""
    total = result["total"]
    if not total["unknown_bytes"]:
        return Html("<p>Nothing: of all bytes both ends' racks are known.</p>")
    found, lines = unknown(result, terms), example(result["unknown_clients"])
    parts = [
        html(
            "<p>{} of all bytes ({}) went between ends of which one's rack is not known. They count neither as local "
            "nor as crossing.</p>\n",
            share_text(total["unknown_bytes"], total["bytes"]),
            bytes_text(total["unknown_bytes"]),
        ),
        "" if found is None else found.as_html(),
    ]
    if lines:
        parts.append(html("{}<pre>{}</pre>\n", RACKS_FILE, joined(html("{}\n", line) for line in lines)))
    if any(row["reason"] == "broker_rack_unknown" for row in result["avoidable"]):
        parts.append(BROKERS_UNKNOWN)
    return joined(parts)


RACKS_FILE = Html(
    "<p>To know more, say where they are in a file and give it with <code>--client-racks FILE</code>. A line is "
    "<code>RACK@RANGE</code>, <code>RACK@client:PATTERN</code> or <code>RACK@broker:ID</code>. To begin with, with the "
    "rack's name in the place of RACK:</p>\n"
)
BROKERS_UNKNOWN = Html(
    "<p>Of some brokers no rack is known either: set <code>broker.rack</code>, or name them in the file, as "
    "<code>az-a@broker:4</code>.</p>"
)


def what_this_rests_on(result: Mapping[str, Any]) -> Html:
    """Assumptions and prices."""
    lines = [
        *result["assumptions"],
        "Sizes on this page are in KiB, MiB and GiB: 1,024 bytes, 1,024 KiB, 1,024 MiB.",
        "An unknown rack is never guessed, and unknown bytes are in no sum of what crossed.",
    ]
    prices = prices_of_pairs(result["prices"])
    return html(
        "<ul>\n{}</ul>\n{}",
        joined(html("<li>{}</li>\n", line) for line in lines),
        "" if prices is None else prices.as_html(),
    )


def picture(svg: str) -> Html:
    """A picture of ``svg``, in which names are escaped already."""
    return Html(svg)


def cards(result: Mapping[str, Any], terms: Terms) -> list[tuple[str, str, str]]:
    """The figures that matter most: what, how much, and more of it."""
    client, copies = result["summary"]["client"], result["summary"]["replication"]
    actions, unknown = result["summary"]["actions"], bytes_text(client["unknown_bytes"])

    def costs(part: Mapping[str, Any]) -> str:
        return f"{part['cost_text']} {terms.period}"

    return [
        (
            "client traffic across racks",
            client["cross_share"],
            f"{bytes_text(client['cross_bytes'])} of {bytes_text(client['bytes'])}, {costs(client)}",
        ),
        (
            "avoidable",
            terms.money(client["saves_cost"]) if client["avoidable_bytes"] else Html("nothing"),
            f"{terms.period}: {actions[0]['action']}" if client["avoidable_bytes"] else "no client traffic",
        ),
        (
            "unknown",
            share_text(client["unknown_bytes"], client["bytes"]),
            f"{unknown}, at most {terms.money(client['possible_cost'])} {terms.period}: name them in a racks file",
        ),
        (
            "replication",
            copies["cross_share"] if copies["bytes"] else "not captured",
            f"{bytes_text(copies['cross_bytes'])} across racks, {costs(copies)}; unavoidable"
            if copies["bytes"]
            else "",
        ),
    ]


def categories(result: Mapping[str, Any], terms: Terms) -> PageTable | None:
    """Bytes by kind of traffic."""
    found = result["categories"]
    if not found:
        return None
    rows = [
        [row["category"], html('<span class="soft">{}</span>', KINDS.get(row["category"], "")), *figures]
        for row, figures in zip(found, all_figures(found, terms), strict=True)
    ]
    return PageTable("By kind of traffic", ["kind", "", *figure_heads(terms)], rows, classes(terms))


def at(told: str) -> str:
    """A moment of the result, to the second.

    >>> at("2026-01-01T00:00:00.250000Z")
    '2026-01-01 00:00:00'
    """
    return told[:19].replace("T", " ")


def left_out(result: Mapping[str, Any], name_of_list: str) -> str | None:
    """The bytes that a list does not have; None where it has all."""
    missing = result["total"]["bytes"] - sum(row["bytes"] for row in result[name_of_list])
    return bytes_text(missing) if missing else None


def directions(flows: Sequence[Mapping[str, Any]], terms: Terms) -> PageTable:
    """Each direction's bytes."""
    rows = [
        [
            name(flow["out_of"], "unknown"),
            name(flow["into"], "unknown"),
            bytes_text(flow["bytes"]),
            terms.money(flow["cost"]),
        ]
        for flow in flows[:MAX_FLOWS]
    ]
    head = ["bytes out of", "bytes into", "bytes", f"cost {terms.period}"]
    return PageTable("Who sent to whom", head, rows, dict.fromkeys(head[2:], "number"))


def avoidable(result: Mapping[str, Any], terms: Terms) -> tuple[PageTable | None, PageTable | None]:
    """Reasons with fixes and savings; then those that nothing can or need be done about."""
    fixable = [row for row in result["avoidable"] if row["avoidable"] != "no"]
    rest = [row for row in result["avoidable"] if row["avoidable"] == "no"]
    can_be = cannot_be = None
    if fixable:
        head = ["what to do", "why", "bytes", f"saved {terms.period}, for certain", "at most"]
        rows = [
            [
                html("<b>{}</b>", row["action"]),
                reason(row),
                bytes_text(row["bytes"]),
                terms.money(row["saves_cost"]),
                terms.money(row["at_most_cost"]),
            ]
            for row in fixable
        ]
        kinds = dict.fromkeys(head[2:], "number")
        can_be = PageTable("Bytes that crossed, or may have, and need not", head, rows, kinds)
    if rest:
        head = ["why", "what to do", "bytes", f"cost {terms.period}"]
        rows = [[reason(row), row["action"], bytes_text(row["bytes"]), terms.money(row["cost"])] for row in rest]
        cannot_be = PageTable("What crosses all the same", head, rows, dict.fromkeys(head[2:], "number"))
    return can_be, cannot_be


def reason(row: Mapping[str, Any]) -> Html:
    """What a reason means, its name, and the details that it came with."""
    details = joined(html("<li>{}</li>", detail) for detail in row["details"])
    return html("{} <code>{}</code>{}", row["what"], row["reason"], html("<ul>{}</ul>", details) if details else "")


def top_list(found: Mapping[str, Any], columns: Sequence[TopListColumn], what: str, terms: Terms) -> PageTable | None:
    """The largest crossers of something, and all the others in one row."""
    rows = list(found["top"])
    if not rows:
        return None
    others = found["others"]
    shown: list[list[str]] = [[name(row[column.key], column.absent) for column in columns] for row in rows]
    if others:
        shown.append([html("<i>{} more</i>", others["rows"]), *[""] * (len(columns) - 1)])
    figures = all_figures([*rows, others] if others else rows, terms)
    head = [*(column.heading for column in columns), *figure_heads(terms)]
    lines = [[*names, *own] for names, own in zip(shown, figures, strict=True)]
    return PageTable(f"The {what} with the most bytes across racks first", head, lines, classes(terms))


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
            picture(bar(row, longest)),
            bytes_text(row["bytes"]),
            bytes_text(row["cross_bytes"]),
            bytes_text(row["unknown_bytes"]),
            terms.money(row["cost"]),
            terms.money(row["at_most_cost"]),
        ]
        for row in rows
    ]


def unknown(result: Mapping[str, Any], terms: Terms) -> PageTable | None:
    """Whose bytes are not known to cross."""
    head = ["client id", "address", "rack", "kind", "bytes", f"cost {terms.period}, at most"]
    rows = [
        [
            name(row["client_id"], "no client id"),
            name(row["client_host"], "unknown"),
            name(row["client_rack"], "unknown"),
            row["category"],
            bytes_text(row["unknown_bytes"]),
            terms.money(row["possible_cost"]),
        ]
        for row in result["unknown_clients"]
    ]
    return (
        PageTable("Clients with the most such bytes", head, rows, dict.fromkeys(head[4:], "number")) if rows else None
    )


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
    largest = sorted(sizes, key=lambda line: (-sizes[line], line))[:MAX_EXAMPLES]
    longest = max(map(len, largest), default=0)
    return [f"{line:{longest}}  # {bytes_text(sizes[line])}" for line in largest]


def prices_of_pairs(prices: Mapping[str, Any]) -> PageTable | None:
    """Directions with prices of their own."""
    if not prices["pairs"]:
        return None
    head = ["from", "to", "sender pays", "receiver pays"]
    rows = [
        [pair["from"], pair["to"], *(with_currency(pair[part], prices["currency"]) for part in ("egress", "ingress"))]
        for pair in prices["pairs"]
    ]
    return PageTable(f"Prices of their own, for a {prices['unit']}", head, rows, dict.fromkeys(head[2:], "number"))
