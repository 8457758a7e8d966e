"""What the Python actors share: orders in by lines, and consumers that read on in a thread of their own.

A client's module has a class with a method for each order that the client knows, and one for its consumers that has
``poll``, ``partitions``, ``commit`` and ``close``.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

POLL_S = 0.1


class Given(NamedTuple):
    """A record to be sent."""

    partition: int
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


class Consumer(Protocol):
    """A client's consumer, used by one thread."""

    def poll(self, timeout_s: float) -> list[str]:
        """What there is, as it is answered."""

    def partitions(self) -> int:
        """How many it has."""

    def commit(self) -> None:
        """What was polled so far, and wait for the answer."""

    def close(self) -> None:
        """Leave the group."""


class Reading:
    """A consumer that reads on, whatever is asked of it: between two polls it does what is to be done in its thread."""

    def __init__(self, opened: Callable[[], Consumer]) -> None:
        self._changed = threading.Condition()
        self._records: deque[str] = deque()
        self._held = 0
        self._tasks: deque[Callable[[Consumer], None]] = deque()
        self._problem: BaseException | None = None
        self._is_over = False
        self._opened = opened
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def read(self, count: int) -> str:
        """So many more records."""
        self._wait(lambda: len(self._records) >= count)
        return " ".join(self._records.popleft() for _ in range(count))

    def holds(self, count: int) -> None:
        """Wait until it has so many partitions."""
        self._wait(lambda: self._held == count)

    def commit(self) -> None:
        self._do(lambda consumer: consumer.commit())

    def close(self) -> None:
        self._do(self._end)
        self._thread.join()

    def _end(self, consumer: Consumer) -> None:
        self._is_over = True
        consumer.close()

    def _do(self, task: Callable[[Consumer], None]) -> None:
        done = threading.Event()

        def carried_out(consumer: Consumer) -> None:
            try:
                task(consumer)
            finally:
                done.set()

        self._tasks.append(carried_out)
        self._wait(done.is_set)

    def _wait(self, there: Callable[[], bool]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: there() or self._problem is not None)
            if self._problem is not None:
                raise self._problem

    def _run(self) -> None:
        try:
            consumer = self._opened()
            while not self._is_over:
                found = consumer.poll(POLL_S)
                while self._tasks:
                    self._tasks.popleft()(consumer)
                with self._changed:
                    self._records.extend(found)
                    self._held = 0 if self._is_over else consumer.partitions()
                    self._changed.notify_all()
        except BaseException as problem:  # noqa: BLE001 - whoever waits is told
            with self._changed:
                self._problem = problem
                self._changed.notify_all()


class Actor:
    """Carries out orders. Subclasses add those that their client knows."""

    def __init__(self) -> None:
        self.address = self.client_id = ""
        self.readings: dict[str, Reading] = {}

    def consumer(self, topic: str, group: str, settings: dict[str, str]) -> Consumer:
        raise NotImplementedError

    def servers(self, address: str, client_id: str = "actor") -> None:
        self.address, self.client_id = address, client_id

    def open(self, name: str, topic: str, group: str, *settings: str) -> None:
        given = dict(setting.split("=", 1) for setting in settings)
        self.readings[name] = Reading(lambda: self.consumer(topic, group, given))

    def holds(self, name: str, count: str) -> None:
        self.readings[name].holds(int(count))

    def read(self, name: str, count: str) -> str:
        return self.readings[name].read(int(count))

    def commit(self, name: str) -> None:
        self.readings[name].commit()

    def close(self, name: str) -> None:
        self.readings.pop(name).close()


def given(text: str) -> Given:
    """A record of an order."""
    partition, key, value, headers = text.split("/")
    pairs = [pair.split("=", 1) for pair in headers.split(",") if pair]
    return Given(int(partition), key.encode(), value.encode(), [(name, content.encode()) for name, content in pairs])


def told(partition: int, offset: int, key: bytes | None, value: bytes | None, headers: Any) -> str:
    """A record of an answer."""
    pairs = ",".join(f"{name}={(content or b'').decode()}" for name, content in headers or ())
    return f"{partition}/{offset}/{(key or b'').decode()}/{(value or b'').decode()}/{pairs}"


def serve(actor: Actor) -> None:
    """Answer each line of standard input."""
    for line in sys.stdin:
        order, *words = line.split()
        try:
            print(f"ok {getattr(actor, order)(*words) or ''}".strip(), flush=True)
        except Exception as problem:  # noqa: BLE001 - whatever a library raises is the answer
            print(f"error {type(problem).__name__} {problem}".replace("\n", " "), flush=True)
