"""The controller's connections to the brokers of a simulation in ZooKeeper mode; in KRaft mode there are none.

Nothing is decided here: what the controller has for whom is the cluster's to say.
Source: ControllerChannelManager and RequestSendThread, Apache Kafka 3.9.
"""

from __future__ import annotations

from typing import NamedTuple

from mockbroker.core.controller_link import ControllerLink
from mockbroker.state.zookeeper.controller import MetadataUpdate
from mockbroker.testing.simulation.cluster import SimulatedCluster
from mockbroker.testing.simulation.network import ClientConnection, SimulatedNetwork

RETRY_MS = 300
SOCKET_TIMEOUT_MS = 30_000  # controller.socket.timeout.ms
NO_RACK = "the controller's"
"""What is lost between a rack and a broker is what clients send: the controller's connections are in no rack."""


class SimulatedChannelKey(NamedTuple):
    """From one life of a controller to one life of a broker, in one life of the cluster."""

    life: int
    controller_id: int
    controller_epoch: int
    broker_id: int
    broker_epoch: int


class SimulatedControllerChannels:
    """Carries what the controller has for its brokers; ``send`` looks whether there is anything."""

    def __init__(self, cluster: SimulatedCluster, network: SimulatedNetwork) -> None:
        self._cluster, self._network = cluster, network
        self._channels: dict[SimulatedChannelKey, SimulatedChannel] = {}

    def send(self) -> None:
        """Have everything sent that there is, and end the connections of those that have gone."""
        zookeeper = self._cluster.state.zookeeper
        if zookeeper is None:
            return
        life = len(self._cluster.journals)
        for update in self._cluster.state.take_updates():
            key = SimulatedChannelKey(
                life, update.controller_id, update.controller_epoch, update.broker_id, update.broker_epoch
            )
            channel = self._channels.get(key)
            if channel is None:
                link = ControllerLink(key.controller_id, zookeeper.deliveries.append)
                channel = self._channels[key] = SimulatedChannel(self._network, link, key.broker_id)
            channel.add(update)
        controller = (life, zookeeper.controller_id, zookeeper.controller_epoch)
        gone = [key for key in self._channels if key[:3] != controller or key.broker_id not in zookeeper.live]
        for channel in [self._channels.pop(key) for key in gone]:
            channel.close()  # whereupon the cluster may settle, and this be called again


class SimulatedChannel:
    """One link and its connection, opened again for as long as there is something left to be sent."""

    def __init__(self, network: SimulatedNetwork, link: ControllerLink, broker_id: int) -> None:
        self._network, self._link, self._broker_id = network, link, broker_id
        self._connection: ClientConnection | None = None
        self._is_closed = self._is_retrying = False
        self._sent = 0

    def add(self, update: MetadataUpdate) -> None:
        self._link.add(update)
        self._go_on()

    def close(self) -> None:
        """End the connection for good."""
        self._is_closed = True
        if self._connection is not None:
            self._connection.close()

    def _go_on(self) -> None:
        """Send what can be sent, over a connection that is opened if need be."""
        if self._is_closed or self._is_retrying:
            return
        if self._connection is None:
            name = f"controller {self._link.controller_id}"
            self._connection = self._network.connect(name, NO_RACK, self._broker_id, self._received, self._lost)
            self._link.connected()
        frame = self._link.next_frame()
        if frame:
            self._sent += 1
            sent, connection = self._sent, self._connection
            connection.send(frame)
            scheduler = self._network.scheduler
            scheduler.call_at(scheduler.now_ms + SOCKET_TIMEOUT_MS, lambda: self._timed_out(sent, connection))

    def _timed_out(self, sent: int, connection: ClientConnection) -> None:
        """Give the connection up if this was sent last and has no answer."""
        if self._connection is connection and self._sent == sent and not self._link.is_settled:
            connection.lose()

    def _received(self, data: bytes) -> None:
        self._link.receive(data)
        self._go_on()

    def _lost(self) -> None:
        self._connection = None
        self._link.lost()
        if not self._is_closed and self._link.has_more:
            self._is_retrying = True
            scheduler = self._network.scheduler
            scheduler.call_at(scheduler.now_ms + RETRY_MS, self._retry)

    def _retry(self) -> None:
        self._is_retrying = False
        self._go_on()
