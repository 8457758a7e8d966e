"""The cluster: brokers in racks, topics, groups and producers, and the commands that change them.

Control API, command line and tests all call the commands here. A command checks, makes records of what changes, and has
them written: the image, which is what a restart finds again, is changed by records alone. What stands here beside it is
forgotten: fetch sessions, timers, followers' lags, whose turn it is. What may wake a waiting call is put down by
``notify``; the engine collects it.
"""

from __future__ import annotations

import base64
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.brokers.liveness import Liveness
from mockbroker.state.errors import ApiError
from mockbroker.state.image.image import TOPIC_RESOURCE, Image
from mockbroker.state.image.writer import ImageWriter
from mockbroker.state.logs.memory import MemoryLogStore
from mockbroker.state.logs.producers import Producers
from mockbroker.state.sessions.fetch_sessions import FetchSessions
from mockbroker.state.settings import Settings
from mockbroker.state.topics.placing import (
    check_assignment,
    check_partitions,
    check_replication_factor,
    make_placer,
    place_partitions,
)
from mockbroker.state.topics.topic import (
    INTERNAL_TOPICS,
    Partition,
    Topic,
    check_topic_name,
    random_uuid,
    topic_config,
    typed_configs,
)
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kafka_rack.placement import ReplicaPlacer
    from kafka_rack.selection import ReplicaSelector
    from mockbroker.state.groups.coordinator import Groups
    from mockbroker.state.image.record_log import RecordLog
    from mockbroker.state.logs.store import LogStore
    from mockbroker.state.zookeeper.controller import Update, Zookeeper

NO_CONTROLLER = -1


@dataclass(slots=True, eq=False)
class Cluster:
    """Brokers by id, topics by name, groups, producers, settings.

    ``version`` grows with whatever Metadata shows, so that answers can be kept until it does.
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
    fetch_sessions: dict[int, FetchSessions] = field(default_factory=dict)  # by broker
    follower_lags: dict[int, int] = field(default_factory=dict)  # records behind the leader, by broker
    zookeeper: Zookeeper | None = None  # in ZooKeeper mode; None in KRaft mode
    _told_version: int = 0
    _placer: ReplicaPlacer | None = None
    _selector: ReplicaSelector | None = None
    _groups: Groups | None = None

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
        cluster = cls(
            settings=all_settings,
            rng=rng,
            id=base64.urlsafe_b64encode(random_uuid(rng)).decode().rstrip("="),
            liveness=Liveness(by_id),
            writer=writer,
            log_store=MemoryLogStore() if log_store is None else log_store,
            producers=Producers(writer),
        )
        cluster._register(by_id.values())
        if (
            release
            or any(broker.release or broker.protocol for broker in by_id.values())
            or names_release(all_settings)
        ):
            from mockbroker.state.zookeeper.controller import zookeeper_of

            cluster.zookeeper = zookeeper_of(by_id.values(), all_settings, release)
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

    def coordinator_for(self, group_id: str) -> Broker:
        """The broker that coordinates a group or a transactional id. Raises ApiError: COORDINATOR_NOT_AVAILABLE."""
        return self.liveness.coordinator_for(group_id)

    def diskless_broker(self, rack: str | None) -> int:
        """The broker whose turn it is for clients of this rack, -1 while none is up."""
        return self.liveness.diskless_broker(rack)

    def take_turn(self, rack: str | None) -> None:
        """The next answer to a client of this rack names the next broker."""
        self.liveness.take_turn(rack)

    def controller_id(self) -> int:
        """The online broker with the lowest id, in ZooKeeper mode the one that was elected; -1 if none is."""
        if self.zookeeper is not None:
            return self.zookeeper.controller_id
        online = self.online_brokers()
        return online[0].id if online else NO_CONTROLLER

    def served_by(self, broker_id: int) -> Mapping[int, tuple[int, int]] | None:
        """API key -> lowest and highest version of what a broker's release serves; None: all that there is."""
        return None if self.zookeeper is None else self.zookeeper.running[broker_id].served

    def stop_broker(self, broker_id: int, now_ms: int) -> bool:
        """Take a broker out of the cluster; its partitions elect leaders. False if it was down.

        Raises KeyError: no such broker.
        """
        broker = self.brokers[broker_id]
        if not broker.online:
            return False
        self._fence([broker_id], fenced=True)
        if self.zookeeper is not None:
            self.zookeeper.unregister(broker, now_ms)
        self.fetch_sessions.pop(broker_id, None)
        self.producers.forget_block(broker_id)
        self._brokers_changed()
        if self._groups is not None:
            coordinators = self.liveness.coordinators
            self._groups.restart_sessions([key for key, at in coordinators.items() if at == broker_id], now_ms)
        return True

    def start_broker(self, broker_id: int, now_ms: int) -> bool:
        """Bring a broker back: it rejoins ISRs and leads what it is the preferred leader of. False if it was up."""
        broker = self.brokers[broker_id]
        if broker.online:
            return False
        first = not self.online_brokers()
        self._register([broker])
        if self.zookeeper is not None:
            self.zookeeper.register(broker, now_ms)
        self._brokers_changed()
        if first and self._groups is not None:
            self._groups.restart_sessions(self.liveness.coordinators, now_ms)
        return True

    def register_brokers(self, now_ms: int) -> None:
        """Have the brokers that are up register anew where their addresses have changed; in ZooKeeper mode all of them,
        and elect a controller.

        Raises ValueError: a broker has listeners that its version has no names for.
        """
        self._register(broker for broker in self.online_brokers() if broker.has_moved())
        if self.zookeeper is not None:
            self.zookeeper = type(self.zookeeper)(self.zookeeper.configured)
            for broker in self.online_brokers():
                self.zookeeper.register(broker, now_ms)
            self.zookeeper.brokers_changed(self.topics)

    def stop_rack(self, rack: str, now_ms: int) -> list[int]:
        """Stop every broker of a rack; gives the ids of those that were up. Raises KeyError: no such rack."""
        return [broker.id for broker in self.brokers_in(rack) if self.stop_broker(broker.id, now_ms)]

    def start_rack(self, rack: str, now_ms: int) -> list[int]:
        """Start every broker of a rack; gives the ids of those that were down. Raises KeyError: no such rack."""
        return [broker.id for broker in self.brokers_in(rack) if self.start_broker(broker.id, now_ms)]

    def fetch_sessions_of(self, broker_id: int) -> FetchSessions:
        """The fetch sessions of a broker; they end when it stops."""
        sessions = self.fetch_sessions.get(broker_id)
        if sessions is None:
            most = self.settings["max.incremental.fetch.session.cache.slots"]
            sessions = self.fetch_sessions[broker_id] = FetchSessions(self.rng, most)
        return sessions

    @property
    def groups(self) -> Groups:
        """The consumer groups; loaded when first asked for, since a cluster starts faster without."""
        if self._groups is None:
            from mockbroker.state.groups.coordinator import Groups

            self._groups = Groups(self.settings, self.woken.append, self.writer)
        return self._groups

    @property
    def placer(self) -> ReplicaPlacer:
        """Who places new replicas, as ``replica.placer.class.name`` says. Raises PlacerSettingsError.

        In ZooKeeper mode always KIP-36's placement: KIP-660 is for KRaft.
        """
        if self._placer is None:
            self._placer = make_placer(self.settings, kip_36=self.zookeeper is not None)
        return self._placer

    @property
    def selector(self) -> ReplicaSelector:
        """Who sends readers to replicas, as ``replica.selector.class`` says. Raises SelectionError."""
        if self._selector is None:
            from kafka_rack.selection import find_selector

            self._selector = find_selector(self.settings["replica.selector.class"])
        return self._selector

    def set_follower_lag(self, broker_id: int, records: int) -> None:
        """Have the followers on a broker be so many records behind their leaders, still in sync; 0 ends it.

        Raises KeyError: no such broker. ValueError: a lag below 0.
        """
        if records < 0:
            raise ValueError(f"a lag of {records} records, but 0 is the least")
        self.follower_lags[self.brokers[broker_id].id] = records
        for topic in self.topics.values():
            self.woken.extend(partition for partition in topic.partitions if broker_id in partition.isr)

    # topics

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
        """Create a topic; -1 stands for ``num.partitions`` and ``default.replication.factor``.

        A diskless topic (``diskless.enable`` among the configs) has no replicas, and any replication factor will do.

        Args:
            assignment: replicas of each partition, in place of both numbers.
            validate_only: check everything, create nothing.
            requesting_broker_id: the broker that creates it; one in ZooKeeper mode may not know of racks yet.
            all_have_racks: in ZooKeeper mode refuse where only some brokers have a rack, as AdminManager did, with
                UNKNOWN_SERVER_ERROR; KafkaApis, which created topics that clients asked for, left racks out.

        Raises ApiError: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR,
            INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, REPLICA_PLACEMENT_FAILED.
        """
        check_topic_name(name)
        if name in self.topics:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        values = typed_configs(configs or {})
        diskless = bool(topic_config("diskless.enable", values, self.settings)) and name not in INTERNAL_TOPICS
        if diskless and self.zookeeper is not None:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"topic {name} is diskless, which needs KRaft mode")
        if assignment is not None:
            rows = [tuple(row) for row in assignment]
            check_assignment(rows, self.brokers)
        else:
            if partitions == -1:
                partitions = self.settings["num.partitions"]
            check_partitions(partitions)
            rows = [()] * partitions
            if not diskless:
                rows = self._place(0, partitions, replication_factor, requesting_broker_id, all_have_racks)
        if diskless:
            rows = [()] * len(rows)
        topic_id = self._new_topic_id()
        from mockbroker.state.topics.records import topic_records

        records = topic_records(name, topic_id, values, rows, self.online_ids())
        if validate_only:
            scratch = ImageWriter()
            scratch.commit(records)
            return self._topic(scratch.image, topic_id)
        self._commit(records)
        topic = self._run(topic_id)
        self._changed()
        return topic

    def add_partitions(
        self, name: str, count: int, *, assignment: list[list[int]] | None = None, validate_only: bool = False
    ) -> None:
        """Widen a topic to ``count`` partitions in all.

        Raises ApiError: INVALID_PARTITIONS and those of create_topic.
        """
        topic = self.find_topic(name)
        more = count - len(topic.partitions)
        if more <= 0:
            has = len(topic.partitions)
            raise ApiError(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {name} currently has {has} partition(s); {count} would not be an increase.",
            )
        if assignment is not None:
            rows = [tuple(row) for row in assignment]
            if len(rows) != more:
                raise ApiError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"{more} partitions are added, but {len(rows)} assignments were given",
                )
            check_assignment(rows, self.brokers)
        elif topic.diskless:
            check_partitions(more)
            rows = [()] * more
        else:
            rows = self._place(len(topic.partitions), more, topic.replication_factor or -1)
        if validate_only:
            return
        if topic.diskless:
            rows = [()] * more
        from mockbroker.state.topics.records import partition_records

        self._commit(partition_records(topic.id, len(topic.partitions), rows, self.online_ids()))
        topic.add_partitions()
        self._changed()

    def reassign(self, name: str, index: int, replicas: list[int], *, may_resize: bool = True) -> None:
        """Move a partition to other brokers, the preferred leader first. The move is done at once.

        Raises ApiError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR.
        """
        partition = self.find_partition(name, index)
        if partition.topic.diskless:
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"topic {name} is diskless and has no replicas")
        check_assignment([tuple(replicas)], self.brokers)
        if len(replicas) != len(partition.replicas) and not may_resize:
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"{len(replicas)} replicas, but there are {len(partition.replicas)} and the number is to stay",
            )
        from mockbroker.state.topics.election import reassignment

        self._commit([reassignment(partition, tuple(replicas), self.online_ids())])
        self.woken.append(partition)
        self._changed()

    def delete_topic(self, topic: Topic) -> None:
        """Remove a topic and its records; whoever waits for those is woken."""
        from mockbroker.state.topics.records import removal

        self._commit([removal(topic.id)])
        del self.topics[topic.name]
        del self.topic_by_id[topic.id]
        self.log_store.delete(topic.id)
        if self._groups is not None:
            self._groups.forget_topic(topic.name)
        self.woken.extend(topic.partitions)
        self._changed()

    # what waits, and time

    def notify(self, key: Hashable) -> None:
        """Wake the calls that wait for this key, once the present call or tick is done."""
        self.woken.append(key)

    def next_deadline_ms(self) -> int | None:
        """When ``tick`` has to run next, None if nothing is due. Without a broker nobody minds the groups."""
        if self._groups is None or not self.online_brokers():
            return None
        return self._groups.next_deadline_ms()

    def tick(self, now_ms: int) -> None:
        """Carry out what is due at this time."""
        if self._groups is not None and self.online_brokers():
            self._groups.tick(now_ms)

    def take_updates(self) -> list[Update]:
        """What the controller in ZooKeeper mode has to tell which broker since this was last called, in order."""
        if self.zookeeper is None:
            return []
        if self.version != self._told_version:
            self._told_version = self.version
            self.zookeeper.topics_changed(self.topics)
        return self.zookeeper.take_updates()

    # inside

    def _commit(self, records: Iterable[object]) -> None:
        self.writer.commit(records)

    def _changed(self) -> None:
        self.version += 1

    def _register(self, brokers: Iterable[Broker]) -> None:
        """Have brokers begin a life, each in an epoch above its last, and serve."""
        from mockbroker.state.brokers.records import registration

        registered = self.image.brokers
        for broker in brokers:
            epoch = registered[broker.id].epoch + 1 if broker.id in registered else 0
            self._commit([registration(broker, epoch)])
            broker.registration = registered[broker.id]
            self._fence([broker.id], fenced=False)

    def _fence(self, broker_ids: Iterable[int], *, fenced: bool) -> None:
        """Have brokers serve no longer, or from now on."""
        from mockbroker.state.brokers.records import fencing

        self._commit([fencing(self.image.brokers[broker_id], fenced=fenced) for broker_id in broker_ids])

    def _restore(self, now_ms: int) -> None:
        """Go on from an image: fence the brokers that are gone, run its topics and groups."""
        gone = [one.id for one in self.image.brokers.values() if one.id not in self.brokers and not one.fenced]
        self._fence(gone, fenced=True)
        for topic_id in self.image.topics:
            self._elect(self._run(topic_id))
        if self.zookeeper is not None:
            self.zookeeper.topics_changed(self.topics)
        if self.image.groups or self.image.offsets or self.image.pending_offsets:
            self.groups.restore(now_ms)

    def _new_topic_id(self) -> bytes:
        while (topic_id := random_uuid(self.rng)) in self.image.topics:
            pass
        return topic_id

    def _topic(self, image: Image, topic_id: bytes) -> Topic:
        found = image.topics[topic_id]
        configs = typed_configs(image.configs.get((TOPIC_RESOURCE, found.name), {}))
        return Topic(found, configs, self.settings, self.log_store)

    def _run(self, topic_id: bytes) -> Topic:
        """Run a topic that is in the image."""
        topic = self._topic(self.image, topic_id)
        self.topics[topic.name] = self.topic_by_id[topic_id] = topic
        return topic

    def _brokers_changed(self) -> None:
        self.liveness.brokers_changed()
        for topic in self.topics.values():
            self._elect(topic)
        if self.zookeeper is not None:
            self.zookeeper.brokers_changed(self.topics)
        self._changed()

    def _place(
        self,
        first: int,
        partitions: int,
        replication_factor: int,
        requesting_broker_id: int | None = None,
        all_have_racks: bool = False,
    ) -> list[tuple[int, ...]]:
        """Replicas for new partitions from number ``first`` on."""
        check_partitions(partitions)
        online = self.online_brokers()
        if replication_factor == -1:
            replication_factor = min(self.settings["default.replication.factor"], len(online))
        check_replication_factor(replication_factor, len(online))
        racks = None if self.zookeeper is None else self.zookeeper.racks(requesting_broker_id)
        refuses = all_have_racks and self.zookeeper is not None
        return place_partitions(
            self.placer, online, first, partitions, replication_factor, racks, all_have_racks=refuses
        )

    def _elect(self, topic: Topic) -> None:
        if topic.diskless:
            return
        from mockbroker.state.topics.election import election

        online = self.online_ids()
        unclean = topic.config("unclean.leader.election.enable")
        changes = []
        for partition in topic.partitions:
            change = election(partition, online, unclean=unclean)
            if change is not None:
                changes.append(change)
                self.woken.append(partition)
        self._commit(changes)


def names_release(settings: Settings) -> bool:
    """Whether the settings say anything of Kafka's versions."""
    return bool(settings["inter.broker.protocol.version"] or settings["zookeeper.connect"])
