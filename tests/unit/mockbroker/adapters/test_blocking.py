"""``with MockCluster()``: a cluster in a thread of its own, for clients and commands that block."""

from __future__ import annotations

import inspect
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import protocol
from mockbroker import BlockingMockCluster, MockCluster
from mockbroker.state.errors import ApiError
from protocol.apis.metadata import MetadataRequest
from tests.progress import end_of

METADATA = protocol.request_frame(MetadataRequest(topics=None), 12, correlation_id=1, client_id="test")
CLUSTER_THREAD = "kafka-rack cluster"


def ask_metadata(address: str, times: int = 1):
    """The last answer, read by a client that blocks."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as sock, sock.makefile("rb") as stream:
        for _ in range(times):
            sock.sendall(METADATA)
            frame = stream.read(int.from_bytes(stream.read(4), "big"))
    return protocol.read_response(frame, 3, 12)[1]


def has_thread() -> bool:
    return any(thread.name == CLUSTER_THREAD for thread in threading.enumerate())


@pytest.fixture(params=["asyncio", "uvloop"])
def event_loop_kind(request, monkeypatch):
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)
    else:
        pytest.importorskip("uvloop", reason="there is no uvloop for this Python or system")
    return request.param


def test_a_blocking_client_is_served_by_the_cluster_of_its_own_process(event_loop_kind):
    with MockCluster(topics={"orders": 3}) as cluster:
        for address in cluster.bootstrap_servers.split(","):
            assert [topic.name for topic in ask_metadata(address).topics] == ["orders"]
        assert type(cluster._thread._loop).__module__.startswith(event_loop_kind)


def test_commands_have_taken_effect_when_they_return(event_loop_kind):
    with MockCluster(brokers=4, racks=("a", "b")) as cluster:
        first, second, *_ = cluster.bootstrap_servers.split(",")
        assert cluster.stop_rack("b") == [1, 3]
        assert [broker.node_id for broker in ask_metadata(first).brokers] == [0, 2]
        with pytest.raises(ConnectionRefusedError):
            ask_metadata(second)
        assert cluster.start_broker(3)
        assert cluster.start_rack("b") == [1]
        assert not cluster.start_broker(1)
        assert cluster.stop_broker(0)
        cluster.create_topic("later", 2)
        cluster.set_follower_lag(1, 5)
        answer = ask_metadata(second)
        assert [broker.node_id for broker in answer.brokers] == [1, 2, 3]
        assert [topic.name for topic in answer.topics] == ["later"]
        assert cluster.run(lambda running: dict(running.state.replication.lags)) == {1: 5}


@pytest.mark.zookeeper
def test_a_broker_is_upgraded_and_told_as_in_the_other_form():
    with MockCluster(settings={"inter.broker.protocol.version": "0.9.0"}) as cluster:
        cluster.configure_broker(1, emulate="0.10.0", protocol="0.10.0")
        cluster.stop_broker(1)
        cluster.start_broker(1)
        cluster.metadata_propagated()
        zookeeper = cluster.run(lambda running: running.state.other_mode)
        assert str(zookeeper.running[1].release) == "0.10.0"


def test_errors_of_commands_come_to_whoever_called():
    with MockCluster(topics={"orders": 1}) as cluster:
        with pytest.raises(KeyError):
            cluster.stop_rack("z")
        with pytest.raises(ApiError):
            cluster.create_topic("orders")
        assert len(ask_metadata(cluster.bootstrap_servers_for("a").split(",")[0]).brokers) == 3


def test_the_journal_is_read_from_other_threads_while_clients_are_served():
    """All threads meet before each round: a reader that never pauses holds clients up for minutes on a busy machine."""
    rounds, calls = 20, 10
    together = threading.Barrier(4)

    def ask_in_rounds(address):
        for _ in range(rounds):
            together.wait()
            ask_metadata(address, calls)

    with MockCluster() as cluster, ThreadPoolExecutor(3) as pool:
        mark = cluster.journal.mark()
        clients = [pool.submit(ask_in_rounds, address) for address in cluster.bootstrap_servers.split(",")]
        for done in range(rounds):
            together.wait()
            count = len(list(cluster.journal))
            assert 3 * calls * done <= count <= 3 * calls * (done + 1)
        for client in clients:
            client.result()
        assert len(cluster.journal) == len(cluster.journal.since(mark)) == 3 * calls * rounds
        assert cluster.journal.dropped == 0
        assert cluster.journal.mark() - mark == 3 * calls * rounds
    assert len(list(cluster.journal)) == 3 * calls * rounds
    cluster.journal.clear()
    assert len(cluster.journal) == 0


def test_an_exception_inside_ends_the_cluster():
    def fail_inside(addresses: list[str]) -> None:
        with MockCluster() as cluster:
            addresses += cluster.bootstrap_servers.split(",")
            raise ZeroDivisionError

    addresses: list[str] = []
    with pytest.raises(ZeroDivisionError):
        fail_inside(addresses)
    assert not has_thread()
    with pytest.raises(ConnectionRefusedError):
        ask_metadata(addresses[0])


def test_a_cluster_that_cannot_start_says_why_and_leaves_no_thread():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"), MockCluster(brokers=1, port=port):
            pass
    assert not has_thread()


def test_an_ended_cluster_refuses_commands():
    with MockCluster() as cluster:
        pass
    with pytest.raises(RuntimeError, match="expected a running cluster"):
        cluster.stop_rack("a")
    with pytest.raises(RuntimeError, match="expected a running cluster"):
        _ = cluster.bootstrap_servers


def test_a_command_from_the_clusters_own_thread_is_refused_and_does_not_hang():
    with MockCluster() as cluster, pytest.raises(RuntimeError, match="own thread"):
        cluster.run(lambda running: cluster.stop_rack("a"))


def test_ctrl_c_ends_the_cluster_and_the_script():
    program = """
import signal, threading
from mockbroker import MockCluster
try:
    with MockCluster() as cluster:
        print("up", flush=True)
        signal.pause()
finally:
    print([thread.name for thread in threading.enumerate()])
"""
    # a test run in the background of a shell has SIGINT ignored, and its processes too unless told otherwise
    program = f"import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n{program}"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as script:
        assert script.stdout.readline() == "up\n"
        script.send_signal(signal.SIGINT)
        output, errors = end_of(script, "the end after Ctrl-C")
    assert output == "['MainThread']\n"
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    assert script.returncode == -signal.SIGINT


def test_a_command_can_be_interrupted(monkeypatch):
    def interrupted(future, timeout=None):
        raise KeyboardInterrupt

    with MockCluster() as cluster:
        with monkeypatch.context() as patched:
            patched.setattr("concurrent.futures.Future.result", interrupted)
            with pytest.raises(KeyboardInterrupt):
                cluster.stop_rack("a")
        assert len(cluster.run(lambda running: running.state.brokers)) == 3
    assert not has_thread()


def public(kind: type) -> set[str]:
    """What a cluster has for its users, what is a proxy's too among it."""
    ours = [one for one in kind.__mro__ if one.__module__.startswith("mockbroker.")]
    return {name for one in ours for name in vars(one) if not name.startswith("_")}


def test_both_forms_have_the_same_commands():
    assert public(MockCluster) - {"of", "start", "connections", "engine", "settle", "state"} == public(
        BlockingMockCluster
    ) - {
        "run",
        "journal",
        "traffic",
    }
    properties = {"bootstrap_servers", "faults", "kept", "settings_without_effect", "tls"}
    for name in public(MockCluster) & public(BlockingMockCluster) - properties - {"fork"}:
        ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (BlockingMockCluster, MockCluster))
        assert ours == theirs, name
