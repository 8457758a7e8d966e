"""``kafka-rack certify``: what it refuses, what it says of programs that do nothing, how it ends."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kafka_rack.cli import main
from mockbroker import MockCluster
from mockbroker.adapters.real_cluster.cluster import LiveCluster
from mockbroker.testing.certify.checks import CHECKS
from mockbroker.testing.certify.facts import ClientFacts, WireFacts
from tests.progress import SignsOfWork

ROOT = Path(__file__).resolve().parents[5]
WORKER = [sys.executable, "-m", "tests.interop.clients.worker_ignoring_redirects", "--brokers", "{bootstrap}"]
READING = [*WORKER, "--topic", "{topic}", "--rack", "{rack}"]

LOOKING_AT_TOPICS = """
import json, os, sys
from kafka_rack.cli.options.command_config import client_settings_in
from mockbroker.adapters.real_cluster.cluster import LiveCluster
settings = client_settings_in(sys.argv[1])
with LiveCluster(os.environ["KAFKA_BOOTSTRAP_SERVERS"], settings=settings) as cluster:
    topics = list(cluster.snapshot().topics)
same = os.environ["KAFKA_COMMAND_CONFIG"] == sys.argv[1]
open({seen!r}, "w").write(json.dumps([topics, same, settings.client_id]))
sys.exit("that is all")
"""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "expected a program after --"),
        (["--racks", "a", "--", "x"], "--racks: expected two or more different names, such as a,b,c, got 'a'"),
        (["--racks", "a,a", "--", "x"], "got 'a,a'"),
        (["--partitions", "0", "--", "x"], "--partitions: expected a whole number from 1"),
        (["--for", "1s", "--", "x"], "--for: expected 5s or more, got 1000ms"),
        (["--fail-below", "Z", "--", "x"], "--fail-below: expected one of A, B, C, D, E, F or 0 to 100, got 'Z'"),
        (["--fail-below", "101", "--", "x"], "got '101'"),
        (["--prices", "no-such-file", "--", "x"], "kafka-rack certify: no-such-file: No such file or directory"),
        (["--capture", "x.jsonl.gz", "--", "x"], "expected a name such as trace.jsonl"),
        (["--topic", "a/b", "--", "x"], "a/b"),
        (["--feed", "--", "x"], "--feed needs --bootstrap-server and the --topic to write to"),
        (["--bootstrap-server", "staging", "--", "x"], "expected host:port, got 'staging'"),
        (
            ["--bootstrap-server", "x:1", "--racks", "a,b", "--", "x"],
            "--bootstrap-server exclude each other",
        ),
        (["--server", "x:1", "--", "x"], "--server excludes a program"),
        (["--server", "x:1", "--bootstrap-server", "y:1"], "--server excludes --bootstrap-server"),
        (["--server", "x:1", "--stop-rack", "x"], "--stop-rack and --start-rack need each other"),
        (["--server", "x:1", "--racks", "a,a"], "got 'a,a'"),
        (["--command-config", "no-such-file", "--", "x"], "--command-config no-such-file: No such file or directory"),
    ],
)
def test_wrong_usage_is_refused_in_one_line_that_says_what_is_right(arguments, words, capsys):
    assert main(["certify", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1


def test_a_program_that_is_not_there_is_named(capsys):
    assert main(["certify", "--quiet", "--", "./no-such-worker"]) == 1
    assert "./no-such-worker: cannot be started: No such file or directory" in capsys.readouterr().err


def test_a_program_that_ends_at_once_is_quoted(capsys):
    code = "import sys; sys.exit('unknown option --borkers')"
    assert main(["certify", "--quiet", "--", sys.executable, "-c", code]) == 1
    said = capsys.readouterr().err
    assert "has ended with exit code 1 before it produced or fetched anything; its last lines:" in said
    assert "unknown option --borkers" in said
    assert r"\x0a" not in said


def test_a_program_that_never_calls_is_told_what_was_expected(capsys):
    code = "import time; time.sleep(60)"
    assert main(["certify", "--quiet", "--for", "5s", "--", sys.executable, "-c", code]) == 1
    assert "expected the program to connect to {bootstrap} or KAFKA_BOOTSTRAP_SERVERS" in capsys.readouterr().err


def test_a_real_cluster_that_is_not_there_is_named(capsys):
    arguments = ["--quiet", "--bootstrap-server", "127.0.0.1:1", "--", "x"]
    assert main(["certify", *arguments]) == 1
    assert capsys.readouterr().err == "kafka-rack certify: 127.0.0.1:1: cannot be reached: Connection refused\n"


def test_what_a_program_reads_of_a_real_cluster_is_written_to_by_nobody_unless_that_is_asked_for(capsys):
    cluster = MockCluster(topics={"payments": (2, 3)})
    with cluster as real:
        given = ["--quiet", "--topic", "payments", "--bootstrap-server", real.bootstrap_servers]
        assert main(["certify", *given, "--", *READING]) == 1
        assert cluster.state.topics["payments"].partitions[0].log.end_offset == 0
    said = capsys.readouterr().err
    assert "the program reads payments, and nothing is written there from here: --feed has records written" in said


def test_a_program_finds_the_properties_that_its_brokers_ask_for(tmp_path, capsys):
    config, seen = tmp_path / "client.properties", tmp_path / "seen.json"
    config.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nclient.id=me\n"
        'sasl.jaas.config=x.PlainLoginModule required username="alice" password="a\\\\b";\n'
    )
    code = LOOKING_AT_TOPICS.format(seen=str(seen))
    given = ["--racks", "a,b", "--command-config", str(config), "--", sys.executable, "-c", code, "{config}"]
    assert main(["certify", "--quiet", *given]) == 1
    assert "that is all" in capsys.readouterr().err
    assert json.loads(seen.read_text()) == [["orders"], True, "me"]


def test_a_program_logs_in_to_a_real_cluster_through_tls_that_ends_at_the_proxy(tmp_path, capsys):
    seen, users = tmp_path / "seen.json", {"alice": "secret", "kafka-rack": "other"}
    with MockCluster(2, tls=True, users=users, topics={"payments": (1, 2)}, security_dir=tmp_path) as real:
        config = tmp_path / "certify.properties"
        config.write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.truststore.type=PEM\n"
            f"ssl.truststore.location={tmp_path / 'ca.pem'}\n"
            'sasl.jaas.config=x.PlainLoginModule required username="alice" password="secret";\n'
        )
        given = ["--bootstrap-server", real.bootstrap_servers, "--command-config", str(config), "--topic", "payments"]
        code = LOOKING_AT_TOPICS.format(seen=str(seen))
        assert main(["certify", "--quiet", *given, "--", sys.executable, "-c", code, "{config}"]) == 1
    assert "that is all" in capsys.readouterr().err
    assert json.loads(seen.read_text()) == [["payments"], True, "kafka-rack"]


def test_tokens_are_no_login_at_certifys_own_brokers(tmp_path, capsys):
    config = tmp_path / "client.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
        'sasl.jaas.config=x.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";\n'
    )
    assert main(["certify", "--command-config", str(config), "--", "x"]) == 2
    assert "expected a user and a password for PLAIN or SCRAM, got a token" in capsys.readouterr().err


def test_a_grade_below_what_is_asked_ends_with_3_and_leaves_screen_and_junit(tmp_path, capsys, monkeypatch):
    facts = WireFacts(racks=["a"], clients={("a", "worker"): ClientFacts("a", "worker")})
    facts.clients["a", "worker"].fetch_versions[12] = 1
    facts.clients["a", "worker"].fetch_racks[""] = 1
    monkeypatch.setattr("kafka_rack.cli.commands.certify.facts_of", lambda plan, progress: facts)
    junit = tmp_path / "certify.xml"
    assert main(["certify", "--fail-below", "A", "--junit", str(junit), "--", "worker"]) == 3
    said = capsys.readouterr()
    assert "does it follow the preferred replica?" in said.out
    assert "does Fetch carry its rack: set client.rack to the rack that the process runs in" in said.out
    assert re.search("expected grade A or better, got [D-F] ", said.err)
    suite = ET.parse(junit).getroot()[0]
    assert {case.get("name") for case in suite.iter("testcase")} == {name for name, *_ in CHECKS}
    assert int(suite.get("failures")) > 0


def test_ctrl_c_ends_certify_and_every_process_that_it_started(tmp_path):
    pids = tmp_path / "pids"
    code = f"import os, sys\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\nos.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", code, *READING]
    program = [sys.executable, "-m", "kafka_rack.cli", "certify", "--", *command]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # whatever the shell has ignored
    with subprocess.Popen(program, cwd=ROOT, **pipes, **heard) as process:
        assert process.stderr is not None
        said = ""
        while "the program reads" not in said:
            said = process.stderr.readline()
            assert said, "it ended"
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()
    assert process.returncode == 130
    assert rest.endswith("kafka-rack certify: interrupted\n")
    started = [int(line) for line in pids.read_text().split()]
    assert len(started) == 3
    signs = SignsOfWork("the end of the programs")
    while any(Path(f"/proc/{pid}").exists() for pid in started):
        signs.check()
        os.sched_yield()


def test_a_server_that_keeps_its_promises_ends_with_0_and_a_case_for_each(tmp_path, capsys):
    junit = tmp_path / "server.xml"
    with MockCluster(settings={"replica.selector.class": "rack-aware"}) as cluster:
        given = ["--server", cluster.bootstrap_servers, "--racks", "a,b,c", "--partitions", "3", "--junit", str(junit)]
        assert main(["certify", "--quiet", *given]) == 0
    said = capsys.readouterr()
    assert "14 promises kept, 0 broken" in said.out
    assert said.err == ""
    suite = ET.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("18", "0", "4")


def test_a_server_that_breaks_a_promise_ends_with_3_and_json_says_which(capsys):
    with MockCluster() as cluster:
        given = ["--server", cluster.bootstrap_servers, "--racks", "a,b,c,d", "--partitions", "3", "--format", "json"]
        assert main(["certify", "--quiet", *given]) == 3
    said = capsys.readouterr()
    assert said.err == "kafka-rack certify: expected every promise to be kept, got 1 broken\n"
    report = json.loads(said.out)
    assert {check["check"]: check["verdict"] for check in report["checks"]}["racks_reported"] == "fail"
    assert (report["kept"], report["broken"]) == (12, 1)


def test_a_command_that_cannot_stop_a_rack_ends_the_run_with_its_last_line(capsys):
    fails = shlex.join([sys.executable, "-c", "import sys; sys.exit(f'no rack {sys.argv[1]}')", "{rack}"])
    with MockCluster() as cluster:
        given = ["--server", cluster.bootstrap_servers, "--partitions", "1", "--stop-rack", fails]
        assert main(["certify", "--quiet", *given, "--start-rack", fails]) == 1
        with LiveCluster(cluster.bootstrap_servers) as seen:
            assert not seen.snapshot().topics
    assert "c: exit code 1: no rack c" in capsys.readouterr().err
