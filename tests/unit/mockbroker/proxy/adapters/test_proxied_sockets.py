"""What clients and real brokers do to each other through the proxy's sockets: leaving, standing still, moving."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from mockbroker import MockCluster
from mockbroker.proxy.adapters import clients, server
from mockbroker.proxy.adapters.clients import ProxiedClient
from mockbroker.proxy.adapters.server import KafkaProxy
from mockbroker.proxy.adapters.upstream import UpstreamSettings
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.classic_group import HeartbeatRequest
from protocol.apis.metadata import MetadataRequest
from protocol.framing import frame
from protocol.headers import read_response, request_frame
from tests.ports import free_ports
from tests.progress import until, while_it_works
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request
from tests.unit.mockbroker.proxy.adapters.test_proxy import ALL, address, proxied, settings_for
from tests.unit.mockbroker.wire_client import WireClient

RECORDS = 200
TURNS = 1000  # of the event loop


def end_offset(real: MockCluster) -> int:
    partition = real.state.topics[TOPIC].partitions[0]
    return partition.log.end_offset if partition.has_log else 0


def unanswered(number: int, size: int) -> bytes:
    """Produce requests with acks=0, one behind the other."""
    records = batch(bytes(size))
    return b"".join(
        request_frame(produce_request(records, acks=0), 9, correlation_id=one, client_id="test")
        for one in range(number)
    )


async def test_all_that_a_client_without_acks_has_written_arrives_where_it_leaves_at_once():
    async with proxied(topics={TOPIC: 1}) as (real, proxy):
        _, writer = await asyncio.open_connection(*address(proxy).split(":"))
        writer.write(unanswered(RECORDS, 20_000))
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        await until(lambda: end_offset(real) == RECORDS, "records")
        await until(lambda: not any(proxy.connections().values()), "the end of connections")
        assert end_offset(real) == RECORDS, "no record arrives twice"


@pytest.fixture
def reached(monkeypatch) -> asyncio.Event:
    """Until it is set, real brokers take their time with each connection."""
    reached, dial = asyncio.Event(), ProxiedClient._dial

    async def dial_later(client: ProxiedClient) -> None:
        await reached.wait()
        await dial(client)

    monkeypatch.setattr(ProxiedClient, "_dial", dial_later)
    return reached


NO_API = frame(bytes.fromhex("7fff 0000 00000001 0000"))


@pytest.mark.parametrize("last", [b"", NO_API], ids=["that leaves", "that is hung up on"])
async def test_a_client_without_acks_loses_nothing_while_the_real_broker_was_not_reached_yet(reached, last):
    async with proxied(topics={TOPIC: 1}) as (real, proxy):
        reader, writer = await asyncio.open_connection(*address(proxy).split(":"))
        writer.write(unanswered(RECORDS, 1000) + last)
        if last:
            assert await reader.read() == b"", "the proxy hangs up"
        writer.close()
        await until(lambda: sum(entry.api == "Produce" for entry in proxy.journal) == RECORDS, "requests")
        await until(lambda: proxy._nodes[0].adrift, "the client's end")
        assert end_offset(real) == 0
        reached.set()
        await until(lambda: end_offset(real) == RECORDS, "records")
        await until(lambda: not any(proxy.connections().values()), "the end of connections")
        await until(lambda: not proxy._nodes[0].adrift, "the end of what went on")


async def test_what_a_client_left_that_the_real_broker_never_took_is_forgotten_with_it(reached):
    async with proxied(topics={TOPIC: 1}) as (_, proxy):
        proxy.mirror.upstream[0] = proxy.mirror.upstream[0]._replace(port=free_ports(1)[0])
        reader, writer = await asyncio.open_connection(*address(proxy).split(":"))
        writer.write(unanswered(1, 1000) + NO_API)
        assert await reader.read() == b""
        writer.close()
        await until(lambda: proxy._nodes[0].adrift, "the client's end")
        reached.set()
        await until(lambda: not proxy._nodes[0].adrift, "the end of what went on")


async def test_a_client_that_closes_its_side_alone_ends_the_connection_to_the_real_broker():
    async with proxied(topics={TOPIC: 1}) as (real, proxy), WireClient(address(proxy)) as client:
        await client.ask(ALL, 12)
        client.send(fetch_request(max_wait_ms=600_000), 12)
        await until(lambda: real.engine.parked_calls == 1, "the fetch")
        client.writer.write_eof()
        assert await client.is_hung_up()
        await until(lambda: real.engine.parked_calls == 0, "the end of the fetch")
        await until(lambda: not any(proxy.connections().values()), "the end of the connection")
        assert [entry.ending for entry in proxy.journal] == ["answered", "dropped"]


async def test_a_client_that_sends_no_more_has_its_answers_however_long_they_take(monkeypatch):
    monkeypatch.setattr(clients, "LEFT_S", 0.0)

    async def answer_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.read(-1)
        for _ in range(TURNS):
            await asyncio.sleep(0)
        writer.write(frame(request[8:12] + b"answered"))
        writer.close()

    async with proxied(topics={TOPIC: 1}) as (_, proxy):
        late = await asyncio.start_server(answer_late, "127.0.0.1", 0)
        port = late.sockets[0].getsockname()[1]
        proxy.mirror.upstream[0] = proxy.mirror.upstream[0]._replace(port=port)
        async with late, WireClient(address(proxy)) as client:
            client.send(HeartbeatRequest(group_id="test"), 0)
            client.writer.write_eof()
            async with while_it_works("the answer"):
                assert (await client.reader.read())[8:] == b"answered"


@pytest.mark.parametrize(
    "begin", [b"GET / HTTP/1.1\r\n\r\n", bytes.fromhex("16030100f0010000ec0303")], ids=["HTTP", "TLS"]
)
async def test_who_speaks_something_else_is_hung_up_on_at_once(begin):
    async with proxied() as (_, proxy), WireClient(address(proxy)) as client:
        client.writer.write(begin)
        assert await client.is_hung_up()
        assert [entry.ending for entry in proxy.journal] == ["closed"]


@asynccontextmanager
async def standing_still():
    """A real broker that takes connections, and reads nothing of them."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)

        async def take() -> None:
            while True:
                sock, _ = await asyncio.get_running_loop().sock_accept(server)
                held.append(sock)

        task = asyncio.create_task(take())
        try:
            yield server.getsockname()[1], held
        finally:
            task.cancel()
            for sock in held:
                sock.close()


async def test_of_requests_that_the_real_broker_does_not_read_no_more_than_so_many_are_taken():
    async with proxied(brokers=1, topics={TOPIC: 1}) as (_, proxy), standing_still() as (port, held):
        node = proxy.mirror.upstream[0]
        proxy.mirror.upstream[0] = node._replace(port=port)
        _, writer = await asyncio.open_connection(*address(proxy).split(":"))
        writer.transport.set_write_buffer_limits(high=1 << 30)
        writer.write(unanswered(400, 50_000))
        await until(lambda: any(not one._reads for one in proxy._nodes[0].clients), "requests that wait")
        await asyncio.sleep(0.1)
        (there,) = proxy._nodes[0].clients
        assert there.connection.unread_bytes < 6 << 20
        assert writer.transport.get_write_buffer_size() > 0
        writer.transport.abort()
        for sock in held:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        await until(lambda: not any(proxy.connections().values()), "the end of connections")
        await until(lambda: not proxy._nodes[0].adrift, "the end of what went on")


async def test_an_answer_reaches_a_client_that_reads_late_as_the_real_broker_sent_it():
    async with proxied(brokers=1, topics={TOPIC: 1}) as (real, proxy):
        async with WireClient(address(real)) as direct:
            await direct.ask(produce_request(batch(bytes(range(256)) * 3500)), 9)
            said = [await frame_of(direct, fetch_request(), 12) for _ in range(2)]
        async with WireClient(address(proxy)) as client:
            for _ in range(20):
                client.send(fetch_request(), 12)
            await until(lambda: any(one._is_unwritten for one in proxy._nodes[0].clients), "an answer that waits")
            frames = [await read_frame(client) for _ in range(20)]
        assert {frame[4:] for frame in frames} == {said[0][4:]}
        assert [int.from_bytes(frame[:4]) for frame in frames] == list(range(1, 21))


async def frame_of(client: WireClient, request: Any, version: int) -> bytes:
    client.send(request, version)
    return await read_frame(client)


async def read_frame(client: WireClient) -> bytes:
    async with while_it_works("an answer"):
        return await client.reader.readexactly(int.from_bytes(await client.reader.readexactly(4)))


async def test_a_broker_that_moves_is_found_by_what_metadata_tells_and_keeps_its_listener():
    async with MockCluster(brokers=2) as first, KafkaProxy(settings_for(first)) as proxy:
        before = proxy.bootstrap_servers
        async with MockCluster(brokers=3) as moved:
            answer = await metadata_of(moved)
            proxy.mirror.learn(answer, 12)
            proxy.settle()
            await until(lambda: proxy._nodes[2].accepts, "the listener of a new broker")
            assert proxy.bootstrap_servers.split(",")[:2] == before.split(",")
            await first.close()
            for broker in range(3):
                async with WireClient(address(proxy, broker)) as client:
                    told = await client.ask(ALL, 12)
                    assert [f"{one.host}:{one.port}" for one in told.brokers] == proxy.bootstrap_servers.split(",")
            assert [entry.broker for entry in moved.journal if entry.client_id == "test"] == [0, 0, 1, 2]


async def test_a_broker_in_a_new_rack_brings_listeners_for_its_clients_to_all_brokers():
    async with (
        MockCluster(brokers=2, racks=("a", "b")) as first,
        KafkaProxy(settings_for(first), listener_per_rack=True) as proxy,
        MockCluster(brokers=3, racks=("a", "b", "c")) as larger,
    ):
        proxy.mirror.learn(await metadata_of(larger), 12)
        await until(lambda: all(len(broker.listeners) == 4 for broker in proxy.state.brokers.values()), "listeners")
        for place in proxy.bootstrap_servers_for("c").split(","):
            async with WireClient(place) as client:
                told = await client.ask(ALL, 12)
                assert ",".join(f"{one.host}:{one.port}" for one in told.brokers) == proxy.bootstrap_servers_for("c")
        assert {entry.client_rack for entry in proxy.journal} == {"c"}


def run_of_ports(number: int) -> tuple[int, int]:
    """The first two of so many ports in a row that nobody listens at."""
    while True:
        first = free_ports(1)[0]
        with ExitStack() as stack, suppress(OSError):
            for port in range(first + 1, first + number):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first, first + 1


async def test_a_new_broker_whose_port_is_anothers_gets_one_further_on():
    first, taken = run_of_ports(3)
    async with MockCluster(brokers=1) as real, KafkaProxy(settings_for(real), port=first) as proxy:
        with socket.create_server(("127.0.0.1", taken)):
            async with MockCluster(brokers=2) as larger:
                proxy.mirror.learn(await metadata_of(larger), 12)
                proxy.settle()
                await until(lambda: proxy._nodes[1].accepts, "the listener of the new broker")
                async with WireClient(address(proxy, 1)) as client:
                    told = await client.ask(ALL, 12)
        assert [one.port for one in told.brokers] == [first, taken + 1]


async def test_a_cluster_that_has_moved_as_a_whole_is_looked_for_as_soon_as_a_client_misses_it(monkeypatch):
    monkeypatch.setattr(server, "LOOK_S", 1e6)
    async with MockCluster(brokers=1) as first, MockCluster(brokers=1) as moved:
        places = [*settings_for(first).servers, *settings_for(moved).servers]
        async with KafkaProxy(UpstreamSettings(servers=places, timeout_s=5.0)) as proxy:
            await first.close()
            async with WireClient(address(proxy)) as client:
                client.send(ALL, 12)
                assert await client.is_hung_up()
            await until(lambda: settings_for(moved).servers == [proxy.mirror.upstream[0]], "the new address")
            await until(lambda: proxy._nodes[0].accepts, "clients to be let in again")
            async with WireClient(address(proxy)) as client:
                assert len((await client.ask(ALL, 12)).brokers) == 1


async def metadata_of(cluster: MockCluster) -> Any:
    async with WireClient(address(cluster)) as client:
        return await client.ask(MetadataRequest(topics=None), 12)


async def test_a_broker_that_is_gone_for_good_keeps_its_listener_and_counts_as_away():
    async with (
        MockCluster(brokers=3) as first,
        MockCluster(brokers=2) as smaller,
        KafkaProxy(settings_for(first)) as proxy,
    ):
        proxy.mirror.learn(await metadata_of(smaller), 12)
        assert [broker.id for broker in proxy.state.liveness.online_brokers] == [0, 1]
        async with WireClient(address(proxy, 2)) as client:  # somebody has an old answer, and the broker may be back
            assert len((await client.ask(ALL, 12)).brokers) == 3


async def test_clients_wait_for_a_broker_that_is_slow_to_take_connections_and_are_told_where_it_never_does():
    async with proxied(brokers=1) as (_, proxy), standing_still() as (port, _):
        proxy.upstream = proxy._nodes[0].upstream = replace(proxy.upstream, timeout_s=0.05)
        proxy.mirror.upstream[0] = proxy.mirror.upstream[0]._replace(host="240.0.0.1", port=port)
        async with WireClient(address(proxy)) as client:
            client.send(ApiVersionsRequest(), 3)
            assert await client.is_hung_up()
        assert proxy._nodes[0].problem is not None


async def test_idle_clients_end_with_the_real_brokers_connection():
    async with proxied(brokers=1, settings={"connections.max.idle.ms": 1}) as (real, proxy):
        async with WireClient(address(proxy)) as client:
            await client.ask(ALL, 12)
            for connection in list(real.engine.path.connections):
                connection.end_if_late(real.now_ms() + 10)
            assert await client.is_hung_up()
        await until(lambda: not any(proxy.connections().values()), "the end of the connection")


async def test_what_the_real_cluster_acknowledged_before_the_end_is_passed_on():
    async with proxied(brokers=1, topics={TOPIC: 1}) as (real, proxy):
        async with WireClient(address(proxy)) as client:
            await client.ask(ALL, 12)
            for _ in range(RECORDS):
                client.send(produce_request(batch(b"a")), 9)
            await client.writer.drain()
            await until(lambda: end_offset(real) > 0, "the first record")
            await proxy.finish(30.0)
            await proxy.close()
            data = b""
            async with while_it_works("the end"):
                data = await client.reader.read()
        acknowledged = set()
        while data:
            size = int.from_bytes(data[:4])
            _, answer = read_response(data[4 : 4 + size], 0, 9)
            acknowledged.add(answer.responses[0].partition_responses[0].base_offset)
            data = data[4 + size :]
        assert acknowledged == set(range(end_offset(real)))


LARGE = batch(*(bytes([65 + n]) * 300_000 for n in range(3)))


async def test_large_requests_and_answers_come_through_byte_by_byte_as_they_were_sent():
    async with proxied(topics={TOPIC: 1}) as (_, proxy), WireClient(address(proxy)) as client:
        for _ in range(3):
            client.send(produce_request(LARGE), 12)
        for offset in (0, 3, 6):
            answer = await client.answer(0, 12)
            assert answer.responses[0].partition_responses[0].base_offset == offset
        client.send(fetch_request(3, max_bytes=1 << 21, partition_max_bytes=1 << 21), 12)
        client.send(ALL, 12)
        fetched = await client.answer(1, 12)
        records = fetched.responses[0].partitions[0].records
        assert (len(records), records[21:].count(LARGE[21:])) == (2 * len(LARGE), 2)
        assert len((await client.answer(3, 12)).brokers) == 3


def test_large_requests_and_answers_come_through_in_a_thread_with_the_loop_that_is_quickest_and_through_tls(tmp_path):
    with (
        MockCluster(topics={TOPIC: 1}) as real,
        KafkaProxy(real.bootstrap_servers) as proxy,
        KafkaProxy(real.bootstrap_servers, tls=True, security_dir=tmp_path) as sealed,
    ):
        trusted = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        for offset, (servers, tls) in enumerate(((proxy, None), (sealed, trusted))):
            answers = asyncio.run(written_and_read(address(servers), tls, 3 * offset))
            assert answers == (3 * offset, LARGE[21:])


async def written_and_read(server: str, tls: ssl.SSLContext | None, offset: int) -> tuple[int, bytes]:
    """The offset of a large batch, and the batch behind its checksum's start as it is read again."""
    async with WireClient(server, tls=tls) as client:
        written = await client.ask(produce_request(LARGE), 12)
        fetched = await client.ask(fetch_request(offset, max_bytes=1 << 21, partition_max_bytes=1 << 21), 12)
    await client.writer.wait_closed()  # TLS ends in several steps, and the loop ends with this
    return (
        written.responses[0].partition_responses[0].base_offset,
        fetched.responses[0].partitions[0].records[21:],
    )
