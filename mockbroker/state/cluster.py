"""The cluster: brokers in racks, topics, groups and producers, and the commands that change them.

The control API, the command line and tests call the same commands. A command checks its arguments and writes records:
only records change the image, which survives a restart. The other state here is lost: fetch sessions, timers, follower
progress, cut links, rotations. ``notify`` records keys that wake waiting calls; the engine collects them.
"""

from __future__ import annotations

import base64
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any

from kafka_rack.diskless import DisklessProfile, find_profile
from mockbroker.parts import load, merged, provided
from mockbroker.state.brokers.broker import Broker, Liveness
from mockbroker.state.brokers.cluster_control import ClusterControl
from mockbroker.state.configs.effective import ClusterConfigs
from mockbroker.state.errors import ApiError
from mockbroker.state.image import Image, ImageWriter
from mockbroker.state.logs.cleanup import LogCleanup
from mockbroker.state.logs.producers import Producers
from mockbroker.state.logs.store import LogStore
from mockbroker.state.metadata import CurrentView, KRaftMode
from mockbroker.state.quotas.usage import Usages
from mockbroker.state.replicas.network import Reachability
from mockbroker.state.replicas.replication import Replication
from mockbroker.state.restart import ClusterSnapshot, resume
from mockbroker.state.security.cluster_security import ClusterSecurity
from mockbroker.state.sessions.fetch_sessions import FetchSessions
from mockbroker.state.settings import KafkaSettings
from mockbroker.state.timers import TimerService, WallClock
from mockbroker.state.topics.coordinator_keys import TRANSACTIONS_TOPIC
from mockbroker.state.topics.internal_topics import InternalTopics
from mockbroker.state.topics.placing import make_placer
from mockbroker.state.topics.replication_control import ReplicationControl
from mockbroker.state.topics.topic import Partition, Topic, random_uuid
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kafka_rack.placement import ReplicaPlacer
    from kafka_rack.selection import ReplicaSelector
    from mockbroker.groups.coordinator import Groups
    from mockbroker.state.image import RecordLog
    from mockbroker.state.metadata import MetadataSupport
    from mockbroker.state.replicas.network import LinkConditions
    from mockbroker.state.transactions.coordinator import Transactions


@dataclass(eq=False)
class Cluster:
    """The brokers by id, topics by name, groups, producers and settings of a cluster.

    ``version`` grows with each record, and with other changes that Metadata shows, so that responses can be cached.
    ``now_ms`` is the time of the last command or call.
    """

    settings: KafkaSettings
    rng: Random
    id: str
    liveness: Liveness
    writer: ImageWriter
    log_store: LogStore
    producers: Producers
    topics: dict[str, Topic] = field(default_factory=dict)
    topic_by_id: dict[bytes, Topic] = field(default_factory=dict)
    woken: list[Hashable] = field(default_factory=list)
    now_ms: int = 0
    fetch_sessions: dict[int, FetchSessions] = field(default_factory=dict)  # by broker
    timers: TimerService = field(default_factory=TimerService)
    network: Reachability = field(default_factory=Reachability)
    clock: WallClock = field(default_factory=WallClock)
    security: ClusterSecurity = field(default_factory=ClusterSecurity)
    quota_usages: Usages = field(default_factory=Usages)
    release: str | None = None  # the emulated release, if set
    is_ending: bool = False  # then calls stop waiting for records
    is_durable: bool = False  # the logs of coordinators' topics survive a restart
    is_mirror: bool = False  # of a real cluster: nothing in it happens by itself
    support: MetadataSupport = field(init=False)
    configs: ClusterConfigs = field(init=False)
    cluster_control: ClusterControl = field(init=False)
    replication_control: ReplicationControl = field(init=False)
    replication: Replication = field(init=False)
    log_cleanup: LogCleanup = field(init=False)
    internal_topics: InternalTopics = field(init=False)
    _extensions: dict[str, Any] = field(default_factory=dict)
    _leader_racks: tuple[int, dict[str, frozenset[str]]] = (-1, {})  # of a version, by topic

    def __post_init__(self) -> None:
        self.configs = ClusterConfigs(self)
        self.replication_control = ReplicationControl(self)
        self.cluster_control = ClusterControl(self)
        self.log_cleanup = LogCleanup(self)
        self.internal_topics = InternalTopics(self)
        self.replication = Replication(self)

    @classmethod
    def create(
        cls,
        brokers: Iterable[Broker],
        *,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        release: str | None = None,
        image: Image | None = None,
        log_store: LogStore | None = None,
        record_log: RecordLog | None = None,
        now_ms: int = 0,
        cluster_id: str | None = None,
        is_durable: bool = False,
    ) -> Cluster:
        """A cluster whose brokers are all online; without an image it has no topics.

        Args:
            seed: ids are drawn from it; a cluster that continues from an image needs another seed than before.
            release: the Kafka release that brokers emulate, or ``diskless``; in ZooKeeper mode it may follow from
                ``inter.broker.protocol.version``. Without it, brokers serve all versions.
            image: the state of an earlier cluster, replayed from its records; this cluster changes it.
            log_store: stores logs, by default in memory; with an image, the store of the earlier cluster.
            record_log: stores the records that change the image, by default nothing does.
            cluster_id: random by default.
            is_durable: ``record_log`` and ``log_store`` outlive the process.

        Raises: PlacerSettingsError, SelectionError: a plugin in the settings cannot be used.
            ValueError: versions that are unknown, contradict each other, or are older than the image.

        >>> cluster = Cluster.create([Broker(0, "a"), Broker(1, "b")])
        >>> cluster.replication_control.create("orders", 2, 2).partitions[0].isr
        (0, 1)
        """
        rng = Random(seed)
        writer = ImageWriter(Image() if image is None else image, record_log)
        if not isinstance(settings, KafkaSettings):
            settings = KafkaSettings(settings, emulates=release is not None)
        cluster = cls(
            settings=settings,
            rng=rng,
            id=cluster_id or base64.urlsafe_b64encode(random_uuid(rng)).decode().rstrip("="),
            liveness=Liveness({broker.id: broker for broker in sorted(brokers, key=lambda broker: broker.id)}),
            writer=writer,
            log_store=LogStore() if log_store is None else log_store,
            producers=Producers(writer),
            release=release,
            is_durable=is_durable,
        )
        cluster._register_all()
        cluster.check_plugins()
        cluster.log_store.attach(cluster)
        if is_durable or image is not None:
            resume(cluster, now_ms)
        return cluster

    def replaced(self, snapshot: ClusterSnapshot, now_ms: int) -> Cluster:
        """A new cluster that starts from a snapshot and replaces this one, which ends.

        It has the same settings, users, and brokers with the same addresses; all brokers are up.
        """
        self.close()
        writer = ImageWriter(snapshot.image.copy(), version=self.version + 1)  # observers cache by version
        brokers = (
            Broker(one.id, one.rack, one.listeners, one.release, one.protocol, one.settings)
            for one in self.brokers.values()
        )
        cluster = Cluster(
            settings=self.settings,
            rng=copy(snapshot.rng),
            id=snapshot.cluster_id,
            liveness=Liveness({broker.id: broker for broker in brokers}),
            writer=writer,
            log_store=snapshot.logs.fork(),
            producers=Producers(writer, dict(snapshot.last_producer_epochs)),
            release=snapshot.release,
            now_ms=now_ms,
            clock=WallClock(snapshot.clock_offset_ms),
            security=self.security,
        )
        cluster._register_all()
        resume(cluster, now_ms, snapshot)
        cluster.cluster_control.register_again(now_ms)
        return cluster

    def _register_all(self) -> None:
        """Register all brokers, in the mode that they and the settings determine."""
        brokers, release = self.brokers.values(), self.release
        has_release = bool(
            release or any(broker.release or broker.protocol for broker in brokers) or self.settings.names_release
        )
        other_mode = provided("metadata_support") if has_release else None
        other = None if other_mode is None else other_mode(brokers, self.settings, release)
        current = CurrentView(self.liveness, self.topics, self.topic_by_id)
        self.support = other or KRaftMode(current, release, self.settings["unstable.api.versions.enable"])
        self.cluster_control.register(brokers)
        if has_release:
            self.cluster_control.register_again(0)

    def check_plugins(self) -> None:
        """Load the configured placer and selector, so that a wrong name is reported at once.

        Raises: PlacerSettingsError, SelectionError; ValueError, of the profile of diskless topics.
        """
        _ = self.diskless
        if any(name.startswith("replica.placer.") for name in self.settings):
            _ = self.placer
        if self.settings["replica.selector.class"]:
            _ = self.selector

    @property
    def image(self) -> Image:
        """The state that survives a restart."""
        return self.writer.image

    @property
    def brokers(self) -> dict[int, Broker]:
        """All brokers by id, online or not."""
        return self.liveness.brokers

    @cached_property
    def diskless(self) -> DisklessProfile:
        """The system that serves diskless topics, from ``diskless.profile``."""
        return find_profile(self.settings)

    @property
    def other_mode(self) -> Any:
        """The mode if it is from an optional part; None in KRaft mode."""
        return None if self.support.is_kraft else self.support

    def jump_clock(self, ms: int, now_ms: int) -> None:
        """Move the wall clock forward, or for negative ms back; what is too old by it is removed or aborted."""
        self.now_ms = now_ms
        self.clock.offset_ms += ms
        self.log_cleanup.clock_jumped(now_ms)
        if TRANSACTIONS_TOPIC in self.topics:
            self.transactions.clock_jumped()
        if self.has_groups:
            self.groups.expire(now_ms)

    def set_link_conditions(self, conditions: LinkConditions, now_ms: int) -> None:
        """Set the conditions of links that followers fetch over; other links have none."""
        self.now_ms = now_ms
        self.replication.conditions = conditions
        self.replication.refresh(self.partitions(), now_ms)
        self.replication_control.leaders.elect(self.topics.values())

    # state of brokers

    def fetch_sessions_of(self, broker_id: int) -> FetchSessions:
        """The fetch sessions of a broker; they end when it stops."""
        sessions = self.fetch_sessions.get(broker_id)
        if sessions is None:
            max_sessions = self.settings["max.incremental.fetch.session.cache.slots"]
            sessions = self.fetch_sessions[broker_id] = FetchSessions(self.rng, max_sessions)
        return sessions

    @cached_property
    def groups(self) -> Groups:
        """The consumer groups; loaded on first use, because a cluster starts faster without them."""
        found: Groups = load("mockbroker.groups.coordinator:Groups")(self)
        return found

    @property
    def has_groups(self) -> bool:
        """True if groups are loaded."""
        return "groups" in self.__dict__

    @cached_property
    def transactions(self) -> Transactions:
        """The transactional ids; loaded on first use."""
        from mockbroker.state.transactions.coordinator import Transactions

        return Transactions(self)

    def extension(self, name: str) -> Any:
        """The state of an optional part, loaded on first use."""
        found = self._extensions.get(name)
        if found is None:
            found = self._extensions[name] = load(merged("extensions")[name])(self)
        return found

    def extensions(self) -> list[Any]:
        """The loaded extensions."""
        return list(self._extensions.values())

    @cached_property
    def placer(self) -> ReplicaPlacer:
        """The placer of new replicas, from ``replica.placer.class.name``. Raises PlacerSettingsError.

        In ZooKeeper mode always KIP-36's placement: KIP-660 is for KRaft.
        """
        return make_placer(self.settings, kip_36=not self.support.is_kraft)

    def close(self) -> None:
        """Release the resources of the cluster's plugins; the cluster is not used afterwards.

        Raises: ReplicaPlacementError: the placer's ``close`` failed.
        """
        placer = self.__dict__.pop("placer", None)
        if placer is not None:
            from kafka_rack.placement import close_placer

            close_placer(placer)

    @cached_property
    def selector(self) -> ReplicaSelector:
        """The selector of replicas for readers, from ``replica.selector.class``. Raises SelectionError."""
        from kafka_rack.selection import find_selector

        return find_selector(self.settings["replica.selector.class"])

    # topics

    def partitions(self) -> Iterator[Partition]:
        """The partitions with replicas."""
        for topic in self.topics.values():
            if not topic.diskless:
                yield from topic.partitions

    def filled_partitions(self) -> list[Partition]:
        """The partitions whose logs have records, in the order of opening."""
        found = self.log_store.filled()
        return [self.topic_by_id[one].partitions[index] for one, index in found if one in self.topic_by_id]

    def find_topic(self, name: str | None, topic_id: bytes | None = None) -> Topic:
        """The topic with this name, or with this id if the name is None or empty.

        Raises ApiError: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID.
        """
        if name:
            topic = self.topics.get(name)
            if topic is None:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
            return topic
        topic = self.topic_by_id.get(topic_id or b"")
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic with this id")
        return topic

    def find_partition(self, name: str, index: int) -> Partition:
        """One partition of a topic. Raises ApiError: UNKNOWN_TOPIC_OR_PARTITION."""
        topic = self.topics.get(name) or self.find_topic(name or "''")
        if not 0 <= index < len(topic.partitions):
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"topic {name} has partitions 0 to {len(topic.partitions) - 1}, not {index}",
            )
        return topic.partitions[index]

    # waiting calls, and time

    def notify(self, key: Hashable) -> None:
        """Wake the calls that wait for this key, after the current call or tick."""
        self.woken.append(key)

    def tick(self, now_ms: int) -> None:
        """Run everything that is due at this time."""
        self.now_ms = now_ms
        self.timers.advance(now_ms)

    def take_updates(self) -> Sequence[Any]:
        """The ZooKeeper mode controller's updates to brokers since the last call, in order."""
        return self.support.take_updates(self.topics, self.version)

    @property
    def version(self) -> int:
        """The version of the metadata."""
        return self.writer.version

    def leader_racks(self, name: str) -> frozenset[str]:
        """The racks that have leaders of a topic now."""
        if self._leader_racks[0] != self.version:
            self._leader_racks = self.version, {}
        found, topic = self._leader_racks[1], self.topics.get(name)
        if topic is not None and name not in found:
            found[name] = self.liveness.racks_of({partition.leader for partition in topic.partitions})
        return found.get(name, frozenset())

    def changed(self) -> None:
        """Record that a Metadata response would differ, although no record was written."""
        self.writer.version += 1

    # internals

    def brokers_changed(self) -> None:
        """Update liveness, replication and leaders after brokers started or stopped."""
        self.liveness.brokers_changed()
        self.replication.refresh(self.partitions(), self.now_ms)
        self.replication_control.leaders.elect(self.topics.values())
        self.support.brokers_changed()
        self.changed()
