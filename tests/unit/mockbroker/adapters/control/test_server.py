"""The control API's server: it lives in the cluster's loop, bounds what strangers take, and ends cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading

import httpx
import pytest

from mockbroker.adapters.control import ControlServer, bodies, server
from tests.plain_http import PLAIN_HTTP
from tests.progress import while_it_works
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
    printed, complaints = capfd.readouterr()
    # clients of earlier tests that nobody has collected yet look for their clusters from threads of librdkafka
    assert (printed, [line for line in complaints.splitlines() if "rdkafka#" not in line]) == ("", [])


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


async def test_a_body_that_does_not_come_is_waited_for_no_longer_than_its_time(cluster, control, monkeypatch):
    monkeypatch.setattr(bodies, "MAX_SECONDS", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", control.port)
    writer.write(b"POST /brokers/1/lag HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{")
    async with while_it_works("the answer"):
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"got 1 bytes of it" in answer
    writer.close()


async def test_connections_that_send_no_request_make_room(cluster, monkeypatch):
    monkeypatch.setattr(server, "FIRST_REQUEST_S", 0.01)
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)
    async with ControlServer(cluster) as control:
        silent = [await asyncio.open_connection("127.0.0.1", control.port) for _ in range(3)]
        silent[1][1].write(b"GET /healthz HTTP/1.1\r\n")  # a head that never ends
        assert await silent[0][0].read() == await silent[2][0].read() == b""
        with contextlib.suppress(ConnectionResetError):  # the end of the connection may cross the head
            assert await silent[1][0].read() == b""
        monkeypatch.setattr(server, "FIRST_REQUEST_S", 60)
        async with httpx.AsyncClient(timeout=None, **PLAIN_HTTP) as client:
            assert (await client.get(f"{control.url}/healthz")).status_code == 200
        for _, writer in silent:
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
