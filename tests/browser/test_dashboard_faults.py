"""Faults from the dashboard: a link that is cut, an error that is injected, and the test that is made of them."""

from __future__ import annotations

import json
import sys

from tests.browser.clients import produce, reading
from tests.browser.cluster_process import ROOT
from tests.progress import run, wait_until

TOPIC = "orders"
SOON = ("--diskless-topic", "events:4", "--set", "replica.lag.time.max.ms=500")
CLIENT_ID = 'quotes " and \\ and \u00fc'


def choose(page, field, value):
    page.one(f"#fault-form [name={field}] option[value='{value}']").click()


def fill(page, field, value):
    found = page.one(f"#fault-form [name={field}]")
    found.clear()
    found.send_keys(value)


def test_a_link_is_cut_and_restored(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:3:3", "--set", "replica.lag.time.max.ms=500")
    page = dashboard(served)
    page.button("Cut link a - b").click()
    page.button("Restore link a - b")
    (fault,) = served.get("/faults")["faults"]
    assert (fault["link"], fault["effect"]) == ({"between": ["a", "b"]}, {"cut": True})
    produce(served.servers, TOPIC, [b"one"] * 9, acks="1")
    page.wait(lambda: page.all(".matrix-body .replica.out"), "followers out of the ISR")
    page.button("Restore link a - b").click()
    page.button("Cut link a - b")
    assert served.get("/faults")["faults"] == []
    page.wait(lambda: not page.all(".matrix-body .replica.out"), "followers that are back")


def test_an_injected_error_is_seen_to_fire_and_its_calls_open(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:1:3")
    page = dashboard(served)
    page.button("Inject a fault").click()
    fill(page, "value", "NOT_LEADER_OR_FOLLOWER")
    fill(page, "api", "Fetch")
    fill(page, "topic", TOPIC)
    choose(page, "when", "times")
    fill(page, "when_value", "2")
    page.button("Inject").click()
    page.button("Remove fault fault-1")
    (fault,) = served.get("/faults")["faults"]
    assert fault["match"] == {"api": "Fetch", "topic": TOPIC}
    assert (fault["effect"], fault["when"]) == ({"error": "NOT_LEADER_OR_FOLLOWER"}, {"times": 2})
    with reading(served.servers, TOPIC, "reader", "a") as reader:
        produce(served.servers, TOPIC, [b"one"])
        wait_until(lambda: reader.values == [b"one"], "the record, after the error")
        page.wait(lambda: page.rows("#faults-table")[0][3] == "2", "a fault that has fired twice")
    page.one("#faults-table td a").click()
    page.wait(lambda: len(page.rows("#rows-table")) == 2, "the calls that it hit")
    assert all("NOT_LEADER_OR_FOLLOWER" in row[-1] and "fault-1" in row[-1] for row in page.rows("#rows-table"))
    page.button("Close").click()
    page.button("Remove fault fault-1").click()
    page.wait(lambda: served.get("/faults")["faults"] == [], "no fault")


def test_a_fault_that_cannot_be_says_what_would_be_right_and_one_that_never_fired_says_why(serve, dashboard):
    served = serve("--brokers", "3", "--topic", f"{TOPIC}:1:3")
    page = dashboard(served)
    page.button("Inject a fault").click()
    fill(page, "value", "NOT_A_LEADER")
    page.button("Inject").click()
    page.wait(lambda: page.text("#fault-problem"), "the problem's detail")
    assert "NOT_A_LEADER" in page.text("#fault-problem")
    assert served.get("/faults")["faults"] == []
    fill(page, "value", "NOT_LEADER_OR_FOLLOWER")
    fill(page, "api", "Produce")
    fill(page, "client_id", "billing")
    page.button("Inject").click()
    page.button("Remove fault fault-1")
    produce(served.servers, TOPIC, [b"one"], **{"client.id": "shipping"})
    explanation = served.get("/faults/fault-1")["explanation"]
    assert "billing" in explanation
    page.wait(lambda: explanation in page.text("#faults-table"), explanation)


def test_what_was_done_is_a_test_that_runs(serve, dashboard, tmp_path):
    served = serve("--brokers", "4", "--racks", "a,b", "--topic", f"{TOPIC}:2:2", *SOON)
    page = dashboard(served)
    page.button("Stop rack a").click()
    page.button("Start rack a").click()
    page.button("Stop broker 1").click()
    page.button("Start broker 1").click()
    page.button("Cut link a - b").click()
    page.button("Restore link a - b").click()
    page.button("Inject a fault").click()
    fill(page, "client_id", CLIENT_ID)
    page.button("Inject").click()
    page.button("Remove fault fault-2")
    page.wait(lambda: len(page.all("#actions-list li")) == 7, "seven actions")
    page.button("Copy as pytest").click()
    page.wait(lambda: page.one("#pytest-text").is_displayed(), "the text")
    text = page.one("#pytest-text").get_attribute("value")
    (tmp_path / "conftest.py").write_text(WITNESS)
    ran = run_copied(text, tmp_path)
    assert ran.returncode == 0, text + ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout
    (witness,) = [line for line in ran.stdout.splitlines() if line.startswith("witness: ")]
    assert json.loads(witness.removeprefix("witness: ")) == WITNESSED


def run_copied(text, folder):
    (folder / "test_copied.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-c", "/dev/null", "--rootdir", folder, folder]
    return run(command, cwd=ROOT)


def test_the_copied_test_fails_if_the_client_fails_while_racks_are_down(serve, dashboard, tmp_path):
    page = dashboard(serve("--brokers", "3", "--topic", f"{TOPIC}:1:3"))
    for rack in "abc":
        page.button(f"Stop rack {rack}").click()
        page.button(f"Start rack {rack}")
    page.button("Start rack b").click()
    page.button("Stop rack b")
    page.button("Copy as pytest").click()
    page.wait(lambda: page.one("#pytest-text").is_displayed(), "the text")
    text = page.one("#pytest-text").get_attribute("value")
    assert text.index('stop_rack("c")') < text.index("    run_client(") < text.index('start_rack("b")')
    ran = run_copied(text.replace("flush(60)", "flush(2)"), tmp_path)
    assert ran.returncode == 1
    assert "AssertionError: the record was not acknowledged" in ran.stdout


def test_a_link_is_narrowed_by_the_form(serve, dashboard):
    served = serve("--brokers", "3")
    page = dashboard(served)
    page.button("Inject a fault").click()
    choose(page, "effect", "bandwidth")
    fill(page, "value", "64KiB/s")
    link = "#fault-form [name=link] option:nth-child(2)"
    page.wait(lambda: page.all(link), "the links between racks")
    page.one(link).click()
    page.button("Inject").click()
    page.button("Remove fault fault-1")
    (fault,) = served.get("/faults")["faults"]
    assert (fault["link"], fault["effect"]) == ({"between": ["a", "b"]}, {"bandwidth": "64KiB/s"})


def test_the_example_in_the_docs_is_what_is_copied(serve, dashboard):
    page = dashboard(serve("--brokers", "3", "--topic", f"{TOPIC}:6:3"))
    page.button("Stop rack b").click()
    page.button("Start rack b")
    page.button("Inject a fault").click()
    fill(page, "value", "NOT_COORDINATOR")
    fill(page, "client_id", "billing-*")
    page.button("Inject").click()
    page.button("Remove fault fault-1")
    page.button("Start rack b").click()
    page.wait(lambda: len(page.all("#actions-list li")) == 3, "three actions")
    page.button("Copy as pytest").click()
    page.wait(lambda: page.one("#pytest-text").is_displayed(), "the text")
    shown = (ROOT / "docs" / "control.md").read_text().partition("```python\n")[2].partition("```")[0]
    assert page.one("#pytest-text").get_attribute("value") == shown


WITNESS = '''
import json

import pytest


def look(cluster):
    return {
        "brokers": [(broker.rack, broker.online) for broker in cluster.state.brokers.values()],
        "topics": {name: (len(topic.partitions), topic.diskless) for name, topic in cluster.state.topics.items()},
        "epochs": [broker.epoch for broker in cluster.state.brokers.values()],
    }


@pytest.fixture(autouse=True)
def witness(kafka_cluster):
    """Says what became of the cluster, once the test is over."""
    before = kafka_cluster.run(look)
    yield
    seen = kafka_cluster.run(look)
    started = [number for number, epoch in enumerate(seen.pop("epochs")) if epoch > before["epochs"][number]]
    faults = [(fault["match"], fault["effect"]) for fault in kafka_cluster.faults.to_json()]
    print("witness:", json.dumps({**seen, "started": started, "faults": faults}, sort_keys=True))
'''
WITNESSED = {
    "brokers": [["a", True], ["b", True], ["a", True], ["b", True]],
    "topics": {"events": [4, True], "orders": [2, False]},
    "started": [0, 1, 2],
    "faults": [[{"client_id": CLIENT_ID}, {"error": "NOT_LEADER_OR_FOLLOWER"}]],
}
