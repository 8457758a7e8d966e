"""The two sockets of a proxied connection: the client's, and its own to the real broker."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, cast

from mockbroker.adapters.real_cluster.connection import reason_of
from mockbroker.adapters.sockets import ClientProtocol, Node, end_writing
from mockbroker.proxy.adapters.presence import Presence, break_when_closed
from mockbroker.proxy.connection import ProxyConnection
from mockbroker.proxy.path import ProxyPath, ProxySession
from mockbroker.state.brokers.broker import Broker, Listener

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.adapters.tls.contexts import TlsListener
    from mockbroker.core.connection import Connection
    from mockbroker.proxy.adapters.server import KafkaProxy
    from mockbroker.proxy.mirror import BrokerAddress
    from mockbroker.session import Session

LEFT_S = 30.0
"""The timeout for a real broker to end the connection of a client that sends no more and has all its answers, or to
read the last requests of a client that has gone.
"""

SCRATCH_BYTES, HEAD_BYTES = 1 << 18, 1 << 14
"""The size of one read, for frames too large for their own buffer, and for all others; large ones get a buffer once
their head has come.
"""

log = logging.getLogger("mockbroker")


class ProxyNode(Node):
    """The proxy's listeners for one real broker."""

    cluster: KafkaProxy

    def __init__(self, cluster: KafkaProxy, broker: Broker, tls: dict[str, TlsListener]) -> None:
        super().__init__(cluster, broker, tls)
        self.adrift: dict[ProxiedClient, None] = {}
        """Clients that have gone, whose last requests are still forwarded."""
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))
        """The shared read buffer of all sockets to the real broker; most reads use only its start, ``scratch_head``."""
        self.scratch_head = self.scratch[:HEAD_BYTES]
        self.problem: str | None = None
        """The reason of the last failed connection to the real broker; None after a successful one."""
        self.presence = Presence(lambda: self.address, self._refused, self._back)

    @property
    def address(self) -> BrokerAddress:
        """The current address of the real broker."""
        return self.cluster.mirror.upstream[self.broker.id]

    def _protocol_factory(self, listener: Listener) -> Callable[[], ClientProtocol]:
        tls = self._tls.get(listener.name)
        if tls is None:
            return partial(ProxiedClient, self, listener)
        from mockbroker.proxy.adapters.tls_clients import TlsProxiedClient

        return partial(TlsProxiedClient, self, listener, tls)

    async def accept(self) -> None:
        """Accept connections; while the real broker refuses them, wait until it accepts them again."""
        if not self.presence.refuses:
            await super().accept()

    def refuse(self) -> None:
        if self.accepts:
            super().refuse()

    def close(self) -> None:
        self.presence.close()
        super().close()
        for client in list(self.adrift):
            client.end_adrift()

    def _refused(self, address: BrokerAddress) -> None:
        self.unreachable(f"{address.host}:{address.port}: Connection refused")
        try:
            self.refuse()
        except OSError as error:
            log.warning("broker %d: %s", self.broker.id, error)  # bound again when the broker is back

    async def _back(self) -> bool:
        try:
            if self.broker.is_running and not self.accepts:  # else it was stopped at the proxy
                await self.accept()
        except OSError as error:
            log.warning("broker %d: %s", self.broker.id, error)
            return False
        self.reached()
        return True

    def unreachable(self, reason: str) -> None:
        """A client's connection to the real broker failed; logged once until one succeeds."""
        self.cluster.has_moved.set()  # its address may have changed
        if self.problem != reason:
            self.problem = reason
            log.warning("broker %d cannot be reached: %s", self.broker.id, reason)

    def reached(self) -> None:
        """A connection to the real broker was made."""
        if self.problem is not None:
            log.warning("broker %d is reached again", self.broker.id)
            self.problem = None


class ProxiedClient(ClientProtocol):
    """A client's socket, with or without TLS, and its connection to the real broker."""

    node: ProxyNode
    connection: ProxyConnection

    def __init__(self, node: Node, listener: Listener, *tls: TlsListener) -> None:
        super().__init__(node, listener, *tls)
        self._upstream: UpstreamProtocol | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._is_adrift = False
        self._reads_upstream = True

    def _connection(self, session: Session) -> Connection:
        path = cast(ProxyPath, self.cluster.engine.path)
        connection = ProxyConnection(
            path, cast(ProxySession, session), on_output=self.flush, on_upstream=self.flush_upstream
        )
        self._dialling = asyncio.get_running_loop().create_task(self._dial())
        return connection

    async def _dial(self) -> None:
        """Connect to the real broker at its current address."""
        node, address, settings = self.node, self.node.address, self.node.cluster.upstream
        try:
            opening = asyncio.get_running_loop().create_connection(
                partial(UpstreamProtocol, self),
                address.host,
                address.port,
                ssl=settings.tls,
                server_hostname=address.host if settings.tls is not None else None,
            )
            _, upstream = await asyncio.wait_for(opening, settings.timeout_s)
        except (OSError, UnicodeError) as error:  # TimeoutError is one
            self._dialling = None
            reason = f"{address.host}:{address.port}: {reason_of(error)}"
            node.unreachable(reason)
            break_when_closed(self.transport)
            node.presence.ask(partial(self.upstream_closed, f"the real broker cannot be reached: {reason}"))
        else:
            node.reached()
            self._upstream = upstream
            if self.connection.is_over:
                upstream.transport.close()
            else:
                self.flush_upstream()
        finally:
            self._dialling = None

    def flush_upstream(self) -> None:
        """Forward the pending bytes, unless the real broker does not read."""
        upstream = self._upstream
        if upstream is None or upstream.is_paused or upstream.transport.is_closing():
            return
        pieces = self.connection.take_upstream()
        if pieces:
            upstream.transport.writelines(pieces)
        if pieces and self.connection.unread_bytes:
            asyncio.get_running_loop().call_soon(self._send_more)
        elif self.connection.has_left and self.connection.is_drained:
            self._end_upstream(upstream)

    def _send_more(self) -> None:
        if self._is_adrift or not self.transport.is_closing():
            self.connection.resume(self.cluster.now_ms())
            self.flush()
            self.flush_upstream()

    def flush(self) -> None:
        if self._is_adrift:
            if self.connection.is_over:
                self.end_adrift()
            else:
                self.flush_upstream()
            return
        super().flush()
        if not self._reads_upstream:
            self._read_upstream_or_not()
        if self.connection.has_left:
            self.flush_upstream()

    def received_upstream(self) -> None:
        """Do what follows from bytes of the real broker that the connection has taken."""
        if self.connection.is_upstream_full:
            self._read_upstream_or_not()
        self.cluster._schedule()  # outcomes may wait for a time

    def upstream_closed(self, reason: str) -> None:
        """The real broker has gone, or could not be reached."""
        self.connection.upstream_closed(reason, self.cluster.now_ms())
        if self._is_adrift and self.connection.closed is not None:
            self.end_adrift()
        else:
            self.flush()

    def _read_or_not(self) -> None:
        super()._read_or_not()
        self._read_upstream_or_not()

    def _read_upstream_or_not(self) -> None:
        upstream = self._upstream
        if upstream is None or upstream.transport.is_closing():
            return
        reads = not (self._is_unwritten or self.connection.is_upstream_full)
        if reads is not self._reads_upstream:
            self._reads_upstream = reads
            if reads:
                upstream.transport.resume_reading()
            else:
                upstream.transport.pause_reading()

    # a client that leaves

    def eof_received(self) -> bool:
        """The client sends no more; the real broker decides when to end the connection."""
        if self not in self.node.clients:
            return False
        connection = self.connection
        if connection.closed is not None or not self.transport.can_write_eof() or not connection.is_busy:
            return False
        connection.client_left(self.cluster.now_ms(), is_gone=False)
        self.flush()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        if self._is_adrift:
            asyncio.get_running_loop().call_later(LEFT_S, self.abort)

    def abort(self) -> None:
        if self._upstream is not None and (self._is_adrift or not self.transport.is_closing()):
            self._upstream.transport.abort()
        if self._is_adrift:
            self.end_adrift()
        super().abort()

    def _stop_connection(self) -> None:
        if not self.connection.is_over:
            self._is_adrift = True
            self.node.adrift[self] = None
            self.connection.client_left(self.cluster.now_ms(), is_gone=True)
            self.flush()
            if self._is_adrift and (self._upstream is not None or not self.connection.is_drained):
                return
        self.end_adrift()

    def _end_upstream(self, upstream: UpstreamProtocol) -> None:
        """All requests were forwarded: send the real broker an EOF."""
        if self._is_adrift:
            self.end_adrift()
            return
        if upstream.is_ended:
            return
        if upstream.transport.can_write_eof():
            upstream.is_ended = True
            end_writing(upstream.transport)
            asyncio.get_running_loop().call_later(LEFT_S, self._abort_answered, upstream)
        elif not self.connection.is_busy:  # over TLS the end is sent after the answers
            upstream.is_ended = True
            upstream.transport.close()

    def _abort_answered(self, upstream: UpstreamProtocol) -> None:
        """Abort the connection to a real broker that has answered all requests, and has not ended it."""
        if self.connection.is_owed_answers and not upstream.transport.is_closing():
            asyncio.get_running_loop().call_later(LEFT_S, self._abort_answered, upstream)
        else:
            upstream.transport.abort()

    def end_adrift(self) -> None:
        """Drop a client that has gone."""
        self.connection.stopped()
        self._is_adrift = False
        self.node.adrift.pop(self, None)
        if self._upstream is not None:
            transport = self._upstream.transport
            if not transport.is_closing():
                transport.close()  # after the written bytes
                if transport.get_write_buffer_size():
                    asyncio.get_running_loop().call_later(LEFT_S, transport.abort)
        elif self._dialling is not None:
            self._dialling.cancel()


class UpstreamProtocol(asyncio.BufferedProtocol):
    """The socket to the real broker."""

    _has_room = False

    def __init__(self, client: ProxiedClient) -> None:
        self.client = client
        self.is_paused = self.is_ended = False
        self._connection, self._node = client.connection, client.node

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        if self._connection.is_over:
            transport.close()  # the client has gone

    def get_buffer(self, sizehint: int) -> memoryview:
        connection = self._connection
        room = connection.upstream_room()
        self._has_room = room is not None
        if room is not None:
            return room
        return self._node.scratch if connection.is_answer_partial else self._node.scratch_head

    def buffer_updated(self, size: int) -> None:
        now_ms = self.client.cluster.now_ms()
        if self._has_room:
            self._connection.took_upstream(size, now_ms)
        else:
            self._connection.receive_upstream(bytes(self._node.scratch[:size]), now_ms)
        self.client.received_upstream()

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False
        self.client.flush_upstream()

    def connection_lost(self, error: Exception | None) -> None:
        reason = "the real broker closed the connection"
        if error is not None:
            reason = f"the connection to the real broker broke: {reason_of(error)}"
        client = self.client
        if client.transport.is_closing() or self.is_ended:
            client.upstream_closed(reason)
        else:  # so that a client that reconnects at once is refused if the broker is down
            self._node.presence.ask(partial(client.upstream_closed, reason))
