"""The controller's connections on real sockets, to each live broker including itself."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, cast

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.zookeeper.controller import (
    REFUSED,
    STALE,
    TAKEN,
    UNREACHABLE,
    MetadataUpdate,
    UpdateDelivery,
    ZooKeeperMode,
)
from mockbroker.zookeeper.update_metadata import request_of
from protocol.errors import ProtocolError
from protocol.framing import FrameReader
from protocol.headers import read_response, request_frame

UPDATE_METADATA = 6
AGAIN_S = 0.3  # after a failed attempt; as in Kafka's controller
LOOPBACK_OF = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - wildcard listeners


class ChannelKey(NamedTuple):
    """Identifies a connection: one run of a controller to one run of a broker."""

    controller_id: int
    controller_epoch: int
    broker_id: int
    broker_epoch: int


class ControllerChannels:
    """Sends a cluster's controller updates to its brokers.

    Args:
        state: the cluster, which decides on the updates; read by ``send``.
    """

    def __init__(self, state: Cluster) -> None:
        self.state = state
        self._channels: dict[ChannelKey, SocketChannel] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._closed = False

    def send(self) -> None:
        """Send all updates of the controller, and close the connections of brokers that are gone."""
        zookeeper: ZooKeeperMode | None = self.state.other_mode
        if zookeeper is None or self._closed:
            return
        for update in zookeeper.take_updates(self.state.topics, self.state.version):
            self._channel(channel_key_of(update)).add(update)
        controller = (zookeeper.controller_id, zookeeper.controller_epoch)
        for key in list(self._channels):
            if key[:2] != controller or key.broker_id not in zookeeper.live:
                self._channels.pop(key).close()
        self.check()

    async def until_idle(self) -> None:
        """Wait until every broker has received its updates, or the last attempt to reach it has failed."""
        if not self._is_idle():
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
        self.check()

    def check(self) -> None:
        """Notify waiting tasks if all updates are delivered."""
        if self._waiting and self._is_idle():
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                if not one.done():
                    one.set_result(None)

    def _is_idle(self) -> bool:
        return all(channel.is_idle for channel in self._channels.values())

    def _channel(self, key: ChannelKey) -> SocketChannel:
        channel = self._channels.get(key)
        if channel is None:
            zookeeper = self.state.other_mode
            assert zookeeper is not None
            broker, on_delivery = self.state.brokers[key.broker_id], zookeeper.deliveries.append
            channel = self._channels[key] = SocketChannel(key.controller_id, broker, on_delivery, self.check)
        return channel


def channel_key_of(update: MetadataUpdate) -> ChannelKey:
    return ChannelKey(update.controller_id, update.controller_epoch, update.broker_id, update.broker_epoch)


class SocketChannel(asyncio.Protocol):
    """The connection of one run of a controller to one broker, reopened while updates are pending.

    ``on_delivery`` gets each sent update with its outcome. ``is_idle`` is true while no update is pending, or while
    the last attempt has failed and the next has not begun.
    """

    def __init__(
        self,
        controller_id: int,
        broker: Broker,
        on_delivery: Callable[[UpdateDelivery], None],
        on_change: Callable[[], None],
    ) -> None:
        self.controller_id, self.broker = controller_id, broker
        self.on_delivery, self.on_change = on_delivery, on_change
        self._updates: deque[MetadataUpdate] = deque()
        self._correlation_id = -1
        self._is_waiting = self._has_failed = self._closed = False
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self._opening: asyncio.Task[object] | None = None
        self._again: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        return not self._updates or self._has_failed

    def add(self, update: MetadataUpdate) -> None:
        """Send an update after the pending ones."""
        self._updates.append(update)
        self._send()

    def close(self) -> None:
        """Close the connection for good."""
        self._closed = True
        for one in (self._again, self._opening):
            if one is not None:
                one.cancel()
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._closed:
            self._transport.close()
        else:
            self._send()

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                self._take(frame)
        except ProtocolError:
            assert self._transport is not None
            self._transport.abort()
            return
        self._send()
        self.on_change()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._failed()

    def _send(self) -> None:
        """Send the next update unless a response is outstanding; opens a connection if necessary."""
        if self._transport is None:
            if self._opening is None and self._again is None and not self._closed:
                self._opening = asyncio.get_running_loop().create_task(self._open())
        elif self._updates and not self._is_waiting:
            update = self._updates[0]
            self._correlation_id += 1
            self._is_waiting, self._has_failed = True, False
            client_id, number = str(self.controller_id), self._correlation_id
            frame = request_frame(request_of(update), update.version, correlation_id=number, client_id=client_id)
            self._transport.write(frame)

    def _take(self, frame: bytes) -> None:
        """Read a response. Raises ProtocolError unless it answers the request."""
        if not self._is_waiting:
            raise ProtocolError(f"expected no response without a request, got {len(frame)} bytes")
        update = self._updates[0]
        header, response = read_response(frame, UPDATE_METADATA, update.version)
        if header.correlation_id != self._correlation_id:
            raise ProtocolError(f"expected response {self._correlation_id}, got {header.correlation_id}")
        self._updates.popleft()
        self._is_waiting = False
        self.on_delivery(UpdateDelivery(update, STALE if response.error_code else TAKEN))

    async def _open(self) -> None:
        listener = self.broker.listeners[0]
        host = listener.bind_host if listener.bind_host is not None else listener.host
        port = listener.bind_port if listener.bind_port is not None else listener.port
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self, LOOPBACK_OF.get(host, host), port)
        except OSError:
            self._opening = None
            self._failed()
        else:
            self._opening = None

    def _failed(self) -> None:
        """Try again later; an update without a response stays pending."""
        if self._closed:
            return
        if self._updates:
            self._has_failed = True
            self.on_delivery(UpdateDelivery(self._updates[0], REFUSED if self._is_waiting else UNREACHABLE))
            if self._again is None:
                self._again = asyncio.get_running_loop().call_later(AGAIN_S, self._try_again)
        self._is_waiting = False
        self._reader = FrameReader()
        self.on_change()

    def _try_again(self) -> None:
        self._again = None
        self._send()
