"""The controller's connections on real sockets, to each live broker including itself."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.zookeeper.controller import (
    REFUSED,
    STALE,
    TAKEN,
    UNREACHABLE,
    UpdateDelivery,
    ZooKeeperMode,
)
from mockbroker.zookeeper.releases import UPDATE_METADATA
from mockbroker.zookeeper.update_metadata import MetadataUpdate
from protocol.errors import ProtocolError
from protocol.framing import MAX_FRAME_BYTES
from protocol.headers import read_response, request_frame

AGAIN_S = 0.3  # after a failed attempt; as in Kafka's controller
LOOPBACK_OF = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - wildcard listeners


class ControllerChannels:
    """Sends a cluster's controller updates to its brokers.

    ``_channels`` is keyed by controller id and epoch, broker id and epoch: one run of a controller to one of a broker.

    Args:
        state: the cluster, which decides on the updates; read by ``send``.
    """

    def __init__(self, state: Cluster) -> None:
        self.state = state
        self._channels: dict[tuple[int, int, int, int], SocketChannel] = {}
        self._closed = False

    def send(self) -> None:
        """Send all updates of the controller, and close the connections of brokers that are gone."""
        zookeeper: ZooKeeperMode | None = self.state.other_mode
        if zookeeper is None or self._closed:
            return
        for update in zookeeper.take_updates(self.state.topics, self.state.version):
            key = (update.controller_id, update.controller_epoch, update.broker_id, update.broker_epoch)
            if key not in self._channels:
                broker = self.state.brokers[update.broker_id]
                self._channels[key] = SocketChannel(broker, zookeeper.deliveries.append)
            self._channels[key].add(update)
        for key in list(self._channels):
            if key[:2] != (zookeeper.controller_id, zookeeper.controller_epoch) or key[2] not in zookeeper.live:
                self._channels.pop(key).close()

    async def until_idle(self) -> None:
        """Wait until every broker has received its updates, or the last attempt to reach it has failed."""
        while busy := [channel for channel in self._channels.values() if not channel.idle.is_set()]:
            await busy[0].idle.wait()

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()


class SocketChannel:
    """The connection of one run of a controller to one broker, reopened while updates are pending.

    ``on_delivery`` gets each sent update with its outcome. ``idle`` is set while no update is pending, or while the
    last attempt has failed and the next has not succeeded in connecting.
    """

    def __init__(self, broker: Broker, on_delivery: Callable[[tuple[int, UpdateDelivery]], None]) -> None:
        self.broker, self.on_delivery = broker, on_delivery
        self.idle = asyncio.Event()
        self._updates: deque[MetadataUpdate] = deque()
        self._correlation_id = -1
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._delivering: asyncio.Task[None] | None = None

    def add(self, update: MetadataUpdate) -> None:
        """Send an update after the pending ones."""
        self._updates.append(update)
        if self._delivering is None or self._delivering.done():
            self.idle.clear()
            self._delivering = asyncio.get_running_loop().create_task(self._deliver())

    def close(self) -> None:
        """Close the connection for good."""
        if self._delivering is not None:
            self._delivering.cancel()
        self._disconnect()
        self.idle.set()

    async def _deliver(self) -> None:
        """Send the pending updates, one at a time, each until the broker has answered it."""
        while self._updates:
            update, outcome, has_failed = self._updates[0], UNREACHABLE, False
            try:
                reader, writer = await self._connected()
                outcome = REFUSED
                self.idle.clear()
                outcome = await self._exchange(update, reader, writer)
                self._updates.popleft()
            except (OSError, EOFError, ProtocolError):
                has_failed = True
                self._disconnect()
            self.on_delivery((self.broker.id, UpdateDelivery(update.version, update.controller_id, outcome)))
            if has_failed:
                self.idle.set()
                await asyncio.sleep(AGAIN_S)
        self.idle.set()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The open connection, or a new one. Raises OSError."""
        if self._connection is None or self._connection[0].at_eof():
            self._disconnect()
            listener = self.broker.listeners[0]
            host = listener.bind_host if listener.bind_host is not None else listener.host
            port = listener.bind_port if listener.bind_port is not None else listener.port
            self._connection = await asyncio.open_connection(LOOPBACK_OF.get(host, host), port)
        return self._connection

    async def _exchange(
        self, update: MetadataUpdate, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> str:
        """Send an update and read the response; returns the outcome. Raises OSError, EOFError, ProtocolError."""
        self._correlation_id += 1
        client_id, number = str(update.controller_id), self._correlation_id
        writer.write(request_frame(update.request(), update.version, correlation_id=number, client_id=client_id))
        size = int.from_bytes(await reader.readexactly(4))
        if size > MAX_FRAME_BYTES:
            raise ProtocolError(f"expected a response of at most {MAX_FRAME_BYTES} bytes, got {size}")
        header, response = read_response(await reader.readexactly(size), UPDATE_METADATA, update.version)
        if header.correlation_id != number:
            raise ProtocolError(f"expected response {number}, got {header.correlation_id}")
        return STALE if response.error_code else TAKEN

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection[1].close()
            self._connection = None
