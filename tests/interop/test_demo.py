"""``kafka-rack demo`` as a user runs it, only shorter."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from tests.plain_http import PLAIN_HTTP
from tests.progress import run, wait_until

ROOT = Path(__file__).resolve().parents[2]


def demo(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kafka_rack.cli", "demo", "--phase", "2s", *options]
    return run(command, cwd=ROOT)


def test_the_demo_shows_who_served_whom_and_keeps_its_promises():
    done = demo()
    assert done.returncode == 0, done.stdout + done.stderr
    for library in ("confluent-kafka", "aiokafka", "kafka-python"):
        rows = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == [library]]
        racks = {(rack, request) for _, rack, request, *_ in rows}
        assert racks == {(rack, request) for rack in "abc" for request in ("produce", "fetch")}, library
    assert done.stdout.count("crossed") >= 2, "one matrix a topic"
    assert "none came twice" in done.stdout
    assert "broken" not in done.stdout
    assert done.stderr == ""


def test_the_demo_as_json_holds_the_same_for_another_rack_and_one_library():
    done = demo("--format", "json", "--libraries", "aiokafka", "--stop", "c", "--brokers", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["holds"] is True
    assert told["stopped_rack"] == "c"
    assert told["acknowledged"] > 100
    assert (told["missing"], told["doubled"], told["crossings"]) == ([], [], [])
    diskless = [one for one in told["served"] if one["topic"] == "events" and one["phase"] == "before"]
    assert {(one["rack"], one["broker_rack"]) for one in diskless} == {(rack, rack) for rack in "abc"}
    fled = {one["broker_rack"] for one in told["served"] if (one["rack"], one["phase"]) == ("c", "during")}
    assert fled
    assert fled <= {"a", "b"}


def test_kept_clients_work_until_a_signal_and_the_dashboard_sees_them():
    command = [sys.executable, "-m", "kafka_rack.cli", "demo", "--keep", "--libraries", "aiokafka", "--brokers", "3"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = next(line for line in process.stdout if line.startswith("dashboard: ")).split()[1]
        wait_until(lambda: httpx.get(f"{url}/traffic", timeout=None, **PLAIN_HTTP).json()["calls"] > 50, "traffic")
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    assert process.returncode == 0
