"""How the dashboard looks: to axe-core, narrow and wide, dark and light, without motion; and its picture."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.browser.clients import produce, reading
from tests.browser.cluster_process import serving
from tests.interop.fetched import fetched, needs_programs, skipped_without_tools
from tests.progress import wait_until

AXE = "4.14.1"
TOPIC = "orders"
NEAR = ("--set", "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector")
MAX_PICTURE_BYTES = 250_000
PICTURE = "DASHBOARD_PICTURE"
"""The variable that says where the README's picture goes: DASHBOARD_PICTURE=docs/dashboard.png."""


@pytest.fixture(scope="module")
def busy(browser, tmp_path_factory):
    """A cluster with two topics, readers in each rack, one that says no rack, a broker that is down, and two faults."""
    options = ("--brokers", "6", "--topic", f"{TOPIC}:6:3", "--diskless-topic", "events:2", *NEAR)
    with serving(tmp_path_factory.mktemp("busy"), *options) as served:
        use(served)
        yield served


def use(served):
    produce(served.servers, TOPIC, [b"x" * 700] * 60, **{"client.id": "web,diskless_az=a"})
    produce(served.servers, "events", [b"x" * 300] * 90, **{"client.id": "telemetry,diskless_az=b"})
    with ExitStack() as stack:
        readers = [
            stack.enter_context(reading(served.servers, TOPIC, f"billing-{rack}", rack, group="billing"))
            for rack in "abc"
        ]
        audit = stack.enter_context(reading(served.servers, TOPIC, "audit", None))
        wait_until(lambda: sum(len(one.values) for one in readers) == 60, "60 records")
        wait_until(lambda: len(audit.values) == 60, "60 records")
    produce(served.servers, TOPIC, [b"x" * 90] * 12, **{"client.id": "web,diskless_az=a"})
    served.post("/brokers/4/stop")
    error = {"error": "NOT_LEADER_OR_FOLLOWER"}
    served.post("/faults", {"match": {"api": "Produce"}, "effect": error, "when": {"times": 1}})
    produce(served.servers, TOPIC, [b"x"] * 3, **{"client.id": "web,diskless_az=a"})
    served.post("/faults", {"match": {"client_id": "billing-*"}, "effect": {"delay_ms": 200}})


def axe_core() -> str:
    """The source of axe-core; skips where it cannot be had."""
    with skipped_without_tools():
        needs_programs("node", "npm")
        fetch = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", ".", f"axe-core@{AXE}"]
        return (
            fetched("axe-core", "node_modules/axe-core/axe.min.js", fetch) / "node_modules/axe-core/axe.min.js"
        ).read_text()


def violations(page):
    """What axe-core finds against WCAG 2.2 A and AA and its best practices: rule, and the elements that break it."""
    return page.browser.execute_async_script("""
        const done = arguments[0];
        axe.run(document, {resultTypes: ["violations"]}).then(
            ({violations}) => done(violations.map(({id, nodes}) => [id, nodes.slice(0, 5).map((node) =>
                `${node.target} ${node.any.concat(node.all).map((check) => check.message).join("; ")}`)])),
            (error) => done([["axe itself", [String(error)]]]));
    """)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_fix(busy, dashboard, scheme):
    source = axe_core()
    page = dashboard(busy)
    page.look(1440, 1000, scheme)
    page.script(source)
    page.wait(lambda: len(page.rows("#faults-table")) == 2 and page.rows("#clients-table"), "faults and clients")
    page.button("Inject a fault").click()
    assert violations(page) == []
    page.open("#rows=open&locality=unknown")
    page.script(source)
    page.wait(lambda: page.rows("#rows-table"), "rows")
    assert violations(page) == []
    page.button("Close").click()
    page.button("Copy as pytest").click()
    page.wait(lambda: page.one("#pytest-text").is_displayed(), "the text")
    assert violations(page) == []


@pytest.mark.parametrize(
    ("width", "height"), [(390, 844), (768, 1024), (1080, 800), (1280, 800), (1920, 1080), (3840, 2160)]
)
def test_nothing_sticks_out_at_any_width(busy, dashboard, width, height):
    page = dashboard(busy)
    page.look(width, height)
    page.wait(lambda: page.rows("#requests-table"), "requests")
    assert page.script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.script(CUT_OFF) == []


CUT_OFF = """
    const wide = document.documentElement.clientWidth;
    return [...document.querySelectorAll("body *")].filter((node) => {
        const box = node.getBoundingClientRect();
        const isOutside = box.right > wide + 1 || box.left < -1;
        const isCut = node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).overflowX !== "visible";
        return box.width > 0 && (isOutside || isCut) && !node.closest(".skip, .unseen, .said, input");
    }).map((node) => `${node.tagName}#${node.id}.${node.className}: ${node.innerText.slice(0, 40)}`);
"""
"""Elements that reach beyond the window, or hold more than they show."""


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_map_and_the_clients_are_on_the_first_screen(busy, dashboard, width):
    page = dashboard(busy)
    page.look(width, 800)
    page.wait(lambda: page.rows("#clients-table"), "clients")
    first_rows = "return ['#heat tbody tr', '#clients-table tbody tr'].map((one) => document.querySelector(one)"
    assert max(page.script(f"{first_rows}.getBoundingClientRect().bottom)")) < 800


def test_the_colours_follow_the_system_until_the_user_chooses(busy, dashboard):
    page = dashboard(busy)
    background = "return getComputedStyle(document.body).backgroundColor"
    page.look(1440, 1000, "light")
    light = page.script(background)
    page.look(1440, 1000, "dark")
    dark = page.script(background)
    assert light != dark
    page.button("Light").click()
    assert page.script(background) == light, "chosen against the system"
    page.browser.refresh()
    page.wait(lambda: page.script(background) == light, "the choice, kept")
    page.script("localStorage.clear()")


def test_reduced_motion_stops_all_motion(busy, dashboard):
    page = dashboard(busy)
    features = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    running = "return document.getAnimations().filter((one) => one.playState === 'running').length"
    page.button("Stop broker 1").click()
    page.button("Start broker 1")
    page.wait(lambda: page.text("#said"), "what was done")
    assert page.script(running) == 0
    page.button("Start broker 1").click()
    page.button("Stop broker 1")


def test_the_browser_has_nothing_to_complain_about(busy, dashboard):
    page = dashboard(busy)
    page.button("Stop rack c").click()
    page.button("Start rack c").click()
    page.button("Stop rack c")
    page.button("Copy as pytest").click()
    page.wait(lambda: page.one("#pytest-text").is_displayed(), "the text")
    assert page.complaints() == []


def test_the_picture_of_the_readme(busy, dashboard, tmp_path):
    page = dashboard(busy)
    page.look(1440, 1000)
    page.wait(lambda: len(page.rows("#faults-table")) == 2 and page.rows("#clients-table"), "faults and clients")
    page.wait(lambda: page.all("#matrix .replica.gone"), "replicas on the broker that is down")
    page.drawn()
    height = int(page.script("return document.getElementById('partitions').getBoundingClientRect().bottom + 10"))
    page.look(1440, height)
    file = Path(os.environ.get(PICTURE) or tmp_path / "dashboard.png")
    page.picture(file, 1440, height, 0.75)
    assert file.read_bytes().startswith(b"\x89PNG")
    assert file.stat().st_size < MAX_PICTURE_BYTES
