"""The controller's connection to one broker, without a socket: takes updates, returns frames, reads responses.

One request at a time, in order. A request without a response is sent first over the next connection, as by Kafka's
controller.
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
    """The pending updates of one controller for one broker.

    ``on_delivery`` gets each sent update with its outcome. ``is_settled`` is true while no update is pending, or while
    the last attempt has failed and the next has not begun.
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
        """True if updates are pending."""
        return bool(self._updates)

    def add(self, update: MetadataUpdate) -> None:
        """Append an update."""
        self._updates.append(update)

    def connected(self) -> None:
        """Start on a new connection."""
        self.is_connected = True

    def next_frame(self) -> bytes:
        """The next frame to send; empty while a response is outstanding."""
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
        """Read bytes from the broker. Raises ProtocolError unless they are the response to the request."""
        for frame in self._reader.feed(data):
            self._take(frame)

    def lost(self) -> None:
        """Handle a connection that closed or could not be opened. Requests without a response stay pending."""
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
