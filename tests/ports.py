"""Ports for what cannot ask for a free one itself, as a real Kafka or a file of properties."""

from __future__ import annotations

import os
import socket
from itertools import count

FIRST, SPAN = 10_000, 20_000
"""Below those that a system gives to whoever asks for any (32768 and up on Linux): there one that was free a moment ago
may be another process's by now."""
STEP = 997
TURNS = count(os.getpid() * STEP)  # so processes that look at the same time look in different places


def free_ports(number: int) -> list[int]:
    """Ports that nobody listens at; none is given twice."""
    found: list[int] = []
    while len(found) < number:
        port = FIRST + next(TURNS) % SPAN
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    return found
