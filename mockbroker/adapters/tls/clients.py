"""Connections to listeners with TLS: a handshake in bounded time, then what every other connection does.

A connection counts against its broker's limits from its first byte on. After a failed handshake the client gets an
alert, and the log a line.
Source: SslTransportLayer, Apache Kafka 4.4, which has no other limit than connections.max.idle.ms.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque

from mockbroker.adapters.sockets import ClientProtocol, Node, SocketState
from mockbroker.adapters.tls.contexts import TlsListener, reason_of
from mockbroker.adapters.tls.stream import PlainBytesError, TlsStream
from mockbroker.state.brokers.broker import Listener

HANDSHAKE_S = 30.0
SEALED_BYTES = 1 << 18
"""The bytes sealed at once: of a larger answer the rest waits until the client has read those."""
PLAIN_BYTES_ALERT = bytes.fromhex("15 0303 0002 0250")
"""Java's answer to bytes that are not TLS: a fatal internal error, as TLS 1.2."""
log = logging.getLogger("mockbroker")


class TlsClientProtocol(ClientProtocol):
    """One client's socket with TLS over it."""

    __slots__ = ("_handshake_end", "_stream", "_tls", "_unsealed")

    def __init__(self, node: Node, listener: Listener, tls: TlsListener) -> None:
        super().__init__(node, listener)
        self._tls = tls
        self._stream = TlsStream(tls.context)
        self._unsealed: deque[memoryview] = deque()  # empty unless the client does not read
        self._handshake_end: asyncio.TimerHandle | None = None

    def take(self) -> None:
        if self._admit():
            self.node.handshakes[self] = None
            self._handshake_end = asyncio.get_running_loop().call_later(HANDSHAKE_S, self._handshake_late)

    def data_received(self, data: bytes) -> None:
        if self._is_too_early(data):
            return
        if self.state is SocketState.LEAVING:
            return  # read and dropped, so that the client reads the alert
        try:
            opened = self._stream.take_in(data)
        except PlainBytesError:
            log.warning(
                "broker %d: %s does not speak TLS, which listener %s expects: its security.protocol should be %s",
                self.node.broker.id,
                self.address,
                self.listener.name,
                self.listener.protocol,
            )
            self._turn_away(PLAIN_BYTES_ALERT)
            return
        except ssl.SSLError as error:
            self._failed(reason_of(error))
            return
        outgoing = self._stream.take_outgoing()
        if outgoing:
            self.transport.write(outgoing)
        if self.state is SocketState.HANDSHAKE and self._stream.is_open and not self._begin_as_client():
            return
        if opened:
            super().data_received(opened)
        if self._stream.is_ended:
            self.close(linger=False)  # it waits to hear that the end has come

    def stop(self) -> None:
        super().stop()
        self._seal_rest()

    def close(self, *, linger: bool) -> None:
        if not self.transport.is_closing():
            self._seal_rest()
            self.transport.write(self._stream.end())
        super().close(linger=linger)

    def resume_writing(self) -> None:
        self._is_unwritten = False
        self._seal_some()
        if not self._is_unwritten:
            super().resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._unsealed.clear()
        if self.state is SocketState.QUEUED or self in self.node.clients:
            super().connection_lost(error)
        else:
            self._stop_timer()
            self.node.handshakes.pop(self, None)
            self.node.left(self)

    def _begin_as_client(self) -> bool:
        """The handshake is over: accept requests, unless the client has no principal."""
        self._stop_timer()
        self.node.handshakes.pop(self, None)
        try:
            principal = self._tls.principal_of(self._stream.certificate)
        except ValueError as error:
            self._failed(str(error))
            return False
        self._begin(principal)
        return True

    def _failed(self, reason: str) -> None:
        """End the connection because of a TLS error; the client gets an alert."""
        log.warning(
            "broker %d closes the connection of %s to listener %s: TLS: %s",
            self.node.broker.id,
            self.address,
            self.listener.name,
            reason,
        )
        if self.state is not SocketState.HANDSHAKE:
            self.connection.stopped()
        self._turn_away(self._stream.take_outgoing())

    def _turn_away(self, alert: bytes) -> None:
        """Send an alert, and read nothing more."""
        self._stop_timer()
        self.state = SocketState.LEAVING
        self._unsealed.clear()
        self.transport.write(alert)
        super().close(linger=True)

    def _stop_timer(self) -> None:
        if self._handshake_end is not None:
            self._handshake_end.cancel()
            self._handshake_end = None

    def _handshake_late(self) -> None:
        self._handshake_end = None
        log.warning(
            "broker %d closes the connection of %s to listener %s: no TLS handshake within %d s",
            self.node.broker.id,
            self.address,
            self.listener.name,
            HANDSHAKE_S,
        )
        self.transport.abort()

    def _write(self, data: bytes) -> None:
        self._unsealed.append(memoryview(data))
        self._seal_some()

    def _seal_some(self) -> None:
        """Send what waits, as long as the client reads."""
        while self._unsealed and not self._is_unwritten:
            piece = self._unsealed.popleft()
            if len(piece) > SEALED_BYTES:
                self._unsealed.appendleft(piece[SEALED_BYTES:])
            self.transport.write(self._stream.seal(piece[:SEALED_BYTES]))

    def _seal_rest(self) -> None:
        """Send all that waits, at the end of the connection."""
        while self._unsealed:
            self.transport.write(self._stream.seal(self._unsealed.popleft()))
