"""Runs clients through scenarios, beside ours or beside real Kafka."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from itertools import count

from tests.interop.matrix.actor import Actor, actor
from tests.interop.matrix.clients import Client
from tests.interop.matrix.scenarios import SCENARIOS, Stage
from tests.interop.matrix.target import Target

LAST_CHARACTERS = 1500
NUMBERS = count(1)

Placed = Callable[[str], AbstractAsyncContextManager[Target]]
"""A cluster of a release."""


async def outcomes(
    client: Client, placed: Placed, *, diskless: bool = True, only: Collection[str] = tuple(SCENARIOS)
) -> AsyncIterator[tuple[str, str]]:
    """Scenario and what was wrong, "" for nothing, of all that a client can do. Raises ToolMissingError.

    What one scenario leaves behind is nothing to the next: it has new topics and groups, and where one fails, new
    processes too.
    """
    command = await asyncio.to_thread(client.command)
    async with AsyncExitStack() as stack:
        actors: list[Actor] = []
        for name in client.scenarios:
            if name not in only or (name == "diskless" and not diskless):
                continue
            if not actors:
                actors = [await stack.enter_async_context(actor(command)) for _ in range(2)]
            async with placed(client.release) as target:
                topic = f"t{next(NUMBERS)}-{name.replace(' ', '-')}"
                stage = Stage(target, *actors, topic, has_headers=client.has_headers)
                try:
                    await stage.begin()
                    await SCENARIOS[name](stage)
                except Exception:  # noqa: BLE001 - whatever went wrong is the outcome
                    yield name, traceback.format_exc()[-LAST_CHARACTERS:]
                    for one in actors:
                        await one.end()
                    actors = []
                else:
                    yield name, ""
