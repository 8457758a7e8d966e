"""Waiting for processes as long as they get on; on a busy machine that takes longer, and is no failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LOOK_EVERY_S = 0.1
QUIET_S = 60.0


async def until(done: Callable[[], bool], progress: Callable[[], object], quiet_s: float = QUIET_S) -> bool:
    """Wait until ``done()``. False: ``progress()`` has given the same for ``quiet_s`` seconds, so it is given up.

    >>> import asyncio
    >>> steps = iter([1, 2, 3])
    >>> asyncio.run(until(lambda: next(steps) == 3, lambda: "always the same"))
    True
    >>> asyncio.run(until(lambda: False, lambda: "always the same", quiet_s=0.0))
    False
    """
    loop = asyncio.get_running_loop()
    before, changed_s = progress(), loop.time()
    while not done():
        now = progress()
        if now != before:
            before, changed_s = now, loop.time()
        elif loop.time() - changed_s >= quiet_s:
            return False
        await asyncio.sleep(LOOK_EVERY_S)
    return True
