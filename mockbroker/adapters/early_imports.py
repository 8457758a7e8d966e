"""What serves an API is imported when it is first asked for; a server that stays does so before, in a thread beside it.

To import a large one takes a tenth of a second, for which all other clients would wait. A server that ends soon, as in
most tests, imports nothing that nobody asks for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable

from mockbroker.handlers import MODULE_OF_API, handler_of
from protocol.registry import message_class

DELAY_S = 10.0
"""How long a server has served before."""


def import_what_serves(api_key: int) -> None:
    """Import the handler of an API, and the declarations of its messages."""
    handler_of(api_key)
    for kind in ("request", "response"):
        message_class(api_key, kind)


class EarlyImports:
    """Imports what serves all APIs, once a server has run for a while, unless it is stopped before."""

    def __init__(
        self,
        api_keys: Iterable[int] = MODULE_OF_API,
        delay_s: float = DELAY_S,
        import_api: Callable[[int], None] = import_what_serves,
    ) -> None:
        self._api_keys, self._delay_s, self._import_api = tuple(api_keys), delay_s, import_api
        self._later: asyncio.TimerHandle | None = None
        self._is_stopped = False

    def start(self) -> None:
        """Begin to wait for the time."""
        self._later = asyncio.get_running_loop().call_later(self._delay_s, self._begin)

    def stop(self) -> None:
        """Import nothing more; nothing is done where it was not started."""
        self._is_stopped = True
        if self._later is not None:
            self._later.cancel()

    def run(self) -> None:
        """Import all, one API after the other."""
        for api_key in self._api_keys:
            if self._is_stopped:
                return
            self._import_api(api_key)

    def _begin(self) -> None:
        threading.Thread(target=self.run, name="kafka-rack imports", daemon=True).start()
