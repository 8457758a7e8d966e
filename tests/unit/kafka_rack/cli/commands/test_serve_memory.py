"""A server returns memory to the system once it is calm."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from kafka_rack.cli.serving import running
from tests.torture.target import status_mb


class Looks:
    """A loop that keeps what is to be called later."""

    def call_later(self, _: float, look: Callable[..., None], *given: Any) -> None:
        self.next = lambda: look(*given)


def test_memory_is_returned_once_after_each_time_of_work(monkeypatch):
    spent_s, trimmed = 0.0, []
    monkeypatch.setattr(time, "process_time", lambda: spent_s)
    monkeypatch.setattr(running, "trim_heap", lambda: trimmed.append(spent_s))
    loop = Looks()
    running.return_memory(loop)
    for used_s in (0.1, 4.0, 3.0, 0.1, 0.1, 5.0, 0.0):
        spent_s += used_s
        loop.next()
    assert trimmed == pytest.approx([7.2, 12.3])


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc keeps free memory so")
def test_free_pages_go_back_to_the_system():
    blocks = [bytes(3000) for _ in range(60_000)]  # 180 MB
    kept = blocks[::50]
    del blocks
    before_mb = status_mb(os.getpid())
    running.trim_heap()
    assert before_mb - status_mb(os.getpid()) > 100
    assert kept
