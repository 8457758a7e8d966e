"""Commands on topics: create, expand, move and delete, elections and overrides, written as records.

Source: ReplicationControlManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mockbroker.state.brokers.log_dirs import is_cordoned, record_directories
from mockbroker.state.configs.values import text_of
from mockbroker.state.errors import ApiError, invalid_request
from mockbroker.state.image import TOPIC_RESOURCE, PartitionRegistration, TopicImage, partition_record
from mockbroker.state.replicas.overrides import override
from mockbroker.state.topics import placing
from mockbroker.state.topics.leader_control import LeaderControl
from mockbroker.state.topics.reassigning import Reassignments
from mockbroker.state.topics.topic import (
    INTERNAL_TOPICS,
    NO_LEADER,
    Partition,
    Topic,
    check_topic_name,
    random_uuid,
)
from protocol.embedded.metadata_settings import ConfigRecord
from protocol.embedded.metadata_topics import RemoveTopicRecord, TopicRecord
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster


def name_in_metrics(name: str) -> str:
    """A topic's name in Kafka's metrics."""
    return name.replace(".", "_")


@dataclass(slots=True, eq=False)
class ReplicationControl:
    """The commands on a cluster's topics and partitions."""

    cluster: Cluster
    leaders: LeaderControl = field(init=False)
    reassignments: Reassignments = field(init=False)
    _by_metrics_name: dict[str, str] = field(default_factory=dict)  # the topic of each name in metrics

    def __post_init__(self) -> None:
        self.leaders = LeaderControl(self.cluster)
        self.reassignments = Reassignments(self.cluster, self.leaders)
        self.cluster.configs.on_change(self.leaders.configs_changed)
        self.cluster.configs.on_change(self.reassignments.configs_changed)

    def check_new_name(self, name: str) -> None:
        """Check that a name is legal, and that its name in metrics differs from other topics'.

        Raises ApiError: INVALID_TOPIC_EXCEPTION.
        """
        check_topic_name(name)
        other = self._by_metrics_name.get(name_in_metrics(name), name)
        if other != name:
            raise ApiError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"expected a name that differs from others in more than . and _, got {name} beside {other}",
            )

    def create(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        *,
        assignment: list[list[int]] | None = None,
        by_hand: Sequence[tuple[int, Sequence[int]]] = (),
        configs: Mapping[str, Any] | None = None,
        validate_only: bool = False,
        requesting_broker_id: int | None = None,
        all_have_racks: bool = False,
        is_name_checked: bool = False,
    ) -> Topic:
        """Create a topic; -1 means ``num.partitions`` and ``default.replication.factor``.

        A diskless topic (``diskless.enable`` among the configs) has no replicas, and accepts any replication factor.

        Args:
            assignment: replicas of each partition, instead of both numbers.
            by_hand: the same as (partition, replicas) in any order, checked last.
            validate_only: check everything, create nothing.
            requesting_broker_id: the broker that creates the topic; in ZooKeeper mode its code may not know racks.
            all_have_racks: in ZooKeeper mode, UNKNOWN_SERVER_ERROR if only some brokers have a rack, as in
                AdminManager; KafkaApis, which creates topics that clients request in Metadata, ignores racks then.
            is_name_checked: True if ``check_new_name`` was called before.

        Raises ApiError: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR,
            INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, REPLICA_PLACEMENT_FAILED.
        """
        if not is_name_checked:
            self.check_new_name(name)
        if name in self.cluster.topics:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        values: dict[str, Any] = {}
        if configs:
            from mockbroker.state.configs.resource_rules import check_topic_configs

            values = check_topic_configs(self.cluster.configs, configs)
        diskless = bool(values.get("diskless.enable", self.cluster.settings["diskless.enable"]))
        diskless = diskless and name not in INTERNAL_TOPICS
        if diskless and not self.cluster.support.is_kraft:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"topic {name} is diskless, which needs KRaft mode")
        if by_hand:
            assignment = placing.rows_by_hand(by_hand, partitions, replication_factor)
        if assignment is not None:
            rows = self._rows_by_hand(assignment)
        else:
            if not diskless:
                placing.check_numbers(partitions, replication_factor)
            if partitions == -1:
                partitions = self.cluster.settings["num.partitions"]
            placing.check_partitions(partitions)
            rows = [()] * partitions
            if not diskless:
                rows = placing.place_partitions(
                    self.cluster,
                    0,
                    partitions,
                    replication_factor,
                    requesting_broker_id=requesting_broker_id,
                    all_have_racks=all_have_racks,
                )
        if diskless:
            rows = [()] * len(rows)
        while (topic_id := random_uuid(self.cluster.rng)) in self.cluster.image.topics:
            pass
        registrations = [registration(row, self.cluster.liveness.online_ids) for row in rows]
        if validate_only:
            return self._topic(TopicImage(name, topic_id, registrations))
        self.cluster.writer.commit(topic_records(name, topic_id, configs or {}, registrations))
        topic = self.run(topic_id)
        record_directories(self.cluster, topic.partitions)
        self.cluster.replication.refresh(topic.partitions, self.cluster.now_ms)
        return topic

    def widen(
        self, name: str, count: int, *, assignment: list[list[int]] | None = None, validate_only: bool = False
    ) -> None:
        """Add partitions to a topic, up to ``count``.

        Raises ApiError: INVALID_PARTITIONS and errors of ``create``.
        """
        topic = self.cluster.find_topic(name or "''")
        more = count - len(topic.partitions)
        if more <= 0:
            has = len(topic.partitions)
            raise ApiError(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {name} currently has {has} partition(s); {count} would not be an increase.",
            )
        if assignment is not None:
            if len(assignment) != more:
                raise ApiError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"expected an assignment for each of {more} new partitions, got {len(assignment)}",
                )
            rows = self._rows_by_hand(assignment, like=[topic.partitions[0].replicas])
        else:
            placing.check_partitions(more)
            if not topic.diskless:
                first, factor = topic.partitions[0].replicas[0], topic.replication_factor
                rows = placing.place_partitions(self.cluster, len(topic.partitions), more, factor, first_leader=first)
        if validate_only:
            return
        if topic.diskless:
            rows = [()] * more
        first, online = len(topic.partitions), self.cluster.liveness.online_ids
        self.cluster.writer.commit(
            partition_record(topic.id, index, registration(row, online)) for index, row in enumerate(rows, first)
        )
        topic.add_partitions()
        record_directories(self.cluster, topic.partitions[first:])
        self.cluster.replication.refresh(topic.partitions[first:], self.cluster.now_ms)

    def reassign(self, name: str, index: int, replicas: list[int]) -> None:
        """Move a partition to other brokers, the preferred leader first. The move completes at once.

        Raises ApiError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT.
        """
        partition = self.reassignments.find(name, index)
        self.check_rows([tuple(replicas)])
        cluster = self.cluster
        override(partition, leader=None)
        online = cluster.liveness.online_ids
        eligible = cluster.replication.eligible(partition, online)
        if not any(replica in eligible for replica in replicas):
            # The move completes when a replica has caught up, so it catches up now.
            cluster.replication.catch_up(partition, replicas)
            held = partition.overrides
            override(partition, out_of_sync=held.out_of_sync.difference(replicas))
            eligible = online - held.offline
        isr = [replica for replica in replicas if replica in eligible] or replicas
        now = partition.registration
        assignment = replace(now, replicas=tuple(replicas), removing_replicas=(), adding_replicas=())
        self.leaders.change_partition(partition, isr, online=eligible, preferred=replicas[0], assignment=assignment)
        override(partition)
        cluster.replication.refresh([partition], cluster.now_ms)
        self.leaders.elect([partition.topic])

    def delete(self, topic: Topic) -> None:
        """Delete a topic and its records; waiting calls are woken."""
        self.cluster.writer.commit([RemoveTopicRecord(topic_id=topic.id)])
        self._by_metrics_name.pop(name_in_metrics(topic.name), None)
        del self.cluster.topics[topic.name]
        del self.cluster.topic_by_id[topic.id]
        self.cluster.log_store.delete(topic.id)
        self.cluster.replication.timers.forget(topic.partitions)
        self.reassignments.forget(topic.partitions)
        if topic.is_internal:
            self.cluster.internal_topics.forget(topic)
        if self.cluster.has_groups:
            self.cluster.groups.forget_topic(topic.name)
        for extension in self.cluster.extensions():
            extension.forget_topic(topic.id)
        self.cluster.woken.extend(topic.partitions)

    # overrides

    def move_leader(self, partition: Partition, broker_id: int) -> bool:
        """Let a broker lead a partition whenever it may, instead of the first replica; returns False if it leads.

        Raises ApiError: INVALID_REQUEST for a diskless partition, NOT_LEADER_OR_FOLLOWER for a broker without a
            replica, ELIGIBLE_LEADERS_NOT_AVAILABLE for one that is not in sync.
        """
        name = self._check_replicas(partition, [broker_id], "a leader")
        if broker_id not in self.cluster.replication.eligible(partition, self.cluster.liveness.online_ids):
            raise ApiError(
                ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
                f"expected a leader of {name} that is up and in its ISR {list(partition.isr)}, got {broker_id}",
            )
        led_before = partition.leader == broker_id
        override(partition, leader=broker_id)
        self._apply(partition)
        return not led_before

    def change_isr(self, partition: Partition, *, into: Iterable[int] = (), out: Iterable[int] = ()) -> bool:
        """Let followers join a partition's ISR, and keep others out of it until then; returns False if nothing changes.

        Raises ApiError: INVALID_REQUEST for brokers without a replica, and for a leader that is to leave;
            LEADER_NOT_AVAILABLE; INELIGIBLE_REPLICA for a broker to join that is down, lacks records or has a failed
            disk, and for all while the leader does not reach the controller.
        """
        joining, leaving, isr = frozenset(into), frozenset(out), set(partition.isr)
        name = self._check_replicas(partition, joining | leaving, "followers")
        if partition.leader == NO_LEADER and (leaving or not joining <= isr):
            raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"expected a leader of {name}, got none")
        if partition.leader in leaving:
            raise invalid_request(
                f"expected followers of {name} to take out of its ISR, but {partition.leader} leads it"
            )
        before = partition.overrides.out_of_sync
        override(partition, out_of_sync=(before | leaving) - joining)
        eligible = self.cluster.replication.eligible(partition, self.cluster.liveness.online_ids)
        late = [broker_id for broker_id in sorted(joining) if broker_id not in eligible]
        if late:
            override(partition, out_of_sync=before)
            raise ApiError(
                ErrorCode.INELIGIBLE_REPLICA,
                f"expected replicas of {name} that are up and have all its records to let into its ISR, got {late}",
            )
        self._apply(partition)
        return not (joining <= isr and leaving <= before)

    def set_isr(self, partition: Partition, broker_ids: Iterable[int]) -> bool:
        """Set a partition's ISR; returns False if unchanged. Raises the errors of ``change_isr``."""
        wanted = frozenset(broker_ids)
        name = self._check_replicas(partition, wanted, "an ISR")
        if partition.leader not in wanted:
            raise invalid_request(f"expected an ISR of {name} with its leader {partition.leader}, got {sorted(wanted)}")
        before = partition.isr
        self.change_isr(partition, into=wanted, out=set(partition.replicas) - wanted)
        return partition.isr != before

    def run(self, topic_id: bytes) -> Topic:
        """Load a topic from the image."""
        topic = self._topic(self.cluster.image.topics[topic_id])
        self.cluster.topics[topic.name] = self.cluster.topic_by_id[topic_id] = topic
        self._by_metrics_name[name_in_metrics(topic.name)] = topic.name
        return topic

    # internals

    def _topic(self, image: TopicImage) -> Topic:
        return Topic(image, self.cluster.configs, self.cluster.log_store)

    def check_rows(self, rows: Sequence[tuple[int, ...]], like: Sequence[tuple[int, ...]] = ()) -> None:
        """Check replicas with ``placing.check_assignment``, and that no broker is cordoned (KIP-1066).

        Args:
            like: replicas of other partitions, for the number of replicas.

        Raises ApiError: INVALID_REPLICA_ASSIGNMENT.
        """
        registered = {broker.id for broker in self.cluster.brokers.values() if broker.registration is not None}
        placing.check_assignment([*like, *rows], registered)
        for broker_id in {one: None for row in rows for one in row}:
            if is_cordoned(self.cluster, broker_id):
                raise ApiError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"all log directories of broker {broker_id} are cordoned"
                )

    def _rows_by_hand(
        self, assignment: Sequence[Sequence[int]], like: Sequence[tuple[int, ...]] = ()
    ) -> list[tuple[int, ...]]:
        """The checked replicas of a manual assignment. Raises ApiError: INVALID_REPLICA_ASSIGNMENT."""
        rows = [tuple(row) for row in assignment]
        self.check_rows(rows, like)
        if self.cluster.support.is_kraft:
            for row in rows:
                if self.cluster.liveness.online_ids.isdisjoint(row):
                    raise ApiError(
                        ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"replicas {list(row)}: all of them are fenced"
                    )
        return rows

    def _check_replicas(self, partition: Partition, broker_ids: Iterable[int], what: str) -> str:
        """The partition's name, for errors. Raises ApiError: INVALID_REQUEST."""
        name = f"{partition.topic.name}-{partition.index}"
        if partition.topic.diskless:
            raise invalid_request(f"expected a topic with replicas, but {name} is diskless")
        others = sorted(set(broker_ids) - set(partition.replicas))
        if others:
            raise invalid_request(
                f"expected {what} of {name} among its replicas {list(partition.replicas)}, got {others}"
            )
        return name

    def _apply(self, partition: Partition) -> None:
        self.cluster.replication.refresh([partition], self.cluster.now_ms)
        self.leaders.elect([partition.topic])


def registration(replicas: tuple[int, ...], online: Container[int]) -> PartitionRegistration:
    """A new partition; its ISR has the online replicas, or all if none is online."""
    isr = tuple([replica for replica in replicas if replica in online])
    return PartitionRegistration(replicas, isr or replicas, isr[0] if isr else NO_LEADER, 0, 0)


def topic_records(
    name: str, topic_id: bytes, configs: Mapping[str, Any], partitions: Sequence[PartitionRegistration]
) -> Iterator[object]:
    """The records of a new topic, its configs, and its partitions."""
    yield TopicRecord(name=name, topic_id=topic_id)
    for key, value in configs.items():
        yield ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=name, name=key, value=text_of(value))
    for index, partition in enumerate(partitions):
        yield partition_record(topic_id, index, partition)
