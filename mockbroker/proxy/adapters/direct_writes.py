"""Writes bytes to a socket at once.

uvloop writes after all callbacks of its iteration have run; a proxy has work that no client waits for, and does it
after the other side has its bytes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import cast

MAX_PIECES = 64
NO_SOCKET = -1


class DirectWriter:
    """Writes to a transport; directly to its socket if the transport would write later and its buffer is empty."""

    __slots__ = ("_socket", "_transport")

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one, without inheriting from it
        # asyncio's own transports write at once; TLS must pass through the transport
        writes_later = not isinstance(transport, asyncio.Transport) and transport.get_extra_info("sslcontext") is None
        sock = transport.get_extra_info("socket") if writes_later else None
        self._socket: int = NO_SOCKET if sock is None else sock.fileno()

    def write(self, pieces: Sequence[bytes]) -> None:
        """Write pieces in order; the transport gets the bytes that the system does not accept now."""
        transport = self._transport
        if self._socket != NO_SOCKET and not transport.get_write_buffer_size() and not transport.is_closing():
            try:
                if len(pieces) == 1:
                    sent = os.write(self._socket, pieces[0])
                else:
                    sent = os.writev(self._socket, pieces[:MAX_PIECES])
            except OSError:  # the transport meets and reports it too
                sent = 0
            pieces = unsent(pieces, sent)
        for piece in pieces:
            transport.write(piece)


def unsent(pieces: Sequence[bytes], sent: int) -> Sequence[bytes]:
    """The rest of pieces after this many bytes were sent.

    >>> [bytes(piece) for piece in unsent([b"abc", b"def", b"ghi"], 5)]
    [b'f', b'ghi']
    >>> unsent([b"abc"], 3)
    []
    """
    for place, piece in enumerate(pieces):
        if sent < len(piece):
            rest = pieces[place:]
            return [memoryview(piece)[sent:], *rest[1:]] if sent else rest  # type: ignore[list-item]
        sent -= len(piece)
    return []
