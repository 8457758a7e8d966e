"""Whether a real broker takes connections: while it refuses them, so do its listeners here.

Clients treat a broker that refuses them otherwise than one that lets them in and hangs up: franz-go looks for another
coordinator after the first, and takes the second for a wrong password, which it does not try again.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mockbroker.proxy.mirror import BrokerAddress

KNOCK_S = 1.0
"""How long a broker may take to be believed there."""
AGAIN_S = 0.5
"""Between two tries of one that refuses."""
TRIES_A_LOOK = 10
"""After so many tries in vain the whole cluster is looked at, since the broker may be somewhere else."""
BREAK = struct.pack("ii", 1, 0)


class Presence:
    """Knocks at a real broker once a connection to it has failed or ended, and again for as long as it refuses.

    ``refuses`` is what was found last.

    Args:
        address: where the broker is, as far as is known.
        refused: called when it refuses, with the address; also after every further ``TRIES_A_LOOK``.
        back: awaited once it no longer refuses; gives whether clients can come again.
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
        """Find out, and call ``then`` once it is known; at once where it is known that the broker refuses."""
        if self.refuses:
            then()
            return
        self._asked.append(then)
        if self._knocking is None:
            self._knocking = asyncio.get_running_loop().create_task(self._knock())

    def close(self) -> None:
        """Ask no more."""
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
    """Whether nobody listens at an address. A host that is silent, or not to be found, does not refuse."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        refused = [await is_refused_at(family, place) for family, _, _, _, place in found]
    except (OSError, UnicodeError):  # TimeoutError is one
        return False
    return all(refused)


async def is_refused_at(family: int, place: tuple[object, ...]) -> bool:
    """The same of one of its addresses. Raises OSError: neither is so."""
    with socket.socket(family) as sock:
        sock.setblocking(False)
        try:
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(sock, place), KNOCK_S)
        except ConnectionRefusedError:
            return True
    return False


def break_when_closed(transport: asyncio.Transport) -> None:
    """Have the client of a connection meet a reset in place of an orderly end."""
    sock = transport.get_extra_info("socket")
    if sock is not None and not transport.get_write_buffer_size():
        with suppress(OSError):  # it has gone already
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, BREAK)
