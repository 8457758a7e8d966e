"""The control API's server: uvicorn's HTTP/1.1 on a socket of ours, in the cluster's own event loop.

Only uvicorn's protocol runs here, not its server: that one would take the process's signals, tick ten times a second
and end the process where a port is taken.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, Self

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from mockbroker.adapters.control.access import ControlAccess
from mockbroker.adapters.control.app import control_app
from mockbroker.adapters.control.events import EventHub
from mockbroker.adapters.control.long_answers import LongAnswers
from mockbroker.adapters.listening import end_listening
from mockbroker.adapters.served_cluster import ServedCluster

log = logging.getLogger("mockbroker.control")
log.setLevel(logging.ERROR)

MAX_CONNECTIONS = 256  # each may bring a body, and wait a minute
MAX_HEAD_BYTES = 1 << 16
IDLE_S = 60.0
LAST_ANSWERS_S = 0.3  # for answers that are under way when the server closes


class ControlServer:
    """Serves the control API of one cluster; an async context manager. ``port`` is the one it has.

    Args:
        host: where to listen: loopback, unless others are to command the cluster.
        port: 0 for a free one.
        names: names besides ``localhost`` under which clients may ask for it, as in ``Host``.
        token: what clients have to show, as ``Authorization: Bearer``; without one none on loopback, and elsewhere
            one is made. ``access.token`` is the one in force. Raises ValueError: one that could be guessed.
        on_shutdown: called by ``POST /shutdown``; without it that is refused.
    """

    def __init__(
        self,
        cluster: ServedCluster,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        names: Iterable[str] = (),
        token: str | None = None,
        on_shutdown: Callable[[], None] | None = None,
    ) -> None:
        self.cluster, self.host, self.port, self.on_shutdown = cluster, host, port, on_shutdown
        self.access = ControlAccess(host, names, token)
        self.events = EventHub(cluster)
        self.long_answers = LongAnswers()
        self._server: asyncio.Server | None = None
        self._connections = ServerState()
        self._is_closed = False

    @property
    def url(self) -> str:
        """Where it is, for people and programs on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - what is asked for
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    async def __aenter__(self) -> Self:
        """Listen. Raises OSError: an address that cannot be had."""
        self._is_closed = False
        config = uvicorn.Config(
            control_app(self),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            timeout_keep_alive=int(IDLE_S),
        )
        config.load()

        def protocol() -> asyncio.Protocol:
            return PatientProtocol(config, self._connections, {}, is_closed=lambda: self._is_closed)

        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(protocol, self.host, self.port, reuse_address=True)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening, end the streams of events, and let answers that are under way be read."""
        assert self._server is not None
        self._is_closed = True
        end_listening(self._server)
        await self.events.close()
        for connection in list(self._connections.connections):
            connection.shutdown()
        if self._connections.tasks:
            await asyncio.wait(list(self._connections.tasks), timeout=LAST_ANSWERS_S)
        for task in list(self._connections.tasks):
            task.cancel()
        ends = []
        for connection in list(self._connections.connections):
            assert isinstance(connection, PatientProtocol)
            connection.transport.close()
            ends.append(connection.ended)
        await asyncio.sleep(0)
        if ends:
            await asyncio.wait(ends, timeout=LAST_ANSWERS_S)


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, which gives up a connection whose request does not come whole within a minute, or whose
    answer is not read for as long, and breaks off one that comes when the server ``is_closed``.

    ``ended`` is done once the connection has.
    """

    def __init__(self, *arguments: Any, is_closed: Callable[[], bool]) -> None:
        super().__init__(*arguments)
        self.logger = log  # what strangers send is not worth a line, what we get wrong is
        self._is_closed = is_closed
        self.ended: asyncio.Future[None] = self.loop.create_future()

    _look: asyncio.TimerHandle | None = None
    _last_cycle: Any = None
    _resumed = 0  # how often the client has read enough for more to be written
    _stood_still: int | None = None  # that number where at the last look nothing could be written

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS or self._is_closed():
            transport.abort()
            return
        self._look = self.loop.call_later(IDLE_S, self._give_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._resumed += 1

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self.ended.done():
            self.ended.set_result(None)
        if self._look is not None:
            self._look.cancel()

    def _give_up(self) -> None:
        """Close a connection that is being answered nothing, and has begun no request since this was last asked."""
        stands_still = self._resumed if self.flow.write_paused else None
        if stands_still is not None and stands_still == self._stood_still:
            self.transport.abort()  # nothing of an answer was read since the last look
            return
        self._stood_still = stands_still
        cycle: Any = self.cycle  # None before the first request
        if cycle is self._last_cycle and (cycle is None or cycle.response_complete):
            self.transport.close()
            return
        self._last_cycle = cycle
        self._look = self.loop.call_later(IDLE_S, self._give_up)
