"""Connections to listeners with TLS: a handshake in bounded time, then what every other connection does.

A connection counts against its broker's limits from its first byte on. After a failed handshake the client gets an
alert, and the log a line.
Source: SslTransportLayer, Apache Kafka 4.4, which has no other limit than connections.max.idle.ms.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from contextlib import suppress

from mockbroker.adapters.sockets import HANDSHAKE, LEAVING, QUEUED, ClientProtocol, Node
from mockbroker.adapters.tls.contexts import TlsListener, reason_of
from mockbroker.state.brokers.broker import Listener
from mockbroker.state.security.principal_mapping import subject_of
from mockbroker.state.security.protocols import SSL

HANDSHAKE_S = 30.0
HANDSHAKE_RECORD = 0x16
READ_BYTES = 1 << 16
PLAIN_BYTES_ALERT = bytes.fromhex("15 0303 0002 0250")
"""Java's answer to bytes that are not TLS: a fatal internal error, as TLS 1.2."""
log = logging.getLogger("mockbroker")


class PlainBytesError(Exception):
    """The other side does not speak TLS."""


class TlsStream:
    """The server's end of a connection.

    Bytes to send, of the handshake too, wait for ``take_outgoing``. Methods raise ssl.SSLError if the other side breaks
    TLS's rules or is refused; the bytes to send then have an alert. ``is_open`` once the handshake is over,
    ``is_ended`` once the other side has ended its stream.
    """

    __slots__ = ("is_ended", "is_open", "_incoming", "_is_begun", "_outgoing", "_tls")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._is_begun = False
        self.is_open = self.is_ended = False

    def take_in(self, data: bytes) -> bytes:
        """Decrypt received bytes; returns nothing before the handshake is over.

        Raises: PlainBytesError: the first byte is not one of TLS.
        """
        if not self._is_begun:
            if data[0] != HANDSHAKE_RECORD:
                raise PlainBytesError
            self._is_begun = True
        self._incoming.write(data)
        if not self.is_open:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                return b""
            self.is_open = True
        return self._opened()

    @property
    def certificate(self) -> bytes | None:
        """The certificate that the other side has shown, in DER."""
        return self._tls.getpeercert(binary_form=True)

    def seal(self, data: bytes) -> bytes:
        """The bytes to send so that this arrives."""
        self._tls.write(data)
        return self._outgoing.read()

    def end(self) -> bytes:
        """The bytes to send at the end, which show that nothing was cut off."""
        with suppress(ssl.SSLError):
            self._tls.unwrap()
        return self._outgoing.read()

    def take_outgoing(self) -> bytes:
        """The bytes that TLS itself has to send."""
        return self._outgoing.read()

    def _opened(self) -> bytes:
        pieces = []
        try:
            while piece := self._tls.read(READ_BYTES):
                pieces.append(piece)
            self.is_ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.is_ended = True
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class TlsClientProtocol(ClientProtocol):
    """One client's socket with TLS over it."""

    __slots__ = ("_handshake_end", "_stream", "_tls")

    def __init__(self, node: Node, listener: Listener, tls: TlsListener) -> None:
        super().__init__(node, listener)
        self._tls = tls
        self._stream = TlsStream(tls.context)
        self._handshake_end: asyncio.TimerHandle | None = None

    def take(self) -> None:
        if self._admit():
            self.node.handshakes[self] = None
            self._handshake_end = asyncio.get_running_loop().call_later(HANDSHAKE_S, self._handshake_late)

    def data_received(self, data: bytes) -> None:
        if self._is_too_early(data):
            return
        if self.state is LEAVING:
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
        if self.state is HANDSHAKE and self._stream.is_open and not self._begin_as_client():
            return
        if opened:
            super().data_received(opened)
        if self._stream.is_ended:
            self.close(linger=False)  # it waits to hear that the end has come

    def close(self, *, linger: bool) -> None:
        if not self.transport.is_closing():
            self.transport.write(self._stream.end())
        super().close(linger=linger)

    def connection_lost(self, error: Exception | None) -> None:
        if self.state is QUEUED or self in self.node.clients:
            super().connection_lost(error)
        else:
            self._stop_timer()
            self.node.handshakes.pop(self, None)
            self.node.left(self)

    def _begin_as_client(self) -> bool:
        """The handshake is over: accept requests, unless the client has no principal."""
        self._stop_timer()
        self.node.handshakes.pop(self, None)
        certificate, principal = self._stream.certificate, None
        if certificate is not None and self.listener.protocol == SSL:  # elsewhere a login names the principal
            try:
                principal = "User:" + self._tls.settings.mapping.name(subject_of(certificate))
            except ValueError as error:  # no rule applies to the name, or it cannot be read
                self._failed(str(error))
                return False
        self._begin(principal)
        return True

    def _failed(self, reason: str) -> None:
        """End the connection because of a TLS error; the client gets an alert."""
        self._warn(f"TLS: {reason}")
        if self.state is not HANDSHAKE:
            self.connection.stopped()
        self._turn_away(self._stream.take_outgoing())

    def _warn(self, reason: str) -> None:
        where = (self.node.broker.id, self.address, self.listener.name)
        log.warning("broker %d closes the connection of %s to listener %s: %s", *where, reason)

    def _turn_away(self, alert: bytes) -> None:
        """Send an alert, and read nothing more."""
        self._stop_timer()
        self.state = LEAVING
        self.transport.write(alert)
        super().close(linger=True)

    def _stop_timer(self) -> None:
        if self._handshake_end is not None:
            self._handshake_end.cancel()
            self._handshake_end = None

    def _handshake_late(self) -> None:
        self._handshake_end = None
        self._warn(f"no TLS handshake within {HANDSHAKE_S:g} s")
        self.transport.abort()

    def _write(self, data: bytes) -> None:
        self.transport.write(self._stream.seal(data))
