"""The result of ``locality`` as one self-contained page, without scripts, images or external style sheets.

``report`` depends only on the contents of ``locality.json``, not even on the time.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib.resources import files
from math import ceil, sqrt
from typing import Any

from kafka_rack.locality.amounts import bytes_text, duration_text, share_text, with_currency
from kafka_rack.locality.markup import LOCALITIES, Html, Terms, html, joined, name, split_text, table
from kafka_rack.locality.result import pace_of_result
from kafka_rack.locality.svg import bar, over_time
from kafka_rack.plurals import counted

MAX_RACKS = 16
"""The most racks on each side of the map; all others are one."""
REST = "\0rest"
LEVELS = 5
"""The number of a colour's shades."""
SIGNS = {"cross": "↗", "unknown": "?", "local": "="}
MAX_EXAMPLES = 6
"""The most lines of the proposed racks file."""
PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
"""Client ids that a racks file can contain as patterns unchanged."""
PLAIN_HOST = re.compile(r"[0-9A-Fa-f:.]{1,45}")
SECTIONS = {
    "avoidable": "What to do",
    "racks": "Between racks",
    "kinds": "By kind of traffic",
    "time": "Over time",
    "topics": "Topics",
    "clients": "Clients",
    "groups": "Groups",
    "apis": "APIs",
    "unknown": "What is unknown",
    "assumptions": "Assumptions",
}
LISTS = {
    "topics": (("topic", "topic", "no topic"), ("kind", "category", "")),
    "clients": (
        ("client id", "client_id", "no client id"),
        ("address", "client_host", "unknown"),
        ("rack", "client_rack", "unknown"),
    ),
    "groups": (("group", "group_id", "no group"), ("topic", "topic", "no topic")),
    "apis": (("API", "api", ""), ("kind", "category", "")),
}
"""Columns of names by list: heading, key, and the text for a missing name."""
CSS = files(__package__) / "page.css"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>Traffic across racks: {}</title><style>
{}
</style></head>
<body>
<header><h1>Traffic across racks: {}</h1>
<p class="soft">{}, {} to {} UTC, {} covered. {}.</p>
<p class="soft">{}</p>
<div class="cards">{}</div>
{}
</header>
<nav>{}</nav>
{}
</body></html>
"""
RACKS_FILE = Html(
    "<p>Name their racks in a file and pass it with <code>--client-racks FILE</code>. A line is "
    "<code>RACK@RANGE</code>, <code>RACK@client:PATTERN</code> or <code>RACK@broker:ID</code>. Start with these lines, "
    "and write the rack's name for RACK:</p>\n"
)
BROKERS_UNKNOWN = Html(
    "<p>Some brokers have no known rack either: set <code>broker.rack</code>, or name them in the file, for example "
    "<code>az-a@broker:4</code>.</p>"
)


def report(result: Mapping[str, Any]) -> str:
    """The page.

    Args:
        result: the result of ``kafka_rack.locality.captures.measure``, the contents of ``locality.json``.
    """
    terms, span = Terms(result["prices"]["currency"], pace_of_result(result)), result["span"]
    bodies = sections(result, terms)
    return html(
        PAGE,
        result["title"],
        Html(CSS.read_text(encoding="utf-8")),
        result["title"],
        counted(span["captures"], "capture"),
        at(span["first"]),
        at(span["last"]),
        duration_text(span["covered_us"]),
        f"Racks file: {result['racks_file']}" if result["racks_file"] else "No racks file",
        result["completeness"]["line"],
        joined(
            html('<div class="card"><span>{}</span><b class="{}">{}</b><span>{}</span></div>', *card)
            for card in cards(result, terms)
        ),
        joined(html('<p class="note">{}</p>\n', note) for note in result["notes"]),
        joined(html('<a href="#{}">{}</a>', key, title) for key, title in SECTIONS.items()),
        joined(
            html('<section id="{}"><h2>{}</h2>\n{}\n</section>\n', key, title, bodies[key])
            for key, title in SECTIONS.items()
        ),
    )


def at(told: str) -> str:
    """A time of the result, to the second.

    >>> at("2026-01-01T00:00:00.250000Z")
    '2026-01-01 00:00:00'
    """
    return told[:19].replace("T", " ")


def cards(result: Mapping[str, Any], terms: Terms) -> list[tuple[str, str, str, str]]:
    """The main figures: title, colour class, amount, and a detail."""
    summary, period = result["summary"], terms.period
    client, copies, actions = summary["client"], summary["replication"], summary["actions"]
    crossed = f"{bytes_text(client['cross_bytes'])} of {bytes_text(client['bytes'])}, {client['cost_text']} {period}"
    avoidable = ("avoidable", "good", "nothing", "no client traffic")
    if client["avoidable_bytes"]:
        avoidable = ("avoidable", "bad", terms.money(client["saves_cost"]), f"{period}: {actions[0]['action']}")
    size = result["completeness"]["uncaptured_replication_bytes"]
    lacking = f"followers would copy about {bytes_text(size)}" if size else ""
    replication = ("replication", "", "not captured", lacking)
    if copies["bytes"]:
        more = f"{bytes_text(copies['cross_bytes'])} across racks, {copies['cost_text']} {period}; unavoidable"
        replication = ("replication", "", copies["cross_share"], more)
    unknown = f"{bytes_text(client['unknown_bytes'])}, at most {terms.money(client['possible_cost'])} {period}"
    return [
        (
            "client traffic across racks",
            "bad" if client["avoidable_bytes"] else "good",
            client["cross_share"],
            crossed,
        ),
        avoidable,
        replication,
        ("unknown", "", share_text(client["unknown_bytes"], client["bytes"]), f"{unknown}: name them in a racks file"),
    ]


def sections(result: Mapping[str, Any], terms: Terms) -> dict[str, Html]:
    """The content below each heading of ``SECTIONS``."""
    kinds = [[name(row["category"], ""), *figures(row, result["categories"], terms)] for row in result["categories"]]
    windows = Html("<p>No traffic.</p>")
    if result["windows"]:
        windows = Html(over_time(result["windows"], result["span"]["window_us"]))
    return {
        "avoidable": what_to_do(result["summary"]["actions"], terms),
        "racks": rack_map(result["rack_pairs"], terms),
        "kinds": table(["kind", *figure_heads(terms)], kinds, 5, "No traffic."),
        "time": joined((windows, left_out(result, "windows"))),
        **{key: top_list(result[key], columns, terms) for key, columns in LISTS.items()},
        "unknown": what_is_unknown(result, terms),
        "assumptions": assumptions(result),
    }


def what_to_do(actions: Sequence[Mapping[str, Any]], terms: Terms) -> Html:
    """The actions with their savings, and why the bytes crossed."""
    rows = []
    for row in actions:
        details = joined(html("<li>{}</li>", detail) for detail in row["details"])
        rows.append(
            [
                html("<b>{}</b>", row["action"]),
                html("{}{}", row["what"], html("<ul>{}</ul>", details) if details else ""),
                row["avoidable"],
                bytes_text(row["bytes"]),
                terms.money(row["saves_cost"]),
                terms.money(row["at_most_cost"]),
            ]
        )
    head = ["what to do", "why", "", "bytes", f"saved {terms.period}, for certain", "at most"]
    nothing = "Nothing: no client traffic crossed racks, or may have."
    sure = "For certain: the capture shows that the action keeps these bytes in their rack. At most: it may."
    return table(head, rows, 3, nothing, sure)


def rack_map(pairs: Sequence[Mapping[str, Any]], terms: Terms) -> Html:
    """Clients' racks downwards, brokers' across; the more bytes, the fuller the colour."""
    down, across = axis(pairs, "client_rack"), axis(pairs, "broker_rack")
    cells: dict[tuple[str | None, str | None], Counter[str]] = defaultdict(Counter)
    money: dict[tuple[str | None, str | None], Decimal] = defaultdict(Decimal)
    for row in pairs:
        ends = row["client_rack"], row["broker_rack"]
        place = (ends[0] if ends[0] in down else REST, ends[1] if ends[1] in across else REST)
        cells[place].update({way: row[f"{way}_bytes"] for way in LOCALITIES})
        money[place] += Decimal(row["cost"]) + Decimal(row["possible_cost"])
    most = max((cell.total() for cell in cells.values()), default=0)

    def cell(client: str | None, broker: str | None) -> Html:
        sizes = cells[client, broker]
        size = sizes.total()
        if not size:
            return Html("<td></td>")
        way = max(LOCALITIES, key=lambda way: sizes[way])
        said = html("{}{}", "at most " if way == "unknown" else "", terms.money(money[client, broker]))
        level = ceil(LEVELS * sqrt(size / most))
        title = split_text({f"{way}_bytes": sizes[way] for way in LOCALITIES})
        form = '<td class="{} l{}" title="{}"><i>{}</i> {}<br>{}</td>'
        return html(form, way, level, title, SIGNS[way], bytes_text(size), said)

    if not most:
        return Html("<p>No traffic.</p>")
    heads = joined(html('<th scope="col">{}</th>', rack_name(rack)) for rack in across)
    lines = joined(
        html('<tr><th scope="row">{}</th>{}</tr>\n', rack_name(client), joined(cell(client, rack) for rack in across))
        for client in down
    )
    legend = joined(html('<span class="{}">{} {}</span>', way, SIGNS[way], words) for way, words in LOCALITIES.items())
    return html(
        '<p class="soft">Requests and responses together, and what they cost {}. Client racks downwards, broker racks '
        'across.{}</p>\n<div class="wide"><table class="map"><thead><tr><th scope="col">client rack</th>{}</tr></thead>'
        "\n<tbody>{}</tbody></table></div>",
        terms.period,
        html('<span class="legend">{}</span>', legend),
        heads,
        lines,
    )


def axis(pairs: Sequence[Mapping[str, Any]], side: str) -> list[str | None]:
    """Racks by name, unknown last; if there are many, those with the most bytes, and one for the rest."""
    sizes: Counter[str | None] = Counter()
    for row in pairs:
        sizes[row[side]] += row["bytes"]
    known = sorted((rack for rack in sizes if rack is not None), key=lambda rack: (-sizes[rack], rack))
    found: list[str | None] = [*sorted(known[:MAX_RACKS]), *([REST] if len(known) > MAX_RACKS else [])]
    return [*found, None] if None in sizes else found


def rack_name(rack: str | None) -> Html:
    return Html("other racks") if rack == REST else name(rack, "unknown")


def left_out(result: Mapping[str, Any], name_of_list: str) -> Html:
    """A sentence about the rows that a list leaves out."""
    missing = result["total"]["bytes"] - sum(row["bytes"] for row in result[name_of_list])
    return html("<p>{} more later.</p>", bytes_text(missing)) if missing else Html("")


def top_list(found: Mapping[str, Any], columns: Sequence[tuple[str, str, str]], terms: Terms) -> Html:
    """The largest crossers of something, and all others in one row."""
    rows = list(found["top"])
    shown: list[list[str]] = [[name(row[key], absent) for _, key, absent in columns] for row in rows]
    if found["others"]:
        rows.append(found["others"])
        shown.append([html("<i>{} more</i>", found["others"]["rows"]), *[""] * (len(columns) - 1)])
    lines = [[*names, *figures(row, rows, terms)] for names, row in zip(shown, rows, strict=True)]
    return table([*(heading for heading, _, _ in columns), *figure_heads(terms)], lines, 5, "None.")


def figure_heads(terms: Terms) -> list[str]:
    return ["", "bytes", "crossed", "unknown", f"cost {terms.period}", "saved, at most"]


def figures(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], terms: Terms) -> list[str]:
    """A bar and the figures under ``figure_heads``."""
    return [
        Html(bar(row, max(one["bytes"] for one in rows))),
        *(bytes_text(row[size]) for size in ("bytes", "cross_bytes", "unknown_bytes")),
        *(terms.money(row[amount]) for amount in ("cost", "at_most_cost")),
    ]


def what_is_unknown(result: Mapping[str, Any], terms: Terms) -> Html:
    """Bytes with an end of unknown rack, and lines for a file that would name it."""
    total, clients = result["total"], result["unknown_clients"]
    if not total["unknown_bytes"]:
        return Html("<p>Nothing: the racks of both ends are known for all bytes.</p>")
    rows = [
        [
            *(name(row[key], absent) for _, key, absent in LISTS["clients"]),
            bytes_text(row["unknown_bytes"]),
            terms.money(row["possible_cost"]),
        ]
        for row in clients
    ]
    head = ["client id", "address", "rack", "bytes", f"cost {terms.period}, at most"]
    share = share_text(total["unknown_bytes"], total["bytes"])
    lines = example(clients)
    is_broker = any(row["reason"] == "broker_rack_unknown" for row in result["summary"]["actions"])
    return joined(
        (
            html("<p>{} of all bytes have an end of unknown rack. They are neither local nor crossing.</p>", share),
            table(head, rows, 2),
            html("{}<pre>{}</pre>\n", RACKS_FILE, joined(html("{}\n", line) for line in lines)) if lines else "",
            BROKERS_UNKNOWN if is_broker else "",
        )
    )


def example(clients: Sequence[Mapping[str, Any]]) -> list[str]:
    """Racks file lines for clients without a rack: by address, or by id if several share an address."""
    ids: dict[str, Counter[str]] = defaultdict(Counter)
    for row in clients:
        host = row["client_host"] or ""
        if row["client_rack"] is None and PLAIN_HOST.fullmatch(host):
            ids[host][row["client_id"] or ""] += row["unknown_bytes"]
    sizes: Counter[str] = Counter()
    for host, by_id in ids.items():
        for client_id, size in by_id.items():
            named = len(by_id) > 1 and PLAIN_ID.fullmatch(client_id)
            sizes[f"RACK@client:{client_id}" if named else f"RACK@{host}"] += size
    largest = sorted(sizes, key=lambda line: (-sizes[line], line))[:MAX_EXAMPLES]
    longest = max(map(len, largest), default=0)
    return [f"{line:{longest}}  # {bytes_text(sizes[line])}" for line in largest]


def assumptions(result: Mapping[str, Any]) -> Html:
    """The assumptions behind the figures, and the prices."""
    prices = result["prices"]
    rows = [
        [pair["from"], pair["to"], *(with_currency(pair[part], prices["currency"]) for part in ("egress", "ingress"))]
        for pair in prices["pairs"]
    ]
    head = ["bytes out of", "bytes into", "sender pays", "receiver pays"]
    lines = joined(html("<li>{}</li>\n", line) for line in result["assumptions"])
    return html("<ul>\n{}</ul>\n{}", lines, table(head, rows, 2, caption=f"Prices of their own, per {prices['unit']}"))
