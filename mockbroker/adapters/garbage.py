"""The garbage collector of a server that keeps much for long: its walks are kept short.

Python's collector walks over all that a program keeps, at each time that has grown by a quarter; with a full journal or
many partitions that holds everything up for a fifth of a second and more. After a walk that took long, what is left is
set aside, and later walks are over what has come since, which they are before that is much. Whatever has no more owner
is freed at once all the same; only what refers to itself and was set aside waits for the next walk over everything:
when the process has had little to do for a minute, or after ten. While there are very large lists, over which any walk
takes long, all is set aside.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Any

LONG_S = 0.003
YOUNGER_WALKS = 2
"""How many walks over what is young come between two over all that was not set aside; Python has ten."""
LOOK_S = 60.0
IDLE_SHARE = 0.02  # of a processor; less is little to do
MAX_LOOKS = 10

KEEPS_ALL = 2  # the generation that a whole walk is over


class ShortCollections:
    """Keeps the walks of this process short, from ``start`` to ``stop``. ``walks`` counts those over everything.

    ``has_large_lists`` is asked before each walk.
    """

    def __init__(self, has_large_lists: Callable[[], bool] = lambda: False) -> None:
        self.walks = 0
        self._has_large_lists = has_large_lists
        self._walks_over_all = False
        self._began_s = 0.0
        self._has_set_aside = False
        self._looks = 0
        self._processor_s = 0.0
        self._look: asyncio.TimerHandle | None = None
        self._thresholds = gc.get_threshold()

    def start(self) -> None:
        """Set aside what there is, and begin."""
        gc.freeze()
        gc.callbacks.append(self._walked)
        self._thresholds = gc.get_threshold()
        gc.set_threshold(self._thresholds[0], self._thresholds[1], YOUNGER_WALKS)
        self._processor_s = time.process_time()
        self._later()

    def stop(self) -> None:
        """Leave the collector to itself; nothing is done where it was not started."""
        if self._look is None:
            return
        self._look.cancel()
        self._look = None
        gc.callbacks.remove(self._walked)
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    def look(self) -> None:
        """Walk over everything if that disturbs nobody now, or was put off for long."""
        processor_s = time.process_time()
        is_idle = processor_s - self._processor_s < IDLE_SHARE * LOOK_S
        self._processor_s = processor_s
        self._looks += 1
        if self._has_set_aside and (is_idle or self._looks >= MAX_LOOKS):
            self.walk()
        self._later()

    def walk(self) -> None:
        """Walk over everything, and set aside what is left."""
        self._looks = 0
        self.walks += 1
        gc.unfreeze()
        self._walks_over_all = True
        gc.collect()
        self._walks_over_all = False
        gc.freeze()
        self._has_set_aside = False

    def _later(self) -> None:
        self._look = asyncio.get_running_loop().call_later(LOOK_S, self.look)

    def _walked(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "start" and not self._walks_over_all and self._has_large_lists():
            gc.freeze()
            self._has_set_aside = True
        if info["generation"] != KEEPS_ALL:
            return
        if phase == "start":
            self._began_s = time.perf_counter()
        elif time.perf_counter() - self._began_s > LONG_S:
            gc.freeze()
            self._has_set_aside = True
