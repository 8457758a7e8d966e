"""A server that stays imports what serves all APIs beside its loop, one that ends soon does not."""

from __future__ import annotations

import asyncio
import threading

from mockbroker.adapters import early_imports
from mockbroker.adapters.early_imports import EarlyImports
from mockbroker.handlers import MODULE_OF_API

LATER_S = 3600.0


async def test_imports_happen_in_a_thread_of_their_own_in_the_order_of_the_keys():
    imported: list[tuple[int, bool]] = []
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def note(api_key: int) -> None:
        imported.append((api_key, threading.current_thread() is threading.main_thread()))
        if api_key == 22:
            loop.call_soon_threadsafe(done.set)

    imports = EarlyImports([3, 22], 0.0, note)
    imports.start()
    await done.wait()
    assert imported == [(3, False), (22, False)]


async def test_a_server_that_ends_soon_imports_nothing():
    imported: list[int] = []
    imports = EarlyImports([3], LATER_S, imported.append)
    imports.start()
    imports.stop()
    imports.run()
    assert imported == []


def test_all_handlers_that_there_are_and_their_messages_are_imported(monkeypatch):
    imported = []
    monkeypatch.setattr(early_imports, "handler_of", imported.append)
    monkeypatch.setattr(early_imports, "message_class", lambda api_key, kind: imported.append((api_key, kind)))
    EarlyImports().run()
    assert imported == [one for key in MODULE_OF_API for one in (key, (key, "request"), (key, "response"))]
