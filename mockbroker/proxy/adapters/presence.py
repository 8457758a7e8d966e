"""Checks that a real broker accepts connections: while it refuses them, so do its listeners at the proxy.

Clients distinguish a refused connection from one that is accepted and closed: franz-go looks for another coordinator
after the former, and treats the latter as a wrong password, without a retry.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from mockbroker.proxy.adapters.upstream import in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mockbroker.proxy.mirror import BrokerAddress

KNOCK_S = 1.0
"""The timeout of a check."""
AGAIN_S = 0.5
"""The pause between checks of a broker that refuses."""
TRIES_A_LOOK = 10
"""After this many failed checks the whole cluster is read again, since the broker's address may have changed."""
BREAK = struct.pack("ii", 1, 0)


class Presence:
    """Checks a real broker after a connection to it has failed or ended, and again while it refuses.

    ``refuses`` is the last result.

    Args:
        address: returns the broker's known address.
        refused: called with the address when it refuses; again after every ``TRIES_A_LOOK`` checks.
        back: awaited once it no longer refuses; returns True if clients can connect again.
    """

    def __init__(
        self,
        address: Callable[[], BrokerAddress],
        refused: Callable[[BrokerAddress], None],
        back: Callable[[], Awaitable[bool]],
    ) -> None:
        self.refuses = False
        self._address, self._refused, self._back = address, refused, back
        self._knocking: asyncio.Task[None] | None = None
        self._asked: list[Callable[[], None]] = []

    def ask(self, then: Callable[[], None] = lambda: None) -> None:
        """Check, and call ``then`` with the result known; at once if the broker is known to refuse."""
        if self.refuses:
            then()
            return
        self._asked.append(then)
        if self._knocking is None:
            self._knocking = asyncio.get_running_loop().create_task(self._knock())

    def close(self) -> None:
        """Stop checking."""
        self._asked.clear()
        if self._knocking is not None:
            self._knocking.cancel()

    async def _knock(self) -> None:
        tries = 0
        try:
            while await is_refused(address := self._address()) or (self.refuses and not await self._is_back()):
                self.refuses = True
                if tries % TRIES_A_LOOK == 0:
                    self._refused(address)
                tries += 1
                self._tell()
                await asyncio.sleep(AGAIN_S)
        finally:
            self._knocking = None
        self._tell()

    async def _is_back(self) -> bool:
        self.refuses = False
        self.refuses = not await self._back()
        return not self.refuses

    def _tell(self) -> None:
        asked, self._asked = self._asked, []
        for then in asked:
            then()


async def is_refused(address: BrokerAddress) -> bool:
    """True if all IP addresses refuse connections. A host that is silent or unknown does not refuse."""
    try:
        (await in_thread(lambda: socket.create_connection(address, KNOCK_S, all_errors=True))).close()
    except ExceptionGroup as errors:
        return all(isinstance(error, ConnectionRefusedError) for error in errors.exceptions)
    except (OSError, UnicodeError):  # an unknown host
        return False
    return False


def break_when_closed(transport: asyncio.Transport) -> None:
    """Make the end of a connection a reset instead of an orderly close."""
    sock = transport.get_extra_info("socket")
    if sock is not None and not transport.get_write_buffer_size():
        with suppress(OSError):  # it is already closed
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, BREAK)
