"""The cluster: brokers in racks, topics, groups and producers, and the commands that change them.

Control API, command line and tests all call the commands here. A command checks, makes records of what changes, and has
them written: the image, which is what a restart finds again, is changed by records alone. What stands here beside it is
forgotten: fetch sessions, timers, how far followers are, links that are cut, whose turn it is. What may wake a waiting
call is put down by ``notify``; the engine collects it.
"""

from __future__ import annotations

import base64
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, cast

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.brokers.cluster_control import ClusterControl
from mockbroker.state.brokers.liveness import Liveness
from mockbroker.state.errors import ApiError
from mockbroker.state.image.image import Image
from mockbroker.state.image.writer import ImageWriter
from mockbroker.state.logs.memory import MemoryLogStore
from mockbroker.state.logs.producers import Producers
from mockbroker.state.metadata.kraft import CurrentView, KRaftMode
from mockbroker.state.replicas.network import Network
from mockbroker.state.replicas.replication import Replication
from mockbroker.state.sessions.fetch_sessions import FetchSessions
from mockbroker.state.settings import Settings
from mockbroker.state.timers import TimerService
from mockbroker.state.topics.placing import make_placer
from mockbroker.state.topics.replication_control import ReplicationControl
from mockbroker.state.topics.topic import Partition, Topic, random_uuid
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kafka_rack.placement import ReplicaPlacer
    from kafka_rack.selection import ReplicaSelector
    from mockbroker.state.groups.coordinator import Groups
    from mockbroker.state.image.record_log import RecordLog
    from mockbroker.state.logs.store import LogStore
    from mockbroker.state.metadata.view import MetadataSupport
    from mockbroker.state.zookeeper.controller import MetadataUpdate, ZooKeeperMode


@dataclass(slots=True, eq=False)
class Cluster:
    """Brokers by id, topics by name, groups, producers, settings.

    ``version`` grows with whatever Metadata shows, so that answers can be kept until it does. ``now_ms`` is the time
    that a command or a call named last.
    """

    settings: Settings
    rng: Random
    id: str
    liveness: Liveness
    writer: ImageWriter
    log_store: LogStore
    producers: Producers
    topics: dict[str, Topic] = field(default_factory=dict)
    topic_by_id: dict[bytes, Topic] = field(default_factory=dict)
    version: int = 0
    woken: list[Hashable] = field(default_factory=list)
    now_ms: int = 0
    fetch_sessions: dict[int, FetchSessions] = field(default_factory=dict)  # by broker
    timers: TimerService = field(default_factory=TimerService)
    network: Network = field(default_factory=Network)
    support: MetadataSupport = field(init=False)
    cluster_control: ClusterControl = field(init=False)
    replication_control: ReplicationControl = field(init=False)
    replication: Replication = field(init=False)
    _placer: ReplicaPlacer | None = None
    _selector: ReplicaSelector | None = None
    _groups: Groups | None = None

    def __post_init__(self) -> None:
        self.support = KRaftMode(CurrentView(self.liveness, self.topics, self.topic_by_id))
        self.replication_control = ReplicationControl(self)
        self.cluster_control = ClusterControl(self)
        self.replication = Replication(
            self.network,
            self.timers.subsystem("replication", self._check_in_sync),
            self.settings["replica.lag.time.max.ms"],
            self.replication_control.shrink_isr,
            self.woken.append,
        )

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
    ) -> Cluster:
        """A cluster whose brokers are all online; without an image it has no topics.

        Args:
            seed: what ids are drawn from; one that goes on from an image is given another than before.
            release: the Kafka of ZooKeeper's time that brokers emulate, where ``inter.broker.protocol.version``
                does not say it already.
            image: what a cluster before this one left, as replaying its records gives it; this one writes on in it.
            log_store: where logs are kept, in memory unless given; beside an image the store of the cluster before.
            record_log: who keeps the records that change the image; nobody unless given.

        Raises: PlacerSettingsError, SelectionError: a plugin that the settings name cannot be used.
            ValueError: versions that are unknown or contradict each other.

        >>> cluster = Cluster.create([Broker(0, "a"), Broker(1, "b")])
        >>> cluster.create_topic("orders", 2, 2).partitions[0].isr
        (0, 1)
        """
        rng = Random(seed)
        all_settings = settings if isinstance(settings, Settings) else Settings(settings)
        by_id = {broker.id: broker for broker in sorted(brokers, key=lambda broker: broker.id)}
        writer = ImageWriter(Image() if image is None else image, record_log)
        store: LogStore = MemoryLogStore() if log_store is None else log_store
        cluster = cls(
            settings=all_settings,
            rng=rng,
            id=base64.urlsafe_b64encode(random_uuid(rng)).decode().rstrip("="),
            liveness=Liveness(by_id),
            writer=writer,
            log_store=store,
            producers=Producers(writer),
        )
        cluster.cluster_control.register(by_id.values())
        if (
            release
            or any(broker.release or broker.protocol for broker in by_id.values())
            or names_release(all_settings)
        ):
            from mockbroker.state.zookeeper.controller import zookeeper_mode_of

            zookeeper = zookeeper_mode_of(by_id.values(), all_settings, release)
            if zookeeper is not None:
                cluster.support = zookeeper
            cluster.register_brokers(0)
        cluster.check_plugins()
        if image is not None:
            cluster._restore(now_ms)
        return cluster

    def check_plugins(self) -> None:
        """Load the placer and the selector if the settings name any, so that a wrong name is heard of at once.

        Raises: PlacerSettingsError, SelectionError.
        """
        if any(name.startswith("replica.placer.") for name in self.settings):
            _ = self.placer
        if self.settings["replica.selector.class"]:
            _ = self.selector

    @property
    def image(self) -> Image:
        """What a restart finds again."""
        return self.writer.image

    # brokers and racks

    @property
    def brokers(self) -> dict[int, Broker]:
        """All brokers by id, whether up or not."""
        return self.liveness.brokers

    def online_brokers(self) -> list[Broker]:
        """The brokers that are up, by id."""
        return self.liveness.online_brokers()

    def online_ids(self) -> frozenset[int]:
        """The ids of the brokers that are up, to look one up in."""
        return self.liveness.online_ids()

    def racks(self) -> list[str]:
        """The racks that brokers name, sorted."""
        return self.liveness.racks()

    def brokers_in(self, rack: str) -> list[Broker]:
        """The brokers of a rack, by id, whether up or not. Raises KeyError: no broker names this rack."""
        return self.liveness.brokers_in(rack)

    def rack_by_online_broker(self) -> Mapping[int, str | None]:
        """The rack of each broker that is up, by its id; None for a broker without one."""
        return self.liveness.rack_by_online_broker()

    def coordinator_for(self, group_id: str) -> Broker:
        """The broker that coordinates a group or a transactional id. Raises ApiError: COORDINATOR_NOT_AVAILABLE."""
        return self.liveness.coordinator_for(group_id)

    def diskless_broker(self, rack: str | None) -> int:
        """The broker whose turn it is for clients of this rack, -1 while none is up."""
        return self.liveness.diskless_broker(rack)

    def take_turn(self, rack: str | None) -> None:
        """The next answer to a client of this rack names the next broker."""
        self.liveness.take_turn(rack)

    @property
    def zookeeper(self) -> ZooKeeperMode | None:
        """The mode, where it is ZooKeeper mode; None in KRaft mode."""
        if self.support.is_kraft:
            return None
        return cast("ZooKeeperMode", self.support)

    def controller_id(self) -> int:
        """The online broker with the lowest id, in ZooKeeper mode the one that was elected; -1 if none is."""
        return self.support.controller_id

    def stop_broker(self, broker_id: int, now_ms: int) -> bool:
        """Take a broker out of the cluster, as a controlled shutdown does; see ``ClusterControl.stop``."""
        return self.cluster_control.stop(broker_id, now_ms)

    def crash_broker(self, broker_id: int, now_ms: int) -> bool:
        """End a broker without a word to anybody; see ``ClusterControl.crash``."""
        return self.cluster_control.crash(broker_id, now_ms)

    def start_broker(self, broker_id: int, now_ms: int) -> bool:
        """Bring a broker back; see ``ClusterControl.start``."""
        return self.cluster_control.start(broker_id, now_ms)

    def register_brokers(self, now_ms: int) -> None:
        """Have brokers register under the addresses that they have by now; see ``ClusterControl.register_anew``."""
        self.cluster_control.register_anew(now_ms)

    def stop_rack(self, rack: str, now_ms: int) -> list[int]:
        """Stop every broker of a rack; gives the ids of those that were up. Raises KeyError: no such rack."""
        return [broker.id for broker in self.brokers_in(rack) if self.stop_broker(broker.id, now_ms)]

    def start_rack(self, rack: str, now_ms: int) -> list[int]:
        """Start every broker of a rack; gives the ids of those that were down. Raises KeyError: no such rack."""
        return [broker.id for broker in self.brokers_in(rack) if self.start_broker(broker.id, now_ms)]

    # links

    def cut_link(self, node: int, other: int, now_ms: int) -> None:
        """Have two nodes, broker ids or ``CONTROLLER``, no longer reach each other; see ``ClusterControl.cut_link``."""
        self.cluster_control.cut_link(node, other, now_ms)

    def mend_link(self, node: int, other: int, now_ms: int) -> None:
        """Have two nodes reach each other again."""
        self.cluster_control.mend_link(node, other, now_ms)

    def isolate_broker(self, broker_id: int, now_ms: int) -> None:
        """Cut a broker off from every other and from the controller. Clients still reach it. Raises KeyError."""
        self.cluster_control.isolate(broker_id, now_ms)

    def rejoin_broker(self, broker_id: int, now_ms: int) -> None:
        """Mend every link of a broker. Raises KeyError."""
        self.cluster_control.rejoin(broker_id, now_ms)

    # what brokers keep

    def fetch_sessions_of(self, broker_id: int) -> FetchSessions:
        """The fetch sessions of a broker; they end when it stops."""
        sessions = self.fetch_sessions.get(broker_id)
        if sessions is None:
            max_sessions = self.settings["max.incremental.fetch.session.cache.slots"]
            sessions = self.fetch_sessions[broker_id] = FetchSessions(self.rng, max_sessions)
        return sessions

    @property
    def groups(self) -> Groups:
        """The consumer groups; loaded when first asked for, since a cluster starts faster without."""
        if self._groups is None:
            from mockbroker.state.groups.coordinator import Groups

            self._groups = Groups(self.settings, self.woken.append, self.writer, self.timers, self._has_brokers)
        return self._groups

    @property
    def has_groups(self) -> bool:
        """Whether anybody has asked for groups yet."""
        return self._groups is not None

    def _has_brokers(self) -> bool:
        """Whether a broker is up; without one nobody minds the groups."""
        return bool(self.online_brokers())

    @property
    def placer(self) -> ReplicaPlacer:
        """Who places new replicas, as ``replica.placer.class.name`` says. Raises PlacerSettingsError.

        In ZooKeeper mode always KIP-36's placement: KIP-660 is for KRaft.
        """
        if self._placer is None:
            self._placer = make_placer(self.settings, kip_36=not self.support.is_kraft)
        return self._placer

    def close(self) -> None:
        """Give up what the cluster's plugins hold; nothing is asked of it afterwards.

        Raises: ReplicaPlacementError: the placer's ``close`` failed.
        """
        placer, self._placer = self._placer, None
        if placer is not None:
            from kafka_rack.placement import close_placer

            close_placer(placer)

    @property
    def selector(self) -> ReplicaSelector:
        """Who sends readers to replicas, as ``replica.selector.class`` says. Raises SelectionError."""
        if self._selector is None:
            from kafka_rack.selection import find_selector

            self._selector = find_selector(self.settings["replica.selector.class"])
        return self._selector

    def set_follower_lag(self, broker_id: int, records: int, now_ms: int | None = None) -> None:
        """Have the followers on a broker be so many records behind their leaders; 0 ends it.

        They serve their own readers that much less. As long as they are in sync the high watermark waits for them, and
        so does a Produce with acks=all, until they fall out of the ISR after ``replica.lag.time.max.ms``.

        Raises KeyError: no such broker. ValueError: a lag below 0.
        """
        if records < 0:
            raise ValueError(f"a lag of {records} records, but 0 is the least")
        if now_ms is not None:
            self.now_ms = now_ms
        self.replication.set_lag(self.brokers[broker_id].id, records)
        partitions = [partition for partition in self.partitions() if broker_id in partition.replicas]
        self.replication.refresh(partitions, self.now_ms)
        self.woken.extend(partitions)
        self.replication_control.elect(self.topics.values())
        self.changed()

    # topics

    def partitions(self) -> Iterator[Partition]:
        """The partitions that have replicas."""
        for topic in self.topics.values():
            if not topic.diskless:
                yield from topic.partitions

    def find_topic(self, name: str | None, topic_id: bytes | None = None) -> Topic:
        """The topic of this name, or of this id where the name is None or empty.

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
        topic = self.find_topic(name)
        if not 0 <= index < len(topic.partitions):
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"topic {name} has partitions 0 to {len(topic.partitions) - 1}, not {index}",
            )
        return topic.partitions[index]

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        *,
        assignment: list[list[int]] | None = None,
        configs: Mapping[str, Any] | None = None,
        validate_only: bool = False,
        requesting_broker_id: int | None = None,
        all_have_racks: bool = False,
    ) -> Topic:
        """Create a topic; see ``ReplicationControl.create``. Raises ApiError."""
        return self.replication_control.create(
            name,
            partitions,
            replication_factor,
            assignment=assignment,
            configs=configs,
            validate_only=validate_only,
            requesting_broker_id=requesting_broker_id,
            all_have_racks=all_have_racks,
        )

    def add_partitions(
        self, name: str, count: int, *, assignment: list[list[int]] | None = None, validate_only: bool = False
    ) -> None:
        """Widen a topic to ``count`` partitions in all; see ``ReplicationControl.widen``. Raises ApiError."""
        self.replication_control.widen(name, count, assignment=assignment, validate_only=validate_only)

    def reassign(self, name: str, index: int, replicas: list[int], *, may_resize: bool = True) -> None:
        """Move a partition to other brokers; see ``ReplicationControl.reassign``. Raises ApiError."""
        self.replication_control.reassign(name, index, replicas, may_resize=may_resize)

    def delete_topic(self, topic: Topic) -> None:
        """Remove a topic and its records; whoever waits for those is woken."""
        self.replication_control.delete(topic)

    # what waits, and time

    def notify(self, key: Hashable) -> None:
        """Wake the calls that wait for this key, once the present call or tick is done."""
        self.woken.append(key)

    def next_deadline_ms(self) -> int | None:
        """When ``tick`` has to run next, None if nothing is due."""
        return self.timers.next_ms()

    def tick(self, now_ms: int) -> None:
        """Carry out what is due at this time."""
        self.now_ms = now_ms
        self.timers.advance(now_ms)

    def take_updates(self) -> list[MetadataUpdate]:
        """What the controller in ZooKeeper mode has to tell which broker since this was last called, in order."""
        return self.support.take_updates(self.topics, self.version)

    def changed(self) -> None:
        """What Metadata shows has changed."""
        self.version += 1

    # inside

    def _check_in_sync(self, partition: Partition, now_ms: int) -> None:
        self.now_ms = now_ms
        self.replication.check_in_sync(partition, now_ms)

    def _commit(self, records: Iterable[object]) -> None:
        self.writer.commit(records)

    def _restore(self, now_ms: int) -> None:
        """Go on from an image: fence the brokers that are gone, run its topics and groups."""
        gone = [one.id for one in self.image.brokers.values() if one.id not in self.brokers and not one.fenced]
        self.cluster_control.fence(gone, fenced=True)
        self.replication_control.elect([self.replication_control.run(topic_id) for topic_id in self.image.topics])
        self.replication.refresh(self.partitions(), now_ms)
        self.support.brokers_changed(self.topics)
        if self.image.groups or self.image.offsets or self.image.pending_offsets:
            self.groups.restore(now_ms)

    def brokers_changed(self) -> None:
        """Brokers have come or gone."""
        self.liveness.brokers_changed()
        self.replication.refresh(self.partitions(), self.now_ms)
        self.replication_control.elect(self.topics.values())
        self.support.brokers_changed(self.topics)
        self.changed()


def names_release(settings: Settings) -> bool:
    """Whether the settings say anything of Kafka's versions."""
    return bool(settings["inter.broker.protocol.version"] or settings["zookeeper.connect"])
