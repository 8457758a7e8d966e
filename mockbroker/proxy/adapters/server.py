"""A running proxy: listeners for each broker of a real cluster, which answers the calls."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from random import Random
from typing import TYPE_CHECKING, Any, NoReturn

from mockbroker.adapters.options import ServedOptions, taking_fields
from mockbroker.adapters.real_cluster.cluster import TOPIC_RESOURCE
from mockbroker.adapters.real_cluster.connection import HungUp, RealClusterError, Unreachable
from mockbroker.adapters.served_cluster import ServedCluster
from mockbroker.adapters.tls.setup import material_for, tls_listeners_of
from mockbroker.core.commands import Result
from mockbroker.core.engine import Engine
from mockbroker.proxy.adapters.clients import ProxyNode
from mockbroker.proxy.adapters.upstream import UpstreamLink, UpstreamSettings
from mockbroker.proxy.mirror import Mirror, empty_mirror
from mockbroker.proxy.path import ProxyPath
from mockbroker.proxy.rewrites import NO_REWRITES, Rewrites
from mockbroker.state.brokers.broker import RACK_LISTENER, Broker, Listener
from mockbroker.state.brokers.listeners import EVERY_ADDRESS
from mockbroker.state.errors import ApiError
from mockbroker.state.security.protocols import PLAINTEXT, default_protocol
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.adapters.tls.contexts import TlsListener
    from mockbroker.proxy.adapters.blocking import BlockingKafkaProxy
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.security.tls import ListenerTls

log = logging.getLogger("mockbroker")

LOOK_S = 30.0
"""The interval between reads of all brokers and topics of the real cluster."""
AGAIN_S = 1.0
"""The interval after a failed read."""
PORT_TAKEN = (errno.EADDRINUSE, errno.EACCES)
LAST_PORT = 65535
DOUBTFUL = 2
"""The most doubtful answers in a row before an error counts: a broker that goes down may send one."""
REFUSAL = (
    "a proxy does not change the real cluster: Kafka's own tools do that; here brokers and racks can be stopped for "
    "clients, and faults act on their connections"
)


@dataclass(frozen=True, slots=True)
class KafkaProxyOptions(ServedOptions):
    """The options of a proxy; ``KafkaProxy`` describes them."""

    upstream: UpstreamSettings | str
    _: KW_ONLY
    racks: Mapping[int, str | None] | None = None
    wait_s: float = 0.0
    rewrites: Rewrites = NO_REWRITES
    client_properties: Mapping[str, str] | None = None


class KafkaProxy(ServedCluster):
    """A proxy in front of a real cluster; ``async with`` runs it in the running event loop, ``with`` in a thread.

    ``with`` returns a ``BlockingKafkaProxy``: the same commands, without ``await``.

    Each real broker has a listener at the proxy, with the same node id and rack; answers contain the listeners'
    addresses. ``journal``, ``traffic``, ``faults`` and captures are those of ``MockCluster``; ``state`` is the real
    cluster's state, as its answers show it. Stopping a broker here only disconnects the clients of the proxy.

    Args:
        upstream: the real cluster's addresses, as ``host:port,...``, or its connection settings. Raises ValueError.
        racks: node id -> rack, instead of what brokers report; None removes a rack.
        host, port: the broker with the lowest id listens on ``port``, the next one on the next port; 0 picks free
            ports. Later brokers get the ports after those.
        listener_per_rack: each broker has one more listener for each rack; its clients count as in that rack.
        advertised_host: the address in answers; default: ``host``.
        client_racks: a racks file, for clients that name no rack.
        rewrites: the rewrites of requests and answers.
        wait_s: how long ``start`` waits for a cluster that does not answer yet.
        tls: TLS ends at the proxy, with a test certificate; ``security_dir`` is a folder for clients' files, as for
            ``MockCluster``. ``settings`` are ``ssl.*`` under Kafka's names, which may name other keys.
        client_properties: Kafka's, as in the file of ``--command-config``, for brokers that require TLS or a login, if
            ``upstream`` is ``host:port,...``.

    >>> from mockbroker import MockCluster
    >>> with MockCluster() as real, KafkaProxy(real.bootstrap_servers) as proxy:
    ...     proxy.stop_rack("a")
    [0]
    """

    _options: KafkaProxyOptions

    @taking_fields(KafkaProxyOptions)
    def __init__(self, options: KafkaProxyOptions) -> None:
        upstream, settings, tls = options.upstream, options.settings or {}, options.tls
        if isinstance(upstream, str):
            upstream = UpstreamSettings.of(upstream, options.client_properties)
        elif options.client_properties is not None:
            raise ValueError("expected client properties beside host:port, got them beside UpstreamSettings")
        self._options, self._next_port = options, 0
        self._protocol = (
            default_protocol(has_users=upstream.login is not None, tls=True) if tls or settings else PLAINTEXT
        )
        like = Broker(0, None, [self._listener(self._protocol, None)])
        self._tls = material_for([like], options.security_dir) if tls else None
        self._tls_made: dict[ListenerTls, TlsListener] = {}
        if self._tls is not None:
            settings = self._tls.added_to(settings, [like])
        self._next_port = options.port
        state = empty_mirror(options.seed, settings)
        self.mirror = Mirror(state, options.racks or {}, self._listen)
        path = ProxyPath(state, Random(options.seed), mirror=self.mirror, rewrites=options.rewrites)
        super().__init__(Engine(path), options)
        self._tls_listeners(like)  # errors are raised now, not at the start
        self.upstream = upstream
        self._link = UpstreamLink(upstream, self.mirror.upstream.values)
        self._looking: asyncio.Task[None] | None = None
        self._late: set[asyncio.Task[None]] = set()
        self.has_moved = asyncio.Event()
        self.kept: str | None = None

    def __enter__(self) -> BlockingKafkaProxy:
        from mockbroker.proxy.adapters.blocking import BlockingKafkaProxy

        self._blocking = made = BlockingKafkaProxy(self)
        return made

    async def _bind(self) -> None:
        """Read brokers and topics, and listen for each broker. Raises RealClusterError: no broker answers."""
        self.mirror.learn(*await self._first_answer(), is_whole=True)
        await self._look_for_diskless()
        for broker in self.state.brokers.values():
            self._bind_broker(broker)

    async def _accepting(self) -> None:
        self._looking = asyncio.get_running_loop().create_task(self._look_again())

    async def close(self) -> None:
        """Stop accepting, and end every connection on both sides."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        for task in self._late:
            task.cancel()
        self._link.close()
        await self._end()

    async def reset(self) -> NoReturn:
        """Refused. Raises ValueError."""
        raise ValueError(f"{REFUSAL}; the journal and the faults can be emptied")

    def configure_broker(self, broker_id: int, *, emulate: str | None = None, protocol: str | None = None) -> NoReturn:
        """Refused. Raises ValueError."""
        raise ValueError(REFUSAL)

    async def _first_answer(self) -> tuple[Any, int]:
        """The real cluster's first Metadata answer and its version. Raises RealClusterError: no answer in time."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._options.wait_s
        is_told, doubtful = False, 0
        while True:
            try:
                return await self._link.metadata()
            except Unreachable as error:
                doubtful = doubtful + 1 if isinstance(error, HungUp) else 0
                if doubtful == DOUBTFUL or loop.time() >= ends_at:
                    raise
                if not is_told:
                    log.warning("waiting up to %g s for the real cluster: %s", self._options.wait_s, error)
                    is_told = True
            await asyncio.sleep(AGAIN_S)

    def _listen(self, broker: Broker) -> None:
        """Create the listeners of a new broker, before clients see it, and start to accept.

        Raises OSError: no address can be bound, as with too many open files.
        """
        broker.listeners.append(self._listener(self._protocol, None))
        if self._is_running:
            task = asyncio.get_running_loop().create_task(self._accept_late(self._bind_late(broker)))
            self._late.add(task)
            task.add_done_callback(self._late.discard)

    async def _accept_late(self, node: ProxyNode) -> None:
        await node.accept()
        await self._listen_for_racks()

    async def _listen_for_racks(self) -> None:
        """Add listeners for new racks to all brokers. Raises OSError."""
        if not self._options.listener_per_rack:
            return
        racks = {RACK_LISTENER + rack: rack for rack in self.state.liveness.racks()}
        for node in list(self._nodes.values()):
            broker = node.broker
            for name in sorted(racks.keys() - {one.name for one in broker.listeners}):
                listener = self._listener(name, racks[name])
                broker.listeners.append(listener)
                try:
                    await node.accept_at(listener, self._tls_listeners(broker))
                except OSError:
                    broker.listeners.remove(listener)  # the next read tries it again
                    raise

    def _bind_late(self, broker: Broker) -> ProxyNode:
        """Bind the addresses of a broker that was added later, on later ports if its own are in use."""
        while True:
            try:
                return self._bind_broker(broker)
            except OSError as error:
                if broker.id in self._nodes:
                    self._nodes.pop(broker.id).close()
                if error.errno not in PORT_TAKEN or not self._next_port:
                    raise
                log.warning("broker %d: %s; it gets a port further on", broker.id, error)
            if self._next_port > LAST_PORT:
                self._next_port = 0
            broker.listeners[:] = [self._listener(self._protocol, None)]

    def _bind_broker(self, broker: Broker) -> ProxyNode:
        """Bind a broker's addresses, once the racks are known."""
        if self._options.listener_per_rack:
            racks = sorted({*self.state.liveness.racks(), *([broker.rack] if broker.rack else [])})
            broker.listeners.extend(self._listener(RACK_LISTENER + rack, rack) for rack in racks)
        tls = self._tls_listeners(broker)
        node = self._nodes[broker.id] = ProxyNode(self, broker, tls)
        node.bind()
        return node

    def _tls_listeners(self, broker: Broker) -> dict[str, TlsListener]:
        return tls_listeners_of(self.state, broker, self._tls_made)

    def _listener(self, name: str, rack: str | None) -> Listener:
        port, self._next_port = self._next_port, self._next_port + 1 if self._next_port else 0
        host = self._options.host
        shown = self._options.advertised_host or ("127.0.0.1" if host in EVERY_ADDRESS else host)
        return Listener(name, shown, port, rack, host, port, self._protocol)

    async def _look_again(self) -> None:
        """Read the whole real cluster periodically, while the proxy runs.

        It reads it soon if a client's connection shows that a broker's address may have changed.
        """
        problem: str | None = None
        while True:
            await asyncio.sleep(AGAIN_S)
            if problem is None:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.has_moved.wait(), LOOK_S)
            self.has_moved.clear()
            try:
                await self.look()
            except (RealClusterError, OSError) as error:  # OSError: of a new broker's listener here
                if problem is None:
                    log.warning("the real cluster does not answer: %s", error)
                problem = str(error)
                continue
            if problem is not None:
                log.warning("the real cluster answers again")
                problem = None

    async def look(self) -> None:
        """Read brokers and topics again, as the proxy does every half minute. Raises RealClusterError."""
        self.mirror.learn(*await self._link.metadata(), is_whole=True)
        await self._look_for_diskless()
        await self._listen_for_racks()
        self.settle()

    async def _look_for_diskless(self) -> None:
        """Read which topics are diskless, if rewrites need it. Raises RealClusterError."""
        config = self._options.rewrites.diskless_config
        if config is None:
            return
        names = sorted(self.state.topics)
        configs = await self._link.ask(lambda real: real.configs(real.first, TOPIC_RESOURCE, names, [config[0]]))
        self.mirror.learn_diskless(
            {name for name in names if self._options.rewrites.shows_diskless(configs.get(name, {}))}
        )

    # commands

    def _go_down(self, broker_id: int) -> bool:
        return self._set_running(broker_id, running=False)

    _crash = _go_down

    def _come_up(self, broker_id: int) -> bool:
        return self._set_running(broker_id, running=True)

    def _set_running(self, broker_id: int, *, running: bool) -> bool:
        broker = self.state.liveness.broker(broker_id)
        was_running, broker.is_running = broker.is_running, running
        self.state.changed()
        return was_running is not running

    def _change(self, command: Callable[[Cluster, int], Result]) -> NoReturn:
        raise ApiError(ErrorCode.POLICY_VIOLATION, REFUSAL)
