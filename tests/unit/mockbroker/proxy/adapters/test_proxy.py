from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mockbroker import MockCluster
from mockbroker.adapters.real_cluster.connection import RealClusterError
from mockbroker.proxy.adapters.server import KafkaProxy
from mockbroker.proxy.adapters.upstream import UpstreamSettings
from mockbroker.state.errors import ApiError
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from tests.ports import free_ports
from tests.progress import until
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request, values
from tests.unit.mockbroker.wire_client import WireClient

ALL = MetadataRequest(topics=None)


def settings_for(cluster: MockCluster) -> UpstreamSettings:
    places = (place.rsplit(":", 1) for place in cluster.bootstrap_servers.split(","))
    return UpstreamSettings(servers=[(host, int(port)) for host, port in places], timeout_s=5.0)


@asynccontextmanager
async def proxied(
    options: dict[str, Any] | None = None, **cluster: Any
) -> AsyncIterator[tuple[MockCluster, KafkaProxy]]:
    async with (
        MockCluster(**cluster) as real,
        KafkaProxy(settings_for(real), **(options or {})) as proxy,
    ):
        yield real, proxy


def address(cluster: MockCluster | KafkaProxy, broker: int = 0) -> str:
    return cluster.bootstrap_servers.split(",")[broker]


@pytest.mark.parametrize("version", [0, 1, 5, 9, 12, 13])
async def test_clients_are_told_of_the_proxys_listeners_with_the_real_ids_and_racks(version: int):
    async with proxied(topics={TOPIC: 3}) as (real, proxy):
        for broker in range(3):
            async with WireClient(address(proxy, broker)) as client:
                answer = await client.ask(ALL if version else MetadataRequest(topics=[]), version)
                assert [f"{one.host}:{one.port}" for one in answer.brokers] == proxy.bootstrap_servers.split(",")
                assert [one.node_id for one in answer.brokers] == [0, 1, 2]
                assert version == 0 or [one.rack for one in answer.brokers] == ["a", "b", "c"]
                assert version < 2 or answer.cluster_id == real.state.id


async def test_records_go_to_the_real_broker_and_come_back():
    async with (
        proxied(topics={TOPIC: 1}) as (real, proxy),
        WireClient(address(proxy)) as consumer,
        WireClient(address(proxy)) as producer,
    ):
        consumer.send(fetch_request(max_wait_ms=8000), 12)
        await producer.ask(produce_request(batch(b"a")), 12)
        answer = await consumer.answer(1, 12)
        assert values(answer.responses[0].partitions[0].records) == [b"a"]
        assert real.state.topics[TOPIC].partitions[0].log.end_offset == 1


async def test_requests_of_one_connection_go_on_without_waiting_and_are_answered_in_their_order():
    async with proxied(topics={TOPIC: 1}) as (real, proxy), WireClient(address(proxy)) as client:
        handle = proxy.faults.add(match={"api": "FindCoordinator"}, effect={"error": "COORDINATOR_NOT_AVAILABLE"})
        client.send(fetch_request(max_wait_ms=150), 12)
        client.send(FindCoordinatorRequest(key="g"), 2)
        client.send(ALL, 12)
        fetched = await client.answer(1, 12)
        refused = await client.answer(10, 2)
        described = await client.answer(3, 12)
        assert fetched.responses[0].partitions[0].records == b""
        assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert len(described.brokers) == 3
        assert handle.fired == 1
        assert [entry.api for entry in real.journal if entry.client_id == "test"] == ["Fetch", "Metadata"]


async def test_bytes_by_rack_pair_are_those_that_the_real_brokers_count():
    async with proxied(topics={TOPIC: 1}) as (real, proxy), WireClient(address(proxy)) as client:
        await client.ask(produce_request(batch(b"a", b"bc")), 12)
        await client.ask(fetch_request(rack_id="b"), 12)
        real.journal.clear()
        pairs = [
            {key: value for key, value in pair.items() if not key.startswith("cost")}
            for pair in proxy.traffic.snapshot()["flows"]
        ]
        counted = [
            {key: value for key, value in pair.items() if not key.startswith("cost")}
            for pair in real.traffic.snapshot()["flows"]
        ]
        assert [one for one in pairs if one["category"] in ("produce", "consume", "replication")] == [
            one for one in counted if one["category"] in ("produce", "consume", "replication")
        ]
        assert {one["category"] for one in pairs} >= {"produce", "consume", "replication"}


async def test_a_client_of_a_rack_listener_stays_with_the_listeners_of_its_rack():
    async with (
        proxied({"listener_per_rack": True}) as (_, proxy),
        WireClient(proxy.bootstrap_servers_for("b").split(",")[0]) as client,
    ):
        answer = await client.ask(ALL, 12)
        assert ",".join(f"{one.host}:{one.port}" for one in answer.brokers) == proxy.bootstrap_servers_for("b")
        assert [entry.client_rack for entry in proxy.journal] == ["b"]


async def test_racks_that_are_given_stand_in_place_of_those_that_brokers_say():
    async with (
        proxied({"racks": {0: "x", 1: None}}) as (_, proxy),
        WireClient(address(proxy)) as client,
    ):
        answer = await client.ask(ALL, 12)
        assert [one.rack for one in answer.brokers] == ["x", None, "c"]
        assert proxy.state.liveness.racks() == ["c", "x"]


async def test_a_stopped_rack_cannot_be_reached_by_the_proxys_clients_and_serves_all_others():
    async with proxied(topics={TOPIC: 3}) as (real, proxy):
        async with WireClient(address(proxy, 0)) as client:
            await client.ask(ALL, 12)
            assert await proxy.stop_rack("a") == [0]
            assert await client.is_hung_up()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", proxy.state.brokers[0].port)
        async with WireClient(address(real, 0)) as direct:
            assert len((await direct.ask(ALL, 12)).brokers) == 3
        assert await proxy.start_rack("a") == [0]
        async with WireClient(address(proxy, 0)) as client:
            assert len((await client.ask(ALL, 12)).brokers) == 3


async def test_clients_are_refused_where_the_real_broker_is_away_and_served_once_it_is_back():
    async with proxied(topics={TOPIC: 1}) as (real, proxy):
        async with WireClient(address(proxy, 1)) as client:
            await client.ask(ALL, 12)
            await real.stop_broker(1)
            assert await client.is_hung_up()
        with pytest.raises(ConnectionRefusedError):
            await WireClient(address(proxy, 1)).__aenter__()
        await real.start_broker(1)
        await until(lambda: proxy._nodes[1].accepts, "clients to be let in again")
        async with WireClient(address(proxy, 1)) as client:
            assert len((await client.ask(ALL, 12)).brokers) == 3


async def test_the_first_client_that_finds_the_real_broker_away_meets_a_reset_and_the_next_are_refused():
    async with proxied(topics={TOPIC: 1}) as (real, proxy):
        await real.stop_broker(1)
        reader, writer = await asyncio.open_connection(*address(proxy, 1).split(":"))
        with pytest.raises(ConnectionResetError):
            await reader.read(1)
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await WireClient(address(proxy, 1)).__aenter__()


async def test_a_broker_that_was_stopped_here_is_not_served_because_the_real_one_is_back():
    async with proxied(topics={TOPIC: 1}) as (real, proxy):
        async with WireClient(address(proxy, 1)) as client:
            await client.ask(ALL, 12)
            await real.stop_broker(1)
            assert await client.is_hung_up()
        assert await proxy.stop_broker(1)
        await real.start_broker(1)
        await until(lambda: not proxy._nodes[1].presence.refuses, "the real broker")
        with pytest.raises(ConnectionRefusedError):
            await WireClient(address(proxy, 1)).__aenter__()
        assert await proxy.start_broker(1)
        async with WireClient(address(proxy, 1)) as client:
            assert len((await client.ask(ALL, 12)).brokers) == 3


async def test_a_broker_that_ends_one_connection_goes_on_being_served():
    async with (
        proxied(brokers=1, settings={"connections.max.idle.ms": 1}) as (real, proxy),
        WireClient(address(proxy)) as client,
    ):
        await client.ask(ALL, 12)
        for connection in list(real.engine.path.connections):
            connection.end_if_late(real.now_ms() + 10)
        assert await client.is_hung_up()
        assert proxy._nodes[0].accepts


async def test_an_error_for_one_partition_keeps_its_records_from_the_real_broker():
    async with proxied(topics={TOPIC: 1}) as (real, proxy), WireClient(address(proxy)) as client:
        proxy.faults.add(match={"api": "Produce", "topic": TOPIC}, effect={"error": "NOT_ENOUGH_REPLICAS"})
        answer = await client.ask(produce_request(batch(b"a")), 12)
        (entry,) = answer.responses[0].partition_responses
        assert entry.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        assert not real.state.topics[TOPIC].partitions[0].has_log
        proxy.faults.clear()
        answer = await client.ask(produce_request(batch(b"a")), 12)
        assert answer.responses[0].partition_responses[0].error_code == 0


async def test_apis_and_versions_that_the_codec_does_not_know_are_not_offered():
    async with (
        proxied() as (real, proxy),
        WireClient(address(real)) as direct,
        WireClient(address(proxy)) as client,
    ):
        offered = (await client.ask(ApiVersionsRequest(), 3)).api_keys
        assert offered == (await direct.ask(ApiVersionsRequest(), 3)).api_keys


async def test_what_changes_the_real_cluster_is_refused_with_what_can_be_done():
    async with proxied() as (_, proxy):
        with pytest.raises(ApiError, match="racks can be stopped for clients"):
            proxy.create_topic("payments")
        with pytest.raises(ValueError, match="racks can be stopped for clients"):
            await proxy.reset()


async def test_a_cluster_that_does_not_answer_is_named():
    (port,) = free_ports(1)
    with pytest.raises(RealClusterError, match=f"127.0.0.1:{port}: cannot be reached"):
        await KafkaProxy(UpstreamSettings(servers=[("127.0.0.1", port)])).start()


async def test_the_proxy_waits_for_a_cluster_that_comes_later():
    (port,) = free_ports(1)
    async with MockCluster(brokers=1, port=port) as real:
        await real.stop_broker(0)
        proxy = KafkaProxy(UpstreamSettings(servers=[("127.0.0.1", port)]), wait_s=60.0)
        starting = asyncio.create_task(proxy.start())
        await asyncio.sleep(0)
        await real.start_broker(0)
        await starting
        async with WireClient(address(proxy)) as client:
            assert [one.node_id for one in (await client.ask(ALL, 12)).brokers] == [0]
        await proxy.close()


async def test_a_cut_link_ends_the_connections_of_its_clients_and_of_nobody_else():
    async with proxied({"listener_per_rack": True}) as (real, proxy):
        across, near = proxy.bootstrap_servers_for("b").split(",")[:2]
        async with WireClient(across) as cut, WireClient(near) as kept:
            await cut.ask(ALL, 12)
            await kept.ask(ALL, 12)
            fault = proxy.faults.add(link={"between": ["a", "b"]}, effect={"cut": True})
            assert await cut.is_hung_up()
            assert len((await kept.ask(ALL, 12)).brokers) == 3
            fault.remove()
        async with WireClient(across) as client:
            assert len((await client.ask(ALL, 12)).brokers) == 3
        assert all(broker.is_running for broker in real.state.brokers.values())


async def test_a_fault_ends_the_call_whose_turn_it_is_and_the_real_broker_hears_nothing_of_it():
    async with proxied(topics={TOPIC: 1}) as (real, proxy):
        proxy.faults.add(match={"api": "Produce"}, effect={"disconnect": True}, when={"on_call": 2})
        proxy.faults.add(match={"api": "Fetch"}, effect={"throttle_ms": 40}, when={"every": 2})
        async with WireClient(address(proxy)) as client:
            assert [(await client.ask(fetch_request(), 12)).throttle_time_ms for _ in range(4)] == [0, 40, 0, 40]
            await client.ask(produce_request(batch(b"a")), 12)
            client.send(produce_request(batch(b"b")), 12)
            assert await client.is_hung_up()
        assert real.state.topics[TOPIC].partitions[0].log.end_offset == 1


async def test_a_silenced_call_is_put_down_as_dropped_once_its_client_has_left():
    async with proxied(topics={TOPIC: 1}) as (_, proxy):
        silence = proxy.faults.add(match={"api": "Fetch"}, effect={"silence": True})
        async with WireClient(address(proxy)) as client:
            client.send(fetch_request(), 12)
            await until(lambda: silence.fired, "the fetch")
        await until(lambda: len(proxy.journal), "the end of the fetch")
        (entry,) = proxy.journal
        assert (entry.ending, entry.faults, proxy.engine.parked_calls) == ("dropped", (silence.id,), 0)
