"""The control API's server: uvicorn's HTTP/1.1 on a socket of ours, in the cluster's own event loop.

Only uvicorn's protocol runs here, not its server: that one would take the process's signals, tick ten times a second
and end the process where a port is taken.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Self

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from mockbroker.adapters.control.access import ControlAccess
from mockbroker.adapters.control.app import control_app
from mockbroker.adapters.control.events import EventHub
from mockbroker.adapters.served_cluster import ServedCluster
from mockbroker.adapters.sockets import end_listening

logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # what strangers send is not worth a line

MAX_CONNECTIONS = 256  # each may bring a body; more are answered 503
MAX_HEAD_BYTES = 1 << 16
IDLE_S = 60  # of a connection between two requests
FIRST_REQUEST_S = 5.0  # for the head of a connection's first request, after which it makes room for others
LAST_ANSWERS_S = 0.3  # for answers that are under way when the server closes
CLOSING_S = 0.005  # between two looks for connections that have yet to end


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
        self._server: asyncio.Server | None = None
        self._connections = ServerState()

    @property
    def url(self) -> str:
        """The URL for people and programs on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - what is asked for
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    async def __aenter__(self) -> Self:
        """Listen. Raises OSError: an address that cannot be had."""
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
            timeout_keep_alive=IDLE_S,
            limit_concurrency=MAX_CONNECTIONS,
        )
        config.load()

        loop = asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            connection = H11Protocol(config, self._connections, {})
            loop.call_later(FIRST_REQUEST_S, close_if_silent, connection)
            return connection

        self._server = await loop.create_server(protocol, self.host, self.port, reuse_address=True)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening, end the streams of events, and let answers that are under way be read."""
        assert self._server is not None
        end_listening(self._server)
        self.events.close()
        for connection in list(self._connections.connections):
            connection.shutdown()
        if self._connections.tasks:
            await asyncio.wait(list(self._connections.tasks), timeout=LAST_ANSWERS_S)
        for task in list(self._connections.tasks):
            task.cancel()
        until_s = time.monotonic() + LAST_ANSWERS_S
        while True:  # those that were being accepted come in the first of these rounds
            for connection in list(self._connections.connections):
                connection.transport.close()
            await asyncio.sleep(CLOSING_S)
            if not self._connections.connections or time.monotonic() > until_s:
                return


def close_if_silent(connection: H11Protocol) -> None:
    """End a connection that has sent no request yet."""
    if getattr(connection, "cycle", None) is None:  # what uvicorn declares never to be None is until a request came
        connection.transport.close()
