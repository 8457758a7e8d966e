"""``kafka-rack ctl`` against a cluster that runs as a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx
import pytest

from kafka_rack.cli import main
from protocol.apis.metadata import MetadataRequest
from tests.plain_http import PLAIN_HTTP
from tests.serve_process import ROOT, ServeProcess, serve_here, serve_process
from tests.unit.mockbroker.handlers.records import batch, fetch_request, produce_request
from tests.unit.mockbroker.wire_client import WireClient


class Said(NamedTuple):
    code: int
    out: str
    err: str


Ctl = Callable[..., Said]


OPTIONS = ("--control-port", "0", "--brokers", "4", "--racks", "a,b", "--topic", "orders:2:2", "--quiet")


@pytest.fixture(scope="module")
def served() -> Iterator[ServeProcess]:
    """Brokers 0-3 on racks a, b, a, b; the topic orders."""
    with serve_process(*OPTIONS) as served:
        yield served


@pytest.fixture
def ctl(served, capsys, monkeypatch) -> Ctl:
    """Runs a command; the cluster is as it was started."""
    monkeypatch.setenv("KAFKA_RACK_CONTROL", served.ready["control"])
    httpx.post(f"{served.ready['control']}/reset", timeout=None, **PLAIN_HTTP).raise_for_status()

    def ctl(*words: str) -> Said:
        code = main(["ctl", *words])
        return Said(code, *capsys.readouterr())

    return ctl


def test_a_rack_stops_and_starts_and_the_status_shows_it(ctl):
    assert ctl("stop", "rack", "a") == (0, "stop: brokers 0, 2\n", "")
    shown = ctl("status").out
    assert re.findall(r"^ +(\d) +(\w) +(\w+)", shown, re.MULTILINE) == [
        ("0", "a", "down"),
        ("1", "b", "up"),
        ("2", "a", "down"),
        ("3", "b", "up"),
    ]
    assert "1 topic, 2 partitions: 0 without leader, 2 with replicas out of sync" in shown
    assert ctl("start", "rack", "a") == (0, "start: brokers 0, 2\n", "")
    assert "down" not in ctl("status").out


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (("fence", "broker", "1"), "fenced", True),
        (("fill-disk", "broker", "1"), "disk_full", True),
        (("crash", "broker", "1"), "running", False),
        (("lag", "broker", "1", "7"), "follower_lag", 7),
    ],
)
def test_what_is_done_to_a_broker_shows_in_the_cluster(ctl, words, key, value):
    assert ctl(*words).code == 0
    brokers = json.loads(ctl("status", "--format", "json").out)["brokers"]
    assert {one["id"] for one in brokers if one[key] == value} == {1}


def test_links_leaders_isrs_and_coordinators_are_moved(ctl):
    def partition():
        return json.loads(ctl("topics", "show", "orders", "--format", "json").out)["partitions"][0]

    first, second = partition()["replicas"]
    assert ctl("leader", "orders", "0", str(second)).code == 0
    assert partition()["leader"] == second
    assert ctl("isr", "orders", "0", str(second)).code == 0
    assert partition()["isr"] == [second]
    assert ctl("replicas", "orders", "0", f"{second},{first}").code == 0
    assert partition()["replicas"] == [second, first]
    assert ctl("cut", "1", "2").out == "cut: the link between 1 and 2\n"
    assert json.loads(ctl("status", "--format", "json").out)["cut_links"] == [[1, 2]]
    assert ctl("coordinator", "my/group", "3").out == "broker 3 coordinates my/group\n"
    assert ctl("clock", "-5000").out == "the wall clock has moved by -5000 ms\n"


def test_topics_are_made_shown_and_deleted(ctl):
    assert ctl("topics", "create", "new:3:2", "--set", "min.insync.replicas=2").code == 0
    assert [line.split()[:3] for line in ctl("topics").out.splitlines()[1:]] == [
        ["new", "3", "2"],
        ["orders", "2", "2"],
    ]
    assert "min.insync.replicas=2" in ctl("topics", "show", "new").out
    assert ", diskless" in ctl("topics", "create", "events:2", "--set", "diskless.enable=true").out
    assert ctl("topics", "delete", "events").code == 0
    assert ctl("topics", "delete", "new").out == "deleted new\n"
    assert "new" not in ctl("topics").out
    assert ctl("groups").out == "no groups\n"


def test_internal_topics_are_listed_on_demand(ctl):
    ctl("coordinator", "readers", "3")
    assert "__consumer_offsets" not in ctl("topics", "list").out
    assert "__consumer_offsets" in ctl("topics", "list", "--internal").out


def test_faults_are_set_by_options_or_out_of_a_file_and_taken_back(ctl, tmp_path):
    options = ("--api", "Fetch", "--api", "Produce", "--broker", "1", "--times", "3")
    assert ctl("faults", "add", "--id", "slow", "--delay", "200ms", *options).code == 0
    (tmp_path / "faults.json").write_text('[{"id": "quiet", "effect": {"silence": true}}]')
    assert ctl("faults", "add", "--file", str(tmp_path / "faults.json")).code == 0
    slow, quiet = json.loads(ctl("faults", "--format", "json").out)["faults"]
    assert slow["effect"] == {"delay_ms": 200}
    assert slow["match"] == {"api": ["Fetch", "Produce"], "broker": 1}
    assert (slow["when"], quiet["id"]) == ({"times": 3}, "quiet")
    assert slow["explanation"] in ctl("faults", "show", "slow").out
    assert ctl("faults", "remove", "slow").code == 0
    assert ctl("faults", "clear").out == "removed quiet\n"
    assert ctl("faults").out == "no faults\n"


def test_a_reset_takes_everything_back(ctl):
    ctl("stop", "rack", "a")
    ctl("topics", "delete", "orders")
    assert ctl("reset").out == "the cluster is as it was started\n"
    assert "down" not in ctl("status").out
    assert "orders" in ctl("topics").out


def test_shutdown_ends_the_server_with_code_0(ctl):
    where = []

    def shut_down(ready):
        where.extend(["--url", ready["control"]])
        assert ctl("shutdown", *where).out.endswith("the cluster ends\n")

    assert serve_here(shut_down, *OPTIONS) == 0
    gone = ctl("status", *where)
    assert (gone.code, gone.err.count("\n")) == (1, 1)
    assert "no control API at http://127.0.0.1:" in gone.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("stop", "rack", "z"), 1, "there is no rack 'z'; the racks: a, b"),
        (("stop", "broker", "9"), 1, "there is no broker '9'; the brokers: 0, 1, 2, 3"),
        (("start", "rack", "a"), 1, "rack a is running already"),
        (("leader", "orders", "7", "1"), 1, "there is no partition '7' of orders; its partitions: 0 to 1"),
        (("topics", "show", "none"), 1, "there is no topic 'none'; the topics: orders"),
        (("stop", "town", "a"), 2, "'town' is not one of 'broker', 'rack'"),
        (("leader", "orders", "0", "two"), 2, "ID: expected a whole number from 0 to 2147483647, got 'two'"),
        (("topics", "create", "x:many"), 2, "topic: expected NAME[:PARTITIONS[:REPLICAS]]"),
        (("faults", "add"), 2, "expected one of --error, --delay, "),
        (("faults", "add", "--cut", "--delay", "1s"), 2, "or --file, got --delay, --cut"),
        (("faults", "add", "--delay", "200"), 2, "--delay: expected a time, such as 200ms, 30s or 5m, got '200'"),
        (("faults", "add", "--error", "NOT_LEADER"), 2, "--error: unknown error 'NOT_LEADER'"),
        (("kill", "broker", "1"), 2, "there is no command 'kill'; did you mean crash?"),
        (("faults", "add", "--file", "none.json"), 2, "none.json: No such file or directory"),
        (("faults", "add", "--cut", "--api", "Fetch"), 1, "cut"),
        (("status", "--url", "ftp://x"), 2, "--url: expected http://HOST:PORT, got 'ftp://x'"),
        (("status", "--url", "127.0.0.1:1"), 1, "no control API at http://127.0.0.1:1: Connection refused"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_its_exit_code(ctl, words, code, said):
    found = ctl(*words)
    assert (found.code, found.out, found.err.count("\n")) == (code, "", 1)
    assert found.err.startswith("kafka-rack ctl")
    assert said in found.err


def test_the_help_teaches_every_command(capsys):
    assert main(["ctl", "--help"]) == 0
    shown = capsys.readouterr().out
    for command in ("status", "stop", "leader", "faults", "requests", "assert", "reset", "shutdown", "metrics"):
        assert re.search(rf"^  {command} +\w", shown, re.MULTILINE), command
    assert "Exit codes: 0 done" in shown


# who served whom


@pytest.fixture
def calls(ctl, served) -> None:
    """A writer without a rack, and a reader of rack a at a broker of rack b."""

    async def ask() -> None:
        servers = served.ready["bootstrap_servers"].split(",")
        async with WireClient(servers[1], client_id="writer") as client:
            await client.ask(produce_request(batch(b"an order")), 9)
        async with WireClient(servers[1], client_id="reader") as client:
            await client.ask(fetch_request(rack_id="a"), 12)

    assert ctl("replicas", "orders", "0", "1,3").code == 0
    asyncio.run(ask())


def test_calls_are_lines_with_who_asked_whom_and_the_verdict(ctl, calls):
    head, line = ctl("requests", "--api", "Fetch").out.splitlines()
    assert head.split() == ["time", "client", "rack", "API", "broker", "bytes", "about", "verdict"]
    assert line.split()[1:5] == ["reader", "a", "Fetch", "1/b"]
    assert "cross, cannot tell" in line
    shown = json.loads(ctl("requests", "--client-id", "reader", "--format", "json").out)
    assert [one["client_rack"] for one in shown["requests"]] == ["a"]
    assert ctl("requests", "--topic", "orders", "--count").out == "2\n"
    assert ctl("requests", "--clear").code == 0
    assert ctl("requests", "--topic", "orders", "--count").out == "0\n"


def test_a_claim_holds_with_code_0_and_fails_with_code_1_and_its_sentence(ctl, calls):
    assert ctl("assert", "served-by", "--by-rack", "b", "--topic", "orders") == (0, "it holds\n", "")
    assert ctl("assert", "cross-rack-bytes", "--at-most", "100000").code == 0
    failed = ctl("assert", "rack-local", "--topic", "orders", "--client-id", "reader")
    assert (failed.code, failed.out, failed.err.count("\n")) == (3, "", 1)
    for word in ("reader", "rack a", "rack b", "orders"):
        assert word in failed.err


def test_traffic_and_metrics_have_the_bytes_between_racks(ctl, calls):
    shown = ctl("traffic").out
    assert re.search(r"^a +b +1 +consume +cross", shown, re.MULTILINE)
    assert re.search(r"^reader +a +0 B +\d+ B", shown, re.MULTILINE)
    assert re.search(r"^reader +\w+ +a +b +consume +cross", shown, re.MULTILINE)
    assert not re.search("[a-z]_[a-z]", shown)
    assert "2 calls; client traffic across racks: " in ctl("status").out
    assert 'client_rack="a",broker="1",broker_rack="b",category="consume"' in ctl("metrics").out


@pytest.mark.parametrize("words", [("requests", "--follow", "--format", "json"), ("events",)])
def test_what_comes_is_followed_line_by_line(served, ctl, words):
    command = [sys.executable, "-m", "kafka_rack.cli", "ctl", *words, "--url", served.ready["control"]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    ) as following:
        assert following.stdout is not None

        async def ask() -> None:
            async with WireClient(served.ready["bootstrap_servers"].split(",")[0], client_id="newcomer") as client:
                await client.ask(MetadataRequest(topics=None), 12)

        asyncio.run(ask())
        while "newcomer" not in (line := following.stdout.readline()):
            assert line, following.communicate()
        assert isinstance(json.loads(line), dict)
        following.send_signal(signal.SIGINT)
        assert "interrupted" in following.communicate()[1]
        assert following.returncode == 130


# the token


def test_the_token_is_found_in_a_file_a_variable_or_the_address_that_serve_printed(tmp_path, capsys, monkeypatch):
    file = tmp_path / "token"

    def show(ready):
        token, url = ready["control_token"], ready["control"]
        assert file.read_text().strip() == token
        monkeypatch.setenv("KAFKA_RACK_CONTROL", url)
        assert main(["ctl", "status"]) == 1
        error = capsys.readouterr().err
        assert f"the control API at {url} requires a token: expected it in KAFKA_RACK_CONTROL_TOKEN" in error
        assert main(["ctl", "status", "--token-file", str(file)]) == 0
        assert main(["ctl", "status", "--url", f"{url}/?token={token}"]) == 0
        with monkeypatch.context() as patched:
            patched.setenv("KAFKA_RACK_CONTROL_TOKEN_FILE", str(file))
            assert main(["ctl", "status"]) == 0
        monkeypatch.setenv("KAFKA_RACK_CONTROL_TOKEN", token)
        assert main(["ctl", "status"]) == 0
        assert token not in capsys.readouterr().out
        monkeypatch.setenv("KAFKA_RACK_CONTROL_TOKEN", "another-token-than-that")
        assert main(["ctl", "status"]) == 1
        assert "requires another token" in capsys.readouterr().err

    assert serve_here(show, "--control-port", "0", "--quiet", "--control-token-file", str(file)) == 0


def test_a_token_file_that_is_not_there_is_one_line(tmp_path, capsys):
    assert main(["ctl", "status", "--token-file", str(tmp_path / "none")]) == 2
    assert "cannot read the token in" in capsys.readouterr().err


# what clients say of themselves


def test_a_client_whose_names_hold_escape_codes_forges_nothing_on_a_terminal(ctl, served):
    evil = "a\x1b[2J\nforged\x9b1m\u202e"

    async def ask() -> None:
        address = served.ready["bootstrap_servers"].split(",")[0]
        async with WireClient(address, client_id=evil) as client:
            await client.ask(fetch_request(rack_id=evil), 12)

    asyncio.run(ask())
    for words in (["requests"], ["status"], ["traffic"], ["metrics"], ["assert", "no-errors", "--topic", "none"]):
        said = ctl(*words)
        shown = said.out + said.err
        assert not set("\x1b\x9b\u202e") & set(shown), words
        assert not [line for line in shown.splitlines() if line.startswith("forged")], words
    assert r"a\x1b[2J\x0aforged\x9b1m\u202e" in ctl("requests").out


@pytest.mark.parametrize("number", ["\N{SUPERSCRIPT TWO}", "9" * 5000, "x\x1b[2J"])
def test_a_broker_by_no_number_is_one_line(ctl, number):
    said = ctl("stop", "broker", number)
    assert (said.code, said.out) == (1, "")
    assert said.err.count("\n") == 1
    assert "there is no broker" in said.err
    assert "\x1b" not in said.err
