"""A running cluster: its start and end, and the commands that stop and start brokers and racks.

An adapter: ``sockets`` passes bytes to ``connection``, ``runtime`` passes time to ``engine``. It has no logic of Kafka.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker.adapters.options import ClusterOptions, taking_fields
from mockbroker.adapters.served_cluster import ServedCluster
from mockbroker.adapters.sockets import Node
from mockbroker.adapters.tls.setup import material_for, tls_listeners_of
from mockbroker.core.commands import Result
from mockbroker.core.engine import Engine, Origin
from mockbroker.core.path import CallPath
from mockbroker.parts import provided
from mockbroker.state.brokers.listeners import with_free_ports
from mockbroker.state.cluster import Cluster

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingMockCluster
    from mockbroker.adapters.tls.contexts import TlsListener
    from mockbroker.state.security.tls import ListenerTls


class MockCluster(ServedCluster):
    """A running cluster: ``async with`` runs it in the running event loop, ``with`` in its own thread.

    Blocking clients would block the event loop of ``async with``; for them, scripts and notebooks use ``with``, which
    returns a ``BlockingMockCluster``: the same commands, without ``await``.

    Args:
        brokers: their number, or the brokers themselves, each with its listeners.
        racks: names as a sequence or as ``"a,b,c"``: broker i is in rack i modulo their number; "" and None mean no
            rack.
        topics, diskless_topics: names, or name -> partitions, (partitions, replication factor) or a mapping with the
            arguments of ``create_topic``.
        diskless_as: the system whose diskless topics brokers emulate, such as ``inkless`` (docs/racks.md); the setting
            ``diskless.profile``.
        follower_fetching: consumers that set ``client.rack`` read from a replica in their rack (KIP-392):
            ``replica.selector.class`` is Kafka's RackAwareReplicaSelector, unless ``settings`` names another.
        settings: broker settings under Kafka's names; a misspelt one raises ValueError. With an
            ``inter.broker.protocol.version`` below 3.0 the cluster runs in ZooKeeper mode: brokers return the metadata
            that a controller sent them.
        emulate: the release that the brokers emulate, 0.8.2 to 4.4, or ``diskless`` (docs/cluster.md). Without it they
            serve every version of every API, or in ZooKeeper mode those of the protocol's release.
        host, port: broker i listens on port + i; 0 picks free ports. ``advertised_host`` is the address for clients, if
            different.
        listener_per_rack: each broker has one more listener for each rack; its clients count as in that rack.
        data_dir: store topics, records, groups and transactions in this directory, across restarts and kills of the
            process; existing data is used (docs/cluster.md), and missing ``topics`` are created.
        fsync: ``always`` delays acknowledgements until the records are on disk; ``os`` lets the operating system
            decide, as Kafka does.
        users: user -> password. They log in by SASL, PLAIN or SCRAM; listeners without their own setting then have the
            security protocol SASL_PLAINTEXT (docs/security.md).
        authorize: access control limits what users may do; the first user may do all (docs/security.md).
        tls: brokers have test certificates, which are in ``.tls``; listeners without their own setting have the
            security protocol SSL, or SASL_SSL with users. ``security_dir`` is a folder for clients' files: keys, stores
            and properties are written there at the start, and an existing authority is used again.
        seed: for ids and all other random values; equal seeds produce equal clusters.
        journal: store the last calls in ``.journal``; True, False or a Journal.
        traffic: add up the traffic between racks in ``.traffic``.
        client_racks: the racks of clients that name none, for journal, traffic and faults (docs/journal.md).
        capture: write every frame into this file, and into further files after ``capture_bytes``.

    >>> import asyncio
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

    _options: ClusterOptions

    @taking_fields(ClusterOptions)
    def __init__(self, options: ClusterOptions) -> None:
        self._begin(options)

    @classmethod
    def of(cls, options: ClusterOptions) -> MockCluster:
        """A cluster with these options, not started yet."""
        cluster = cls.__new__(cls)
        cluster._begin(options)
        return cluster

    def _begin(self, options: ClusterOptions) -> None:
        brokers, settings = options.listening_brokers(), options.complete_settings()
        self._tls = material_for(brokers, options.security_dir) if options.tls else None
        if self._tls is not None:
            settings = self._tls.added_to(settings, brokers)
        always = options.fsync == "always"
        storage = None if options.data_dir is None else provided("storage")(options.data_dir, always=always)
        self._storage, is_kept = storage, storage is not None and not storage.is_new
        if is_kept:
            options = replace(options, seed=secrets.randbits(48))  # ids must not repeat
        with ExitStack() as on_error:
            if storage is not None:
                on_error.callback(storage.unlock)
            durable = {} if storage is None else storage.durable(options.seed)
            state = Cluster.create(brokers, settings=settings, seed=options.seed, release=options.emulate, **durable)
            state.security.add_users(state, options.users or {}, secrets.token_bytes)
            state.security.check(state)
            made: dict[ListenerTls, TlsListener] = {}
            with_tls = {one.id: tls_listeners_of(state, one, made) for one in state.brokers.values()}
            super().__init__(Engine(CallPath(state, Random(options.seed)), secrets.token_bytes), options)
            if storage is not None:
                storage.summarize(state)
                self.engine.path.sync = storage.sync
            self._nodes = {one.id: Node(self, one, with_tls[one.id]) for one in state.brokers.values()}
            self._origin: Origin | None = None
            self._forks: dict[MockCluster, None] = {}
            self._parent: MockCluster | None = None
            for name, arguments in options.all_topics().items():
                if not (is_kept and name in state.topics):
                    self.create_topic(name, **arguments)
            on_error.pop_all()

    def __enter__(self) -> BlockingMockCluster:
        from mockbroker.adapters.blocking import BlockingMockCluster

        self._blocking = made = BlockingMockCluster(self)
        return made

    async def _bind(self) -> None:
        if self._origin is None and self._storage is None:
            self._origin = self.engine.origin()
        for node in self._nodes.values():
            node.bind()

    async def _accepting(self) -> None:
        await self._tell_brokers()
        if self._storage is not None:
            self._storage.sync()

    async def close(self) -> None:
        """Stop accepting, close every connection, and close the placer."""
        for fork in list(self._forks):
            await fork.close()
        if self._parent is not None:
            self._parent._forks.pop(self, None)
        await self._end()
        self.state.close()
        if self._storage is not None:
            self._storage.close()

    # what a test asks

    @property
    def kept(self) -> str | None:
        """The contents of the data directory when the cluster was built, in a line; None without one."""
        return None if self._storage is None else self._storage.summary

    @property
    def settings_without_effect(self) -> tuple[str, ...]:
        """Kafka's settings that have no effect here; sorted."""
        return self.state.settings.without_effect

    def client_settings(
        self, client: str = "confluent", *, user: str | None = None, mechanism: str | None = None
    ) -> dict[str, Any]:
        """The settings for a client to connect and log in, under the client's own names.

        Args:
            client: confluent (librdkafka's names), aiokafka, kafka-python or java (Kafka's properties).
            user: one of the users, default: the first; with test certificates and without users any name, for which a
                certificate is made.
            mechanism: default: the brokers' strongest.

        Raises: ValueError: unknown client, user or mechanism. RuntimeError: the cluster does not run.
        """
        from mockbroker.adapters.client_settings import client_login, settings_for

        listener = next(iter(self.state.brokers.values())).listeners[0]
        login = client_login(self.state, listener, self.bootstrap_servers, user, mechanism, self._tls)
        return settings_for(client, login)

    # commands

    def configure_broker(self, broker_id: int, *, emulate: str | None = None, protocol: str | None = None) -> None:
        """In ZooKeeper mode change a broker's release, protocol, or both, from its next start on.

        Raises ValueError: an unknown version, a protocol that the release does not know, or a cluster in KRaft mode.
        """
        if self.state.other_mode is None:
            raise ValueError("a release and a protocol can be changed in ZooKeeper mode only")
        self.state.other_mode.configure(broker_id, emulate, protocol)

    # forks and resets

    def fork(self) -> MockCluster:
        """A new cluster with the current topics, records, committed offsets and configs.

        It is not started yet. It has free ports, all brokers up, an empty journal and no faults; groups have their
        offsets but no members. The two clusters are independent; the same commands produce the same ids in both. It
        ends with this one, if not before. A fork is in memory, even if this cluster is on disk.

        >>> import asyncio
        >>> async def main() -> None:
        ...     async with MockCluster(topics={"orders": 6}) as cluster, cluster.fork() as fork:
        ...         fork.create_topic("payments")
        ...         print(sorted(fork.state.topics), sorted(cluster.state.topics))
        >>> asyncio.run(main())
        ['orders', 'payments'] ['orders']
        """
        options = self._options
        fork = MockCluster.of(
            ClusterOptions(
                [with_free_ports(broker) for broker in self.state.brokers.values()],
                settings=self.state.settings,
                users=self.state.security.users,
                emulate=options.emulate,
                seed=options.seed,
                journal=options.journal is not False,
                traffic=options.traffic,
                client_racks=options.client_racks,
            )
        )
        fork._tls = self._tls
        if self.journal.history is not None:
            fork.journal.watch_history()
        fork._origin = self.engine.origin()
        fork._begin_with(fork._origin)
        fork._parent = self
        self._forks[fork] = None
        return fork

    async def reset(self) -> None:
        """Restore the cluster's state at its start: topics with their records, groups, all brokers up.

        Connections are closed; ports stay. It clears the journal and the faults. Old clients may take the leader epochs
        from before the reset for newer ones: use new clients.

        Raises ValueError: the cluster has a data directory, which is not deleted.
        """
        self._must_run()
        if self._storage is not None:
            raise ValueError(f"a cluster is not reset that keeps its data, in {self._storage.path}")
        assert self._origin is not None
        for node in self._nodes.values():
            if not node.accepts:
                await node.accept()
        if self.channels is not None:
            self.channels.close()
            self.channels = None
        for node in self._nodes.values():  # no await from here until all old state is gone
            for client in list(node.clients):
                client.abort()
        if self._faults is not None:
            self._faults.clear()
        self._begin_with(self._origin)
        self.journal.clear()
        self.traffic.clear()
        await self._tell_brokers()
        self.settle()

    def _begin_with(self, origin: Origin) -> None:
        self.engine.begin_with(origin, self.now_ms())
        for node in self._nodes.values():
            node.begin_with(self.state)

    async def _tell_brokers(self) -> None:
        """In ZooKeeper mode start the controller's updates to brokers."""
        if self.state.other_mode is not None:
            self.channels = provided("update_channels")(self.state)
            await self.metadata_propagated()

    def _change(self, command: Callable[[Cluster, int], Result]) -> Result:
        self.state.now_ms = self.now_ms()
        result = command(self.state, self.state.now_ms)
        if self._storage is not None:
            self._storage.sync()
        if self._is_running:
            self.settle()
        return result
