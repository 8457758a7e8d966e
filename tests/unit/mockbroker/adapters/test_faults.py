"""Faults of running clusters, over sockets: set from any thread, taking effect at once."""

from __future__ import annotations

import select
import socket
from typing import Any, Self

import pytest

import protocol
from mockbroker import BlockingMockCluster, MockCluster
from mockbroker.core.faults.reading import FaultError
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.metadata import MetadataRequest
from tests.progress import wait_until

METADATA = MetadataRequest(topics=None)


class Client:
    """A client on one socket, that blocks."""

    def __init__(self, cluster: BlockingMockCluster, broker: int = 0, rack: str | None = None) -> None:
        servers = cluster.bootstrap_servers if rack is None else cluster.bootstrap_servers_for(rack)
        host, port = servers.split(",")[broker].rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)))
        self.stream = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.socket.close()

    def write(self, request: Any, version: int) -> None:
        self.socket.sendall(protocol.request_frame(request, version, correlation_id=1, client_id="test"))

    def read(self, request: Any, version: int) -> Any:
        """The next answer, None where the connection has ended."""
        size = self.stream.read(4)
        if not size:
            return None
        return protocol.read_response(self.stream.read(int.from_bytes(size, "big")), type(request).api_key, version)[1]

    def ask(self, request: Any = METADATA, version: int = 12) -> Any:
        self.write(request, version)
        return self.read(request, version)


def test_faults_are_set_counted_and_taken_back_from_another_thread():
    with MockCluster(topics={"orders": 1}) as cluster, Client(cluster) as client:
        fault = cluster.faults.add(
            match={"api": "Metadata", "topic": "orders"}, effect={"error": "LEADER_NOT_AVAILABLE"}
        )
        assert client.ask().topics[0].error_code == 5
        assert (fault.id, fault.matched, fault.fired, fault.is_active) == ("fault-1", 1, 1, True)
        assert fault.explain() == "fault 'fault-1' fired on 1 of 1 matching call."
        assert cluster.faults["fault-1"] == fault
        assert list(cluster.faults) == [fault]
        idle = cluster.faults.add({"match": {"api": "Fetch"}, "effect": {"silence": True}})
        assert cluster.faults.never_fired() == [idle]
        assert [one["id"] for one in cluster.faults.to_json()] == ["fault-1", "fault-2"]
        fault.remove()
        assert client.ask().topics[0].error_code == 0
        assert "fault-1" not in cluster.faults
        with pytest.raises(KeyError):
            cluster.faults["fault-1"]
        with pytest.raises(FaultError, match=r"effect\.delay_ms: expected a whole number"):
            cluster.faults.add(effect={"delay_ms": "long"})
        with pytest.raises(FaultError, match=r"\[1\]\.effect: expected exactly one of"):
            cluster.faults.add_all([{"effect": {"delay_ms": 1}}, {"effect": {}}])
        assert len(cluster.faults) == 1
        cluster.faults.clear()
        assert len(cluster.faults) == 0
    assert (fault.matched, fault.fired) == (1, 1), "also when the cluster has ended"


def test_in_a_with_statement_a_fault_ends_with_it():
    with MockCluster() as cluster, Client(cluster) as client:
        with cluster.faults.add(id="wait", effect={"throttle_ms": 1}) as fault:
            assert client.ask().throttle_time_ms == 1
            assert repr(fault) == "<fault wait: matched 1, fired 1>"
        assert not fault.is_active
        assert client.ask().throttle_time_ms == 0


def test_a_delayed_answer_comes_by_itself():
    with MockCluster() as cluster, Client(cluster) as client:
        began_ms = cluster.now_ms()
        cluster.faults.add(effect={"delay_ms": 300})
        assert client.ask().brokers
        assert cluster.now_ms() - began_ms >= 300


def test_a_throttled_connection_is_heard_again_by_itself():
    with MockCluster() as cluster, Client(cluster) as client:
        fault = cluster.faults.add(effect={"throttle_ms": 300}, when={"times": 1})
        assert client.ask().throttle_time_ms == 300
        answered_ms = cluster.now_ms()
        assert client.ask().throttle_time_ms == 0
        assert cluster.now_ms() - answered_ms >= 250
        assert fault.fired == 1


def test_an_answer_over_a_narrow_connection_comes_by_itself():
    with MockCluster(brokers=9) as cluster, Client(cluster) as client:
        began_ms = cluster.now_ms()
        cluster.faults.add(match={"api": "Metadata"}, effect={"bandwidth": "1KB/s"})
        assert len(client.ask().brokers) == 9
        assert cluster.now_ms() - began_ms >= 250


def test_disconnect_ends_the_connection_and_silence_does_not():
    with MockCluster() as cluster, Client(cluster) as silenced, Client(cluster) as client:
        cluster.faults.add(effect={"silence": True}, when={"times": 1})
        silenced.write(METADATA, 12)
        wait_until(lambda: cluster.faults["fault-1"].fired, "the silenced call")
        cluster.faults.add(effect={"disconnect": True})
        assert client.ask() is None
        cluster.faults.clear()
        with Client(cluster) as another:
            assert another.ask().brokers
        assert select.select([silenced.socket], [], [], 0)[0] == [], "neither an answer nor an end"


def test_a_cut_link_ends_idle_connections_of_its_racks_and_refuses_new_ones():
    with MockCluster(listener_per_rack=True) as cluster:
        clients = {(rack, broker): Client(cluster, broker, rack) for rack in "abc" for broker in range(3)}
        for client in clients.values():
            assert client.ask().brokers
        fault = cluster.faults.add(link={"between": ["a", "b"]}, effect={"cut": True})
        wait_until(lambda: fault.fired == 2, "the ends of two connections", fault.explain)
        ended = {key for key, client in clients.items() if client.ask() is None}
        assert ended == {("a", 1), ("b", 0)}
        with Client(cluster, 1, "a") as another:
            assert another.ask() is None
        fault.remove()
        with Client(cluster, 1, "a") as another:
            assert another.ask().brokers
        for client in clients.values():
            client.__exit__()


def test_after_a_reset_there_are_no_faults_and_throttles_work():
    with MockCluster() as cluster:
        for _ in range(2):
            with Client(cluster) as client:
                cluster.faults.add(link={"between": ["a", "b"]}, effect={"delay_ms": 50})
                cluster.faults.add(effect={"throttle_ms": 50}, when={"times": 1})
                assert client.ask(ApiVersionsRequest(), 2).throttle_time_ms == 50
                assert client.ask().brokers
            cluster.reset()
            assert len(cluster.faults) == 0
        assert cluster.run(lambda running: running.state.replication.is_undisturbed)


async def test_faults_can_be_set_before_the_cluster_starts():
    cluster = MockCluster(topics={"orders": (1, 3)})
    cluster.faults.add(link={"between": ["a", "b"]}, effect={"cut": True})
    fault = cluster.faults.add(effect={"delay_ms": 1})
    async with cluster:
        assert fault.is_active
