"""What goes past a transport: the same bytes in the same order, on every loop, and never past bytes that wait."""

from __future__ import annotations

import asyncio
import socket
import sys

import pytest

from mockbroker.proxy.adapters.direct_writes import DirectWriter

PIECES = [b"head", bytes(range(256)) * 4000, b"tail"]


async def written_and_read(number: int) -> tuple[bytes, bytes]:
    """What was written to one end of a socket, by turns through the writer and the transport, and what came."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    theirs.setblocking(False)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=ours)
    writer, expected, found = DirectWriter(transport), b"", b""
    for place in range(number):
        pieces = [b"%d" % place, *PIECES] if place % 2 else [b"%d" % place]
        writer.write(pieces)
        expected += b"".join(pieces)
    while len(found) < len(expected):
        found += await loop.sock_recv(theirs, 1 << 20)
    transport.close()
    theirs.close()
    return expected, found


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_bytes_arrive_in_their_order_though_the_system_takes_few_at_a_time(loop):
    factory = None if loop == "asyncio" else pytest.importorskip("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        expected, found = runner.run(written_and_read(6))
    assert found == expected


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not there")
def test_small_answers_are_written_before_the_turn_ends():
    new_event_loop = pytest.importorskip("uvloop").new_event_loop

    async def read_within_the_turn() -> bytes:
        ours, theirs = socket.socketpair()
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=ours)
        theirs.setblocking(False)
        DirectWriter(transport).write([b"now"])
        found = theirs.recv(10)
        transport.close()
        theirs.close()
        return found

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert runner.run(read_within_the_turn()) == b"now"


def test_a_socket_that_is_broken_is_told_of_by_its_transport():
    new_event_loop = pytest.importorskip("uvloop").new_event_loop

    async def told() -> Exception | None:
        ours, theirs = socket.socketpair()
        lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

        class Protocol(asyncio.Protocol):
            def connection_lost(self, error: Exception | None) -> None:
                lost.set_result(error)

        transport, _ = await asyncio.get_running_loop().create_connection(Protocol, sock=ours)
        theirs.close()
        DirectWriter(transport).write([b"to", b"nobody"])
        return await lost

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert isinstance(runner.run(told()), OSError | None)
