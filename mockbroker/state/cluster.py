"""The cluster: brokers in racks, topics, groups and producers, and the commands that change them.

Control API, command line and tests all call the commands here. What changes and may wake a waiting call is put down
by ``notify``; the engine collects it.
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
from mockbroker.state.logs.producers import Producers
from mockbroker.state.sessions.fetch_sessions import FetchSessions
from mockbroker.state.settings import Settings
from mockbroker.state.topics.placing import (
    check_assignment,
    check_in_sync,
    check_partitions,
    check_replication_factor,
    make_placer,
    place_partitions,
)
from mockbroker.state.topics.topic import Partition, Topic, check_topic_name, random_uuid, typed_configs
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kafka_rack.placement import ReplicaPlacer
    from kafka_rack.selection import ReplicaSelector
    from mockbroker.state.groups.coordinator import Groups
    from mockbroker.state.zookeeper.controller import Update, Zookeeper

NO_CONTROLLER = -1


@dataclass(slots=True, eq=False)
class Cluster(Liveness):
    """Brokers by id, topics by name, groups, producers, settings.

    ``version`` grows with whatever Metadata shows, so that answers can be kept until it does.
    """

    settings: Settings
    rng: Random
    id: str
    topics: dict[str, Topic] = field(default_factory=dict)
    topic_by_id: dict[bytes, Topic] = field(default_factory=dict)
    producers: Producers = field(default_factory=Producers)
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
    ) -> Cluster:
        """A cluster whose brokers are all online and that has no topics.

        Args:
            release: the Kafka of ZooKeeper's time that brokers emulate, where ``inter.broker.protocol.version``
                does not say it already.

        Raises: PlacerSettingsError, SelectionError: a plugin that the settings name cannot be used.
            ValueError: versions that are unknown or contradict each other.

        >>> cluster = Cluster.create([Broker(0, "a"), Broker(1, "b")])
        >>> cluster.create_topic("orders", 2, 2).partitions[0].isr
        (0, 1)
        """
        rng = Random(seed)
        all_settings = settings if isinstance(settings, Settings) else Settings(settings)
        by_id = {broker.id: broker for broker in sorted(brokers, key=lambda broker: broker.id)}
        cluster = cls(
            brokers=by_id,
            settings=all_settings,
            rng=rng,
            id=base64.urlsafe_b64encode(random_uuid(rng)).decode().rstrip("="),
            _racks=frozenset(broker.rack for broker in by_id.values() if broker.rack),
        )
        if (
            release
            or any(broker.release or broker.protocol for broker in by_id.values())
            or names_release(all_settings)
        ):
            from mockbroker.state.zookeeper.controller import zookeeper_of

            cluster.zookeeper = zookeeper_of(by_id.values(), all_settings, release)
            cluster.register_brokers(0)
        cluster.check_plugins()
        return cluster

    def check_plugins(self) -> None:
        """Load the placer and the selector if the settings name any, so that a wrong name is heard of at once.

        Raises: PlacerSettingsError, SelectionError.
        """
        if any(name.startswith("replica.placer.") for name in self.settings):
            _ = self.placer
        if self.settings["replica.selector.class"]:
            _ = self.selector

    # brokers and racks

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
        broker.online = False
        if self.zookeeper is not None:
            self.zookeeper.unregister(broker, now_ms)
        self.fetch_sessions.pop(broker_id, None)
        self._brokers_changed()
        if self._groups is not None:
            self._groups.restart_sessions([key for key, at in self.coordinators.items() if at == broker_id], now_ms)
        return True

    def start_broker(self, broker_id: int, now_ms: int) -> bool:
        """Bring a broker back: it rejoins ISRs and leads what it is the preferred leader of. False if it was up."""
        broker = self.brokers[broker_id]
        if broker.online:
            return False
        first = not self.online_brokers()
        broker.online = True
        broker.epoch += 1
        if self.zookeeper is not None:
            self.zookeeper.register(broker, now_ms)
        self._brokers_changed()
        if first and self._groups is not None:
            self._groups.restart_sessions(self.coordinators, now_ms)
        return True

    def register_brokers(self, now_ms: int) -> None:
        """In ZooKeeper mode have all brokers that are up register anew and elect a controller; else nothing.

        Raises ValueError: a broker has listeners that its version has no names for.
        """
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

            self._groups = Groups(self.settings, self.woken.append)
        return self._groups

    @property
    def placer(self) -> ReplicaPlacer:
        """Who places new replicas, as ``replica.placer.class.name`` says. Raises PlacerSettingsError.

        In ZooKeeper mode always KIP-36's placement: KIP-660 is for KRaft.
        """
        if self._placer is None:
            self._placer = make_placer(self.settings, kip_36=self.zookeeper is not None)
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
        topic = Topic(name, b"", False, values, self.settings)
        topic.diskless = bool(topic.config("diskless.enable")) and not topic.is_internal
        if topic.diskless and self.zookeeper is not None:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"topic {name} is diskless, which needs KRaft mode")
        if assignment is not None:
            rows = [tuple(row) for row in assignment]
            check_assignment(rows, self.brokers)
            if self.zookeeper is None:
                check_in_sync(rows, self.online_ids())
        else:
            if partitions == -1:
                partitions = self.settings["num.partitions"]
            rows = self._new_rows(topic, partitions, replication_factor, requesting_broker_id, all_have_racks)
        topic.id = random_uuid(self.rng)
        topic.add_partitions(rows, self.online_ids())
        if not validate_only:
            self.topics[name] = topic
            self.topic_by_id[topic.id] = topic
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
            if self.zookeeper is None:
                check_in_sync(rows, self.online_ids())
        else:
            rows = self._new_rows(topic, more, topic.replication_factor or -1)
        if validate_only:
            return
        topic.add_partitions([() for _ in rows] if topic.diskless else rows, self.online_ids())
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
        partition.move(tuple(replicas), self.online_ids())
        self.woken.append(partition)
        self._changed()

    def delete_topic(self, topic: Topic) -> None:
        """Remove a topic; whoever waits for its records is woken."""
        del self.topics[topic.name]
        del self.topic_by_id[topic.id]
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

    def _changed(self) -> None:
        self.version += 1

    def _brokers_changed(self) -> None:
        self._forget_liveness()
        for topic in self.topics.values():
            self._elect(topic)
        if self.zookeeper is not None:
            self.zookeeper.brokers_changed(self.topics)
        self._changed()

    def _new_rows(
        self,
        topic: Topic,
        partitions: int,
        replication_factor: int,
        requesting_broker_id: int | None = None,
        all_have_racks: bool = False,
    ) -> list[tuple[int, ...]]:
        check_partitions(partitions)
        if topic.diskless:
            return [()] * partitions
        # A broker that is down stays registered in KRaft mode, fenced; in ZooKeeper mode it is registered no more.
        registered = list(self.brokers.values()) if self.zookeeper is None else self.online_brokers()
        if replication_factor == -1:
            replication_factor = min(self.settings["default.replication.factor"], len(registered))
        check_replication_factor(replication_factor, len(registered))
        racks = None if self.zookeeper is None else self.zookeeper.racks(requesting_broker_id)
        first = len(topic.partitions)
        return place_partitions(
            self.placer,
            registered,
            first,
            partitions,
            replication_factor,
            racks,
            first_leader=topic.partitions[0].replicas[0] if first and self.zookeeper is not None else None,
            all_have_racks=all_have_racks and self.zookeeper is not None,
        )

    def _elect(self, topic: Topic) -> None:
        if topic.diskless:
            return
        online = self.online_ids()
        unclean = topic.config("unclean.leader.election.enable")
        for partition in topic.partitions:
            if partition.elect(online, unclean=unclean):
                self.woken.append(partition)


def names_release(settings: Settings) -> bool:
    """Whether the settings say anything of Kafka's versions."""
    return bool(settings["inter.broker.protocol.version"] or settings["zookeeper.connect"])
