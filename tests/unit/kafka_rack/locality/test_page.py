"""The page about racks: whole, harmless, and with the figures that it was given."""

import json
import re
from decimal import Decimal
from html.parser import HTMLParser

import pytest

from kafka_rack.locality.amounts import Pace
from kafka_rack.locality.page import MAX_RACKS, report
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.summary import summary_of
from kafka_rack.locality.svg import MAX_COLUMNS

GB = 10**9
DAY_US = 86_400_000_000
VOID = {"meta", "br", "link", "img", "input", "hr", "base"}
NASTY = '<script>alert("x")</script>&\'\x00\x1b[31m\n\u202e\ud800'
COUNTS = ("calls", "request_bytes", "response_bytes", "record_bytes", "records", "redirects", "bytes")
MONEY = ("cost", "possible_cost", "saves_cost", "at_most_cost")


class Page(HTMLParser):
    """Checks that all that is opened is closed in turn; keeps tags, texts and what stands in each svg."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.first_in_svg: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.open and self.open[-1] == "svg" and self.tags[-1][0] == "svg":
            self.first_in_svg.append(tag)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if "tr" in self.open and ("td" in self.open or "th" in self.open) and "svg" not in self.open:
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def row(self, *begin: str) -> list[str]:
        """The only row that begins with some cells; all its other cells."""
        (found,) = [row for row in self.rows if tuple(row[: len(begin)]) == begin]
        return found[len(begin) :]


def sums(cross: int = 0, unknown: int = 0, local: int = 0, **more: object) -> dict[str, object]:
    """A row's sums: 0.02 $ for each GB that crossed."""
    size = cross + unknown + local
    cost, possible = (str(Decimal(part) / GB * 2 / 100) for part in (cross, unknown))
    money = {"cost": cost, "possible_cost": possible, "saves_cost": "0", "at_most_cost": "0"}
    counts = {**dict.fromkeys(COUNTS, 0), "bytes": size, "saves_bytes": 0, "at_most_bytes": 0}
    return {**counts, **money, "cross_bytes": cross, "unknown_bytes": unknown, "local_bytes": local, **more}


def pair(client: str | None, broker: str | None, category: str = "consume", **ways: int) -> dict[str, object]:
    return {"client_rack": client, "broker_rack": broker, "category": category, **sums(**ways)}


def some(**changes: object) -> dict[str, object]:
    """A result without traffic, with changes."""
    return {
        "schema": 1,
        "title": "orders",
        "completeness": {"line": "7 frames over a day; missing: a rack", "uncaptured_replication_bytes": 3 * 2**20},
        "summary": summary(),
        "out": "out",
        "racks_file": None,
        "span": {
            "captures": 1,
            "first": "2026-01-01T00:00:00.000000Z",
            "last": "2026-01-02T00:00:00.000000Z",
            "covered_us": DAY_US,
            "window": "1h",
            "window_us": DAY_US // 24,
            "month_low": "1",
            "month_high": "1",
        },
        "prices": {
            "currency": "$",
            "unit": "GB",
            "unit_bytes": GB,
            "egress": "0.01",
            "ingress": "0.01",
            "free_replication": False,
            "pairs": [],
        },
        "month_seconds": 730 * 3_600,
        "assumptions": ["A GB costs 0.01 $ twice."],
        "total": sums(),
        "categories": [],
        "rack_pairs": [],
        "windows": [],
        **{key: {"top": [], "others": None} for key in ("topics", "clients", "groups", "apis")},
        "unknown_clients": [],
        "notes": [],
        **changes,
    }


def summary(*rows: dict[str, object]) -> dict[str, object]:
    exact = [{**row, **{name: Decimal(str(row[name])) for name in MONEY}} for row in rows]
    return summary_of(exact, Pace(DAY_US), "$")


def two_racks() -> dict[str, object]:
    """A day: 300 GB cross, 100 GB stay, 100 GB are unknown; 200 GB could be saved for certain, 250 at most."""
    saved = {"saves_cost": "4", "at_most_cost": "5", "saves_bytes": 200 * GB, "at_most_bytes": 250 * GB}
    consumed = sums(cross=300 * GB, local=100 * GB, **saved)
    unknown = sums(unknown=100 * GB)
    crossed = {**sums(cross=300 * GB, **saved), "detail": "AZ-A is almost az-a"}
    return some(
        summary=summary(
            {"category": "consume", "locality": "cross", "reason": "no_client_rack", **crossed},
            {"category": "consume", "locality": "local", "reason": None, **sums(local=100 * GB)},
            {"category": "produce", "locality": "unknown", "reason": "client_rack_unknown", **unknown},
        ),
        total=sums(cross=300 * GB, unknown=100 * GB, local=100 * GB, **saved),
        categories=[{"category": "produce", **unknown}, {"category": "consume", **consumed}],
        rack_pairs=[
            pair("az-a", "az-b", cross=300 * GB),
            pair("az-a", "az-a", local=100 * GB),
            pair(None, "az-b", "produce", unknown=100 * GB),
        ],
        windows=[
            {"window_start": "2026-01-01T00:00:00.000000Z", "category": "consume", **sums(cross=2**30, local=2**29)},
            {"window_start": "2026-01-01T00:00:00.000000Z", "category": "produce", **sums(unknown=2**29)},
            {"window_start": "2026-01-01T03:00:00.000000Z", "category": "produce", **sums(unknown=2**28)},
        ],
        topics={
            "top": [{"topic": "orders", "category": "consume", **consumed}],
            "others": {"rows": 7, **unknown},
        },
        clients={
            "top": [
                {
                    "client_id": "app",
                    "client_host": "10.0.0.9",
                    "client_rack": "az-a",
                    **consumed,
                }
            ],
            "others": None,
        },
        groups={"top": [{"group_id": None, "topic": None, **unknown}], "others": None},
        apis={"top": [{"api": "Fetch", "category": "consume", **consumed}], "others": None},
        unknown_clients=[{"client_id": "maker", "client_host": "10.0.0.7", "client_rack": None, **unknown}],
    )


def test_the_figures_at_the_head_are_those_that_a_hand_computes_from_the_input():
    page = Page(report(two_racks()))
    # 300 of 500 GB. A day is 1 / (365 / 12) of a month.
    month = Decimal(365) / 12
    crossed = f"{300 * GB / 2**30:.0f} GiB of {500 * GB / 2**30:.0f} GiB"
    assert f"client traffic across racks 60.0 % {crossed}, ${6 * month:,.2f} a month" in page.text
    assert f"avoidable ${4 * month:,.2f} a month: Set client.rack" in page.text
    assert f"unknown 20.0 % {100 * GB / 2**30:.1f} GiB, at most ${2 * month:,.2f} a month" in page.text
    assert "replication not captured followers would copy about 3.00 MiB" in page.text
    assert page.text.index("avoidable $") < page.text.index("replication not") < page.text.index("unknown 20.0 %")
    assert "7 frames over a day; missing: a rack" in page.text
    assert "Traffic across racks: orders" in page.text


def test_tables_tell_bytes_and_money_a_month_of_each_row():
    page = Page(report(two_racks()))
    consumed = ["", "373 GiB", "279 GiB", "0 B", "$182.50", "$152.08"]
    assert page.row("orders", "consume") == consumed
    assert page.row("Fetch", "consume") == consumed
    assert page.row("app", "10.0.0.9", "az-a") == consumed
    assert page.row("7 more", "")[1:4] == ["93.1 GiB", "0 B", "93.1 GiB"]
    assert page.row("no group", "no topic")[1:4] == ["93.1 GiB", "0 B", "93.1 GiB"]
    (action,) = (row for row in page.rows if row[0].startswith("Set client.rack"))
    assert action[1].endswith("so leaders serve it wherever they are.AZ-A is almost az-a")
    assert action[2:] == ["avoidable", "279 GiB", "$121.67", "$152.08"]
    assert page.row("maker", "10.0.0.7", "unknown") == ["93.1 GiB", "$60.83"]


def test_what_to_do_comes_before_bytes_and_no_word_is_a_raw_key():
    text = Page(report(two_racks())).text
    assert text.index("Set client.rack") < text.index("Between racks") < text.index("Assumptions")
    assert not re.search("[a-z]_[a-z]", text)


def cells(page: str) -> list[tuple[str, str, str]]:
    """Locality, strength and text of each cell of the map that has bytes."""
    found = re.findall(r'<td class="(\w+) l(\d)" title="[^"]*"><i>.</i> (.+?)</td>', page)
    return [(way, strength, text.replace("<br>", ", ")) for way, strength, text in found]


def test_the_map_has_a_cell_for_each_pair_of_racks_and_the_strongest_colour_for_the_most_bytes():
    page = report(two_racks())
    assert cells(page) == [
        ("local", "3", "93.1 GiB, $0.00"),
        ("cross", "5", "279 GiB, $182.50"),
        ("unknown", "3", "93.1 GiB, at most $60.83"),
    ]
    assert Page(page).row("unknown") == ["", "? 93.1 GiBat most $60.83"]
    assert re.search(r"\.unknown\{background:repeating-linear-gradient\(135deg", page)


def test_racks_beyond_the_maps_size_are_one_and_no_byte_is_lost():
    count = MAX_RACKS + 5
    pairs = [pair(f"r{number:02}", "b", cross=(count - number) * 2**20) for number in range(count)]
    page = report(some(total=sums(cross=sum(row["bytes"] for row in pairs)), rack_pairs=pairs))
    assert Page(page).row("other racks")[0].startswith(f"↗ {1 + 2 + 3 + 4 + 5:.1f} MiB")


def test_columns_over_time_stand_where_their_windows_are_and_are_as_high_as_their_bytes():
    page = report(two_racks())
    picture = page[page.index("<title>Bytes over time, a column for every 1h") :]
    picture = picture[: picture.index("</svg>")]
    boxes = [
        (way, float(x), float(height))
        for way, x, height in re.findall(
            r'class="(\w+)" x="([0-9.]+)" y="[0-9.]+" width="[0-9.]+" height="(.+?)"', picture
        )
    ]
    (cross, unknown, local, later) = boxes
    assert [box[0] for box in boxes] == ["cross", "unknown", "local", "unknown"]
    assert cross[2] == pytest.approx(2 * local[2], abs=0.02) == pytest.approx(2 * unknown[2], abs=0.02)
    assert later[2] == pytest.approx(unknown[2] / 2, abs=0.02)
    assert cross[1] == unknown[1] == local[1] < later[1]
    assert "from 2026-01-01 03:00:00: 256 MiB unknown" in picture


def test_very_many_windows_share_columns():
    windows = [
        {"window_start": f"2026-01-01T{hour:02}:{minute:02}:00.000000Z", "category": "consume", **sums(cross=2**20)}
        for hour in range(24)
        for minute in range(60)
    ]
    span = {**some()["span"], "window_us": 60_000_000}
    page = report(some(windows=windows, span=span, total=sums(cross=1_440 * 2**20)))
    assert page.count("<title>from 2026-01-01") == MAX_COLUMNS
    assert page.count(": 12.0 MiB crossed racks</title>") == MAX_COLUMNS


def nasty() -> dict[str, object]:
    """Names as anybody may send them, wherever names stand."""
    result = json.loads(json.dumps(two_racks()))
    for row in [
        *result["topics"]["top"],
        *result["clients"]["top"],
        *result["groups"]["top"],
        *result["unknown_clients"],
    ]:
        row.update(
            {key: NASTY for key in ("topic", "client_id", "client_host", "client_rack", "group_id") if key in row}
        )
    result["rack_pairs"].append(pair(NASTY, NASTY, cross=5))
    result["rack_pairs"].append(pair(NASTY * 100, NASTY, cross=5))
    result["summary"]["actions"][0]["details"] = [NASTY]
    result["title"] = NASTY
    result["notes"], result["assumptions"], result["racks_file"] = [NASTY], [NASTY], NASTY
    result["prices"]["currency"] = "<b>\x07"
    result["prices"]["pairs"] = [{"from": NASTY, "to": NASTY, "egress": "0.1", "ingress": "0"}]
    return result


def test_names_off_the_wire_stay_text():
    page = report(nasty())
    page.encode("utf-8")
    found = Page(page)
    assert not {tag for tag, _ in found.tags} & {"script", "img", "iframe", "object", "embed", "b\\x07"}
    assert not any(key.startswith("on") for _, attributes in found.tags for key in attributes)
    assert '<script>alert("x")</script>&\'\\x00\\x1b[31m\\n\\u202e\\ud800' in found.text
    assert all(letter.isprintable() or letter == "\n" for letter in page)


def test_a_very_long_name_is_cut():
    result = two_racks()
    result["topics"] = {"top": [{"topic": "x" * 30_000, "category": "consume", **sums(cross=1)}], "others": None}
    page = report(result)
    assert "x" * 64 + "…" in page
    assert "x" * 401 not in page


@pytest.mark.parametrize("make", [some, two_racks, nasty])
def test_a_page_is_well_formed_and_asks_for_nothing_from_outside(make):
    page = report(make())
    found = Page(page)
    anchors = {attributes["id"] for _, attributes in found.tags if attributes.get("id")}
    for tag, attributes in found.tags:
        assert tag not in {"script", "link", "img", "iframe", "base"}
        for key in ("src", "href", "xlink:href", "srcset", "data", "action", "style"):
            assert key not in attributes or (attributes[key][0] == "#" and attributes[key][1:] in anchors)
    assert page.startswith("<!doctype html>")
    assert "@import" not in page
    assert "url(" not in page
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page


@pytest.mark.parametrize("make", [two_racks, nasty])
def test_every_picture_says_what_it_shows_to_who_cannot_see_it(make):
    found = Page(report(make()))
    pictures = [attributes for tag, attributes in found.tags if tag == "svg"]
    assert len(pictures) == len(found.first_in_svg) >= 5
    assert all(attributes["role"] == "img" for attributes in pictures)
    assert set(found.first_in_svg) == {"title"}
    heads = [attributes for tag, attributes in found.tags if tag == "th"]
    assert all(attributes["scope"] in ("col", "row") for attributes in heads)


def test_without_traffic_there_is_a_page_that_says_so():
    page = Page(report(some()))
    assert "client traffic across racks 0 % 0 B of 0 B, $0.00 a month" in page.text
    assert "avoidable nothing" in page.text
    assert page.text.count("No traffic.") == 3
    assert "the racks of both ends are known for all bytes" in page.text


def test_without_a_span_money_is_that_of_the_captures():
    result = two_racks()
    result["span"] = {**result["span"], "covered_us": 0, "last": result["span"]["first"]}
    page = Page(report(result))
    assert page.row("az-a")[1] == "↗ 279 GiB$6.00"
    assert "cost measured" in page.text


def test_one_rack_alone_crosses_nothing():
    local = sums(local=7 * 2**20)
    result = some(total=local, rack_pairs=[pair("az-a", "az-a", local=7 * 2**20)])
    page = report(result)
    assert cells(page) == [("local", "5", "7.00 MiB, $0.00")]
    assert "Nothing: no client traffic crossed racks" in page


def test_the_proposed_racks_file_can_be_read_and_tells_clients_behind_one_address_apart():
    def client(client_id: str | None, host: str, size: int) -> dict[str, object]:
        return {
            "client_id": client_id,
            "client_host": host,
            "client_rack": None,
            **sums(0, size),
        }

    clients = [
        client("maker-1", "10.0.0.1", 900),
        client("maker-1", "10.0.0.1", 50),
        client("maker-2", "10.0.0.1", 800),
        client("*#<b>", "2001:db8::1", 700),
        client("odd*", "10.0.0.3", 300),
        client("even", "10.0.0.3", 200),
        client("x", "no address\n", 100),
    ]
    page = report(some(total=sums(0, 3_050), unknown_clients=clients))
    proposed = page[page.index("<pre>") + 5 : page.index("</pre>")]
    assert proposed.splitlines() == [
        "RACK@client:maker-1  # 950 B",
        "RACK@client:maker-2  # 800 B",
        "RACK@2001:db8::1     # 700 B",
        "RACK@10.0.0.3        # 300 B",
        "RACK@client:even     # 200 B",
    ]
    rules = RackRules.read(proposed.replace("RACK", "az-a"), "proposed")
    assert rules.of_client_id("maker-2") == rules.of_address("2001:db8::1") == "az-a"


def test_brokers_without_a_rack_are_pointed_out():
    row = {"category": "consume", "locality": "unknown", "reason": "broker_rack_unknown", **sums(0, 5)}
    assert "Some brokers have no known rack" in report(some(total=sums(0, 5), summary=summary(row)))
    assert "Some brokers have no known rack" not in report(some(total=sums(0, 5)))


def test_produce_to_leaders_elsewhere_is_shown_with_its_reason():
    row = {"category": "produce", "locality": "cross", "reason": "keyed_produce", **sums(cross=GB)}
    page = Page(report(some(total=sums(cross=GB), summary=summary(row))))
    (action,) = (row for row in page.rows if row[0].startswith("Unavoidable for classic topics."))
    assert action[2:] == ["unavoidable", "954 MiB", "$0.00", "$0.00"]
    assert "avoidable nothing no client traffic" in page.text
    assert ("b", {"class": "good"}) in page.tags
    assert ("b", {"class": "bad"}) not in page.tags
