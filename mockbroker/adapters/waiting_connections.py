"""Connections that are not taken yet, because of how many there may be or how fast they may come.

Each listener has its own line, as Kafka's has its own acceptor: the first one waits for room and for the rates, and
those behind it for the first one. Nothing of them is read.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.adapters.sockets import ClientProtocol, Node

BACKLOG = 1024


class WaitingConnections:
    """The line of one listener.

    ``refused`` are connections of addresses from which too many come in a second, with what is to close them.
    """

    def __init__(self, node: Node, listener: str) -> None:
        self._node, self._listener = node, listener
        self._line: dict[ClientProtocol, int | None] = {}
        """In their order, with the time from when on the rates let one be taken: only the first has that."""
        self._next_taken: asyncio.TimerHandle | None = None
        self._refused: dict[ClientProtocol, asyncio.TimerHandle] = {}

    def add(self, client: ClientProtocol) -> None:
        """Take a new connection, or have it wait."""
        if len(self._line) >= BACKLOG:
            client.transport.abort()
            return
        due_ms = None
        if not self._line:
            quotas, now_ms = self._node.quotas, self._node.cluster.now_ms()
            due_ms = now_ms + quotas.wait_ms(self._listener, now_ms)
            if due_ms <= now_ms and quotas.has_room(self._listener):
                self._take(client, now_ms)
                return
            quotas.tell_of_wait(self._listener, client.address)
        client.transport.pause_reading()
        self._line[client] = due_ms
        if due_ms is not None:
            self.take()

    def remove(self, client: ClientProtocol) -> None:
        """A connection that was not taken has ended."""
        timer = self._refused.pop(client, None)
        if timer is not None:
            timer.cancel()
        if client in self._line:
            del self._line[client]
            self.take()

    def take(self) -> None:
        """Take those that wait, as many as may be taken by now."""
        if self._next_taken is not None:
            self._next_taken.cancel()
            self._next_taken = None
        quotas = self._node.quotas
        while self._line:
            client, due_ms = next(iter(self._line.items()))
            now_ms = self._node.cluster.now_ms()
            if due_ms is None:
                due_ms = self._line[client] = now_ms + quotas.wait_ms(self._listener, now_ms)
            if due_ms > now_ms:
                loop = asyncio.get_running_loop()
                self._next_taken = loop.call_later((due_ms - now_ms) / 1000, self.take)
            if due_ms > now_ms or not quotas.has_room(self._listener):
                return
            del self._line[client]
            if not client.transport.is_closing() and self._take(client, now_ms):
                client.transport.resume_reading()
                client.catch_up()

    def end(self) -> None:
        """Break off all that wait."""
        for client in (*self._line, *self._refused):
            client.transport.abort()
        self._line.clear()
        if self._next_taken is not None:
            self._next_taken.cancel()
            self._next_taken = None

    def _take(self, client: ClientProtocol, now_ms: int) -> bool:
        """Take a connection, unless its address sends too many: then it is closed later."""
        close_ms = self._node.quotas.close_after_ms(self._listener, client.address, now_ms)
        if not close_ms:
            client.take()
            return True
        client.transport.pause_reading()
        loop = asyncio.get_running_loop()
        self._refused[client] = loop.call_later(close_ms / 1000, client.transport.abort)
        return False
