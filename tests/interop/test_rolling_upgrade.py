"""``kafka-rack rolling-upgrade`` as a user runs it, with kafka-python as of 0.9 and 0.10."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.progress import end_of, run

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "kafka_rack.cli", "rolling-upgrade"]
INTERRUPTED = 130


def test_clients_of_0_9_and_0_10_lose_nothing_through_the_upgrade():
    pytest.importorskip("kafka", reason="kafka-python is not installed (pip install '.[clients]')")
    options = ["--brokers", "4", "--format", "json"]
    done = run([*COMMAND, *options], cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["holds"] is True
    clients = {client["version"]: client for client in told["clients"]}
    assert set(clients) == {"0.9", "0.10"}
    acknowledged = sum(client["acknowledged"] for client in clients.values())
    for client in clients.values():
        assert client["failures"] == 0
        assert client["acknowledged"] > 40
        assert client["seen"] >= acknowledged
    at_work = [sorted(move["clients"]) for move in told["moves"]]
    assert at_work == [["0.9"]] * 4 + [["0.10", "0.9"]] * 6, "0.10 once the last of four brokers runs new code"
    for version in ("0.9", "0.10"):
        counts = [move["clients"][version][0] for move in told["moves"] if version in move["clients"]]
        assert counts == sorted(set(counts)), "each client got on at every move"


def test_ctrl_c_ends_it_in_one_line():
    pytest.importorskip("kafka", reason="kafka-python is not installed (pip install '.[clients]')")
    # a test run in the background of a shell has SIGINT ignored, and its processes too unless told otherwise
    with subprocess.Popen(
        COMMAND,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "produces and consumes" in line:
                break
        process.send_signal(signal.SIGINT)
        out, rest = end_of(process, "the end after Ctrl-C")
    assert process.returncode == INTERRUPTED
    assert out == ""
    assert "Traceback" not in rest
    assert rest.splitlines()[-1] == "kafka-rack rolling-upgrade: interrupted"
