"""Work that takes long, as opening a large batch: done in a thread beside the loop, which serves others meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple

from mockbroker.call import BackgroundWork

Done = Callable[[BackgroundWork[Any]], None]


class QueuedWork(NamedTuple):
    """Work, the loop whose calls wait for it, and what is called there when it is done."""

    work: BackgroundWork[Any]
    loop: asyncio.AbstractEventLoop
    done: Done


class BackgroundThread:
    """One thread that does work in its order, so that what is open at a time has a bound.

    It begins with the first work and does not keep the program from ending. After each ``settle`` is called in the
    loop.
    """

    def __init__(self, settle: Callable[[], None]) -> None:
        self._settle = settle
        self._queue: SimpleQueue[QueuedWork | None] = SimpleQueue()
        self._has_begun = self._is_stopped = False

    def run(self, work: BackgroundWork[Any], done: Done) -> None:
        """Do work when what came before it is done; ``done`` is called in the loop that this is called in."""
        if self._is_stopped:
            return
        if not self._has_begun:
            self._has_begun = True
            threading.Thread(target=self._run, name="kafka-rack background", daemon=True).start()
        self._queue.put(QueuedWork(work, asyncio.get_running_loop(), done))

    def stop(self) -> None:
        """Nobody waits for any of it any more."""
        self._is_stopped = True
        if self._has_begun:
            self._queue.put(None)

    def _run(self) -> None:
        while (queued := self._queue.get()) is not None:
            if self._is_stopped:
                continue
            queued.work.run()
            with suppress(RuntimeError):  # the loop has ended
                queued.loop.call_soon_threadsafe(self._tell, queued)
            del queued  # nothing of it is held while there is nothing to do

    def _tell(self, queued: QueuedWork) -> None:
        if not self._is_stopped:
            queued.done(queued.work)
            self._settle()
