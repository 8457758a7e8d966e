"""SIGTERM and SIGINT: the first signal ends a program gracefully, the second at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

KILLED = 128  # plus the signal's number: the exit status of a program that a signal ended


def end_on_signals(end: Callable[[], object], clean_up: Callable[[], object]) -> None:
    """Make the first signal call ``end``, and the next one call ``clean_up`` and then end the process at once.

    Signals are taken between two steps of Python, so that a busy event loop does not put them off; ``end`` has to be
    fit for that, as ``loop.call_soon_threadsafe`` is.
    """
    has_come = False

    def on_signal(number: int, _: object) -> None:
        nonlocal has_come
        if has_come:
            try:
                clean_up()
            finally:
                os._exit(KILLED + number)
        has_come = True
        end()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
