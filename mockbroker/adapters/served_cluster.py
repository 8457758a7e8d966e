"""The common part of clusters with sockets, our own and proxies of real ones: listeners that stop and
start, faults, journal, traffic, captures, and an orderly end.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from mockbroker.adapters.options import ServedOptions
from mockbroker.adapters.runtime import Runtime
from mockbroker.adapters.sockets import ClientProtocol, Node
from mockbroker.core.commands import StateCommands
from mockbroker.core.journal import Journal
from mockbroker.core.own_thread import Run, directly
from mockbroker.core.traffic import Traffic
from mockbroker.state.brokers.broker import RACK_LISTENER

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingCluster
    from mockbroker.adapters.tls.material import TlsMaterial
    from mockbroker.core.engine import Engine
    from mockbroker.core.faults.faults import Faults
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster

FINISH_S = 0.6  # so that a process ends within a second
LOOK_S = 0.005
LAST_ANSWERS_S = 0.2  # between a broker's last answers and the end of its connections: some clients drop what
# they read together with the end (kafka-python does), and a producer without idempotence would then send it twice.
# The answers to requests meanwhile say that the broker leads no partition, as those of a Kafka broker at its shutdown:
# without an answer a client would wait for the end
BUSY_MS = 1000  # a connection that said something within this time may still be reading answers


class ServedCluster(Runtime, StateCommands):
    """A running cluster; ``journal`` and ``traffic`` observe its calls, as its options say."""

    def __init__(self, engine: Engine, options: ServedOptions) -> None:
        super().__init__(engine)
        self._options = options
        self.journal = options.journal if isinstance(options.journal, Journal) else Journal()
        self.traffic = Traffic()
        engine.client_racks = options.client_racks
        if options.journal is not False:
            engine.path.observers.append(self.journal)
        if options.traffic:
            engine.path.observers.append(self.traffic)
        self._run: Run = directly
        self._nodes: dict[int, Node] = {}
        self._is_running = False
        self._faults: Faults | None = None

    @property
    def state(self) -> Cluster:
        """The state of the cluster; a reset replaces it."""
        return self.engine.cluster

    @property
    def tls(self) -> TlsMaterial | None:
        """The test certificates, if any: ``tls.client_context()`` is for clients."""
        return self._tls

    async def start(self) -> None:
        """Bind every listener, then accept on all of them. Raises OSError: an address cannot be bound."""
        try:
            await self._bind()
            self._start_capture()
            for node in self._nodes.values():
                if node.broker.is_running:
                    await node.accept()
            self.state.cluster_control.register_again(self.now_ms())
            await self._accepting()
            if self._tls is not None and self._options.security_dir is not None:
                from mockbroker.adapters.tls.files import write_files

                write_files(self._options.security_dir, self.state, self._tls)
        except BaseException:
            await self.close()
            raise
        self._is_running = True
        self.settle()
        self._look_after()

    @abstractmethod
    async def _bind(self) -> None:
        """Bind the listeners of every broker. Raises OSError: an address cannot be bound."""

    async def _accepting(self) -> None:
        """Do what follows once brokers accept connections."""

    @abstractmethod
    async def close(self) -> None:
        """Stop accepting and close every connection."""

    def _go_down(self, broker_id: int) -> bool:
        """Stop a broker for clients; False if it was down. Raises KeyError: unknown broker."""
        return self.state.cluster_control.stop(broker_id, self.now_ms())

    def _come_up(self, broker_id: int) -> bool:
        """Start a broker for clients; False if it was up."""
        return self.state.cluster_control.start(broker_id, self.now_ms())

    def _crash(self, broker_id: int) -> bool:
        """Stop a broker without a controlled shutdown; False if it was down. Raises KeyError: unknown broker."""
        return self.state.cluster_control.crash(broker_id, self.now_ms())

    @abstractmethod
    async def reset(self) -> None:
        """Restore the state at the start. Raises ValueError: not possible."""

    @abstractmethod
    def configure_broker(self, broker_id: int, *, emulate: str | None = None, protocol: str | None = None) -> None:
        """Change a broker's release or protocol from its next start on. Raises ValueError: not possible."""

    _blocking: BlockingCluster[Any] | None = None
    _tls: TlsMaterial | None = None

    def __exit__(self, *_: object) -> None:
        assert self._blocking is not None
        self._blocking.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def finish(self, within_s: float = FINISH_S) -> None:
        """Before ``close``: read no more requests, and answer those received, within ``within_s`` seconds.

        Brokers accept no more connections. Fetches are answered with the existing records; other calls that wait have
        until the time is over, and ``close`` drops them. Then each connection ends from the broker's side, and stays
        open until its client has read its answers. Source: SocketServer.stopProcessingRequests and
        BrokerServer.shutdown, Apache Kafka 4.4, which also answer what is in their queue and no more.
        """
        if not self._is_running:
            return
        loop = asyncio.get_running_loop()
        ends_at, just_now = loop.time() + within_s, self.now_ms() - BUSY_MS
        listening = [node for node in self._nodes.values() if node.accepts]
        for node in listening:
            node.refuse()
        self.engine.finish(self.now_ms())
        answering = [client for node in listening for client in node.clients]
        for client in answering:
            client.take_no_more()
        reading: list[ClientProtocol] = []
        while (answering or reading) and loop.time() < ends_at:
            self.settle()
            for client in [one for one in answering if one.is_answered]:
                client.stop()
                if client.connection.now_ms >= just_now:
                    client.close(linger=True)
                    reading.append(client)
            answering = [one for one in answering if not one.is_answered and not one.transport.is_closing()]
            reading = [one for one in reading if not one.transport.is_closing()]
            if answering or reading:
                await asyncio.sleep(LOOK_S)

    # what a test asks

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of every broker, with commas between. Raises RuntimeError: the cluster does not run."""
        return self.bootstrap_servers_for("")  # no listener is for it

    def bootstrap_servers_for(self, rack: str) -> str:
        """The same for clients of one rack: its own listeners if each rack has a listener."""
        self._must_run()
        listeners = [broker.listener(RACK_LISTENER + rack) for broker in self.state.brokers.values()]
        return ",".join(f"{one.host}:{one.port}" for one in listeners)

    @property
    def faults(self) -> Faults:
        """The faults to inject: added and removed here, at any time; docs/faults.md."""
        if self._faults is None:
            from mockbroker.core.faults.faults import Faults

            self._faults = Faults(self.engine.path, self._options.seed, self.now_ms, self._faults_changed)
            self._faults.run = self._run
        return self._faults

    def _run_by(self, run: Run) -> None:
        """Have ``faults``, ``journal`` and ``traffic`` do their work by ``run``, from whatever thread it is called."""
        self._run = self.journal.run = self.traffic.run = run

    def connections(self) -> dict[int, int]:
        """The number of open client connections by broker."""
        return {broker_id: len(node.clients) for broker_id, node in self._nodes.items()}

    async def metadata_propagated(self) -> None:
        """In ZooKeeper mode wait until the controller has updated its brokers, except those that refuse
        it. In KRaft mode return at once.
        """
        channels = self.channels
        if channels is not None:
            channels.send()
            await channels.until_idle()

    # commands

    async def stop_broker(self, broker_id: int) -> bool:
        """Stop a broker: its partitions get new leaders and its connections are closed. False if it was down."""
        return bool(await self._stop([broker_id]))

    async def start_broker(self, broker_id: int) -> bool:
        """Start a broker on its old port. False if it was up."""
        return bool(await self._start([self.state.liveness.broker(broker_id)]))

    async def restart_broker(self, broker_id: int) -> bool:
        """Stop a broker, if it is up, and start it on its old port. Returns True if it was up. Raises KeyError."""
        was_up = await self.stop_broker(broker_id)
        await self.start_broker(broker_id)
        return was_up

    async def crash_broker(self, broker_id: int) -> bool:
        """End a broker at once: its connections break, and the others notice only once its session has expired.

        Returns False if it was down. Raises KeyError: unknown broker.
        """
        crashed = self._crash(broker_id)
        if crashed:
            node = self._nodes[broker_id]
            node.refuse()
            for client in list(node.clients):
                client.abort()
            self.settle()
            await asyncio.sleep(0)
            await self.metadata_propagated()
        return crashed

    async def stop_rack(self, rack: str) -> list[int]:
        """Stop every broker of a rack; returns the ids of those that were up. Raises KeyError: unknown rack."""
        return await self._stop(broker.id for broker in self.state.liveness.brokers_in(rack))

    async def start_rack(self, rack: str) -> list[int]:
        """Start every broker of a rack; returns the ids of those that were down. Raises KeyError: unknown rack."""
        return await self._start(self.state.liveness.brokers_in(rack))

    async def restart_rack(self, rack: str) -> list[int]:
        """Stop every broker of a rack that is up, then start all; returns the ids of those that were up.

        Raises KeyError: unknown rack.
        """
        stopped = await self.stop_rack(rack)
        await self.start_rack(rack)
        return stopped

    # inside

    async def _end(self) -> None:
        """Stop accepting, close every connection, and end the capture."""
        self._is_running = False
        self._stop_timers()
        for node in self._nodes.values():
            node.close()
        await asyncio.sleep(0)
        if self.capture is not None:
            self.capture.close()
            self.capture = None

    async def _stop(self, broker_ids: Iterable[int]) -> list[int]:
        """Stop brokers; returns the ids of those that were up."""
        stopped = [broker_id for broker_id in broker_ids if self._go_down(broker_id)]
        nodes = [self._nodes[broker_id] for broker_id in stopped]
        # in ZooKeeper mode a broker that no controller updates would accept writes
        answers_to_the_end = self.state.support.is_kraft and not self.state.is_mirror
        for node in nodes:
            node.refuse()
        self.settle()
        leaving = [client for node in nodes for client in node.clients]
        for client in leaving:
            if not (answers_to_the_end and client.is_answered):
                client.stop()
        just_now = self.now_ms() - BUSY_MS
        if any(client.connection.now_ms > just_now for client in leaving):
            await asyncio.sleep(LAST_ANSWERS_S)
        for client in leaving:
            client.stop()
            client.close(linger=True)
        # uvloop sends a connection's end in its next iteration: the command returns after that
        await asyncio.sleep(0)
        await self.metadata_propagated()
        return stopped

    async def _start(self, brokers: Iterable[Broker]) -> list[int]:
        """Start brokers; returns the ids of those that were down."""
        down = [broker.id for broker in brokers if not broker.is_running]
        for broker_id in down:
            await self._nodes[broker_id].accept()
            self._come_up(broker_id)
        self.settle()
        await self.metadata_propagated()
        return down

    def _faults_changed(self) -> None:
        if self._is_running:
            self.settle()

    def _must_run(self) -> None:
        if not self._is_running:
            raise RuntimeError(
                "expected a running cluster, got one without addresses: `async with` or `with` starts it"
            )

    def _start_capture(self) -> None:
        if self._options.capture is not None and self.capture is None:
            from pathlib import Path

            from mockbroker.adapters.capture import Capture

            self.capture = Capture(
                Path(self._options.capture),
                now_us=lambda: time.time_ns() // 1000,
                later=asyncio.get_running_loop().call_later,
                describe=self._capture_preamble,
                file_bytes=self._options.capture_bytes,
            )
            call_path = self.engine.path
            call_path.arrivals.append(self.capture.call_arrived)
            call_path.observers.append(self.capture)

    def _capture_preamble(self) -> tuple[dict[str, Any], list[tuple[str, bytes, list[int]]]]:
        """The description of this cluster at the start of a capture."""
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
            if not topic.diskless  # its leader depends on the client
        ]
        return {"kafka": "kafka-rack", "routes": routes}, leaders
