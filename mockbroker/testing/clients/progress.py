"""Waits for processes as long as they make progress, which takes longer on a busy machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LOOK_EVERY_S = 0.05
QUIET_S = 60.0


async def until(done: Callable[[], bool], progress: Callable[[], object], quiet_s: float = QUIET_S) -> bool:
    """Wait until ``done()``; False if ``progress()`` has returned the same for ``quiet_s`` seconds.

    >>> import asyncio
    >>> steps = iter([1, 2, 3])
    >>> asyncio.run(until(lambda: next(steps) == 3, lambda: "always the same"))
    True
    >>> asyncio.run(until(lambda: False, lambda: "always the same", quiet_s=0.0))
    False
    """
    loop = asyncio.get_running_loop()
    before, looked_s, quiet = progress(), loop.time(), 0.0
    while not done():
        now, now_s = progress(), loop.time()
        # a long pause between two looks, as on a busy machine, counts little: other processes had no time either
        quiet = quiet + min(now_s - looked_s, 2 * LOOK_EVERY_S) if now == before else 0.0
        before, looked_s = now, now_s
        if quiet >= quiet_s:
            return False
        await asyncio.sleep(LOOK_EVERY_S)
    return True
