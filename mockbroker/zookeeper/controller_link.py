"""The controller's connection to one broker, without a socket: updates in, frames out, answers in.

One request at a time, in order. One that is not answered stays first and is sent again over the next connection,
as Kafka's controller does.
Source: RequestSendThread, Kafka 0.10; ControllerChannelManager, Apache Kafka 3.9.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mockbroker.zookeeper.controller import REFUSED, STALE, TAKEN, UNREACHABLE, MetadataUpdate, UpdateDelivery
from mockbroker.zookeeper.update_metadata import request_of
from protocol.errors import ProtocolError
from protocol.framing import FrameReader
from protocol.headers import read_response, request_frame

API_KEY = 6  # UpdateMetadata


class ControllerLink:
    """What one controller has for one broker.

    ``on_delivery`` gets each update that was sent and what came of it. ``is_settled`` is true while nothing is left, or
    while the last attempt has failed and the next has not begun.
    """

    def __init__(self, controller_id: int, on_delivery: Callable[[UpdateDelivery], None]) -> None:
        self.controller_id, self.on_delivery = controller_id, on_delivery
        self.is_connected = False
        self._updates: deque[MetadataUpdate] = deque()
        self._correlation_id = -1
        self._is_waiting = False
        self._has_failed = False
        self._reader = FrameReader()

    @property
    def is_settled(self) -> bool:
        return not self._updates or self._has_failed

    @property
    def has_more(self) -> bool:
        """Whether there is anything left to be sent."""
        return bool(self._updates)

    def add(self, update: MetadataUpdate) -> None:
        """One more, behind those that are there."""
        self._updates.append(update)

    def connected(self) -> None:
        """A connection has been opened."""
        self.is_connected = True

    def next_frame(self) -> bytes:
        """The bytes to be sent now; none while an answer is missing."""
        if not self.is_connected or self._is_waiting or not self._updates:
            return b""
        update = self._updates[0]
        self._correlation_id += 1
        self._is_waiting = True
        self._has_failed = False
        return request_frame(
            request_of(update), update.version, correlation_id=self._correlation_id, client_id=str(self.controller_id)
        )

    def receive(self, data: bytes) -> None:
        """Take bytes from the broker. Raises ProtocolError: they are not the answer to what was asked."""
        for frame in self._reader.feed(data):
            self._take(frame)

    def lost(self) -> None:
        """The connection has ended, or could not be opened. What was not answered is kept."""
        if self._updates:
            self._has_failed = True
            self.on_delivery(UpdateDelivery(self._updates[0], REFUSED if self._is_waiting else UNREACHABLE))
        self.is_connected = self._is_waiting = False
        self._reader = FrameReader()

    def _take(self, frame: bytes) -> None:
        if not self._is_waiting:
            raise ProtocolError(f"an answer of {len(frame)} bytes, but nothing was asked")
        update = self._updates[0]
        header, response = read_response(frame, API_KEY, update.version)
        if header.correlation_id != self._correlation_id:
            raise ProtocolError(f"answer {header.correlation_id}, but {self._correlation_id} is awaited")
        self._updates.popleft()
        self._is_waiting = False
        self.on_delivery(UpdateDelivery(update, STALE if response.error_code else TAKEN))
