"""The one way to real brokers, and who takes it: brokers tell clients of doors, which lead to them.

Whoever comes by a door is looked up among the sockets of this process, as the kernel lists them: a connection that is
none of them is somebody else's.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

OPEN_FILES, CONNECTIONS = Path("/proc/self/fd"), Path("/proc/self/net/tcp")
LOCAL, INODE = 1, 9
"""Places in a line of /proc/net/tcp."""
SOME_BYTES = 1 << 16


class Doors:
    """Who has come: ``own`` counts the connections of this process, ``strangers`` has the addresses of others.

    Whoever comes is looked up as soon as the system says so. A connection of this process is still there then: the
    event loop that would close it is the one that looks.
    """

    def __init__(self) -> None:
        self.own = 0
        self.strangers: list[str] = []
        self._passing: set[asyncio.Task[None]] = set()

    def came(self, listener: socket.socket, port: int) -> None:
        """Put down whose connection has come, and let it through to the broker that listens at a port."""
        try:
            accepted, (host, own_port) = listener.accept()
        except OSError:  # it has gone already
            return
        if own_port in ports_of_this_process():
            self.own += 1
        else:
            self.strangers.append(f"{host}:{own_port}")
        self._do(self._pass_on(accepted, port))

    async def close(self) -> None:
        """End what still passes."""
        while self._passing:
            for task in self._passing:
                task.cancel()
            await asyncio.gather(*self._passing, return_exceptions=True)

    async def _pass_on(self, accepted: socket.socket, port: int) -> None:
        accepted.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=accepted)
        try:
            onward_reader, onward = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        self._do(copied(reader, onward))
        self._do(copied(onward_reader, writer))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)


@asynccontextmanager
async def doors_to(brokers: Mapping[int, int]) -> AsyncIterator[Doors]:
    """Doors at these ports, each leading to the port that a broker listens at."""
    doors, loop = Doors(), asyncio.get_running_loop()
    listeners = []
    try:
        for at, port in brokers.items():
            listener = socket.create_server(("127.0.0.1", at), backlog=1000)
            listener.setblocking(False)
            listeners.append(listener)
            loop.add_reader(listener, doors.came, listener, port)
        yield doors
    finally:
        for listener in listeners:
            loop.remove_reader(listener)
            listener.close()
        await doors.close()


async def copied(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Move bytes until one side ends."""
    try:
        with suppress(OSError):
            while data := await source.read(SOME_BYTES):
                sink.write(data)
                await sink.drain()
    finally:
        sink.close()


def ports_of_this_process() -> set[int]:
    """The local ports of its TCP connections over IPv4."""
    inodes = set()
    for entry in OPEN_FILES.iterdir():
        with suppress(OSError):  # it was closed meanwhile
            kind, _, inode = str(entry.readlink()).partition(":")
            if kind == "socket":
                inodes.add(inode.strip("[]"))
    lines = (line.split() for line in CONNECTIONS.read_text(encoding="ascii").splitlines()[1:])
    return {int(line[LOCAL].rpartition(":")[2], 16) for line in lines if line[INODE] in inodes}
