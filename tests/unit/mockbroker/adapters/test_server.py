from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections import Counter
from contextlib import suppress

import pytest
import uvloop

import protocol
from kafka_rack.locality import RackRules
from mockbroker import MockCluster
from mockbroker.adapters import served_cluster
from mockbroker.adapters.sockets import ClientProtocol
from mockbroker.state.errors import ApiError
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from tests.progress import until, while_it_works
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request, values
from tests.unit.mockbroker.wire_client import WireClient

METADATA = MetadataRequest(topics=None)
MANY_FRAMES = 100


def address(cluster: MockCluster, broker: int) -> str:
    return cluster.bootstrap_servers.split(",")[broker]


async def test_each_broker_listens_on_a_port_of_its_own_and_tells_all_of_them():
    async with MockCluster(brokers=4, racks=("a", "b")) as cluster:
        for broker in range(4):
            async with WireClient(address(cluster, broker)) as client:
                response = await client.ask(METADATA, 12)
                told = [f"{one.host}:{one.port}" for one in response.brokers]
                assert ",".join(told) == cluster.bootstrap_servers
                assert [one.rack for one in response.brokers] == ["a", "b", "a", "b"]


async def test_clients_are_where_the_racks_file_has_their_address_in_forks_too():
    rules = RackRules.read("b@127.0.0.0/8", "racks")
    async with MockCluster(client_racks=rules) as cluster, cluster.fork() as fork:
        for one in (cluster, fork):
            async with WireClient(address(one, 0)) as client:
                await client.ask(METADATA, 12)
            (entry,) = one.journal
            assert (entry.client_rack, entry.client_rack_source, entry.locality) == ("b", "racks_file", "cross")


async def test_records_travel_from_a_producer_to_a_waiting_consumer():
    async with (
        MockCluster(topics={TOPIC: 1}) as cluster,
        WireClient(address(cluster, 0)) as consumer,
        WireClient(address(cluster, 0)) as producer,
    ):
        consumer.send(fetch_request(max_wait_ms=8000), 12)
        await producer.ask(produce_request(batch(b"a")), 12)
        response = await consumer.answer(1, 12)
        assert values(response.responses[0].partitions[0].records) == [b"a"]


async def test_a_fetch_that_waits_is_answered_when_its_time_is_over():
    async with MockCluster(topics={TOPIC: 1}) as cluster, WireClient(address(cluster, 0)) as client:
        sent_ms = cluster.now_ms()  # by the cluster's clock, as that is what the wait is measured with
        response = await client.ask(fetch_request(max_wait_ms=80), 12)
        assert response.responses[0].partitions[0].records == b""
        assert cluster.now_ms() >= sent_ms + 80


async def test_a_stopped_broker_hangs_up_refuses_and_leaves_the_metadata():
    async with (
        MockCluster() as cluster,
        WireClient(address(cluster, 1)) as client,
        WireClient(address(cluster, 0)) as other,
    ):
        await client.ask(METADATA, 12)
        assert await cluster.stop_broker(1)
        assert await client.is_hung_up()
        with pytest.raises(ConnectionRefusedError):
            await WireClient(address(cluster, 1)).__aenter__()
        assert [one.node_id for one in (await other.ask(METADATA, 12)).brokers] == [0, 2]
        assert not await cluster.stop_broker(1)


@pytest.mark.parametrize("new_event_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_the_end_of_a_connection_comes_before_the_answer_to_the_stop(new_event_loop):
    """kafkajs never ends a request that it writes to a connection whose end it has not seen yet."""

    async def stop() -> bytes:
        async with MockCluster() as cluster:
            host, port = address(cluster, 1).split(":")
            with socket.create_connection((host, int(port))) as sock:
                await until(lambda: cluster.connections()[1] == 1, "the connection")
                await cluster.stop_broker(1)
                sock.setblocking(False)
                return sock.recv(1)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert runner.run(stop()) == b""


@pytest.mark.parametrize("turns", range(6))
async def test_a_connection_that_is_being_accepted_when_its_broker_stops_is_broken_off(turns: int):
    async with MockCluster() as cluster:
        host, port = address(cluster, 1).split(":")
        with socket.create_connection((host, int(port))) as sock:
            for _ in range(turns):  # of the loop: it sees the connection, makes a transport of it, tells of it
                await asyncio.sleep(0)
            assert await cluster.stop_broker(1)
            sock.setblocking(False)
            async with while_it_works("the end of the connection"):
                with suppress(ConnectionResetError):
                    assert await asyncio.get_running_loop().sock_recv(sock, 1) == b""


async def test_a_command_takes_place_at_the_present_time_however_long_nothing_has_happened(monkeypatch):
    async with MockCluster() as cluster:
        later = cluster.now_ms() + 3_600_000
        monkeypatch.setattr(cluster, "now_ms", lambda: later)
        assert cluster._change(lambda state, now_ms: (state.now_ms, now_ms)) == (later, later)


@pytest.mark.parametrize("kind", ["topics", "diskless_topics"])
async def test_a_broker_that_stops_says_at_once_that_it_leads_no_more(monkeypatch, kind):
    monkeypatch.setattr(served_cluster, "LAST_ANSWERS_S", 3600.0)
    async with MockCluster(2, **{kind: {TOPIC: 1}}) as cluster, WireClient(address(cluster, 0)) as client:
        await client.ask(METADATA, 12)  # it is busy
        stopping = asyncio.create_task(cluster.stop_broker(0))
        await until(lambda: not cluster.state.brokers[0].is_running, "the stop")
        response = await client.ask(produce_request(batch(b"a")), 12)
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert [broker.node_id for broker in (await client.ask(METADATA, 12)).brokers] == [1]
        stopping.cancel()


async def test_a_started_broker_is_back_on_its_port():
    async with MockCluster() as cluster:
        before = cluster.bootstrap_servers
        await cluster.stop_rack("b")
        assert await cluster.start_rack("b") == [1]
        assert cluster.bootstrap_servers == before
        async with WireClient(address(cluster, 1)) as client:
            assert len((await client.ask(METADATA, 12)).brokers) == 3
        assert not await cluster.start_broker(1)


async def test_a_stopped_brokers_port_is_kept_for_it():
    async with MockCluster() as cluster:
        port = cluster.state.brokers[1].port
        await cluster.stop_broker(1)
        with socket.socket() as thief, pytest.raises(OSError, match="in use"):
            thief.bind(("127.0.0.1", port))


async def test_records_appended_before_a_stop_have_their_answers():
    async with MockCluster(topics={TOPIC: 1}) as cluster, WireClient(address(cluster, 0)) as client:
        await client.ask(METADATA, 12)
        sent = 200
        for place in range(sent):
            client.send(produce_request(batch(b"%d" % place)), 12)
        await client.writer.drain()
        await asyncio.sleep(0)
        await cluster.stop_broker(0)
        answered = 0
        try:
            while True:
                response = await client.answer(0, 12)
                answered += response.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        except asyncio.IncompleteReadError:
            pass
        assert answered == cluster.state.topics[TOPIC].partitions[0].log.end_offset


async def test_a_rack_listener_makes_its_clients_members_of_that_rack():
    async with MockCluster(
        brokers=6, racks=("a", "b", "c"), diskless_topics={"events": 1}, listener_per_rack=True
    ) as cluster:
        for rack, brokers in (("a", {0, 3}), ("b", {1, 4}), ("c", {2, 5})):
            bootstrap = cluster.bootstrap_servers_for(rack).split(",")
            assert len(bootstrap) == 6
            async with WireClient(bootstrap[0]) as client:
                leaders = set()
                for _ in range(4):
                    response = await client.ask(METADATA, 12)
                    assert [f"{one.host}:{one.port}" for one in response.brokers] == bootstrap
                    leaders.add(response.topics[0].partitions[0].leader_id)
                assert leaders == brokers
        racks = Counter(entry.client_rack for entry in cluster.journal)
        assert racks == {"a": 4, "b": 4, "c": 4}


async def test_bad_input_costs_its_sender_the_connection_and_nobody_else():
    async with MockCluster() as cluster, WireClient(address(cluster, 0)) as witness:
        for bad in (b"\x7f\xff\xff\xff", b"\0\0\0\x08\x03\xe7\0\0\0\0\0\0", b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\0"):
            async with WireClient(address(cluster, 0)) as sender:
                sender.writer.write(bad)
                assert await sender.is_hung_up()
            request = ApiVersionsRequest(client_software_name="witness", client_software_version="1")
            assert (await witness.ask(request, 3)).api_keys


async def test_many_requests_written_at_once_are_all_answered_in_order():
    async with MockCluster(topics={TOPIC: 3}) as cluster, WireClient(address(cluster, 0)) as client:
        for _ in range(500):
            client.send(METADATA, 12)
        for _ in range(500):
            assert (await client.answer(3, 12)).topics[0].name == TOPIC


async def test_a_client_that_says_it_sends_no_more_has_all_its_answers():
    async with MockCluster(topics={TOPIC: 3}) as cluster, WireClient(address(cluster, 0)) as client:
        for _ in range(MANY_FRAMES):
            client.send(METADATA, 12)
        client.writer.write_eof()
        for _ in range(MANY_FRAMES):
            assert (await client.answer(3, 12)).topics[0].name == TOPIC
        assert await client.is_hung_up()


async def test_a_connection_is_closed_though_its_client_broke_off_in_the_same_moment():
    async with MockCluster(racks=("a", "b", "c")) as cluster:
        host, port = address(cluster, 0).rsplit(":", 1)
        with socket.create_connection((host, int(port))) as client:
            await until(lambda: any(node.clients for node in cluster._nodes.values()), "the connection")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it ends by a reset
        (protocol,) = (one for node in cluster._nodes.values() for one in node.clients)
        protocol.close(linger=True)  # before the loop has heard of the reset
        await until(lambda: not any(node.clients for node in cluster._nodes.values()), "the end of the connection")
        assert not cluster.engine.path.connections
        assert await cluster.stop_rack("a") == [0]


async def test_the_system_takes_no_more_of_an_answer_than_it_is_told_to():
    settings = {"socket.send.buffer.bytes": 102_400}
    async with (
        MockCluster(brokers=1, topics={TOPIC: 1}, settings=settings) as cluster,
        WireClient(address(cluster, 0)) as producer,
    ):
        for _ in range(16):
            await producer.ask(produce_request(batch(bytes(1_000_000))), 12)
        with socket.create_connection((producer.host, producer.port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wanted = fetch_request(max_bytes=32_000_000, partition_max_bytes=32_000_000)
            client.sendall(protocol.request_frame(wanted, 12, correlation_id=1, client_id=None))
            clients = cluster._nodes[0].clients
            await until(lambda: any(one._is_unwritten for one in clients), "an answer that is not read")
            (unsent,) = (one.transport.get_write_buffer_size() for one in clients if one._is_unwritten)
            assert 15_000_000 < unsent < 16_000_000


async def test_what_a_client_sent_that_has_gone_since_is_done_all_the_same():
    async with MockCluster(topics={TOPIC: 1}) as cluster:
        async with WireClient(address(cluster, 0)) as client:
            for _ in range(MANY_FRAMES):
                client.send(produce_request(batch(b"a"), acks=0), 12)
        log = cluster.state.topics[TOPIC].partitions[0].log
        await until(lambda: log.end_offset == MANY_FRAMES, "all records")
        await until(lambda: not cluster.engine.path.connections, "the end of the connection")
        assert log.end_offset == MANY_FRAMES


async def test_a_client_that_reads_nothing_is_not_read_from_without_end(monkeypatch):
    paused = asyncio.Event()

    def pause_writing(protocol: ClientProtocol) -> None:
        original(protocol)
        assert not protocol.transport.is_reading()
        paused.set()

    original = ClientProtocol.pause_writing
    monkeypatch.setattr(ClientProtocol, "pause_writing", pause_writing)
    async with MockCluster(topics={TOPIC: 1}) as cluster, WireClient(address(cluster, 0)) as client:
        await client.ask(produce_request(batch(b"x" * 900_000)), 12)
        for _ in range(60):
            client.send(fetch_request(), 12)
        async with while_it_works("a pause in reading"):
            await paused.wait()
        for _ in range(60):
            response = await client.answer(1, 12)
            assert len(response.responses[0].partitions[0].records) > 900_000


async def test_a_cluster_starts_quickly_inside_a_running_process():
    async with MockCluster() as cluster, WireClient(address(cluster, 0)) as client:
        await client.ask(METADATA, 12)  # everything is imported and compiled
    started = []
    for _ in range(5):
        before = time.process_time()  # what others do on this machine costs none of it
        async with MockCluster(topics={TOPIC: 6}):
            started.append(time.process_time() - before)
    assert min(started) < 0.05


async def test_a_port_that_is_taken_is_named_and_nothing_stays_bound():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
            await MockCluster(brokers=1, port=port).start()


async def test_clients_are_not_told_every_address():
    async with MockCluster(brokers=1, host="0.0.0.0") as cluster, WireClient(address(cluster, 0)) as client:
        assert cluster.bootstrap_servers == f"127.0.0.1:{cluster.state.brokers[0].port}"
        assert [one.host for one in (await client.ask(METADATA, 12)).brokers] == ["127.0.0.1"]


async def test_topics_are_made_as_asked():
    async with MockCluster(
        topics={"one": 2, "two": (3, 2)}, diskless_topics={"events": 4}, settings={"num.partitions": 5}
    ) as cluster:
        cluster.create_topic("three")
        cluster.create_topic("more", 1, diskless=True)
        shapes = {
            name: (len(topic.partitions), topic.replication_factor, topic.diskless)
            for name, topic in cluster.state.topics.items()
        }
        assert shapes == {
            "one": (2, 3, False),
            "two": (3, 2, False),
            "events": (4, 0, True),
            "three": (5, 3, False),
            "more": (1, 0, True),
        }
        with pytest.raises(ApiError):
            cluster.create_topic("three")
