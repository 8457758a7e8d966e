"""A broker's sockets, and its clients' connections: asyncio on one side, ``connection`` on the other."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, cast

from mockbroker.core.connection import Connection
from mockbroker.core.connection_quotas import ConnectionQuotas
from mockbroker.state.brokers.broker import Broker, Listener
from mockbroker.state.cluster import Cluster
from mockbroker.state.configs.definitions import BROKER

if TYPE_CHECKING:
    from mockbroker.adapters.capture import Tap
    from mockbroker.adapters.runtime import Runtime
    from mockbroker.adapters.tls.contexts import TlsListener
    from mockbroker.session import Session

BACKLOG = 1024
MAX_CONNECTIONS = "max.connections"
SYSTEMS_OWN = -1  # of a send buffer: whatever the system thinks right, which may be megabytes of one large answer
LINGER_S = 1.0  # how long the client of a stopped broker may take to close its end


class Node:
    """A broker's sockets and connections.

    ``tls`` has the listeners with TLS, by name; ``handshakes`` are connections to these that are not clients yet.
    """

    def __init__(self, cluster: Runtime, broker: Broker, tls: Mapping[str, TlsListener] | None = None) -> None:
        self.cluster, self.broker, self._tls = cluster, broker, tls or {}
        self.clients: dict[ClientProtocol, None] = {}
        self.handshakes: dict[ClientProtocol, None] = {}
        self._waiting: dict[ClientProtocol, None] = {}  # over a limit of connections, in the order of their arrival
        self.quotas = ConnectionQuotas(cluster.engine.cluster, broker.id)
        self.quotas.cluster.configs.on_change(self._limits_changed)
        self._bound: list[tuple[Listener, socket.socket]] = []
        self._servers: list[asyncio.Server] = []
        self._refuses = False

    def bind(self) -> None:
        """Take this broker's addresses, so that ports are known and kept, without accepting yet."""
        for listener in self.broker.listeners:
            self._bind(listener)

    def _bind(self, listener: Listener) -> None:
        host = listener.bind_host if listener.bind_host is not None else listener.host
        port = listener.bind_port if listener.bind_port is not None else listener.port
        bound = bound_socket(host, port)
        send_bytes = self.cluster.engine.cluster.settings["socket.send.buffer.bytes"]
        if send_bytes != SYSTEMS_OWN:  # accepted sockets have it of this one
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_bytes)
        given = bound.getsockname()[1]
        if listener.port == 0:
            listener.port = given
        if listener.bind_port == 0:
            listener.bind_port = given
        self._bound.append((listener, bound))

    @property
    def accepts(self) -> bool:
        """True if it accepts connections."""
        return bool(self._servers)

    async def accept(self) -> None:
        """Accept connections on every listener."""
        loop = asyncio.get_running_loop()
        if not self._bound:
            self.bind()
        bound, self._bound = self._bound, []
        self._refuses = False
        for listener, sock in bound:
            factory = self._protocol_factory(listener)
            self._servers.append(await loop.create_server(factory, sock=sock, backlog=BACKLOG))

    async def accept_at(self, listener: Listener, tls: Mapping[str, TlsListener]) -> None:
        """Accept connections on one more listener, if the broker accepts any; ``tls`` is as at the beginning.

        Raises OSError: its address cannot be had.
        """
        self._tls = tls
        if self.accepts:
            self._bind(listener)
            await self.accept()
        elif self._bound:  # it is down, and keeps its ports
            self._bind(listener)

    def _protocol_factory(self, listener: Listener) -> Callable[[], ClientProtocol]:
        if listener.name not in self._tls:
            return partial(ClientProtocol, self, listener)
        from mockbroker.adapters.tls.clients import TlsClientProtocol

        return lambda: TlsClientProtocol(self, listener, self._tls[listener.name])  # which may change

    def arrived(self, client: ClientProtocol) -> None:
        """Take a new connection; one over a limit waits and is not read.

        Connections that the system had accepted when listening ended are aborted.
        """
        name = client.listener.name
        if self._refuses or len(self._waiting) >= BACKLOG:
            client.transport.abort()
        elif self.quotas.has_room(name) and all(one.listener.name != name for one in self._waiting):
            client.take()
        else:
            if all(one.listener.name != name for one in self._waiting):
                self.quotas.log_wait(name, client.address)
            client.transport.pause_reading()
            self._waiting[client] = None

    def left(self, client: ClientProtocol) -> None:
        """A connection that was taken has ended, so another one may be taken."""
        self.quotas.left(client.listener.name, client.address)
        self._take_waiting()

    def gave_up(self, client: ClientProtocol) -> None:
        """A waiting connection has ended."""
        self._waiting.pop(client, None)

    def end_excess(self) -> None:
        """End the connections that are too many, those first that have been silent for the longest."""
        excess = self.quotas.excess
        if not excess:
            return
        ends = [one for one in self.clients if not self.quotas.is_protected(one.listener.name)]
        for client in sorted(ends, key=lambda one: one.connection.now_ms)[:excess]:
            client.abort()

    def begin_with(self, state: Cluster) -> None:
        """Continue with the state of a new cluster."""
        self.broker = state.brokers[self.broker.id]
        self.quotas.cluster = state
        state.configs.on_change(self._limits_changed)
        self._limits_changed(BROKER, str(self.broker.id), frozenset())

    def _limits_changed(self, kind: str, resource: str, names: frozenset[str]) -> None:
        is_meant = not names or any(MAX_CONNECTIONS in name for name in names)
        if kind == BROKER and self.accepts and is_meant:
            asyncio.get_running_loop().call_soon(self._keep_limits)  # after the answer to the change

    def _keep_limits(self) -> None:
        self.end_excess()
        self._take_waiting()

    def _take_waiting(self) -> None:
        for client in list(self._waiting):
            if self.quotas.has_room(client.listener.name):
                del self._waiting[client]
                client.take()
                if not client.transport.is_closing():
                    client.transport.resume_reading()
                    client.catch_up()

    def refuse(self) -> None:
        """Refuse new connections, and break off those to come. The ports stay ours, for the next start."""
        self._end_listening()
        self._end_handshakes()
        self.bind()

    def _end_listening(self) -> None:
        self._refuses = True
        for server in self._servers:
            end_listening(server)
        self._servers.clear()

    def _end_handshakes(self) -> None:
        for client in (*self.handshakes, *self._waiting):
            client.transport.abort()
        self._waiting.clear()

    def close(self) -> None:
        """Refuse new connections, give the ports back and end the connections that are there."""
        self._end_listening()
        for _, sock in self._bound:
            sock.close()
        self._bound.clear()
        self._end_handshakes()
        for client in list(self.clients):
            client.stop()
            client.close(linger=False)


class SocketState(Enum):
    """The state of a client's socket."""

    QUEUED = "queued"  # not taken yet, because of a limit of connections
    HANDSHAKE = "handshake"  # of TLS
    OPEN = "open"
    ENDING = "ending"  # nothing more is read, and what was taken is answered
    LEAVING = "leaving"  # what the client still sends is dropped: closing over it would reset the connection


QUEUED, HANDSHAKE, OPEN, ENDING, LEAVING = SocketState  # Python 3.11 takes a while to look up each


class ClientProtocol(asyncio.BaseProtocol):
    """One client's socket, in front of its ``Connection``."""

    def __init__(self, node: Node, listener: Listener) -> None:
        self.node, self.cluster, self.listener = node, node.cluster, listener
        self.state = QUEUED
        self._tap: Tap | None = None
        self._is_unwritten = False  # the client does not read its answers
        self._reads = True  # as the transport was set last
        self._runs_soon = False  # frames that wait for answers to be sent
        self._early = b""  # what came while the connection waited to be taken

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one without saying so
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else ""
        self.node.arrived(self)

    def take(self) -> None:
        """Accept the connection, unless there are too many from its address."""
        if self._admit():
            self._begin()

    def _admit(self) -> bool:
        """True if the connection may stay."""
        if not self.node.quotas.admit(self.listener.name, self.address):
            self.transport.abort()
            return False
        self.state = HANDSHAKE
        if self.node.quotas.excess:
            self.node.end_excess()
        return True

    def _begin(self, principal: str | None = None) -> None:
        """Begin to take requests; ``principal`` is who a certificate says that the client is."""
        self.state = OPEN
        number = next(self.cluster.connection_numbers)
        engine = self.cluster.engine
        session = engine.session(
            self.node.broker,
            address=self.address,
            connection=number,
            listener=self.listener.name,
            listener_rack=self.listener.rack,
            principal=principal,
        )
        self.connection = self._connection(session)
        self.connection.now_ms = self.connection.owes_since_ms = self.cluster.now_ms()
        self.node.clients[self] = None
        capture = self.cluster.capture
        if capture is not None:
            peer = self.transport.get_extra_info("peername")
            client = f"{peer[0]}:{peer[1]}" if peer else ""
            self._tap = capture.connection(number, self.node.broker.id, self.listener.name, client)

    def _connection(self, session: Session) -> Connection:
        return Connection(self.cluster.engine.path, session, on_output=self.flush)

    def catch_up(self) -> None:
        """Receive what came before the connection was taken."""
        early, self._early = self._early, b""
        if early and not self.transport.is_closing():
            self.data_received(early)

    def _is_too_early(self, data: bytes) -> bool:
        """True while the connection waits to be taken: uvloop begins to read all the same, and is stopped again."""
        if self.state is not QUEUED:
            return False
        self._early += data
        self.transport.pause_reading()
        return True

    def data_received(self, data: bytes) -> None:
        if self._is_too_early(data):
            return
        self.connection.receive(data, self.cluster.now_ms())
        self.flush()
        self.cluster._schedule()

    def flush(self) -> None:
        """Write what is to be sent, unless the client does not read, and close where the connection has ended.

        The frames that waited for that are run soon.
        """
        connection = self.connection
        if not self._is_unwritten:
            for piece in connection.take_output():
                self._write(piece)
            if connection.is_held and not self._runs_soon and not self._is_unwritten:
                self._runs_soon = True
                asyncio.get_running_loop().call_soon(self._go_on)
        if self.state is LEAVING:
            return
        if connection.closed is not None:
            self.close(linger=False)
        elif self.may_read() is not self._reads:
            self._read_or_not()

    def _write(self, data: bytes) -> None:
        self.transport.write(data)

    def _go_on(self) -> None:
        self._runs_soon = False
        connection = self.connection
        if not connection.is_held or self._is_unwritten or self.transport.is_closing():
            return
        connection.resume(self.cluster.now_ms())
        self.flush()
        self.cluster._schedule()

    def eof_received(self) -> bool:
        """The client sends no more: its connection ends."""
        return False

    def take_no_more(self) -> None:
        """Read nothing more from the client; the received requests are answered."""
        self.state = ENDING
        self._read_or_not()

    @property
    def is_answered(self) -> bool:
        """True if all that was taken from the client has been answered."""
        return not self.connection.is_busy

    def stop(self) -> None:
        """Write the last answers; later bytes of the client are not read as requests."""
        for piece in self.connection.take_output():
            self._write(piece)
        self.connection.stopped()
        self.state = LEAVING

    def close(self, *, linger: bool) -> None:
        """End the connection from here; with ``linger`` the client closes last, so that it reads all it was sent."""
        if linger and self.transport.can_write_eof() and not self.transport.is_closing():
            end_writing(self.transport)
            self.state = LEAVING
            self._read_or_not()
            asyncio.get_running_loop().call_later(LINGER_S, self.transport.abort)
        else:
            self.transport.close()

    def abort(self) -> None:
        """Break the connection: what was not sent is lost."""
        self.connection.stopped()
        self.state = LEAVING
        self.transport.abort()

    def pause_writing(self) -> None:
        """The client does not read its answers: read no more requests of it."""
        self._is_unwritten = True
        self._read_or_not()

    def resume_writing(self) -> None:
        self._is_unwritten = False
        self._read_or_not()
        self.flush()

    def connection_lost(self, error: Exception | None) -> None:
        if self.state is QUEUED:
            self.node.gave_up(self)
            return
        self._stop_connection()
        self.node.clients.pop(self, None)
        self.node.left(self)
        if self._tap is not None:
            self._tap.closed(self.connection.unread_bytes)

    def _stop_connection(self) -> None:
        self.connection.stopped()

    def may_read(self) -> bool:
        """True if bytes of the client can be taken now."""
        if self.state is OPEN:
            return not self._is_unwritten and not self.connection.is_full
        return self.state is not ENDING

    def _read_or_not(self) -> None:
        reads = self.may_read()
        if reads is self._reads or self.transport.is_closing():
            return
        self._reads = reads
        if reads:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()


def end_listening(server: asyncio.Server) -> None:
    """Stop a server's listening; its connections continue.

    One that the system had accepted before comes to its protocol afterwards, as always on uvloop. On asyncio's own loop
    it would fail at a closed server and stay open, without a protocol (Python issue 109564). ``wait_closed`` says
    nothing any more.
    """
    server.close()
    if isinstance(server, asyncio.base_events.Server):
        vars(server)["_sockets"] = []


def end_writing(transport: asyncio.Transport) -> None:
    """Tell the other side that nothing more comes; if it has broken the connection off, this end goes as well."""
    try:
        transport.write_eof()
    except OSError:  # asyncio's own, unlike uvloop's, speaks to the socket at once
        transport.abort()


def bound_socket(host: str, port: int) -> socket.socket:
    """A TCP socket that has this address but does not accept yet. Raises OSError, naming the address."""
    name = host.encode() if host.isascii() else host  # of text Python makes IDNA, which takes a while to load
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            name or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
        except OSError:
            sock.close()
            raise
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror}") from None
    return sock
