"""Forks and resets of running clusters, with a real client."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import suppress
from statistics import median

import pytest
from confluent_kafka import Consumer, Producer

from mockbroker import MockCluster
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.headers import request_frame
from tests.progress import wait_until


def write(bootstrap_servers: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for value in values:
        producer.produce("orders", value)
    producer.flush()


def read(bootstrap_servers: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "readers", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    found: list[bytes] = []

    def poll() -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            found.append(message.value())
        return len(found) >= count

    wait_until(poll, "all records", lambda: found)
    consumer.close()
    return found


def ports(bootstrap_servers: str) -> set[str]:
    return set(bootstrap_servers.split(","))


def test_a_fork_serves_what_was_seeded_on_ports_of_its_own():
    with MockCluster(topics={"orders": 1}) as cluster:
        write(cluster.bootstrap_servers, b"seed")
        cluster.faults.add(match={"api": "CreateTopics"}, effect={"silence": True})
        with cluster.fork() as fork:
            assert ports(fork.bootstrap_servers).isdisjoint(ports(cluster.bootstrap_servers))
            assert len(fork.journal) == len(fork.faults) == 0
            write(fork.bootstrap_servers, b"in the fork")
            assert read(fork.bootstrap_servers, 2) == [b"seed", b"in the fork"]
        assert read(cluster.bootstrap_servers, 1) == [b"seed"]


def test_forks_run_in_the_thread_of_their_cluster_and_end_with_it():
    before = threading.active_count()
    with MockCluster() as cluster:
        forks = [cluster.fork() for _ in range(3)]
        assert threading.active_count() == before + 1
        addresses = [fork.bootstrap_servers for fork in forks]
        forks[0].close()
        assert forks[1].bootstrap_servers == addresses[1]
    assert threading.active_count() == before
    for fork in forks:
        with pytest.raises(RuntimeError, match="expected a running cluster"):
            fork.stop_rack("a")


def test_a_fork_that_is_closed_gives_its_ports_back():
    with MockCluster() as cluster:
        fork = cluster.fork()
        port = int(fork.bootstrap_servers.split(",")[0].rpartition(":")[2])
        fork.close()
        fork.close()
        with MockCluster(1, ["a"], port=port) as another:
            assert another.bootstrap_servers.endswith(f":{port}")


def test_a_fork_has_a_listener_for_each_rack_where_its_cluster_has():
    with MockCluster(listener_per_rack=True, topics={"orders": 1}) as cluster, cluster.fork() as fork:
        assert ports(fork.bootstrap_servers_for("b")).isdisjoint(ports(cluster.bootstrap_servers_for("b")))
        write(fork.bootstrap_servers_for("b"), b"one")
        assert {call.client_rack for call in fork.journal.find(api="Produce")} == {"b"}


def test_a_fork_emulates_the_release_that_its_cluster_does():
    with MockCluster(emulate="2.8.2", topics={"orders": 1}) as cluster:
        write(cluster.bootstrap_servers, b"seed")
        with cluster.fork() as fork:
            write(fork.bootstrap_servers, b"in the fork")
            assert read(fork.bootstrap_servers, 2) == [b"seed", b"in the fork"]


def test_a_fork_does_not_take_the_ports_that_its_cluster_was_given():
    with MockCluster(1, ["a"]) as taken:
        port = int(taken.bootstrap_servers.rpartition(":")[2])
    with MockCluster(1, ["a"], port=port) as cluster, cluster.fork() as fork:
        assert cluster.bootstrap_servers.endswith(f":{port}")
        assert fork.bootstrap_servers != cluster.bootstrap_servers


def test_a_fork_costs_less_than_five_milliseconds_of_processor_time():
    topics = {f"topic-{number}": 6 for number in range(10)}
    with MockCluster(topics=topics) as cluster:
        cluster.fork().close()
        took = []
        for _ in range(40):
            began = time.process_time()
            cluster.fork().close()
            took.append(time.process_time() - began)
        # Half of them: the rest may have had a collection of garbage in them, of all that other tests have left.
        assert median(took) < 0.005


def test_the_forks_of_a_coroutine_are_started_by_whoever_asked():
    async def main() -> None:
        async with MockCluster(topics={"orders": 1}) as cluster:
            fork = cluster.fork()
            with pytest.raises(RuntimeError, match="expected a running cluster"):
                _ = fork.bootstrap_servers
            async with fork:
                assert await asyncio.to_thread(read_nothing, fork.bootstrap_servers)

    asyncio.run(main())


def read_nothing(bootstrap_servers: str) -> bool:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "readers"})
    return "orders" in consumer.list_topics(timeout=60).topics


def test_a_reset_keeps_the_ports_and_makes_the_cluster_what_it_was():
    with MockCluster(topics={"orders": 1}) as cluster:
        addresses = cluster.bootstrap_servers
        write(addresses, b"one")
        read(addresses, 1)
        cluster.create_topic("payments")
        cluster.stop_rack("a")
        cluster.crash_broker(1)
        cluster.set_follower_lag(2, 5)
        cluster.faults.add(match={"api": "Metadata"}, effect={"silence": True})
        cluster.reset()
        assert list(cluster.faults) == cluster.faults.never_fired() == []
        assert cluster.bootstrap_servers == addresses
        assert len(cluster.journal) == 0

        def seen(running: MockCluster):
            state = running.state
            return (
                list(state.topics),
                state.topics["orders"].partitions[0].log.end_offset,
                [group.id for group in state.groups.select()],
                sorted(state.liveness.online_ids),
            )

        assert cluster.run(seen) == (["orders"], 0, [], [0, 1, 2])
        write(addresses, b"two")
        assert read(addresses, 1) == [b"two"]


def test_a_reset_ends_the_connections_that_there_were():
    with MockCluster() as cluster:
        host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(request_frame(ApiVersionsRequest(), 0, correlation_id=1, client_id=None))
            assert client.recv(1 << 16)
            cluster.reset()
            with suppress(ConnectionResetError):
                assert client.recv(1) == b""


def test_a_client_goes_on_after_a_reset():
    with MockCluster(topics={"orders": 1}) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        producer.list_topics()
        cluster.reset()
        producer.produce("orders", b"after")
        producer.flush()
        assert read(cluster.bootstrap_servers, 1) == [b"after"]


def test_a_cluster_that_does_not_run_is_not_reset():
    async def main() -> None:
        await MockCluster().reset()

    with pytest.raises(RuntimeError, match="expected a running cluster"):
        asyncio.run(main())


def test_a_reset_cluster_in_zookeeper_mode_tells_its_brokers_again():
    with MockCluster(topics={"orders": 1}, emulate="2.8.2") as cluster:
        cluster.stop_broker(0)
        cluster.reset()
        write(cluster.bootstrap_servers, b"one")
        assert read(cluster.bootstrap_servers, 1) == [b"one"]


def test_crashed_brokers_break_their_connections_and_come_back_on_their_ports():
    with MockCluster(1, ["a"], topics={"orders": 1}) as cluster:
        addresses = cluster.bootstrap_servers
        write(addresses, b"one")
        assert cluster.crash_broker(0)
        assert not cluster.crash_broker(0)
        assert cluster.restart_broker(0) is False
        assert cluster.bootstrap_servers == addresses
        write(addresses, b"two")
        assert read(addresses, 2) == [b"one", b"two"]
