"""The control API's server: it lives in the cluster's loop, bounds what strangers take, and ends cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from typing import Any

import httpx
import pytest

from mockbroker.adapters.control import ControlServer, bodies, long_answers, server
from mockbroker.adapters.control.cluster_json import PARTITIONS_A_PIECE, encode_cluster
from tests.plain_http import PLAIN_HTTP
from tests.progress import until, while_it_works
from tests.serve_process import serve_here


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_stream_ends_with_the_server_on_either_loop_without_a_word(loop, capfd):
    rest = []

    def follow(ready):
        with httpx.stream("GET", f"{ready['control']}/events", timeout=None, **PLAIN_HTTP) as response:
            lines = response.iter_lines()
            assert next(lines) == "retry: 1000"
            assert httpx.post(f"{ready['control']}/shutdown", timeout=None, **PLAIN_HTTP).status_code == 202
            rest.extend(lines)

    assert serve_here(follow, "--control-port", "0", "--loop", loop, "--quiet") == 0
    assert rest  # the stream was read to its end
    assert capfd.readouterr() == ("", "")


async def test_it_starts_no_thread_and_leaves_signals_alone(cluster):
    threads = threading.active_count()
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    async with (
        ControlServer(cluster) as control,
        httpx.AsyncClient(base_url=control.url, timeout=None, **PLAIN_HTTP) as http,
    ):
        await http.get("/cluster")
        assert threading.active_count() == threads
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


@pytest.mark.parametrize("turns", range(6))
async def test_a_connection_that_is_being_accepted_when_it_closes_is_broken_off(cluster, turns: int):
    async with contextlib.AsyncExitStack() as stack:
        control = await stack.enter_async_context(ControlServer(cluster))
        with socket.create_connection(("127.0.0.1", control.port)) as sock:
            for _ in range(turns):  # of the loop: it sees the connection, makes a transport of it, tells of it
                await asyncio.sleep(0)
            await stack.aclose()
            sock.setblocking(False)
            async with while_it_works("the end of the connection"):
                with contextlib.suppress(ConnectionResetError):
                    assert await asyncio.get_running_loop().sock_recv(sock, 1) == b""


async def test_a_client_in_the_midst_of_a_request_does_not_keep_it_from_closing(cluster):
    async with ControlServer(cluster) as control:
        reader, writer = await asyncio.open_connection("127.0.0.1", control.port)
        writer.write(b"POST /brokers/1/lag HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{")
        async with httpx.AsyncClient(base_url=control.url, timeout=None, **PLAIN_HTTP) as http:
            await http.get("/healthz")  # by now the other's head has come
    assert await reader.read() == b""
    writer.close()


async def test_a_port_that_is_taken_is_an_error_of_the_system(cluster, control):
    with pytest.raises(OSError, match=r"address already in use|Address already in use"):
        await ControlServer(cluster, port=control.port).__aenter__()


async def test_ipv6_has_its_brackets(cluster):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no ::1")
    async with ControlServer(cluster, host="::1") as control, httpx.AsyncClient(timeout=None, **PLAIN_HTTP) as http:
        assert control.url == f"http://[::1]:{control.port}"
        assert (await http.get(f"{control.url}/healthz")).status_code == 200


def asks_and_does_not_read(port: int) -> socket.socket:
    """Somebody whose socket takes a few thousand bytes of an answer of some hundred thousand, and no more."""
    asking = socket.socket()
    asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    asking.connect(("127.0.0.1", port))
    asking.sendall(b"GET /topics/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return asking


def unread(control: ControlServer) -> list[Any]:
    """The connections that do not read the answer they are given."""
    return [one for one in control._connections.connections if one.flow.write_paused]


async def test_answers_that_nobody_reads_have_a_bound_and_an_end(cluster, monkeypatch):
    monkeypatch.setattr(long_answers, "MAX_HELD_BYTES", 1000)
    cluster.create_topic("large", 5_000)
    async with (
        ControlServer(cluster) as control,
        httpx.AsyncClient(base_url=control.url, timeout=None, **PLAIN_HTTP) as http,
    ):
        control._server.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # connections inherit it
        whole = await http.get("/topics/large")
        assert len(whole.json()["partitions"]) == 5_000
        with asks_and_does_not_read(control.port):
            await until(lambda: unread(control), "an answer that is not read")
            refused = await http.get("/topics/large")
            with monkeypatch.context() as impatient:
                impatient.setattr(server, "IDLE_S", 0.05)
                unread(control)[0]._give_up()  # this one is looked at now, and again so much later
                await until(lambda: not control.long_answers.held_bytes, "the end of the connection that does not read")
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert f"this one of {len(whole.content)} bytes has no room" in refused.json()["detail"]
        assert (await http.get("/topics/large")).content == whole.content


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"])
async def test_a_connection_whose_request_does_not_come_is_closed(cluster, monkeypatch, begun):
    monkeypatch.setattr(server, "IDLE_S", 0.05)
    async with ControlServer(cluster) as control:
        reader, writer = await asyncio.open_connection("127.0.0.1", control.port)
        writer.write(begun)
        async with while_it_works("the end of a connection that says nothing"):
            assert await reader.read() == b""
        writer.close()


async def test_more_connections_than_so_many_are_not_taken(cluster, control, monkeypatch):
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)
    first = [await asyncio.open_connection("127.0.0.1", control.port) for _ in range(2)]
    reader, writer = await asyncio.open_connection("127.0.0.1", control.port)
    async with while_it_works("the end of the third connection"):
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
    for _, open_writer in (*first, (reader, writer)):
        open_writer.close()
    await until(lambda: not control._connections.connections, "the end of the others")
    async with httpx.AsyncClient(base_url=control.url, timeout=None, **PLAIN_HTTP) as http:
        assert (await http.get("/healthz")).status_code == 200


async def test_a_body_that_does_not_come_is_waited_for_no_longer_than_its_time(cluster, control, monkeypatch):
    monkeypatch.setattr(bodies, "MAX_SECONDS", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", control.port)
    writer.write(b"POST /brokers/1/lag HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{")
    async with while_it_works("the answer"):
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"got 1 bytes of it" in answer
    writer.close()


async def test_a_body_that_is_too_large_is_read_to_its_end_so_that_the_client_gets_its_answer(http):
    response = await http.post("/brokers/1/lag", content=b" " * (1 << 22))
    assert (response.status_code, response.headers["content-type"]) == (413, "application/problem+json")
    assert (await http.get("/healthz")).status_code == 200


async def test_a_body_without_end_is_cut_off(control):
    _, writer = await asyncio.open_connection("127.0.0.1", control.port)
    writer.write(b"POST /brokers/1/lag HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"%x\r\n%s\r\n" % (1 << 20, b" " * (1 << 20))

    async def send_all() -> None:
        for _ in range(4 * bodies.MAX_DISCARDED >> 20):
            writer.write(piece)
            await writer.drain()

    with pytest.raises(ConnectionError):
        await send_all()
    writer.close()


async def test_a_large_cluster_is_told_while_clients_are_served(http, cluster):
    """Between two pieces of /cluster whoever else is ready has its turn."""
    cluster.create_topic("large", 5000, 2)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    encoded = await encode_cluster(cluster.state)
    task.cancel()
    assert turns >= 5000 // PARTITIONS_A_PIECE
    assert len(encoded) > 5000 * 50
    shown = (await http.get("/topics/large")).json()
    assert [one["partition"] for one in shown["partitions"]] == list(range(5000))
