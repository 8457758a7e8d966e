"""60 brokers and 10,000 partitions: the page holds what is in sight, whatever the cluster holds."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

TOPICS, PARTITIONS = 20, 500
LONG_TASKS = """
    globalThis.longTasks = [];
    new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((task) => task.duration)))
        .observe({type: "longtask", buffered: true});
"""


@pytest.fixture
def large(serve):
    topics = [option for number in range(TOPICS) for option in ("--topic", f"topic-{number:02}:{PARTITIONS}:3")]
    return serve("--brokers", "60", "--racks", "a,b,c,d,e,f", *topics)


def first_rows(page):
    script = "return [...document.querySelectorAll('.matrix-body .partition-title')].map((one) => one.textContent)"
    return sorted(page.script(script))


def test_ten_thousand_partitions_are_a_few_elements_that_are_used_again(large, dashboard, record_property):
    page = dashboard(large)
    page.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": LONG_TASKS})
    page.open()
    page.wait(lambda: page.text("#matrix-note") == "10,000 partitions of 20 topics.", "all partitions")
    page.wait(lambda: page.all(".matrix-body .matrix-row"), "rows")
    nodes = page.script("return document.querySelectorAll('*').length")
    rows = page.script("return document.querySelectorAll('.matrix-body .matrix-row').length")
    assert rows < 60, "the rows in sight, and a few more"
    assert nodes < 3000, "far fewer than partitions"
    page.script("for (const row of document.querySelectorAll('.matrix-body .matrix-row')) row.isFirst = true")
    before = page.script("return {...kafkaRackWork}")
    page.script("globalThis.longTasks.length = 0")

    page.script("document.getElementById('matrix').focus()")
    page.press(Keys.END)
    page.wait(lambda: f"topic-{TOPICS - 1:02}-{PARTITIONS - 1}" in first_rows(page), "the last partition")
    for rack in "abc":
        page.button(f"Stop rack {rack}").click()
        page.button(f"Start rack {rack}")
    page.wait(lambda: page.all(".matrix-body .replica.gone"), "replicas that are down")
    page.script("document.getElementById('matrix').focus()")
    page.press(Keys.HOME)
    page.wait(lambda: "topic-00-0" in first_rows(page), "the first partition")

    drawn = "return [...document.querySelectorAll('.matrix-body .matrix-row')].filter((row) => row.isFirst).length"
    assert page.script(drawn) > rows / 2, "rows are used again"
    assert page.script("return document.querySelectorAll('*').length") < 3000
    work = page.script("return {...kafkaRackWork}")
    views = 14
    assert work["draws"] - before["draws"] <= views * (work["frames"] - before["frames"]), "once a frame at most"
    tasks = page.script("return globalThis.longTasks")
    record_property("long_tasks_ms", tasks)
    print(f"long tasks over 50 ms: {[round(one) for one in tasks]}")


def test_the_matrix_is_filtered_and_the_filter_is_in_the_address(large, dashboard):
    page = dashboard(large, "#matrix.topic=topic-07")
    page.wait(lambda: page.text("#matrix-note") == "500 of 10,000 partitions of 20 topics.", "one topic's partitions")
    assert page.one("#matrix-topic").get_attribute("value") == "topic-07"
    page.one("#matrix-topic").send_keys(Keys.CONTROL, "a")
    page.one("#matrix-topic").send_keys("topic-1")
    page.wait(lambda: page.text("#matrix-note").startswith("5,000 of"), "ten topics' partitions")
    assert "matrix.topic=topic-1" in page.browser.current_url
    large.post("/racks/a/stop")
    page.one("#matrix-show option[value=isr]").click()
    page.wait(lambda: first_rows(page) and page.all(".matrix-body .replica.gone"), "partitions out of ISR")
    out = sum(
        len(one["isr"]) < len(one["replicas"])
        for topic in large.get("/cluster")["topics"]
        if "topic-1" in topic["name"]
        for one in topic["partitions"]
    )
    page.wait(lambda: page.text("#matrix-note").startswith(f"{out:,} of"), f"{out} partitions")


@pytest.mark.parametrize(("width", "columns"), [(390, 1), (1280, 6), (1920, 6)])
def test_the_partitions_of_60_brokers_fit_the_window(large, dashboard, width, columns):
    page = dashboard(large)
    page.look(width, 900)
    titles = "return document.querySelectorAll('.matrix-head .broker-title').length"
    page.wait(lambda: page.all(".matrix-body .replica") and page.script(titles) == columns, f"{columns} columns")
    sizes = page.script("const one = document.getElementById('matrix'); return [one.scrollWidth, one.clientWidth]")
    assert sizes[0] <= sizes[1], "nothing to scroll to at the side"
    cut = """return [...document.querySelectorAll('.matrix-body .replica, .matrix-head .broker-title')]
        .filter((one) => one.scrollWidth > one.parentElement.clientWidth + 1).map((one) => one.textContent)"""
    assert page.script(cut) == []
