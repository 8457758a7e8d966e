"""TLS over a stream of bytes, without a socket."""

from __future__ import annotations

import ssl
from contextlib import suppress

HANDSHAKE_RECORD = 0x16
READ_BYTES = 1 << 16


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

    def seal(self, data: bytes | memoryview) -> bytes:
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
