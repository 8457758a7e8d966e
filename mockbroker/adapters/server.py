"""A running cluster: its life, and the commands that stop and start brokers and racks.

An adapter: bytes go by ``sockets`` to ``connection``, time by ``runtime`` to ``engine``. Nothing of Kafka is decided
here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Self

from mockbroker.adapters.runtime import Runtime
from mockbroker.adapters.sockets import Node
from mockbroker.core.journal import Journal
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.brokers.numbered import RACK_LISTENER, numbered_brokers
from mockbroker.state.cluster import Cluster
from mockbroker.state.topics.topic import Topic

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.adapters.blocking import BlockingMockCluster

DEFAULT_CAPTURE_BYTES = 64 << 20
LAST_ANSWERS_S = 0.2  # between a broker's last answers and the end of its connections: some clients drop what
# they read together with the end (kafka-python does), and a producer without idempotence would then send it twice
BUSY_MS = 1000  # a connection that said something within this time may still be reading answers


class MockCluster:
    """A running cluster: ``async with`` runs it in the event loop that is there, ``with`` in a thread of its own.

    Blocking clients hang in the thread of ``async with``; for them, for scripts and for notebooks there is ``with``,
    which gives a ``BlockingMockCluster``: the same commands, without ``await``.

    Args:
        brokers: how many, or the brokers themselves, each with its listeners.
        racks: broker i is in rack i modulo the list; without any, and where one is "" or None, brokers have no rack.
        topics: name -> partitions, or name -> (partitions, replication factor).
        diskless_topics: name -> partitions.
        settings: broker settings under Kafka's names; a misspelt one raises ValueError. With an
            ``inter.broker.protocol.version`` below 3.0 it is a cluster in ZooKeeper mode: brokers tell clients what a
            controller told them over its own connections.
        emulate: the release of that era whose code the brokers run, where it is not the protocol's.
        host, port: broker i listens on port + i; 0 stands for free ports.
        listener_per_rack: each broker has one more listener for each rack; who comes in by it counts as in that rack.
        seed: for ids and whatever else is drawn; equal seeds give equal clusters.
        journal: keep the last calls in ``.journal``, in this one if one is given.
        capture: write every frame into this file, and into others behind it once it has ``capture_bytes``.

    >>> async def main() -> None:
    ...     async with MockCluster(topics={"orders": 6}) as cluster:
    ...         await cluster.stop_rack("a")
    ...         print(cluster.state.topics["orders"].partitions[0].leader)
    >>> asyncio.run(main())
    1
    >>> with MockCluster(topics={"orders": 6}) as cluster:
    ...     cluster.stop_rack("a")
    ...     print(cluster.run(lambda running: running.state.topics["orders"].partitions[0].leader))
    [0]
    1
    """

    def __init__(
        self,
        brokers: int | Sequence[Broker] = 3,
        racks: Sequence[str | None] = ("a", "b", "c"),
        *,
        topics: Mapping[str, int | tuple[int, int]] | None = None,
        diskless_topics: Mapping[str, int] | None = None,
        settings: Mapping[str, Any] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        listener_per_rack: bool = False,
        seed: int = 0,
        journal: bool | Journal = True,
        capture: Path | str | None = None,
        capture_bytes: int = DEFAULT_CAPTURE_BYTES,
        emulate: str | None = None,
    ) -> None:
        if isinstance(brokers, int):
            brokers = numbered_brokers(brokers, racks, host, port, listener_per_rack)
        self.state = Cluster.create(brokers, settings=settings, seed=seed, release=emulate)
        self.journal = journal if isinstance(journal, Journal) else Journal()
        self._runtime = Runtime(self.state, Random(seed))
        if journal is not False:
            self._runtime.engine.path.observers.append(self.journal)
        self._nodes = {broker.id: Node(self._runtime, broker) for broker in self.state.brokers.values()}
        self._is_running = False
        self._blocking: BlockingMockCluster | None = None
        self._capture_to = (capture, capture_bytes) if capture is not None else None
        for name, shape in (topics or {}).items():
            partitions, replication_factor = (shape, -1) if isinstance(shape, int) else shape
            self.create_topic(name, partitions, replication_factor)
        for name, partitions in (diskless_topics or {}).items():
            self.create_topic(name, partitions, diskless=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> BlockingMockCluster:
        from mockbroker.adapters.blocking import BlockingMockCluster

        self._blocking = BlockingMockCluster(self)
        return self._blocking

    def __exit__(self, *_: object) -> None:
        assert self._blocking is not None
        self._blocking.close()

    async def start(self) -> None:
        """Bind every listener, then accept on all of them. Raises OSError: an address that cannot be had."""
        nodes = list(self._nodes.values())
        try:
            for node in nodes:
                node.bind()
            self._start_capture()
            for node in nodes:
                if node.broker.online:
                    await node.accept()
            self.state.register_brokers(self.now_ms())
            if self.state.zookeeper is not None:
                from mockbroker.adapters.controller_channels import ControllerChannels

                self._runtime.channels = ControllerChannels(self.state)
                await self.metadata_propagated()
        except BaseException:
            await self.close()
            raise
        self._is_running = True

    async def close(self) -> None:
        """Stop accepting, close every connection, and have the placer give up what it holds."""
        self._is_running = False
        self._runtime.stop()
        for node in self._nodes.values():
            node.close()
        await asyncio.sleep(0)
        if self._runtime.capture is not None:
            self._runtime.capture.close()
            self._runtime.capture = None
        self.state.close()

    # what a test asks

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of every broker, with commas between. Raises RuntimeError: the cluster does not run."""
        self._must_run()
        return ",".join(f"{broker.host}:{broker.port}" for broker in self.state.brokers.values())

    @property
    def settings_without_effect(self) -> tuple[str, ...]:
        """The settings that were given, that Kafka has, and that change nothing here; sorted."""
        return self.state.settings.without_effect

    def bootstrap_servers_for(self, rack: str) -> str:
        """The same for clients of one rack: its own listeners where there is one listener per rack."""
        self._must_run()
        addresses = []
        for broker in self.state.brokers.values():
            listener = broker.listener(RACK_LISTENER + rack)
            addresses.append(f"{listener.host}:{listener.port}")
        return ",".join(addresses)

    def now_ms(self) -> int:
        """The time of journal entries, in ms since 1970, that never goes back."""
        return self._runtime.now_ms()

    async def metadata_propagated(self) -> None:
        """In ZooKeeper mode wait until the controller has told its brokers all there is; one that refuses it is
        not waited for. In KRaft mode there is nothing to be told.
        """
        await self._runtime.metadata_propagated()

    # commands

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        *,
        diskless: bool = False,
        configs: Mapping[str, Any] | None = None,
    ) -> Topic:
        """Create a topic, as ``Cluster.create_topic`` does. Raises ApiError."""
        given = dict(configs or {})
        if diskless:
            given["diskless.enable"] = True
        topic = self.state.create_topic(name, partitions, replication_factor, configs=given)
        self._runtime.send_updates()
        return topic

    def set_follower_lag(self, broker_id: int, records: int) -> None:
        """Have the followers on a broker be so many records behind, 0 ends it. Raises KeyError, ValueError."""
        self.state.set_follower_lag(broker_id, records)
        self._runtime.settle()

    def configure_broker(self, broker_id: int, *, emulate: str | None = None, protocol: str | None = None) -> None:
        """In ZooKeeper mode change what a broker runs from its next start on: its release, its protocol, or both.

        Raises ValueError: no such version, a protocol that the release does not know, or a cluster in KRaft mode.
        """
        if self.state.zookeeper is None:
            raise ValueError("a release and a protocol can be changed in ZooKeeper mode only")
        self.state.zookeeper.configure(broker_id, emulate, protocol)

    async def stop_broker(self, broker_id: int) -> bool:
        """Stop a broker: its partitions have new leaders and its connections are closed. False if it was down."""
        stopped = self.state.stop_broker(broker_id, self.now_ms())
        if stopped:
            await self._stopped([broker_id])
        return stopped

    async def start_broker(self, broker_id: int) -> bool:
        """Start a broker on its old port. False if it was up."""
        if self.state.brokers[broker_id].online:
            return False
        await self._starting([broker_id])
        return True

    async def stop_rack(self, rack: str) -> list[int]:
        """Stop every broker of a rack; gives the ids of those that were up. Raises KeyError: no such rack."""
        stopped = self.state.stop_rack(rack, self.now_ms())
        await self._stopped(stopped)
        return stopped

    async def start_rack(self, rack: str) -> list[int]:
        """Start every broker of a rack; gives the ids of those that were down. Raises KeyError: no such rack."""
        down = [broker.id for broker in self.state.brokers_in(rack) if not broker.online]
        await self._starting(down)
        return down

    async def _stopped(self, broker_ids: Iterable[int]) -> None:
        nodes = [self._nodes[broker_id] for broker_id in broker_ids]
        for node in nodes:
            node.refuse()
        self._runtime.settle()
        leaving = [client for node in nodes for client in node.clients]
        for client in leaving:
            client.stop()
        just_now = self.now_ms() - BUSY_MS
        if any(client.connection.now_ms > just_now for client in leaving):
            await asyncio.sleep(LAST_ANSWERS_S)
        for client in leaving:
            client.close(linger=True)
        await asyncio.sleep(0)
        await self.metadata_propagated()

    async def _starting(self, broker_ids: Iterable[int]) -> None:
        for broker_id in broker_ids:
            await self._nodes[broker_id].accept()
            self.state.start_broker(broker_id, self.now_ms())
        self._runtime.settle()
        await self.metadata_propagated()

    def _must_run(self) -> None:
        if not self._is_running:
            raise RuntimeError(
                "expected a running cluster, got one without addresses: `async with` or `with` starts it"
            )

    def _start_capture(self) -> None:
        if self._capture_to is not None and self._runtime.capture is None:
            from pathlib import Path

            from mockbroker.adapters.capture import Capture

            path, file_bytes = self._capture_to
            self._runtime.capture = Capture(
                Path(path),
                now_us=lambda: time.time_ns() // 1000,
                describe=self._capture_preamble,
                file_bytes=file_bytes,
            )
            call_path = self._runtime.engine.path
            call_path.arrivals.append(self._runtime.capture.call_arrived)
            call_path.observers.append(self._runtime.capture)

    def _capture_preamble(self) -> tuple[dict[str, Any], list[tuple[str, bytes, list[int]]]]:
        """What a capture says about this cluster."""
        routes = [
            {
                "listener": listener.name,
                "broker": broker.id,
                "rack": broker.rack,
                "host": listener.host,
                "port": listener.port,
            }
            for broker in self.state.brokers.values()
            for listener in broker.listeners
        ]
        topics = [self.state.topics[name] for name in sorted(self.state.topics)]
        leaders = [
            (topic.name, topic.id, [partition.leader for partition in topic.partitions])
            for topic in topics
            if not topic.diskless  # led by whoever is told to a client
        ]
        return {"kafka": "kafka-rack", "routes": routes}, leaders
