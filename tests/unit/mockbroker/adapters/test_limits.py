"""Limits on what clients take of a running cluster, over real sockets."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from mockbroker import MockCluster
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.metadata import MetadataRequest
from tests.progress import until
from tests.serve_process import serve_here
from tests.torture.target import Client, request_bytes
from tests.unit.mockbroker.handlers.records import TOPIC, batch, produce_request
from tests.unit.mockbroker.wire_client import WireClient


async def test_a_request_with_more_elements_than_are_allowed_ends_its_connection_with_a_sentence(caplog):
    settings = {"max.request.items": 1000}
    topics = [MetadataRequest.Topic(name=f"t{number}") for number in range(1001)]
    async with MockCluster(1, ("a",), settings=settings) as cluster:
        async with WireClient(cluster.bootstrap_servers) as client:
            answer = await client.ask(MetadataRequest(topics=topics[1:], allow_auto_topic_creation=False), 9)
            assert len(answer.topics) == 1000
            client.send(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9)
            assert await client.is_hung_up()
        (refused,) = (one for one in cluster.journal if one.ending == "closed")
        assert "its arrays have more than 1000 elements in all, the limit of max.request.items" in refused.reason
        assert refused.api == "Metadata"
    assert refused.reason in caplog.text


async def test_records_in_batches_are_no_elements_of_a_request():
    settings = {"max.request.items": 10}
    async with (
        MockCluster(1, ("a",), topics={TOPIC: (1, 1)}, settings=settings) as cluster,
        WireClient(cluster.bootstrap_servers) as client,
    ):
        answer = await client.ask(produce_request(batch(*[b"a"] * 1000)), 12)
        assert answer.responses[0].partition_responses[0].error_code == 0


async def test_what_a_controller_tells_its_brokers_is_not_counted():
    settings = {"max.request.items": 10, "inter.broker.protocol.version": "2.4"}
    async with (
        MockCluster(1, ("a",), topics={TOPIC: (50, 1)}, settings=settings) as cluster,
        WireClient(cluster.bootstrap_servers) as client,
    ):
        (topic,) = (await client.ask(MetadataRequest(topics=None), 8)).topics
        assert [one.leader_id for one in topic.partitions] == [0] * 50


async def test_connections_over_the_limit_are_closed_and_the_others_are_served():
    settings = {"max.connections.per.ip": 2}
    async with MockCluster(1, ("a",), settings=settings) as cluster, AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(WireClient(cluster.bootstrap_servers)) for _ in range(2)]
        for client in (first, second):
            assert (await client.ask(ApiVersionsRequest(), 0)).error_code == 0
        for _ in range(3):
            async with WireClient(cluster.bootstrap_servers) as refused:
                assert await refused.is_hung_up()
        assert (await first.ask(ApiVersionsRequest(), 0)).error_code == 0
        second.writer.close()
        await until(lambda: cluster.connections()[0] == 1, "the end of a connection", cluster.connections)
        async with WireClient(cluster.bootstrap_servers) as third:
            assert (await third.ask(ApiVersionsRequest(), 0)).error_code == 0


async def test_a_connection_over_the_limit_of_all_waits_for_another_to_end_and_is_served_then():
    async with MockCluster(1, ("a",), settings={"max.connections": 1}) as cluster, AsyncExitStack() as stack:
        first, second, third = [
            await stack.enter_async_context(WireClient(cluster.bootstrap_servers)) for _ in range(3)
        ]
        assert (await first.ask(ApiVersionsRequest(), 0)).error_code == 0
        for client in (second, third):
            client.send(ApiVersionsRequest(), 0)
        assert (await first.ask(ApiVersionsRequest(), 0)).error_code == 0
        assert cluster.connections()[0] == 1
        first.writer.close()
        assert (await second.answer(ApiVersionsRequest.api_key, 0)).error_code == 0
        second.writer.close()
        assert (await third.answer(ApiVersionsRequest.api_key, 0)).error_code == 0


OUTSIDE = {
    "listeners": "PLAINTEXT://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT",
}


def addresses_of(cluster: MockCluster) -> tuple[str, str]:
    """Of the listener between brokers, and of the other one."""
    inside, outside = (f"{one.host}:{one.port}" for one in cluster.state.brokers[0].listeners)
    return inside, outside


async def test_who_waits_at_one_listener_lets_those_of_the_other_one_in():
    settings = {**OUTSIDE, "listener.name.outside.max.connections": 1}
    async with MockCluster(1, settings=settings) as cluster, AsyncExitStack() as stack:
        inside, outside = addresses_of(cluster)
        first, second = [await stack.enter_async_context(WireClient(outside)) for _ in range(2)]
        assert (await first.ask(ApiVersionsRequest(), 0)).error_code == 0
        second.send(ApiVersionsRequest(), 0)
        async with WireClient(inside) as other:
            assert (await other.ask(ApiVersionsRequest(), 0)).error_code == 0
        await until(lambda: cluster.connections()[0] == 1, "the end of the other", cluster.connections)
        first.writer.close()
        assert (await second.answer(ApiVersionsRequest.api_key, 0)).error_code == 0


async def test_a_limit_that_is_raised_lets_those_in_who_wait_and_one_that_is_lowered_ends_the_most_silent():
    async with MockCluster(1, settings={**OUTSIDE, "max.connections": 1}) as cluster, AsyncExitStack() as stack:
        inside, outside = addresses_of(cluster)
        first, second = [await stack.enter_async_context(WireClient(outside)) for _ in range(2)]
        assert (await first.ask(ApiVersionsRequest(), 0)).error_code == 0
        second.send(ApiVersionsRequest(), 0)
        cluster.state.configs.write("broker", "", {"max.connections": "2"})
        assert (await second.answer(ApiVersionsRequest.api_key, 0)).error_code == 0
        cluster.state.configs.write("broker", "", {"max.connections": "1"})
        assert await first.is_hung_up()
        assert (await second.ask(ApiVersionsRequest(), 0)).error_code == 0
        async with WireClient(inside) as broker:
            assert (await broker.ask(ApiVersionsRequest(), 0)).error_code == 0
            assert await second.is_hung_up(), "brokers are let in, and others end for it"


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_what_a_connection_sends_while_it_waits_is_answered_once_it_is_taken(loop):
    def use(ready):
        address = ready["bootstrap_servers"]
        with Client(address) as first:
            assert first.ask(ApiVersionsRequest(), 0).error_code == 0
            second = Client(address)
            second.send(request_bytes(ApiVersionsRequest(), 0))
            assert first.ask(ApiVersionsRequest(), 0).error_code == 0
        with second:
            assert len(second.receive()) > 0

    assert serve_here(use, "--brokers", "1", "--loop", loop, "--set", "max.connections=1") == 0
