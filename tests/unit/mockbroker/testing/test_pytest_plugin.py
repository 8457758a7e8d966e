"""The pytest plugin as users meet it: small test projects that are run, with real clients."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mockbroker import MockCluster
from mockbroker.testing import pytest_plugin
from mockbroker.testing.marker import CLUSTER_ARGUMENTS, MARKER, MARKER_ARGUMENTS, PROXY_ARGUMENTS, PROXY_MARKER
from tests.unit.mockbroker.testing.plugin_project import text_of

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[4]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Without the plugins of others, which import much."""


def test_a_test_has_a_cluster_and_a_topic(project):
    result = project("""
        def test_it(kafka_bootstrap_servers, kafka_topic, kafka_journal):
            write(kafka_bootstrap_servers, kafka_topic, b"one", b"two")
            assert read(kafka_bootstrap_servers, kafka_topic, 2) == [b"one", b"two"]
            assert kafka_topic == "test_it"
            assert kafka_journal.count(api="Produce", topic=kafka_topic) > 0
    """)
    result.assert_outcomes(passed=1)


def test_each_test_has_a_cluster_of_its_own(project):
    result = project("""
        import pytest

        ports = []

        @pytest.mark.parametrize("number", range(3))
        def test_it(kafka_cluster, number):
            write(kafka_cluster.bootstrap_servers, "orders", b"mine")
            assert kafka_cluster.bootstrap_servers not in ports
            ports.append(kafka_cluster.bootstrap_servers)
            assert kafka_cluster.run(lambda cluster: list(cluster.state.topics)) == ["orders"]
            assert read(kafka_cluster.bootstrap_servers, "orders", 1) == [b"mine"]
    """)
    result.assert_outcomes(passed=3)


def test_the_marker_says_what_the_cluster_is_like(project):
    result = project("""
        import pytest

        pytestmark = pytest.mark.kafka(brokers=4, racks="x,y", topics={"orders": 6, "logs": (2, 1)})

        @pytest.mark.kafka(
            racks=["x", "y", "z"],
            diskless_topics={"events": 3},
            settings={"min.insync.replicas": 2},
            topic={"partitions": 5, "configs": {"retention.ms": 7}},
        )
        def test_nearest(kafka_cluster, kafka_topic):
            def look(cluster):
                state = cluster.state
                assert [broker.rack for broker in state.brokers.values()] == ["x", "y", "z", "x"]
                assert len(state.topics["orders"].partitions) == 6
                assert state.topics["logs"].replication_factor == 1
                assert state.topics["events"].diskless
                assert state.settings["min.insync.replicas"] == 2
                assert len(state.topics[kafka_topic].partitions) == 5
                assert state.topics[kafka_topic].config("retention.ms") == 7
            kafka_cluster.run(look)

        def test_of_the_file(kafka_cluster, kafka_topic):
            def look(cluster):
                assert [broker.rack for broker in cluster.state.brokers.values()] == ["x", "y", "x", "y"]
                assert list(cluster.state.topics) == ["orders", "logs", kafka_topic]
            kafka_cluster.run(look)
    """)
    result.assert_outcomes(passed=2)


def test_more_racks_than_three_have_a_broker_each(project):
    result = project("""
        @pytest.mark.kafka(racks="a,b,c,d")
        def test_it(kafka_cluster):
            assert kafka_cluster.run(lambda cluster: cluster.state.liveness.racks()) == ["a", "b", "c", "d"]
    """)
    result.assert_outcomes(passed=1)


def test_a_cluster_that_cannot_be_set_up_is_told_of_without_its_secrets(project):
    result = project("""
        LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="tell-nobody";'
        SETTINGS = {
            "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
            "sasl.enabled.mechanisms": "GSSAPI",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": LOGIN,
            "num.partitions": 6,
        }

        @pytest.mark.kafka(settings=SETTINGS)
        def test_it(kafka_cluster):
            pass
    """)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*sasl.enabled.mechanisms: expected some of*"])
    result.stdout.fnmatch_lines(["*'num.partitions': 6*"])
    result.stdout.no_fnmatch_line("*tell-nobody*")


WRONG_MARKERS = [
    ("borkers=3", "expected one of brokers, racks, .*, got 'borkers'; did you mean brokers?"),
    ("topcis={'orders': 6}", "got 'topcis'; did you mean topics?"),
    ("3", "takes its arguments by name, such as brokers=3; got 3"),
    ("brokers=0", "brokers: expected a whole number >= 1, got 0"),
    ("brokers='3'", "brokers: expected a whole number >= 1, got '3'"),
    ("users={'alice': 7}", "users: expected {'alice': 'secret'}, names and passwords as texts"),
    ("follower_fetching='yes'", "follower_fetching: expected True or False, got 'yes'"),
    ("authorize='yes'", "authorize: expected True or False, got 'yes'"),
    ("scope='class'", "scope: expected 'function' or 'module' or 'session', got 'class'"),
    ("unfired_faults='ok'", "unfired_faults: expected 'fail' or 'allow', got 'ok'"),
    ("topics={'orders': 'six'}", r"topics\['orders'\]: expected a number of partitions, .* got 'six'"),
    ("topics={'orders': {'partition': 6}}", "got 'partition'; did you mean partitions?"),
    ("topics='orders'", r"topics: expected {'orders': 6} or \['orders'\], got 'orders'"),
    ("racks=3", r"racks: expected names such as 'a,b,c' or \['a', 'b', 'c'\], got 3"),
    ("settings={'num.partitons': 3}", "settings: .*num.partitions"),
    ("topic={'partitons': 3}", "topic: .* got 'partitons'; did you mean partitions?"),
    ("topics=['x'], diskless_topics=['x']", "diskless_topics: expected names that topics does not have, got 'x'"),
]


def test_markers_that_are_wrong_are_usage_errors_that_name_their_tests(project):
    tests = (
        f"@pytest.mark.kafka({text})\ndef test_{at}(kafka_cluster): pass" for at, (text, _) in enumerate(WRONG_MARKERS)
    )
    result = project("\n".join(tests))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = "\n".join(result.errlines + result.outlines)
    for number, (_, sentence) in enumerate(WRONG_MARKERS):
        assert re.search(f"test_it.py::test_{number}: .*{sentence}", told), sentence


def test_a_marker_of_the_same_name_on_a_test_without_a_cluster_is_left_alone(project):
    result = project("""
        @pytest.mark.kafka("needs the real one", speed="slow")
        def test_it():
            pass
    """)
    result.assert_outcomes(passed=1)


def test_what_kafka_refuses_fails_the_test_in_a_sentence(project):
    result = project("""
        @pytest.mark.kafka(topics={"orders": (1, 4)})
        def test_it(kafka_cluster):
            pass
    """)
    result.assert_outcomes(errors=1)
    assert re.search("ApiError: .*replication factor", text_of(result))
    assert "Traceback" not in text_of(result)


def test_a_fault_that_never_fired_fails_the_test_and_says_why(project):
    result = project("""
        def test_it(kafka_faults, kafka_bootstrap_servers):
            kafka_faults.add(match={"api": "Produce", "topic": "payments"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
            write(kafka_bootstrap_servers, "orders", b"one")
    """)
    result.assert_outcomes(failed=1)
    told = text_of(result)
    assert "a fault was set and never fired" in told
    assert "fault 'fault-1' never fired" in told
    assert "topic: expected 'payments', got 'orders'" in told
    assert "@pytest.mark.kafka(unfired_faults='allow')" in told


def test_a_fault_that_was_taken_back_and_never_fired_fails_the_test_too(project):
    result = project("""
        def test_it(kafka_faults):
            kafka_faults.add(match={"api": "Produce"}, effect={"silence": True}).remove()
    """)
    result.assert_outcomes(failed=1)


def test_a_fault_that_never_fired_can_be_allowed(project):
    result = project("""
        @pytest.mark.kafka(unfired_faults="allow")
        def test_it(kafka_faults):
            kafka_faults.add(match={"api": "Produce"}, effect={"silence": True})
    """)
    result.assert_outcomes(passed=1)


def test_a_fault_that_fired_fails_nothing(project):
    result = project("""
        def test_it(kafka_cluster):
            fault = kafka_cluster.faults.add(
                match={"api": "Produce"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"}, when={"times": 1}
            )
            write(kafka_cluster.bootstrap_servers, "orders", b"one")
            assert fault.fired == 1
    """)
    result.assert_outcomes(passed=1)


def test_a_test_that_fails_fails_for_its_own_reason(project):
    result = project("""
        def test_it(kafka_faults):
            kafka_faults.add(match={"api": "Produce"}, effect={"silence": True})
            assert 1 == 2
    """)
    result.assert_outcomes(failed=1)
    assert "assert 1 == 2" in text_of(result)
    assert "set and never fired" not in text_of(result)


def test_a_failure_shows_a_summary_of_the_cluster(project):
    result = project("""
        @pytest.mark.kafka(topics={"orders": 1})
        def test_it(kafka_cluster):
            kafka_cluster.faults.add(
                match={"api": "Produce"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"}, when={"times": 1}
            )
            write(kafka_cluster.bootstrap_servers, "orders", b"one", **{"client.id": "shop"})
            kafka_cluster.stop_rack("b")
            kafka_cluster.fence_broker(2)
            assert kafka_cluster.journal.count(api="Fetch") == 1
    """)
    result.assert_outcomes(failed=1)
    told = text_of(result)
    assert told.count("kafka-rack: summary of the cluster") == 1
    summary = told[told.index("kafka-rack: summary of the cluster") :]
    assert "  rack a: 0 up\n  rack b: 1 down\n  rack c: 2 up, fenced," in summary
    assert re.search(r"\n\d+ +[\d.]+ (B|KiB) +shop +- +[abc] +[012] +orders\n", summary)
    assert re.search(r"fault 'fault-1' fired on 1 of \d+ matching calls?\.", summary)
    assert re.search(r"Produce v\d+ of orders-0 by 'shop' .*to broker \d in rack .: .*NOT_LEADER_OR_FOLLOWER", summary)
    assert "faults fault-1" in summary
    assert len(summary.splitlines()) < 50


def test_a_test_that_passes_shows_no_summary(project):
    result = project(
        """
        def test_it(kafka_cluster):
            pass
    """,
        "-rA",
    )
    assert "summary of the cluster" not in text_of(result)


def test_the_journals_claims_fail_with_sentences(project):
    result = project("""
        @pytest.mark.kafka(topics={"orders": 1})
        def test_it(kafka_cluster, kafka_journal):
            write(kafka_cluster.bootstrap_servers, "orders", b"one", **{"client.id": "shop"})
            kafka_journal.assert_rack_local(topic="orders", client_id="shop")
    """)
    result.assert_outcomes(failed=1)
    assert re.search(r"E\s+AssertionError: .*shop", text_of(result))


def test_a_session_is_seeded_once_and_each_test_finds_it_as_it_was_left(project, pytester):
    pytester.makeconftest("""
        import pytest
        from clients import read, write

        seeded = []

        @pytest.fixture(scope="session")
        def kafka_cluster_seed():
            def seed(cluster):
                seeded.append(cluster)
                assert len(seeded) == 1
                cluster.create_topic("orders", 1)
                write(cluster.bootstrap_servers, "orders", b"seed")
            return seed
    """)
    result = project("""
        @pytest.mark.parametrize("number", range(3))
        def test_it(kafka_cluster, number):
            assert len(kafka_cluster.journal) == 0
            write(kafka_cluster.bootstrap_servers, "orders", b"mine")
            assert read(kafka_cluster.bootstrap_servers, "orders", 2) == [b"seed", b"mine"]
    """)
    result.assert_outcomes(passed=3)


def test_a_seed_may_be_a_coroutine_function(project, pytester):
    pytester.makeconftest("""
        import pytest
        from aiokafka import AIOKafkaProducer

        @pytest.fixture(scope="session")
        def kafka_cluster_seed():
            async def seed(cluster):
                async with AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
                    await producer.send_and_wait("orders", b"seed")
            return seed
    """)
    result = project("""
        def test_it(kafka_bootstrap_servers):
            assert read(kafka_bootstrap_servers, "orders", 1) == [b"seed"]
    """)
    result.assert_outcomes(passed=1)


def test_a_seed_that_fails_fails_each_test_and_runs_once(project, pytester):
    pytester.makeconftest("""
        import pytest

        @pytest.fixture(scope="session")
        def kafka_cluster_seed():
            calls = []
            def seed(cluster):
                calls.append(1)
                raise LookupError(f"seed {len(calls)}")
            return seed
    """)
    result = project("""
        @pytest.mark.parametrize("number", range(2))
        def test_it(kafka_cluster, number):
            pass
    """)
    result.assert_outcomes(errors=2)
    assert "LookupError: seed 1" in text_of(result)
    assert "LookupError: seed 2" not in text_of(result)


@pytest.mark.parametrize("scope", ["module", "session"])
def test_tests_share_a_cluster_of_a_wider_scope(project, scope):
    source = f"""
        pytestmark = pytest.mark.kafka(scope="{scope}", unfired_faults="allow")

        def test_first(kafka_cluster, kafka_topic):
            write(kafka_cluster.bootstrap_servers, "orders", b"one")
            kafka_cluster.faults.add(match={{"api": "JoinGroup"}}, effect={{"silence": True}})

        def test_second(kafka_cluster, kafka_topic, kafka_journal, kafka_faults):
            assert kafka_topic == "test_second"
            assert len(kafka_journal) == 0
            assert len(kafka_faults) == 0
            assert read(kafka_cluster.bootstrap_servers, "orders", 1) == [b"one"]
    """
    project(source, name="test_one").assert_outcomes(passed=2)


def test_a_modules_cluster_ends_with_the_module_and_a_sessions_does_not(project, pytester):
    pytester.makepyfile(kept="of_module, of_session = [], []")
    source = """
        import kept

        @pytest.mark.kafka(scope="module")
        def test_module(kafka_cluster):
            kept.of_module.append(kafka_cluster)

        @pytest.mark.kafka(scope="session")
        def test_session(kafka_cluster):
            kept.of_session.append(kafka_cluster)
    """
    pytester.makepyfile(test_one="from clients import *\n" + inspect.cleandoc(source))
    pytester.makepyfile(test_two="from clients import *\n" + inspect.cleandoc(source))
    result = project(
        """
        import kept

        def test_it():
            assert len(set(kept.of_module)) == 2
            assert len(set(kept.of_session)) == 1
            for cluster in kept.of_module:
                with pytest.raises(RuntimeError, match="the cluster has ended"):
                    cluster.stop_rack("a")
            assert kept.of_session[0].stop_rack("a")
    """,
        name="test_zzz",
    )
    result.assert_outcomes(passed=5)


def test_a_factory_makes_further_clusters_that_end_with_whoever_made_them(project):
    result = project("""
        made = {}

        @pytest.fixture(scope="module")
        def another(kafka_cluster_factory):
            made["module"] = kafka_cluster_factory(brokers=1, racks="x", topics={"orders": 1})
            return made["module"]

        def test_first(kafka_cluster_factory, another, kafka_cluster):
            made["test"] = kafka_cluster_factory()
            servers = {cluster.bootstrap_servers for cluster in (another, kafka_cluster, made["test"])}
            assert len(servers) == 3
            write(another.bootstrap_servers, "orders", b"one")

        def test_second(another):
            assert read(another.bootstrap_servers, "orders", 1) == [b"one"]
            with pytest.raises(RuntimeError, match="the cluster has ended"):
                made["test"].create_topic("late")

        def test_misspelt(kafka_cluster_factory):
            with pytest.raises(TypeError, match="got 'borkers'; did you mean brokers?"):
                kafka_cluster_factory(borkers=1)
    """)
    result.assert_outcomes(passed=3)


def test_fixtures_that_use_the_cluster_end_before_it(project):
    result = project("""
        @pytest.fixture
        def user(kafka_cluster):
            yield
            kafka_cluster.create_topic("late")

        def test_it(user, kafka_cluster):
            pass
    """)
    result.assert_outcomes(passed=1)


def test_a_cluster_of_a_wider_fixture_is_left_out_of_the_summary_of_tests_that_did_not_call_it(project):
    result = project("""
        @pytest.fixture(scope="session")
        def another(kafka_cluster_factory):
            return kafka_cluster_factory(brokers=1, racks="x", topics={"orders": 1})

        def test_that_calls_it(another):
            write(another.bootstrap_servers, "orders", b"one")
            assert 1 == 2

        def test_that_does_not(another, kafka_cluster):
            assert 1 == 2

        @pytest.mark.kafka("of somebody else", brokers="many")
        def test_without_any():
            pass
    """)
    result.assert_outcomes(failed=2, passed=1)
    first, _, second = text_of(result).partition("_ test_that_does_not _")
    assert "rack x: 0 up" in first
    assert "rack a: 0 up" in second
    assert "rack x: 0 up" not in second


def test_faults_and_stories_of_the_factorys_clusters_count_as_well(project):
    result = project("""
        @pytest.fixture(scope="module")
        def another(kafka_cluster_factory):
            return kafka_cluster_factory(brokers=1, racks="x")

        def test_of_the_test(kafka_cluster_factory):
            kafka_cluster_factory().faults.add(match={"api": "Produce"}, effect={"silence": True})

        def test_of_the_module(another):
            another.faults.add(match={"api": "Produce"}, effect={"silence": True})

        def test_after_it(another):
            pass
    """)
    result.assert_outcomes(failed=2, passed=1)
    assert "rack x: 0 up" in text_of(result)


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_coroutines_are_tested_as_well(project, mode):
    mark = "" if mode == "auto" else "@pytest.mark.asyncio"
    result = project(
        f"""
        from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

        {mark}
        async def test_it(kafka_cluster, kafka_topic):
            servers = kafka_cluster.bootstrap_servers
            async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
                await producer.send_and_wait(kafka_topic, b"one")
                kafka_cluster.restart_rack("a")
                await producer.send_and_wait(kafka_topic, b"two")
            async with AIOKafkaConsumer(
                kafka_topic, bootstrap_servers=servers, auto_offset_reset="earliest"
            ) as consumer:
                assert [(await consumer.getone()).value for _ in range(2)] == [b"one", b"two"]

        {mark}
        async def test_unfired(kafka_faults):
            kafka_faults.add(match={{"api": "Produce"}}, effect={{"silence": True}})
        """,
        "-o",
        f"asyncio_mode={mode}",
    )
    result.assert_outcomes(passed=1, failed=1)


def test_processes_have_clusters_of_their_own(project, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # Hypothesis and others take each process a second
    result = project(
        """
        @pytest.mark.parametrize("number", range(3))
        def test_it(kafka_bootstrap_servers, kafka_topic, number):
            write(kafka_bootstrap_servers, kafka_topic, b"one")
            assert read(kafka_bootstrap_servers, kafka_topic, 1) == [b"one"]

        def test_that_fails(kafka_cluster):
            assert kafka_cluster is None
        """,
        *("-p", "xdist.plugin", "-p", "mockbroker.testing.pytest_plugin", "-n2"),
    )
    result.assert_outcomes(passed=3, failed=1)
    assert text_of(result).count("kafka-rack: summary of the cluster") == 1


def test_a_fixture_that_is_asked_for_late_is_there_as_well(project):
    result = project("""
        def test_it(request):
            assert request.getfixturevalue("kafka_cluster").bootstrap_servers

        @pytest.mark.kafka(borkers=3)
        def test_wrong(request):
            request.getfixturevalue("kafka_cluster")
    """)
    result.assert_outcomes(passed=1, failed=1)
    assert "got 'borkers'; did you mean brokers?" in text_of(result)


def test_topics_of_a_test_are_as_many_as_it_asks_for(project):
    result = project("""
        @pytest.mark.parametrize("size", ["10 MB-\\u03c0"])
        def test_it(kafka_cluster, kafka_topic, size):
            another = kafka_topic(partitions=4)
            assert kafka_topic.startswith("test_it-10-MB-")
            assert (another, another()) == (f"{kafka_topic}-2", f"{kafka_topic}-3")
            assert kafka_cluster.run(lambda cluster: len(cluster.state.topics[another].partitions)) == 4
            write(kafka_cluster.bootstrap_servers, another, b"one")
            with pytest.raises(TypeError, match="got 'partitons'; did you mean partitions?"):
                kafka_topic(partitons=4)
    """)
    result.assert_outcomes(passed=1)


def test_follower_fetching_lets_consumers_read_in_their_rack(project):
    result = project("""
        @pytest.mark.parametrize("rack", "abc")
        @pytest.mark.kafka(follower_fetching=True, topics={"orders": (1, 3)})
        def test_it(kafka_cluster, kafka_journal, rack):
            servers = kafka_cluster.bootstrap_servers
            write(servers, "orders", "coffee")
            assert read(servers, "orders", 1, **{"client.rack": rack, "client.id": "near"}) == [b"coffee"]
            kafka_journal.assert_rack_local(client_id="near")
    """)
    result.assert_outcomes(passed=3)


def test_the_markers_are_described_with_all_their_arguments(project, pytester):
    printed = text_of(pytester.runpytest_inprocess("--markers"))
    for name, arguments in ((MARKER, MARKER_ARGUMENTS), (PROXY_MARKER, PROXY_ARGUMENTS)):
        (line,) = [line for line in printed.splitlines() if line.startswith(f"@pytest.mark.{name}(")]
        signature, _, meaning = line.partition("): ")
        assert meaning.endswith("(kafka-rack)."), "pytest cut the line at the colon after the signature"
        assert set(re.findall(r"(\w+)=", signature)) == set(arguments)


def test_the_marker_takes_what_a_cluster_does():
    assert set(CLUSTER_ARGUMENTS) <= set(inspect.signature(MockCluster).parameters)
    assert set(CLUSTER_ARGUMENTS) <= set(MARKER_ARGUMENTS)


def test_a_suite_without_clusters_loads_nothing_of_them(tmp_path):
    ran = run_without_clusters(tmp_path, "-q")
    assert "1 passed" in ran


def test_the_fixtures_are_listed_with_a_sentence_each_without_loading_clusters(tmp_path):
    listed = run_without_clusters(tmp_path, "--fixtures")
    for name in (name for name in vars(pytest_plugin) if name.startswith("kafka_")):
        assert re.search(rf"^{name}( \[session scope\])? -- .*\n    [A-Z].*[.:`]", listed, re.MULTILINE), listed


def run_without_clusters(tmp_path, *arguments):
    """The output of pytest over a test without fixtures; nothing of the cluster is loaded before or after."""
    (tmp_path / "test_it.py").write_text("def test_it(): pass")
    program = """
import sys
import mockbroker.testing.pytest_plugin
packages = ("mockbroker", "kafka_rack", "protocol", "asyncio", "msgspec")
print(sorted(name for name in sys.modules if name.split(".")[0] in packages))
import pytest
options = ["-p", "no:cacheprovider", "-p", "mockbroker.testing.pytest_plugin"]
assert pytest.main([*options, *sys.argv[1:]]) == 0
print(sorted(name for name in sys.modules if name.split(".")[0] in packages))
"""
    command = [sys.executable, "-c", program, *arguments, str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    plugin = "['mockbroker', 'mockbroker.testing', 'mockbroker.testing.pytest_plugin']"
    first, *_, last = ran.stdout.splitlines()
    assert (first, last) == (plugin, plugin)
    return ran.stdout
