"""The figures on the dashboard are those of the journal and of the traffic, and each opens the calls behind it."""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import ExitStack

import pytest

from tests.browser.clients import produce, reading
from tests.browser.cluster_process import serving
from tests.progress import wait_until

TOPIC = "orders"
NEAR = ("--set", "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector")
EVIL = "<img src=x onerror=\"document.title='taken'\">"
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20}
LENGTH_BYTES = 4


def written(size):
    """A number of bytes as the page writes it."""
    for unit, each in UNITS.items():
        if size < 1024 * each or unit == "MiB":
            value = size / each
            places = 0 if unit == "B" or value >= 100 else 1 if value >= 10 else 2
            return f"{value:.{places}f} {unit}"
    raise AssertionError(size)


def wire_bytes(call):
    return sum(call[key] + LENGTH_BYTES for key in ("request_bytes", "response_bytes") if call[key])


def map_of_racks(page):
    """(client's rack, broker's rack) -> the text of the cell, its locality, its background."""
    script = """
        const across = [...document.querySelectorAll("#heat thead th")].slice(1).map((cell) => cell.textContent);
        return [...document.querySelectorAll("#heat tbody tr")].flatMap((row) => [...row.cells].slice(1).map(
            (cell, index) => [row.cells[0].textContent, across[index], cell.querySelector("a")?.textContent ?? "",
                cell.dataset.locality, getComputedStyle(cell).background, cell.innerText]));
    """
    return {(client, broker): rest for client, broker, *rest in page.script(script)}


@pytest.fixture(scope="module")
def quiet(browser, tmp_path_factory):
    """A cluster that real clients have used in three ways: near, across racks and without saying where they are."""
    options = ("--brokers", "3", "--topic", f"{TOPIC}:3:3", *NEAR)
    with serving(tmp_path_factory.mktemp("quiet"), *options) as served:
        produce(served.servers, TOPIC, [b"x" * 500] * 30, **{"client.id": "web"})
        clients = {"near": "a", "far": "z", EVIL: None}
        for client_id, rack in clients.items():
            with reading(served.servers, TOPIC, client_id, rack, group=f"group of {client_id}") as reader:
                wait_until(lambda reader=reader: len(reader.values) == 30, "30 records", lambda r=reader: len(r.values))
        yield served


def test_the_map_has_the_bytes_of_the_journals_calls(quiet, dashboard):
    page = dashboard(quiet)
    pairs = quiet.get("/traffic")["flows"]
    calls = quiet.get("/requests", limit=10000)["requests"]
    counted = sum(row["bytes"] for row in pairs if row["category"] != "replication")
    assert counted == sum(map(wire_bytes, calls)), "the map counts the calls that the journal has, and no others"
    sums = defaultdict(int)
    for row in pairs:
        sums[row["client_rack"] or "unknown", row["broker_rack"]] += row["bytes"]
    expected = {pair: written(size) for pair, size in sums.items() if size}
    assert {("a", "a"), ("z", "b"), ("unknown", "a")} <= expected.keys()
    page.wait(lambda: map_of_racks(page), "the map")
    page.one("#traffic-category option:nth-child(2)").click()  # all
    page.wait(
        lambda: {pair: cell[0] for pair, cell in map_of_racks(page).items() if cell[0]} == expected,
        f"a map with {expected}",
    )
    page.one("#traffic-category option:nth-child(3)").click()
    produced = {
        (row["client_rack"], row["broker_rack"]) for row in pairs if row["category"] == "produce" and row["bytes"]
    }
    page.wait(lambda: sum(bool(cell[0]) for cell in map_of_racks(page).values()) == len(produced), "produce alone")


def test_unknown_has_a_colour_of_its_own_and_is_never_counted_as_crossing(quiet, dashboard):
    page = dashboard(quiet)
    page.wait(lambda: ("unknown", "a") in map_of_racks(page), "the row of those that say no rack")
    cells = map_of_racks(page)
    colours = {cell[1]: cell[2] for cell in cells.values()}
    assert cells["unknown", "a"][1] == "unknown"
    assert "unknown" in cells["unknown", "a"][3], "a word, beside the colour"
    assert len({colours[one] for one in ("local", "cross", "unknown")}) == 3
    client = quiet.get("/traffic")["summary"]["client"]
    card = page.text("#cards .card")
    assert written(client["cross_bytes"]) in card
    assert written(client["bytes"]) in card
    assert client["unknown_bytes"] > 0


def test_each_figure_opens_the_calls_behind_it_and_the_address_keeps_them(quiet, dashboard):
    page = dashboard(quiet)
    page.wait(lambda: page.all("#clients-table tbody tr"), "clients")
    page.one("#clients-table a[aria-label*='unknown: <img']").click()
    page.wait(lambda: page.rows("#rows-table"), "rows")
    expected = quiet.post("/requests/count", {"client_id": EVIL, "locality": "unknown"})["count"]
    page.wait(lambda: page.text("#rows-count").startswith(f"{expected:,} in the journal"), f"{expected} calls")
    assert all("unknown" in row[5] for row in page.rows("#rows-table"))
    assert page.focused_name().startswith("Requests:"), "the keyboard is in the panel"
    address = page.browser.current_url
    page.open()
    assert not page.one("#rows").is_displayed()
    page.open(address.removeprefix(f"{quiet.address}/"))
    page.wait(lambda: page.text("#rows-count").startswith(f"{expected:,} in the journal"), "the same calls by link")
    field = page.one("#rows-filters [name=api]")
    field.send_keys("Fetch\n")
    fetches = quiet.post("/requests/count", {"client_id": EVIL, "locality": "unknown", "api": "Fetch"})["count"]
    page.wait(lambda: page.text("#rows-count").startswith(f"{fetches:,} in the journal"), f"{fetches} fetches")
    assert {row[2].split()[0] for row in page.rows("#rows-table")} == {"Fetch"}


def test_a_filter_that_will_not_do_says_why(quiet, dashboard):
    page = dashboard(quiet, "#rows=open&locality=near")
    page.wait(lambda: "locality" in page.text("#rows-problem"), "the problem's detail")
    assert "expected" in page.text("#rows-problem")


def test_whatever_clients_are_called_is_text(quiet, dashboard):
    page = dashboard(quiet)
    page.wait(lambda: EVIL in page.text("#clients-table"), "the client's name as it is")
    page.wait(lambda: f"group of {EVIL}" in page.text("#groups-table"), "the group's name as it is")
    page.wait(lambda: "<img" in page.text("#requests-table"), "its requests")
    assert page.browser.title == "kafka-rack"
    assert page.all("main img, aside img") == []
    tried = """
        try {
            document.body.insertAdjacentHTML("beforeend", "<i></i>");
        } catch (error) {
            return error.name;
        }
    """
    assert page.script(tried) == "TypeError", "the browser itself refuses to make HTML out of text"


def test_clients_have_their_rack_their_bytes_and_the_reason(quiet, dashboard):
    page = dashboard(quiet)
    page.wait(lambda: len(page.rows("#clients-table")) >= 4, "clients")
    rows = {row[0]: row for row in page.rows("#clients-table")}
    of_server = {
        (one["client_id"], one["client_rack"]): one for one in quiet.get("/traffic")["clients"] if one["client_rack"]
    }
    for client_id, rack in (("near", "a"), ("far", "z")):
        shown, expected = rows[f"{client_id}\nrack {rack} by request"], of_server[client_id, rack]
        sizes = [expected[f"{locality}_bytes"] for locality in ("local", "cross", "unknown")]
        assert shown[2:5] == [written(size) for size in sizes]
    reason = rows["far\nrack z by request"][5]
    assert reason.startswith("Set client.rack to a name that brokers have"), "the action first"
    assert "rack not in cluster" in reason


def test_groups_have_their_lag(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:1:3")
    produce(served.servers, TOPIC, [b"one"])
    with reading(served.servers, TOPIC, "worker", "a", group="workers") as reader:
        wait_until(lambda: reader.values, "a record")
    produce(served.servers, TOPIC, [b"x"] * 41)
    page = dashboard(served)
    page.wait(lambda: page.rows("#groups-table"), "groups")
    (row,) = page.rows("#groups-table")
    assert (row[0], row[4]) == ("workers", "41")
    assert row[5] == f"{TOPIC}-0: 41"


def test_followers_that_lag_show_by_how_much(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:1:3")
    leader = served.get("/cluster")["topics"][0]["partitions"][0]["leader"]
    follower = (leader + 1) % 3
    served.post(f"/brokers/{follower}/lag", {"records": 7})
    produce(served.servers, TOPIC, [b"x"] * 20, acks="1")
    page = dashboard(served)
    label = f"[aria-label*='broker {follower},'][role=gridcell]"
    page.wait(lambda: page.all(f"#matrix {label}"), "the follower's cell")
    behind = served.get("/cluster")["topics"][0]["partitions"][0]["follower_lag"][str(follower)]
    page.wait(lambda: page.text(f"#matrix {label}") == str(behind), f"{behind} records that it lacks")
    assert re.search(rf"lacks {behind} records", page.one(f"#matrix {label}").accessible_name)


def consume(served, *racks):
    """Have a consumer per rack read what a producer in rack a writes."""
    with ExitStack() as stack:
        readers = [
            stack.enter_context(reading(served.servers, TOPIC, f"reports-{number}", rack))
            for number, rack in enumerate(racks)
        ]
        produce(served.servers, TOPIC, [b"x" * 500] * 60, **{"client.id": "web"})
        wait_until(lambda: all(len(one.values) == 60 for one in readers), "60 records each")


def test_a_correct_set_up_is_green(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:3:3", *NEAR)
    consume(served, "a", "b", "c")
    page = dashboard(served)
    page.wait(lambda: page.all("#cards .card"), "the cards")
    crossing, avoidable, *_ = page.script("""
        return [...document.querySelectorAll("#cards .card")].map((card) => [card.dataset.kind, card.innerText]);
    """)
    assert (crossing[0], avoidable[0]) == ("good", "good")
    assert "nothing" in avoidable[1]
    assert "Nothing to do" in page.text("#todo [data-kind=good]")
    orange = "#heat [data-locality=cross], #clients-table [data-some=cross], [data-kind=cross]"
    assert page.all(orange) == [], "a few bytes of redirects are no trouble"


def test_a_wrong_set_up_says_what_to_do_and_offers_to_copy_it(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:3:3")
    consume(served, "a", "b", "c")
    page = dashboard(served)
    page.script("navigator.clipboard.writeText = async (text) => (globalThis.copied = text)")
    page.wait(lambda: page.all("#todo [data-kind=cross]"), "an action")
    assert page.one("#cards .card:nth-child(2)").get_attribute("data-kind") == "cross"
    assert "Set replica.selector.class on the brokers." in page.text("#todo [data-kind=cross] b")
    assert "$" in page.text("#cards .card:nth-child(3)")
    page.one("#todo [data-kind=cross] button").click()
    page.wait(lambda: page.text("#said").startswith("Copied"), "the announcement")
    assert page.script("return copied") == NEAR[1]


def test_consumers_that_send_no_rack_are_unknown_with_the_action_that_helps(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:3:3")
    consume(served, None)
    page = dashboard(served)
    page.wait(lambda: page.all("#todo li"), "an action")
    assert page.all("[data-kind=good], [data-kind=cross]") == []
    assert "Set client.rack to the client's rack" in page.text("#todo")
    assert "client.rack=a" in page.text("#todo")


def test_an_empty_cluster_says_how_to_begin(serve, dashboard):
    served = serve("--brokers", "3")
    page = dashboard(served)
    page.wait(lambda: page.text("#todo"), "the next step")
    assert page.text("#connect code") == served.servers
    assert f"bootstrap.servers={served.servers}" in page.text("#todo")
    assert page.all("#cards .card") == []


def test_a_client_has_one_row_with_its_connection_to_the_coordinator(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:3:3", *NEAR)
    consume(served, "a", "b", "c")
    page = dashboard(served)
    page.wait(lambda: len(page.rows("#clients-table")) >= 4, "clients")
    ids = [row[0].partition("\n")[0] for row in page.rows("#clients-table")]
    assert sorted(ids) == ["reports-0", "reports-1", "reports-2", "web"]
