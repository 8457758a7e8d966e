"""The controller's connections on real sockets, to each live broker including itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, cast

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.zookeeper.controller import MetadataUpdate, ZooKeeperMode
from mockbroker.zookeeper.controller_link import ControllerLink
from protocol.errors import ProtocolError

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
        self._settled: list[asyncio.Future[None]] = []
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

    async def settled(self) -> None:
        """Wait until every broker has received its updates, or the last attempt to reach it has failed."""
        if not self._is_settled():
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._settled.append(waiting)
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
        if self._settled and self._is_settled():
            waiting, self._settled = self._settled, []
            for one in waiting:
                if not one.done():
                    one.set_result(None)

    def _is_settled(self) -> bool:
        return all(channel.link.is_settled for channel in self._channels.values())

    def _channel(self, key: ChannelKey) -> SocketChannel:
        channel = self._channels.get(key)
        if channel is None:
            zookeeper = self.state.other_mode
            assert zookeeper is not None
            link = ControllerLink(key.controller_id, zookeeper.deliveries.append)
            channel = self._channels[key] = SocketChannel(link, self.state.brokers[key.broker_id], self.check)
        return channel


def channel_key_of(update: MetadataUpdate) -> ChannelKey:
    return ChannelKey(update.controller_id, update.controller_epoch, update.broker_id, update.broker_epoch)


class SocketChannel(asyncio.Protocol):
    """A link's socket, reopened while there are updates to send."""

    def __init__(self, link: ControllerLink, broker: Broker, on_change: Callable[[], None]) -> None:
        self.link, self.broker, self.on_change = link, broker, on_change
        self._transport: asyncio.Transport | None = None
        self._opening: asyncio.Task[object] | None = None
        self._again: asyncio.TimerHandle | None = None
        self._closed = False

    def add(self, update: MetadataUpdate) -> None:
        self.link.add(update)
        self._go_on()

    def close(self) -> None:
        """Close the connection for good."""
        self._closed = True
        if self._again is not None:
            self._again.cancel()
        if self._opening is not None:
            self._opening.cancel()
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._closed:
            self._transport.close()
            return
        self.link.connected()
        self._go_on()

    def data_received(self, data: bytes) -> None:
        try:
            self.link.receive(data)
        except ProtocolError:
            assert self._transport is not None
            self._transport.abort()
            return
        self._go_on()
        self.on_change()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._failed()

    def _go_on(self) -> None:
        """Send pending updates; opens a connection if necessary."""
        if self._transport is not None:
            frame = self.link.next_frame()
            if frame:
                self._transport.write(frame)
        elif self._opening is None and self._again is None and not self._closed:
            self._opening = asyncio.get_running_loop().create_task(self._open())

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
        if self._closed:
            return
        self.link.lost()
        if self.link.has_more and self._again is None:
            self._again = asyncio.get_running_loop().call_later(AGAIN_S, self._try_again)
        self.on_change()

    def _try_again(self) -> None:
        self._again = None
        self._go_on()
