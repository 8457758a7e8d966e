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
from contextlib import suppress

from mockbroker.adapters.sockets import HANDSHAKE, LEAVING, QUEUED, ClientProtocol, Node
from mockbroker.adapters.tls.contexts import TlsListener, reason_of
from mockbroker.state.brokers.broker import Listener
from mockbroker.state.security.principal_mapping import mapped_name, subject_of
from mockbroker.state.security.protocols import SSL

HANDSHAKE_S = 30.0
HANDSHAKE_RECORD = 0x16
READ_BYTES = 1 << 16
PART_BYTES = 1 << 18  # of an answer that are encrypted at a time, so that a client that reads nothing costs no more
PLAIN_BYTES_ALERT = bytes.fromhex("15 0303 0002 0250")
"""Java's answer to bytes that are not TLS: a fatal internal error, as TLS 1.2."""
log = logging.getLogger("mockbroker")


class TlsClientProtocol(ClientProtocol):
    """One client's socket with TLS over it: bytes to send, of the handshake too, come out of ``_outgoing``.

    Answers wait in ``_plain``, and are encrypted only as the client reads.
    """

    def __init__(self, node: Node, listener: Listener, tls: TlsListener) -> None:
        super().__init__(node, listener)
        self._settings = tls.settings
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = tls.context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._plain: deque[memoryview] = deque()
        self._closes_later = False
        self._is_begun = False
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
        if not self._is_begun and data[0] != HANDSHAKE_RECORD:
            log.warning(
                "broker %d: %s does not speak TLS, which listener %s expects: its security.protocol should be %s",
                self.node.broker.id,
                self.address,
                self.listener.name,
                self.listener.protocol,
            )
            self._turn_away(PLAIN_BYTES_ALERT)
            return
        self._is_begun = True
        self._incoming.write(data)
        try:
            if self.state is HANDSHAKE:
                self._tls.do_handshake()
            opened, is_ended = self._decrypted()
        except ssl.SSLWantReadError:  # the handshake goes on
            self._write_outgoing()
            return
        except ssl.SSLError as error:
            self._failed(reason_of(error))
            return
        self._write_outgoing()
        if self.state is HANDSHAKE and not self._begin_as_client():
            return
        if opened:
            super().data_received(opened)
        if is_ended:
            self.close(linger=False)  # it waits to hear that the end has come

    def _decrypted(self) -> tuple[bytes, bool]:
        """The bytes that have arrived, and True if the other side has ended its stream."""
        pieces = []
        try:
            while piece := self._tls.read(READ_BYTES):
                pieces.append(piece)
        except ssl.SSLWantReadError:
            return b"".join(pieces), False
        except ssl.SSLZeroReturnError:
            pass
        return b"".join(pieces), True

    def _write_outgoing(self) -> None:
        """Write what TLS itself has to send."""
        outgoing = self._outgoing.read()
        if outgoing:
            self.transport.write(outgoing)

    def close(self, *, linger: bool) -> None:
        if self._plain and self.state is not LEAVING:
            self._closes_later = True  # once the client has read the rest
            return
        if not self.transport.is_closing():
            while self._plain:
                self._encrypt_part()
            with suppress(ssl.SSLError):  # so that the other side sees that nothing was cut off
                self._tls.unwrap()
            self._write_outgoing()
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
        certificate, principal = self._tls.getpeercert(binary_form=True), None
        if certificate is not None and self.listener.protocol == SSL:  # elsewhere a login names the principal
            try:
                principal = "User:" + mapped_name(self._settings.rules, subject_of(certificate))
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
        self._turn_away(self._outgoing.read())

    def _warn(self, reason: str) -> None:
        where = (self.node.broker.id, self.address, self.listener.name)
        log.warning("broker %d closes the connection of %s to listener %s: %s", *where, reason)

    def _turn_away(self, alert: bytes) -> None:
        """Send an alert, and read nothing more."""
        self._stop_timer()
        self.state = LEAVING
        self._plain.clear()
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
        self._plain.append(memoryview(data))
        self._encrypt()

    def _encrypt(self) -> None:
        """Write what waits, until the client does not read."""
        while self._plain and not self._is_unwritten:
            self._encrypt_part()

    def _encrypt_part(self) -> None:
        data = self._plain.popleft()
        self._tls.write(data[:PART_BYTES])
        if len(data) > PART_BYTES:
            self._plain.appendleft(data[PART_BYTES:])
        self.transport.write(self._outgoing.read())

    def resume_writing(self) -> None:
        self._is_unwritten = False
        self._encrypt()
        if self._is_unwritten:
            return
        if self._closes_later:
            self.close(linger=False)
        else:
            super().resume_writing()
