"""``kafka-rack serve``, as a process of its own where what a process does is tested."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from kafka_rack.cli import UsageError, main
from kafka_rack.cli.commands.serve import loop_factory_of
from kafka_rack.cli.serving.running import unlink_own
from protocol.apis.metadata import MetadataRequest
from tests.plain_http import PLAIN_HTTP
from tests.progress import end_of, wait_until, while_it_works
from tests.serve_process import serve_here, serve_process
from tests.unit.mockbroker.wire_client import WireClient

ROOT = Path(__file__).resolve().parents[5]
METADATA = MetadataRequest(topics=None)


@asynccontextmanager
async def serving(*options: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, list[str]]]:
    """The process and the lines of its banner."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kafka_rack.cli",
        "serve",
        *options,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert process.stdout is not None
        lines: list[str] = []
        async with while_it_works("the banner"):
            while "Press Ctrl-C to stop." not in lines:
                line = await process.stdout.readline()
                assert line, (await process.communicate())[1].decode()
                lines.append(line.decode().rstrip())
        yield process, lines
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def get(url: str, token: str | None = None) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.get(url, headers=headers, timeout=None, **PLAIN_HTTP)


def running(use: Callable[[dict[str, Any]], Coroutine[Any, Any, None]]) -> Callable[[dict[str, Any]], None]:
    """A coroutine function for ``serve_here``."""
    return lambda ready: asyncio.run(use(ready))


def bootstrap(lines: list[str]) -> list[str]:
    (line,) = (line for line in lines if line.startswith("bootstrap.servers="))
    return line.removeprefix("bootstrap.servers=").split(",")


@pytest.mark.parametrize(("ending", "loop"), [(signal.SIGTERM, "uvloop"), (signal.SIGINT, "asyncio")])
async def test_it_serves_what_its_banner_and_its_files_say_and_ends_cleanly_on_a_signal(tmp_path, ending, loop):
    files = {name: tmp_path / "new" / name for name in ("bootstrap", "control", "capture.jsonl")}
    options = (
        *("--port", "0", "--brokers", "4", "--racks", "x,y", "--topic", "orders:6:2", "--diskless-topic", "events:3"),
        *("--loop", loop, "--control-port", "0", "--capture", str(files["capture.jsonl"])),
        *("--bootstrap-file", str(files["bootstrap"]), "--control-file", str(files["control"])),
    )
    async with serving(*options) as (process, lines):
        assert lines[-3] == f"dashboard: http://{files['control'].read_text().strip()}"
        assert lines[-2] == "replica.selector.class is not set: consumers read from leaders; try --rack-aware"
        url = lines[-3].removeprefix("dashboard: ")
        assert files["bootstrap"].read_text().strip().split(",") == bootstrap(lines)
        assert files["capture.jsonl"].exists()
        async with WireClient(bootstrap(lines)[3], client_id="diskless_az=y") as client:
            response = await client.ask(METADATA, 12)
            async with httpx.AsyncClient(timeout=None, **PLAIN_HTTP) as http:
                assert (await http.post(f"{url}/racks/x/stop")).json() == {"brokers": [0, 2]}
            assert [one.node_id for one in (await client.ask(METADATA, 12)).brokers] == [1, 3]
        assert [(one.node_id, one.rack) for one in response.brokers] == [(0, "x"), (1, "y"), (2, "x"), (3, "y")]
        events, orders = response.topics
        assert (len(events.partitions), len(orders.partitions)) == (3, 6)
        assert events.partitions[0].leader_id in (1, 3)
        process.send_signal(ending)
        async with while_it_works("the end after a signal"):
            assert await process.wait() == 0
        assert (await process.stderr.read()) == b""
        assert [name for name, file in files.items() if file.exists()] == ["capture.jsonl"]


def test_variables_stand_for_options_and_the_command_line_wins(monkeypatch):
    variables = {
        "KAFKA_RACK_BROKERS": "4",
        "KAFKA_RACK_RACKS": "x,y",
        "KAFKA_RACK_TOPIC": "orders:6:2, payments",
        "KAFKA_RACK_SET": "num.partitions=5,default.replication.factor=3",
        "KAFKA_RACK_CONTROL_PORT": "0",
        "KAFKA_RACK_PORT": "tcp://10.0.0.1:9092",  # as a link to a container called kafka-rack has it
        "KAFKA_RACK_SERVICE_HOST": "10.0.0.1",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    shown = {}
    assert serve_here(lambda ready: shown.update(get(f"{ready['control']}/cluster").json()), "--brokers", "3") == 0
    assert [broker["rack"] for broker in shown["brokers"]] == ["x", "y", "x"]
    assert {one["name"]: len(one["partitions"]) for one in shown["topics"]} == {"orders": 6, "payments": 5}
    assert {one["name"]: len(one["partitions"][0]["replicas"]) for one in shown["topics"]} == {
        "orders": 2,
        "payments": 3,
    }


def test_one_line_says_where_everything_is_and_then_its_descriptor_is_closed():
    with serve_process("--control-port", "0", "--quiet") as served:
        ready = served.ready
        assert ready.keys() == {"bootstrap_servers", "control", "control_token", "pid", "brokers", "security_dir"}
        assert (ready["pid"], served.rest) == (served.process.pid, "")
        assert [(one["id"], one["rack"]) for one in ready["brokers"]] == [(0, "a"), (1, "b"), (2, "c")]
        addresses = [f"{one['host']}:{one['port']}" for one in ready["brokers"]]
        assert ready["bootstrap_servers"] == ",".join(addresses)
        assert get(f"{ready['control']}/healthz").json() == {"status": "ok"}
        answer = httpx.post(f"{ready['control']}/shutdown", timeout=None, **PLAIN_HTTP)
        assert answer.status_code == 202
        assert end_of(served.process, "the end after POST /shutdown") == ("", "")
        assert served.process.returncode == 0


def test_the_dashboard_is_on_unless_it_is_switched_off():
    urls = []
    assert serve_here(lambda ready: urls.append(ready["control"]), "--no-control") == 0
    assert urls == [None]
    with serve_process(control=True) as first, serve_process(control=True) as second:
        urls = [served.ready["control"] for served in (first, second)]
        assert [get(f"{url}/healthz").json() for url in urls] == [{"status": "ok"}] * 2
    assert len({*urls}) == 2


def test_rack_aware_sets_the_selector_and_the_banner_asks_for_it_no_more(capsys):
    def use(ready):
        assert "rack-aware" not in capsys.readouterr().out
        configs = get(f"{ready['control']}/cluster").json()
        assert configs["mode"] == "kraft"

    assert serve_here(use, "--rack-aware", "--control-port", "0") == 0


PARENT = """
import signal, subprocess, sys
command = [sys.executable, "-m", "kafka_rack.cli", "serve", "--port", "0", "--ready-fd", "1", "--end-with-parent"]
subprocess.Popen([*command, "--no-control"])
signal.pause()
"""


def test_it_ends_with_the_process_that_started_it_where_that_was_asked_for():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        ready = json.loads(parent.stdout.readline())
        parent.kill()
        assert parent.stdout.read() == ""  # it is closed once the orphan has ended
    host, port = ready["brokers"][0]["host"], ready["brokers"][0]["port"]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, port))


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("KAFKA_RACK_BROKERS", "many", "KAFKA_RACK_BROKERS: expected a number, or ids up to 2147483647"),
        ("KAFKA_RACK_QUIET", "perhaps", "KAFKA_RACK_QUIET: 'perhaps' is not a valid boolean"),
        ("KAFKA_RACK_LOOP", "trio", "KAFKA_RACK_LOOP: 'trio' is not one of 'asyncio', 'uvloop'"),
        ("KAFKA_RACK_BROKRES", "3", "KAFKA_RACK_BROKRES=3: no option has this variable; did you mean KAFKA_RACK_BROK"),
        ("KAFKA_RACK_READY_FD", "-1", "KAFKA_RACK_READY_FD: expected a whole number from 0"),
        ("KAFKA_RACK_READY_FD", "4000", "--ready-fd: expected an open file descriptor, got 4000: Bad file descriptor"),
    ],
)  # fmt: skip
def test_a_wrong_variable_is_named_with_what_would_be_right(capsys, monkeypatch, variable, text, words):
    monkeypatch.setenv(variable, text)
    assert main(["serve"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"kafka-rack serve: {words}")
    assert error.count("\n") == 1


def test_the_help_fits_two_screens_in_sections_those_for_harnesses_last(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["serve", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 80
    heads = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert heads[-2:] == ["For test harnesses:", "Options:"]


def test_uvloop_is_the_default_where_it_is_installed_and_asyncio_elsewhere(monkeypatch):
    uvloop = pytest.importorskip("uvloop")
    assert loop_factory_of(None) is uvloop.new_event_loop
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_factory_of(None) is None
    with pytest.raises(UsageError, match="--loop uvloop: it is not installed"):
        loop_factory_of("uvloop")


def test_clients_are_told_the_advertised_host():
    async def use(ready):
        assert {one["host"] for one in ready["brokers"]} == {"localhost"}
        async with WireClient(f"127.0.0.1:{ready['brokers'][0]['port']}") as client:
            assert {one.host for one in (await client.ask(METADATA, 12)).brokers} == {"localhost"}

    assert serve_here(running(use), "--brokers", "2", "--advertised-host", "localhost") == 0


def test_a_rack_without_a_name_is_none():
    racks = []
    assert serve_here(lambda ready: racks.extend(one["rack"] for one in ready["brokers"]), "--racks", "a,,c") == 0
    assert racks == ["a", None, "c"]


def test_settings_of_kafka_that_change_nothing_here_are_told(capsys):
    settings = ("--set", "num.network.threads=3", "--set", "background.threads=9", "--set", "num.partitions=2")
    assert serve_here(lambda _: None, *settings) == 0
    assert capsys.readouterr().err == "kafka-rack serve: without effect here: background.threads, num.network.threads\n"


def test_brokers_come_out_of_properties_files(tmp_path):
    for node, rack in ((5, "a"), (8, "b")):
        (tmp_path / f"{node}.properties").write_text(
            f"node.id={node}\nbroker.rack={rack}\nlisteners=PLAINTEXT://127.0.0.1:0\nnum.partitions=2\n"
        )

    async def use(ready):
        async with WireClient(ready["bootstrap_servers"].split(",")[0]) as client:
            wanted = MetadataRequest(topics=[MetadataRequest.Topic(name="new")])
            await client.ask(wanted, 12)  # creates it; the next answer shows it
            response = await client.ask(wanted, 12)
        assert [(one.node_id, one.rack) for one in response.brokers] == [(5, "a"), (8, "b")]
        assert len(response.topics[0].partitions) == 2
        async with WireClient(f"{response.brokers[1].host}:{response.brokers[1].port}") as other:
            assert (await other.ask(METADATA, 12)).cluster_id == response.cluster_id

    configs = [word for node in (8, 5) for word in ("--server-properties", str(tmp_path / f"{node}.properties"))]
    assert serve_here(running(use), *configs, port=None) == 0


def test_faults_of_a_file_act_from_the_start(tmp_path):
    path = tmp_path / "faults.yaml"
    fault = {"match": {"api": "Metadata", "topic": "orders"}, "effect": {"error": "LEADER_NOT_AVAILABLE"}}
    path.write_text(json.dumps([fault]))

    async def use(ready):
        async with WireClient(ready["bootstrap_servers"].split(",")[0]) as client:
            (topic,) = (await client.ask(METADATA, 12)).topics
        assert (topic.name, topic.error_code) == ("orders", 5)

    assert serve_here(running(use), "--topic", "orders", "--faults", str(path)) == 0


def test_nothing_starts_with_a_bad_file_of_faults(tmp_path, capsys):
    path = tmp_path / "faults.yaml"
    path.write_text("- id: slow\n  match: {api: Fecth}\n  effect: {delay_ms: 10}\n")
    assert main(["serve", "--port", "0", "--faults", str(path)]) == 2
    ended = capsys.readouterr()
    assert ended.out == ""
    assert ended.err == (
        f"kafka-rack serve: --faults {path}: [0].match.api: "
        "expected an API of Kafka, as Fetch or Produce, got 'Fecth'; did you mean Fetch?\n"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--brokers", "0"], "--brokers: expected a whole number from 1 to 100000, got '0'"),
        (["--brokers", "many"], "--brokers: expected a number, or ids up to"),
        (["--port", "65534"], "--brokers: expected at most 2, got 3: from port 65534 on, ports end at 65535"),
        (["--port", "9200", "--brokers", "99999"], "--brokers: expected at most 56336, got 99999: from port 9200"),
        (["--port", "0", "--brokers", "99999"], "--brokers: expected at most 65535, got 99999: from port 1 on"),
        (["--port", "65530", "--listener-per-rack"], "expected at most 1 of 4 listeners, got 3: from port 65530"),
        (["--port", "70000"], "--port: expected a whole number from 0 to 65535, got '70000'"),
        (["--control-port", "70000"], "--control-port: expected a whole number from 0 to 65535"),
        (["--control-file", "x", "--no-control"], "--control-file and --no-control exclude each other"),
        (["--topic", "orders:x"], "topic: expected NAME[:PARTITIONS[:REPLICAS]] with numbers from 1, got 'orders:x'"),
        (["--diskless-topic", "events:1:3"], "topic: expected NAME[:PARTITIONS] with numbers from 1, got 'events:1:3'"),
        (["--topic", "orders:1:9"], "replication factor 9, but 3 brokers are registered"),
        (["--topic", "a b"], "characters other than letters"),
        (["--topic", "orders", "--diskless-topic", "orders"], "topic orders is listed more than once"),
        (["--set", "num.partitions"], "--set: expected KEY=VALUE, got 'num.partitions'"),
        (["--set", "num.partitions=many"], "num.partitions: expected a whole number, got 'many'"),
        (["--set", "num.partitons=2"], "unknown setting num.partitons; did you mean num.partitions?"),
        (["--loop", "trio"], "--loop: 'trio' is not one of 'asyncio', 'uvloop'"),
        (["--server-properties", "none.properties"], "none.properties: No such file or directory"),
        (["--server-properties", "x", "--racks", "a"], "--racks and --server-properties exclude each other"),
        (
            ["--server-properties", "x", "--advertised-host", "a"],
            "--advertised-host and --server-properties exclude each other",
        ),
        (["--racks", "", "--listener-per-rack"], "--listener-per-rack needs --racks"),
        (["--racks", ",", "--listener-per-rack"], "--listener-per-rack needs --racks"),
        (["--client-racks", "none.txt"], "none.txt: No such file or directory"),
        (["--client-racks", "LICENSE"], "LICENSE, line 2: expected RACK@RANGE, RACK@client:PATTERN or"),
        (["--faults", "none.json"], "--faults none.json: cannot be read: No such file or directory"),
        (["--no-such"], "no such option --no-such"),
        (["--fsync", "always"], "--fsync needs --data-dir"),
        (["--data-dir", "x", "--fsync", "never"], "--fsync: 'never' is not one of 'always', 'os'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(capsys, options, words):
    code = main(["serve", *options])
    error = capsys.readouterr().err
    assert code == 2
    assert error.startswith("kafka-rack serve: ")
    assert words in error
    assert error.count("\n") == 1


def test_an_address_that_is_taken_is_one_line_and_exit_code_1(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert serve_here(pytest.fail, "--brokers", "1", port=port) == 1
    assert capsys.readouterr().err == f"kafka-rack serve: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_no_command_shows_the_help_and_an_unknown_one_is_wrong_usage(capsys):
    assert main([]) == 2
    assert "serve" in capsys.readouterr().err
    assert main(["nonsense"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# the token of the control API


def test_where_others_reach_the_control_api_a_token_is_printed_once_and_opens_it(capsys):
    def use(ready):
        control, token = ready["control"], ready["control_token"]
        assert get(f"{control}/cluster").status_code == 401
        assert get(f"{control}/cluster", token).status_code == 200
        assert get(f"{control}/healthz").status_code == 200
        line = capsys.readouterr().out.splitlines()[-3]
        assert line == f"dashboard: {control}/?token={token}"

    assert serve_here(use, "--control-port", "0", "--control-host", "0.0.0.0") == 0


def test_a_token_file_is_made_for_its_owner_alone_and_used_again_without_being_printed(tmp_path, capsys):
    file = tmp_path / "new" / "token"
    tokens = []

    def use(ready):
        tokens.append(file.read_text().strip())
        assert file.stat().st_mode & 0o077 == 0
        assert get(f"{ready['control']}/cluster").status_code == 401
        assert get(f"{ready['control']}/cluster", tokens[-1]).status_code == 200

    for is_first in (True, False):
        assert serve_here(use, "--control-port", "0", "--control-token-file", str(file)) == 0
        assert (tokens[-1] in capsys.readouterr().out) is is_first
    assert tokens[0] == tokens[1]


@pytest.mark.parametrize(
    ("words", "variables", "wrong"),
    [
        (["--quiet", "--control-host", "0.0.0.0"], {}, "--quiet prints no token: expected --control-token-file"),
        ([], {"KAFKA_RACK_CONTROL_TOKEN": "short"}, "KAFKA_RACK_CONTROL_TOKEN: expected 16 to 512 visible"),
        (["--control-token-file", "FILE"], {}, "/token: expected 16 to 512 visible ASCII characters"),
    ],
)
def test_a_token_that_will_not_do_is_refused_before_anything_runs(
    words, variables, wrong, tmp_path, capsys, monkeypatch
):
    (tmp_path / "token").write_text("has spaces in it, though it is long\n")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    words = [str(tmp_path / "token") if word == "FILE" else word for word in words]
    assert main(["serve", "--port", "0", "--control-port", "0", *words]) == 2
    error = capsys.readouterr().err
    assert wrong in error
    assert error.count("\n") == 1


def test_a_token_in_the_environment_is_asked_for_and_goes_before_a_file(monkeypatch):
    token = "a-token-of-some-length"
    monkeypatch.setenv("KAFKA_RACK_CONTROL_TOKEN", token)

    def use(ready):
        assert get(f"{ready['control']}/cluster").status_code == 401
        assert get(f"{ready['control']}/cluster", token).status_code == 200

    assert serve_here(use, "--control-port", "0", "--control-token-file", "/nowhere/it-is-not-looked-at") == 0


# what is left running


def send_garbage(address: str, number: int) -> None:
    """Connect, send what is no request, and wait to be cut off, so many times."""
    host, _, port = address.rpartition(":")
    for _ in range(number):
        with socket.create_connection((host, int(port))) as connection, contextlib.suppress(ConnectionError):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: \x1b[2J\r\n\r\n")
            while connection.recv(1000):
                pass


def brokers_shown(served) -> int:
    return len(get(f"{served.ready['control']}/cluster").json()["brokers"])


def test_bad_connections_do_not_stop_a_cluster_whose_standard_error_nobody_reads():
    with serve_process("--control-port", "0", "--quiet") as served:
        send_garbage(served.ready["bootstrap_servers"].split(",")[0], 800)
        assert brokers_shown(served) == 3
        served.process.send_signal(signal.SIGTERM)
        _, errors = end_of(served.process, "the end of serve")
    assert served.process.returncode == 0
    first, *rest = errors.splitlines()
    assert "closes the connection of 127.0.0.1" in first
    assert len(rest) <= 5, errors
    assert "\x1b" not in errors


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_without_file_descriptors_left_accepting_pauses_and_goes_on_with_few_lines(loop, tmp_path):
    ready = tmp_path / "bootstrap"
    script = f"ulimit -n 64; exec {sys.executable} -m kafka_rack.cli serve --port 0 --brokers 1 --quiet --no-control"
    process = subprocess.Popen(
        ["sh", "-c", f"{script} --loop {loop} --bootstrap-file {ready}"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    opened: list[socket.socket] = []
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, "kafka-rack serve")
        host, _, port = ready.read_text().strip().rpartition(":")
        for _ in range(150):
            with contextlib.suppress(OSError):
                opened.append(socket.create_connection((host, int(port))))
        for connection in opened:
            connection.close()

        def is_served() -> bool:
            async def ask() -> int:
                async with WireClient(f"{host}:{port}") as client:
                    return len((await client.ask(METADATA, 12)).brokers)

            with contextlib.suppress(OSError, EOFError, asyncio.IncompleteReadError):
                return asyncio.run(ask()) == 1
            return False

        wait_until(is_served, "a connection that is served")
        process.send_signal(signal.SIGTERM)
        _, errors = end_of(process, "the end of serve")
    finally:
        process.kill()
        process.communicate()
    assert len(errors.splitlines()) <= 5, errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("closing", [">&-", "| true"])
def test_a_standard_output_that_is_closed_ends_nothing(closing, tmp_path):
    ready = tmp_path / "bootstrap"
    serving = f"{sys.executable} -m kafka_rack.cli serve --port 0 --no-control --bootstrap-file {ready}"
    command = f"{serving} & echo $! >{tmp_path}/pid; wait $!"
    process = subprocess.Popen(
        ["sh", "-c", f"{{ {command}; echo $? >{tmp_path}/code; }} {closing}"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    wait_until(lambda: ready.exists() or (tmp_path / "code").exists(), "kafka-rack serve")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)
    _, errors = end_of(process, "the end of serve")
    assert (tmp_path / "code").read_text().strip() == "0", errors
    assert "Traceback" not in errors


def test_a_cluster_takes_its_own_files_away_and_leaves_those_of_another_alone(tmp_path):
    own, another, binary = (tmp_path / name for name in ("own", "another", "binary"))
    for file in (own, another):
        file.write_text(f"127.0.0.1:{file.name}\n")
    binary.write_bytes(b"\xff")
    unlink_own(dict.fromkeys((own, another, binary, tmp_path / "gone"), "127.0.0.1:own\n"))
    assert sorted(tmp_path.iterdir()) == [another, binary]


@pytest.mark.parametrize("number", ["\N{SUPERSCRIPT TWO}", "9" * 5000, "-1", ""])
def test_a_number_that_is_none_is_one_line(number, capsys):
    assert main(["serve", "--topic", f"orders:{number}"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "expected NAME[:PARTITIONS[:REPLICAS]] with numbers from 1" in error
