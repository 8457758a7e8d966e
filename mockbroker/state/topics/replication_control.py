"""Where replicas go and who leads them: topics made, widened, moved and deleted, and elections, as records.

Source: ReplicationControlManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mockbroker.state.errors import ApiError
from mockbroker.state.image.image import TOPIC_RESOURCE, Image
from mockbroker.state.image.writer import ImageWriter
from mockbroker.state.topics.placing import (
    check_assignment,
    check_in_sync,
    check_partitions,
    check_replication_factor,
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
    from mockbroker.state.cluster import Cluster
    from protocol.embedded.metadata_topics import PartitionChangeRecord


@dataclass(slots=True, eq=False)
class ReplicationControl:
    """The commands on a cluster's topics and partitions."""

    cluster: Cluster

    def create(
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
        if name in self.cluster.topics:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        values = typed_configs(configs or {})
        diskless = bool(topic_config("diskless.enable", values, self.cluster.settings)) and name not in INTERNAL_TOPICS
        if diskless and not self.cluster.support.is_kraft:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"topic {name} is diskless, which needs KRaft mode")
        if assignment is not None:
            rows = [tuple(row) for row in assignment]
            check_assignment(rows, self.cluster.brokers)
            if self.cluster.support.is_kraft:
                check_in_sync(rows, self.cluster.online_ids())
        else:
            if partitions == -1:
                partitions = self.cluster.settings["num.partitions"]
            check_partitions(partitions)
            rows = [()] * partitions
            if not diskless:
                rows = self._place(0, partitions, replication_factor, requesting_broker_id, all_have_racks)
        if diskless:
            rows = [()] * len(rows)
        topic_id = self._new_topic_id()
        from mockbroker.state.topics.records import topic_records

        records = topic_records(name, topic_id, values, rows, self.cluster.online_ids())
        if validate_only:
            scratch = ImageWriter()
            scratch.commit(records)
            return self._topic(scratch.image, topic_id)
        self.cluster.writer.commit(records)
        topic = self.run(topic_id)
        self.cluster.replication.refresh(topic.partitions, self.cluster.now_ms)
        self.cluster.changed()
        return topic

    def widen(
        self, name: str, count: int, *, assignment: list[list[int]] | None = None, validate_only: bool = False
    ) -> None:
        """Widen a topic to ``count`` partitions in all.

        Raises ApiError: INVALID_PARTITIONS and those of ``create``.
        """
        topic = self.cluster.find_topic(name)
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
            check_assignment(rows, self.cluster.brokers)
            if self.cluster.support.is_kraft:
                check_in_sync(rows, self.cluster.online_ids())
        elif topic.diskless:
            check_partitions(more)
            rows = [()] * more
        else:
            first_leader = topic.partitions[0].replicas[0]
            rows = self._place(len(topic.partitions), more, topic.replication_factor or -1, first_leader=first_leader)
        if validate_only:
            return
        if topic.diskless:
            rows = [()] * more
        from mockbroker.state.topics.records import partition_records

        self.cluster.writer.commit(partition_records(topic.id, len(topic.partitions), rows, self.cluster.online_ids()))
        first = len(topic.partitions)
        topic.add_partitions()
        self.cluster.replication.refresh(topic.partitions[first:], self.cluster.now_ms)
        self.cluster.changed()

    def reassign(self, name: str, index: int, replicas: list[int], *, may_resize: bool = True) -> None:
        """Move a partition to other brokers, the preferred leader first. The move is done at once.

        Raises ApiError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR.
        """
        partition = self.cluster.find_partition(name, index)
        if partition.topic.diskless:
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"topic {name} is diskless and has no replicas")
        check_assignment([tuple(replicas)], self.cluster.brokers)
        if len(replicas) != len(partition.replicas) and not may_resize:
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"{len(replicas)} replicas, but there are {len(partition.replicas)} and the number is to stay",
            )
        from mockbroker.state.topics.election import reassignment

        self._change(partition, reassignment(partition, tuple(replicas), self.cluster.online_ids()))
        self.cluster.replication.refresh([partition], self.cluster.now_ms)
        self.cluster.changed()

    def delete(self, topic: Topic) -> None:
        """Remove a topic and its records; whoever waits for those is woken."""
        from mockbroker.state.topics.records import removal

        self.cluster.writer.commit([removal(topic.id)])
        del self.cluster.topics[topic.name]
        del self.cluster.topic_by_id[topic.id]
        self.cluster.log_store.delete(topic.id)
        if self.cluster.has_groups:
            self.cluster.groups.forget_topic(topic.name)
        self.cluster.woken.extend(topic.partitions)
        self.cluster.changed()

    def elect(self, topics: Iterable[Topic]) -> None:
        """Bring leaders and in-sync replicas in line with the brokers that are online and with what replicas have."""
        from mockbroker.state.topics.election import election

        online = self.cluster.online_ids()
        for topic in topics:
            if topic.diskless:
                continue
            unclean = topic.config("unclean.leader.election.enable")
            for partition in topic.partitions:
                eligible: Container[int] = online
                if partition.replica_states is not None:
                    eligible = self.cluster.replication.eligible(partition, online, unclean=unclean)
                change = election(partition, eligible, unclean=unclean)
                if change is not None:
                    self._change(partition, change)

    def shrink_isr(self, partition: Partition, isr: tuple[int, ...]) -> None:
        """Take replicas out of a partition's ISR, as its leader asks the controller to (AlterPartition, KIP-497)."""
        from protocol.embedded.metadata_topics import PartitionChangeRecord

        record = PartitionChangeRecord(partition_id=partition.index, topic_id=partition.topic.id, isr=list(isr))
        self._change(partition, record)
        self.cluster.changed()

    def run(self, topic_id: bytes) -> Topic:
        """Run a topic that is in the image."""
        topic = self._topic(self.cluster.image, topic_id)
        self.cluster.topics[topic.name] = self.cluster.topic_by_id[topic_id] = topic
        return topic

    # inside

    def _new_topic_id(self) -> bytes:
        while (topic_id := random_uuid(self.cluster.rng)) in self.cluster.image.topics:
            pass
        return topic_id

    def _topic(self, image: Image, topic_id: bytes) -> Topic:
        found = image.topics[topic_id]
        configs = typed_configs(image.configs.get((TOPIC_RESOURCE, found.name), {}))
        return Topic(found, configs, self.cluster.settings, self.cluster.log_store)

    def _place(
        self,
        first: int,
        partitions: int,
        replication_factor: int,
        requesting_broker_id: int | None = None,
        all_have_racks: bool = False,
        first_leader: int | None = None,
    ) -> list[tuple[int, ...]]:
        """Replicas for new partitions from number ``first`` on; ``first_leader`` is partition 0's preferred leader."""
        check_partitions(partitions)
        # A broker that is down stays registered in KRaft mode, fenced; in ZooKeeper mode it is registered no more.
        cluster = self.cluster
        registered = list(cluster.brokers.values()) if cluster.support.is_kraft else cluster.online_brokers()
        if replication_factor == -1:
            replication_factor = min(cluster.settings["default.replication.factor"], len(registered))
        check_replication_factor(replication_factor, len(registered))
        return place_partitions(
            cluster.placer,
            registered,
            first,
            partitions,
            replication_factor,
            cluster.support.racks(requesting_broker_id),
            first_leader=first_leader if not cluster.support.is_kraft else None,
            all_have_racks=all_have_racks and not cluster.support.is_kraft,
        )

    def _change(self, partition: Partition, record: PartitionChangeRecord) -> None:
        """Write a change of a partition: whoever waits for it is woken, and a new leader begins its epoch.

        One record at a time: an outage of many partitions takes twice as long with all of its records in one list.
        """
        epoch = partition.registration.leader_epoch
        self.cluster.writer.commit((record,))
        self.cluster.woken.append(partition)
        if partition.registration.leader_epoch != epoch:
            if partition.replica_states is not None:
                self.cluster.replication.leader_changed(partition, self.cluster.now_ms)
            partition.leader_epoch_began()
