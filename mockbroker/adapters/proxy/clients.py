"""The two sockets of a proxied connection: the client's, and the one to the real broker that is its own."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, cast

from mockbroker.adapters.proxy.upstream import UpstreamSettings, reason_of
from mockbroker.adapters.sockets import ClientProtocol, Node, Served
from mockbroker.core.proxy.connection import ProxyConnection
from mockbroker.core.proxy.path import ProxyPath, ProxySession
from mockbroker.state.brokers.broker import Broker, Listener

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.adapters.tls.contexts import TlsListener
    from mockbroker.core.connection import Connection
    from mockbroker.core.proxy.mirror import Mirror
    from mockbroker.session import Session

log = logging.getLogger("mockbroker")


class ProxyNode(Node):
    """The listeners of one real broker here."""

    def __init__(
        self, cluster: Served, broker: Broker, upstream: UpstreamSettings, mirror: Mirror, tls: dict[str, TlsListener]
    ) -> None:
        super().__init__(cluster, broker, tls)
        self.upstream, self.mirror = upstream, mirror
        self.problem: str | None = None
        """Why the real broker could not be reached last; None once it was."""

    def _protocol_factory(self, listener: Listener) -> Callable[[], ClientProtocol]:
        return partial(ProxyClientProtocol, self, listener)

    def unreachable(self, reason: str) -> None:
        """A client's connection to the real broker failed; it is told of once until one succeeds."""
        if self.problem != reason:
            self.problem = reason
            log.warning("broker %d cannot be reached: %s", self.broker.id, reason)

    def reached(self) -> None:
        """A connection to the real broker was made."""
        if self.problem is not None:
            log.warning("broker %d is reached again", self.broker.id)
            self.problem = None


class ProxyClientProtocol(ClientProtocol):
    """One client's socket, with a connection of its own to the real broker."""

    __slots__ = ("_dialling", "_upstream")

    def __init__(self, node: Node, listener: Listener) -> None:
        super().__init__(node, listener)
        self._upstream: UpstreamProtocol | None = None
        self._dialling: asyncio.Task[None] | None = None

    def _connection(self, session: Session) -> Connection:
        path = cast(ProxyPath, self.cluster.engine.path)
        connection = ProxyConnection(
            path, cast(ProxySession, session), on_output=self.flush, on_upstream=self.flush_upstream
        )
        self._dialling = asyncio.get_running_loop().create_task(self._dial(connection))
        return connection

    async def _dial(self, connection: ProxyConnection) -> None:
        """Connect to the real broker, wherever it is now."""
        node = cast(ProxyNode, self.node)
        address = node.mirror.upstream[node.broker.id]
        settings = node.upstream
        try:
            opening = asyncio.get_running_loop().create_connection(
                partial(UpstreamProtocol, self, connection),
                address.host,
                address.port,
                ssl=settings.tls,
                server_hostname=address.host if settings.tls is not None else None,
            )
            _, upstream = await asyncio.wait_for(opening, settings.timeout_s)
        except (OSError, UnicodeError) as error:  # TimeoutError is one
            reason = f"{address.host}:{address.port}: {reason_of(error)}"
            node.unreachable(reason)
            connection.upstream_closed(f"the real broker cannot be reached: {reason}", self.cluster.now_ms())
            self.flush()
        else:
            node.reached()
            self._upstream = upstream
            self.flush_upstream()
            if self.transport.is_closing():
                upstream.transport.close()  # behind what the client had sent before it left
        finally:
            self._dialling = None

    def flush_upstream(self) -> None:
        """Send on what there is, unless the real broker does not read."""
        upstream = self._upstream
        if upstream is None or upstream.is_paused or not hasattr(self, "connection"):
            return
        connection = cast(ProxyConnection, self.connection)
        if upstream.transport.is_closing():
            return
        pieces = connection.take_upstream()
        for piece in pieces:
            upstream.transport.write(piece)
        if pieces and connection.unread_bytes:
            asyncio.get_running_loop().call_soon(self._send_more)

    def _send_more(self) -> None:
        if not self.transport.is_closing():
            self.connection.go_on(self.cluster.now_ms())
            self.flush()

    def answered(self) -> None:
        """The real broker's bytes have been taken; what became of calls may wait for a time."""
        self.cluster.schedule()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._upstream is not None:
            self._upstream.transport.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._upstream is not None and not self._upstream.transport.is_closing():
            self._upstream.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        if self._upstream is not None:
            self._upstream.transport.close()
        elif self._dialling is not None and not cast(ProxyConnection, self.connection).has_unsent:
            self._dialling.cancel()


class UpstreamProtocol(asyncio.Protocol):
    """The socket to the real broker."""

    def __init__(self, client: ProxyClientProtocol, connection: ProxyConnection) -> None:
        self.client, self.connection = client, connection
        self.is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.connection.receive_upstream(data, self.client.cluster.now_ms())
        self.client.answered()

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False
        self.client.flush_upstream()

    def connection_lost(self, error: Exception | None) -> None:
        reason = "the real broker closed the connection"
        if error is not None:
            reason = f"the connection to the real broker broke: {reason_of(error)}"
        self.connection.upstream_closed(reason, self.client.cluster.now_ms())
