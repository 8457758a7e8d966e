"""The dashboard's buttons do to a running cluster what they say, by keyboard as well, and say how it went."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.browser.chromium import Page
from tests.browser.clients import produce, reading
from tests.progress import wait_until

TOPIC = "orders"
NEAR = ("--set", "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector")


def racks_that_served(served, client_id, since):
    """The racks whose brokers gave this client records after an entry of the journal."""
    found = served.get("/requests", client_id=client_id, api="Fetch", topic=TOPIC)["requests"]
    return {one["rack"] for one in found if one["sequence"] > since and sum((one["traffic"] or {}).values()) > 0}


def last_sequence(served):
    found = served.get("/requests", limit=1)["requests"]
    return found[-1]["sequence"] if found else -1


def online(served, rack):
    return served.get("/cluster")["racks"][rack]["online"]


def test_a_rack_stops_by_keyboard_its_consumers_move_and_it_starts_again(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:1:3", *NEAR)
    page = dashboard(served)
    with reading(served.servers, TOPIC, "near", "b") as reader:
        produce(served.servers, TOPIC, [b"before"])
        wait_until(lambda: reader.values == [b"before"], "the first record", lambda: reader.values)
        page.tab_to("Stop rack b")
        page.press(Keys.ENTER)
        page.button("Start rack b")
        assert online(served, "b") == []
        assert page.focused_name() == "Start rack b", "the keyboard stays where it was"
        assert "Stopped rack b: 1 broker down." in page.text("#said")
        assert page.text("#racks-list [data-status=down] h3") == "rack b"
        mark = last_sequence(served)
        produce(served.servers, TOPIC, [b"during"])
        wait_until(lambda: reader.values[1:] == [b"during"], "the second record", lambda: reader.values)
        assert racks_that_served(served, "near", mark) <= {"a", "c"}
        page.press(Keys.ENTER)
        page.button("Stop rack b")
        assert online(served, "b") == [1]
        assert page.focused_name() == "Stop rack b"


def test_a_broker_stops_and_starts_and_its_partitions_show_it(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:3:3")
    page = dashboard(served)
    page.wait(lambda: len(page.all(".replica.leader")) == 1 + 3, "three leaders, and the legend's")
    page.button("Stop broker 1").click()
    page.button("Start broker 1")
    page.wait(lambda: len(page.all("#matrix .replica.gone")) == 3, "three replicas on a broker that is down")
    assert [one["online"] for one in served.get("/cluster")["brokers"]] == [True, False, True]
    page.button("Start broker 1").click()
    page.button("Stop broker 1")
    page.wait(lambda: not page.all("#matrix .replica.gone"), "replicas that are back")


def test_what_fails_is_said_with_its_reason(serve, dashboard):
    served = serve("--brokers", "3")
    page = dashboard(served)
    page.script("""
        const stopped = new XMLHttpRequest();  // by another client, and the page does not know it yet
        stopped.open("POST", "racks/a/stop", false);
        stopped.send();
        document.querySelector("#racks-list button").click();
    """)
    page.wait(lambda: page.text("#failed"), "a complaint")
    assert "rack a is stopped already" in page.text("#failed")
    assert page.one("#failed").get_attribute("role") == "alert"


def test_reset_asks_first(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:1:3")
    page = dashboard(served)
    produce(served.servers, TOPIC, [b"one"])
    served.post("/racks/c/stop")
    page.button("Start rack c")
    page.button("Reset").click()
    page.wait(lambda: page.one("#confirm").is_displayed(), "the question")
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.one("#confirm").is_displayed(), "the end of the question")
    assert online(served, "c") == []
    page.button("Reset").click()
    page.button("Reset the cluster").click()
    page.button("Stop rack c")
    cluster = served.get("/cluster")
    assert [topic["partitions"][0]["end_offset"] for topic in cluster["topics"]] == [0]
    assert "as it was started" in page.text("#said")


def test_the_page_continues_with_a_cluster_that_came_back(serve, dashboard, tmp_path):
    served = serve("--brokers", "3")
    page = dashboard(served)
    port = int(served.address.rpartition(":")[2])
    served.process.terminate()
    served.process.wait()
    page.wait(lambda: page.text("#connection-text") == "Connection lost", "the loss")
    assert page.button("Try again now").is_displayed()
    serve("--brokers", "4", control_port=port)
    page.wait(lambda: page.text("#connection-text") == "Live", "the connection")
    page.button("Stop broker 3")


def test_racks_of_any_name_can_be_stopped_and_cut(serve, dashboard):
    racks = ["<i>a</i>", "b/c?d#e", "f g"]
    served = serve("--brokers", "3", "--racks", ",".join(racks))
    page = dashboard(served)
    for rack in racks:
        page.button(f"Stop rack {rack}").click()
        page.button(f"Start rack {rack}")
        assert online(served, rack) == []
    page.button("Cut link <i>a</i> - b/c?d#e").click()
    page.button("Restore link <i>a</i> - b/c?d#e").click()
    page.button("Cut link <i>a</i> - b/c?d#e")
    assert page.all("main i") == []


def test_links_that_a_pattern_cuts_show_as_cut(serve, dashboard):
    served = serve("--brokers", "3", "--racks", "az-a,az-b,other")
    page = dashboard(served)
    served.post("/faults", {"link": {"from": "az-*", "to": "other"}, "effect": {"cut": True}})
    page.button("Restore link az-a - other")
    links = {name for name in page.buttons() if " link " in name}
    assert links == {"Restore link az-a - other", "Restore link az-b - other", "Cut link az-a - az-b"}


def test_what_other_commands_cut_and_moved_is_shown(serve, dashboard):
    served = serve("--brokers", "3")
    page = dashboard(served)
    served.post("/links/cut", {"between": [0, 1]})
    served.post("/clock", {"jump_ms": -60_000})
    page.wait(lambda: "broker 0" in page.text("#links-note"), "the link")
    page.wait(lambda: "-60 s" in page.text("#links-note"), "the clock")
    assert "broker 0" in page.text("#links-note"), "the link is shown beside the clock"


def test_pages_that_were_left_hold_no_connections(serve, dashboard):
    served = serve("--brokers", "3")
    page = dashboard(served)
    for _ in range(8):  # browsers have six connections to a server
        page.browser.get("about:blank")
        page.browser.get(served.address)
    page.button("Stop rack a").click()
    page.button("Start rack a")
    assert online(served, "a") == []


def test_the_token_is_asked_for_once_and_then_the_dashboard_commands(serve, browser, tmp_path):
    token = "a-token-of-some-length"
    (tmp_path / "token").write_text(token)
    options = ("--control-token-file", str(tmp_path / "token"), "--topic", f"{TOPIC}:1:3")
    served = serve(*options)
    page = Page(browser, served.address)
    browser.delete_all_cookies()
    browser.get("about:blank")
    browser.get(f"{served.address}/")
    assert "asks for its token" in page.text("body")
    page.one("input[name=token]").send_keys(token, Keys.ENTER)
    page.wait(lambda: page.script("return document.body.dataset.connection") == "live", "a live page")
    page.wait(lambda: "token" not in browser.current_url, "an address without the token")
    page.complaints()
    page.button("Stop rack b").click()
    page.button("Start rack b")
    assert page.script("return document.cookie") == ""
    assert page.complaints() == []


def test_a_page_elsewhere_can_neither_command_nor_read_the_cluster(serve, browser):
    served = serve("--topic", f"{TOPIC}:1:3")
    browser.get("data:text/html,<title>elsewhere</title>")  # its origin is null, and no policy of ours holds there
    done = browser.execute_async_script(
        """
        const [address, done] = arguments;
        const simple = {method: "POST", mode: "no-cors", headers: {"content-type": "text/plain"}, body: "{}"};
        const attempts = [fetch(`${address}/racks/b/stop`, simple), fetch(`${address}/cluster`)];
        Promise.allSettled(attempts).then((all) => done(all.map(({status}) => status)));
        """,
        served.address,
    )
    assert done == ["rejected", "rejected"]
    assert online(served, "b") == [1]
    Page(browser, served.address).complaints()
