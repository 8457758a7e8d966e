"""Limits on what clients take of a running cluster, over real sockets."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from mockbroker import MockCluster
from mockbroker.adapters import freed_memory
from mockbroker.adapters.freed_memory import GROWN_BYTES, MAX_PASSED_OVER, FreedMemory
from mockbroker.state.quotas.client_quotas import Alteration, alter_quotas
from protocol.apis.api_versions import ApiVersionsRequest
from tests.progress import until
from tests.serve_process import serve_here
from tests.torture.target import Client, request_bytes
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request
from tests.unit.mockbroker.wire_client import WireClient

STORED, BATCH_BYTES = 16, 1_000_000
LIMIT_BYTES = 2_000_000


async def filled(cluster):
    """The address of the one broker, whose topic holds 16 MB."""
    address = cluster.bootstrap_servers
    async with WireClient(address) as client:
        for _ in range(STORED):
            answer = await client.ask(produce_request(batch(bytes(BATCH_BYTES))), 12)
            assert answer.responses[0].partition_responses[0].error_code == 0
    return address


def fetch_all():
    request = fetch_request(max_bytes=1 << 30)
    request.topics[0].partitions[0].partition_max_bytes = 1 << 30
    return request


async def test_who_does_not_read_is_cut_off_when_all_answers_take_too_much_and_others_are_served():
    settings = {"queued.max.response.bytes": LIMIT_BYTES}
    async with MockCluster(1, ("a",), topics={TOPIC: (1, 1)}, settings=settings) as cluster, AsyncExitStack() as stack:
        address = await filled(cluster)
        slow = [await stack.enter_async_context(WireClient(address)) for _ in range(3)]
        for client in slow:
            client.writer.transport.pause_reading()
            client.send(fetch_all(), 12)
        unsent = cluster._runtime.unsent
        await until(lambda: unsent.total > LIMIT_BYTES, "the answers that nobody reads", lambda: unsent.total)
        await until(lambda: not unsent.is_over, "those who do not read to be cut off", lambda: unsent.total)
        await until(lambda: cluster.connections()[0] < len(slow), "the end of one", cluster.connections)
        async with WireClient(address) as good:
            assert (await good.ask(ApiVersionsRequest(), 0)).error_code == 0
            answer = await good.ask(fetch_all(), 12)
            assert len(answer.responses[0].partitions[0].records) > BATCH_BYTES
    await until(lambda: unsent.total == 0, "all of it to be given back", lambda: unsent.total)


async def test_while_much_is_unread_an_answer_has_less_records_but_one_batch_at_least():
    async with MockCluster(1, ("a",), topics={TOPIC: (1, 1)}) as cluster:
        address = await filled(cluster)
        async with WireClient(address) as client:
            cluster.state.answer_room_bytes = 2 * BATCH_BYTES + 1000
            answer = await client.ask(fetch_all(), 12)
            assert BATCH_BYTES < len(answer.responses[0].partitions[0].records) < 3 * BATCH_BYTES
            cluster.state.answer_room_bytes = 0
            answer = await client.ask(fetch_all(), 12)
            assert BATCH_BYTES < len(answer.responses[0].partitions[0].records) < 2 * BATCH_BYTES


async def test_requests_that_are_never_finished_are_cut_off_when_all_of_them_take_too_much():
    settings = {"queued.max.request.bytes": LIMIT_BYTES}
    async with MockCluster(1, ("a",), settings=settings) as cluster, AsyncExitStack() as stack:
        for _ in range(3):
            client = await stack.enter_async_context(WireClient(cluster.bootstrap_servers))
            client.writer.write((50 << 20).to_bytes(4, "big") + bytes(BATCH_BYTES))
        unfinished = cluster._runtime.unfinished
        await until(lambda: unfinished.is_over, "the requests", lambda: unfinished.total)
        await until(lambda: not unfinished.is_over, "one to be cut off", lambda: unfinished.total)
        await until(lambda: cluster.connections()[0] == 2, "the end of one", cluster.connections)
        async with WireClient(cluster.bootstrap_servers) as good:
            assert (await good.ask(ApiVersionsRequest(), 0)).error_code == 0
    assert unfinished.total == 0


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


async def test_connections_over_the_rate_are_taken_later(caplog):
    settings = {"max.connection.creation.rate": 1}
    async with MockCluster(1, ("a",), settings=settings) as cluster, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(WireClient(cluster.bootstrap_servers)) for _ in range(12)]
        for client in clients:
            client.send(ApiVersionsRequest(), 0)
        assert (await clients[0].answer(ApiVersionsRequest.api_key, 0)).error_code == 0
        assert "max.connection.creation.rate is 1" in caplog.text
        for client in clients[1:]:
            assert (await client.answer(ApiVersionsRequest.api_key, 0)).error_code == 0


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


async def test_an_address_that_sends_too_many_connections_a_second_is_hung_up_on_later():
    async with MockCluster(1) as cluster, AsyncExitStack() as stack:
        limit = Alteration({"ip": "127.0.0.1"}, [("connection_creation_rate", 1.0)])
        alter_quotas(cluster.state.writer, [limit])
        clients = [await stack.enter_async_context(WireClient(cluster.bootstrap_servers)) for _ in range(12)]
        for client in clients:
            client.send(ApiVersionsRequest(), 0)
        assert (await clients[0].answer(ApiVersionsRequest.api_key, 0)).error_code == 0
        assert await clients[-1].is_hung_up()


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


def test_memory_is_given_back_once_the_process_has_grown_and_then_from_time_to_time(monkeypatch):
    now = 100 << 20
    monkeypatch.setattr(freed_memory, "resident_bytes", lambda: now)
    freed = FreedMemory()
    assert not freed.give_back()
    now += GROWN_BYTES
    tried = [freed.give_back() for _ in range(MAX_PASSED_OVER + 3)]
    assert tried == [tried[0], *[False] * MAX_PASSED_OVER, tried[0], False]
