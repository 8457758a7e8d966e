"""What the client programs share: an order in, JSON lines out.

A program reads one order, a line of JSON, from standard input; a line ``stop`` may follow. ``work`` in it names a
function of the program's module: ``produce``, ``produce_steadily``, ``consume`` or ``administer``. ``settings`` are the
client's, under the names that the module's table knows, or under the client's own. Bytes travel as Latin-1 text.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from types import ModuleType
from typing import Any

PAUSE_S = 0.01  # between two records of a producer that goes on until told to stop
LINGER_S = 0.3  # how long a consumer looks for more than it was to read
FOREVER_S = float("inf")  # the test that waits gives up, when nothing happens any more

stopped = threading.Event()


def say(**line: Any) -> None:
    """Write one line for the test to read."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def as_bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("latin-1")


def as_text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("latin-1")


def translated(settings: Mapping[str, Any], names: Mapping[str, str], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under the client's own names; the test's win over ``ours``."""
    return {**ours, **{names.get(name, name): value for name, value in settings.items()}}


def main(module: ModuleType) -> None:
    """Carry out the order."""
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=wait_for_stop, daemon=True).start()
    getattr(module, order.pop("work"))(**order)


def wait_for_stop() -> None:
    """``stop``, or the end of the test's process."""
    sys.stdin.readline()
    stopped.set()
