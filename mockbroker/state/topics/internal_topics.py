"""The topics of coordinators, made when first needed: who leads a key's partition coordinates that key.

What coordinators keep is in the image; it alone is read by them. The log of a partition of these topics is written
from it when somebody first looks at that partition: the last record of each key, as in a log that was compacted just
now. From then on whatever changes the image there is appended as well. In a durable cluster, whose restart reads
these logs (``mockbroker.state.coordinator_log``), all of them are written from the beginning. They are
compacted with all others, unless an optional part deletes from the front of them (``CoordinatorTopic.log``). A
partition that is never read costs nothing.

Source: DefaultAutoTopicCreationManager, Apache Kafka 4.4. In a cluster of fewer brokers than a replication factor asks
for, Kafka makes no topic; here it gets as many replicas as there are brokers, and as many fewer of them have to be in
sync.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mockbroker.parts import load
from mockbroker.state.errors import ApiError
from mockbroker.state.image.coordinator_records import NO_PRODUCER_ID, CoordinatorRecord
from mockbroker.state.topics.coordinator_keys import (
    COORDINATOR_TOPICS,
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    partition_of_key,
)
from mockbroker.state.topics.topic import NO_LEADER, Partition, Topic
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster

MAX_SEGMENT_BYTES = 1 << 18  # so that compaction, which leaves the last segment alone, keeps logs small
MAX_BATCH_RECORDS = 500
TOPIC_OF_RECORDS = {
    f"protocol.embedded.{module}": name
    for name, topic in COORDINATOR_TOPICS.items()
    if topic.log
    for module in topic.records
}
"""The topic of an optional part whose records a module declares."""


@dataclass(slots=True, eq=False)
class InternalTopics:
    """The coordinators' topics of a cluster.

    ``_written`` are the partitions whose logs are kept in line with the image; ``_delayed`` has what such a partition
    is to be given once it has a leader again. ``_counts`` has how many partitions coordinators go by, by topic id: as
    many as there were when they began, as in Kafka.
    """

    cluster: Cluster
    _counts: dict[bytes, int] = field(default_factory=dict)
    _written: set[Partition] = field(default_factory=set)
    _delayed: dict[Partition, list[tuple[CoordinatorRecord, int]]] = field(default_factory=dict)
    _logs: dict[str, Any] = field(default_factory=dict)  # of topics that have ``CoordinatorTopic.log``, by name

    def __post_init__(self) -> None:
        self._listen()

    def restore(self) -> None:
        """Go on with the logs that have records already."""
        topics = self.cluster.topic_by_id
        for topic_id, index in self.cluster.log_store.filled():
            topic = topics.get(topic_id)
            if topic is not None and topic.is_internal:
                self._written.add(topic.partitions[index])
                log = self._log_of(topic.name)
                if log is not None:
                    log.restore(topic.partitions[index])
        self._listen()

    # coordinators

    def topic(self, name: str) -> Topic:
        """A coordinators' topic, made if need be.

        Raises ApiError: COORDINATOR_NOT_AVAILABLE, where there is none and no broker to have it.
        """
        return self.cluster.topics.get(name) or self._make(name)

    def partition_of(self, name: str, key: str) -> Partition:
        """The partition of a coordinators' topic that a key is in. Raises ApiError: COORDINATOR_NOT_AVAILABLE."""
        return self._partition_in(self.topic(name), key)

    def coordinator(self, key: str, name: str = OFFSETS_TOPIC) -> Broker:
        """The leader of a key's partition. Raises ApiError: COORDINATOR_NOT_AVAILABLE, it has none that is up."""
        partition = self.partition_of(name, key)
        broker = self.cluster.brokers.get(partition.leader)
        if broker is None or not broker.online:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name}-{partition.index} has no leader that is up")
        return broker

    def has_coordinator(self, name: str, key: str) -> bool:
        """Whether a key has a coordinator at present."""
        topic = self.cluster.topics.get(name)
        if topic is None:
            return bool(self.cluster.liveness.online_brokers())
        broker = self.cluster.brokers.get(self._partition_in(topic, key).leader)
        return broker is not None and broker.online

    def move_coordinator(self, key: str, broker: Broker) -> bool:
        """Have a broker coordinate a group, or a transactional id, whenever it is up; False if it did.

        It becomes the first replica, and the leader, of the partition of ``__consumer_offsets`` that the key is in, and
        of that of ``__transaction_state`` if there is this topic; whatever else is in them moves along. The broker
        before answers NOT_COORDINATOR, to the members too that wait there.

        Raises ApiError: COORDINATOR_NOT_AVAILABLE, the broker is not up.
        """
        if not broker.online:
            up = ", ".join(str(one.id) for one in self.cluster.liveness.online_brokers()) or "none"
            raise ApiError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"expected a broker that is up ({up}) for the coordinator of {key}, got {broker.id}",
            )
        partitions = [self.partition_of(OFFSETS_TOPIC, key)]
        if TRANSACTIONS_TOPIC in self.cluster.topics:
            partitions.append(self.partition_of(TRANSACTIONS_TOPIC, key))
        elsewhere = [partition for partition in partitions if partition.leader != broker.id]
        for partition in elsewhere:
            others = [replica for replica in partition.replicas if replica != broker.id]
            replicas = [broker.id, *others][: len(partition.replicas)]
            self.cluster.replication.catch_up(partition, [broker.id])
            self.cluster.replication_control.reassign(partition.topic.name, partition.index, replicas)
        return bool(elsewhere)

    def takes_writes(self, name: str, key: str) -> bool:
        """Whether the partition that a key is in has ``min.insync.replicas`` in sync, or no leader."""
        return has_enough_in_sync(self.partition_of(name, key))

    def check_takes_writes(self, name: str, key: str) -> None:
        """Raises ApiError: COORDINATOR_NOT_AVAILABLE, as Kafka maps NOT_ENOUGH_REPLICAS of a coordinator's write."""
        partition = self.partition_of(name, key)
        if not has_enough_in_sync(partition):
            raise ApiError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"expected {partition.effective_min_isr()} replicas of {name}-{partition.index} in sync, "
                f"got {len(partition.isr)}",
            )

    def leader_changed(self, partition: Partition) -> None:
        """A partition of one of these topics has another leader, or none."""
        cluster = self.cluster
        if partition.leader != NO_LEADER and partition in self._delayed:
            for record, timestamp_ms in self._delayed.pop(partition):
                self._append(partition, [record], timestamp_ms)
        if partition.topic.name == OFFSETS_TOPIC and cluster.has_groups:
            for group_id in cluster.groups.ids():
                if self._partition_in(partition.topic, group_id) is partition:
                    cluster.groups.coordinator_moved(group_id, cluster.now_ms)

    # records

    def _log_of(self, name: str) -> Any:
        """The ``CoordinatorTopic.log`` of a topic, made when first needed; None for a topic without."""
        path = COORDINATOR_TOPICS[name].log
        if path and name not in self._logs:
            self._logs[name] = load(path)(self.cluster)
        return self._logs.get(name)

    def is_written(self, partition: Partition) -> bool:
        """Whether the log of a partition has what the image has."""
        return partition in self._written or self.cluster.is_durable

    def open(self, partition: Partition) -> None:
        """Somebody looks at a partition: from now on its log has what coordinators keep."""
        if self.is_written(partition) or partition.leader == NO_LEADER:
            return
        self._written.add(partition)
        self._listen()
        wall_ms = self.cluster.clock.at(self.cluster.now_ms)
        if partition.topic.name == OFFSETS_TOPIC:
            self._append(partition, list(self._of_groups(partition)), wall_ms)
        elif partition.topic.name == TRANSACTIONS_TOPIC:
            self._append(partition, list(self._of_transactions(partition)), wall_ms)
        elif self.cluster.image.extensions:
            kept = self._log_of(partition.topic.name).snapshots()
            here = [record for key, record in kept if self._partition_in(partition.topic, key) is partition]
            self._append(partition, here, wall_ms)

    def forget(self, topic: Topic) -> None:
        """A topic is gone, and so is what coordinators kept there."""
        self._written.difference_update(topic.partitions)
        self._listen()
        self._counts.pop(topic.id, None)
        for partition in topic.partitions:
            self._delayed.pop(partition, None)
            if topic.name in self._logs:
                self._logs[topic.name].forget(partition)
        if topic.name == OFFSETS_TOPIC and self.cluster.has_groups:
            self.cluster.groups.forget_all()
        elif topic.name == TRANSACTIONS_TOPIC and self.cluster.image.transactions:
            self.cluster.transactions.forget_all()
        elif COORDINATOR_TOPICS[topic.name].log and self.cluster.image.extensions:
            self._log_of(topic.name).forget_all()

    def _of_groups(self, partition: Partition) -> Iterator[CoordinatorRecord]:
        """What the image has of the groups in a partition: groups first, then offsets, then what is pending."""
        from mockbroker.state.groups.offsets import offset_record
        from protocol.embedded.group_log import GroupMetadataKey

        image = self.cluster.image

        def is_here(group_id: str) -> bool:
            return self._partition_in(partition.topic, group_id) is partition

        for group_id in filter(is_here, image.groups):
            yield CoordinatorRecord(GroupMetadataKey(group=group_id), image.groups[group_id])
        for group_id in filter(is_here, image.modern_groups):
            yield from image.modern_groups[group_id].values()
        for group_id in filter(is_here, image.offsets):
            for place, value in image.offsets[group_id].items():
                yield offset_record(group_id, place, value)
        epochs = {value.producer_id: value.producer_epoch for value in image.transactions.values()}
        for producer_id, by_group in image.pending_offsets.items():
            for group_id in filter(is_here, by_group):
                for place, value in by_group[group_id].items():
                    yield offset_record(group_id, place, value, producer_id, epochs.get(producer_id, 0))

    def _of_transactions(self, partition: Partition) -> Iterator[CoordinatorRecord]:
        from mockbroker.state.transactions.states import record

        for transactional_id, value in self.cluster.image.transactions.items():
            if self._partition_in(partition.topic, transactional_id) is partition:
                yield record(transactional_id, value)

    def _listen(self) -> None:
        """Be told of what changes the image, if any log is to have it."""
        self.cluster.writer.on_coordinator_records = self._changed if self._written or self.cluster.is_durable else None

    def _changed(self, records: Iterable[CoordinatorRecord]) -> None:
        """Records of coordinators are about to change the image."""
        wall_ms = self.cluster.clock.at(self.cluster.now_ms)
        by_partition: dict[Partition, list[CoordinatorRecord]] = {}
        for record in records:
            partition = self.place_of(record)
            if partition is not None and self.is_written(partition):
                by_partition.setdefault(partition, []).append(record)
        for partition, some in by_partition.items():
            if partition.leader == NO_LEADER:
                self._delayed.setdefault(partition, []).extend((one, wall_ms) for one in some)
            else:
                self._append(partition, some, wall_ms)

    def place_of(self, record: CoordinatorRecord) -> Partition | None:
        """The partition that a record belongs in; none for markers, which are appended with all others.

        Where logs are what a restart finds, the topic is made for it. Raises ApiError: COORDINATOR_NOT_AVAILABLE.
        """
        key = record.key
        transactional_id = getattr(key, "transactional_id", None)
        if transactional_id is not None:
            name, text = TRANSACTIONS_TOPIC, transactional_id
        elif (other := TOPIC_OF_RECORDS.get(type(key).__module__)) is not None:
            name, text = other, self._log_of(other).key_of(key)
        else:
            name, text = OFFSETS_TOPIC, getattr(key, "group", None) or getattr(key, "group_id", None)
            if text is None:
                return None
        topic = self.cluster.topics.get(name)
        if topic is None and self.cluster.is_durable and record.value is not None:
            topic = self._make(name)
        return None if topic is None else self._partition_in(topic, text)

    def _partition_in(self, topic: Topic, key: str) -> Partition:
        """The partition that a key is in; where a topic was widened, the one that it was in before."""
        count = self._counts.get(topic.id)
        if count is None:
            count = self._counts[topic.id] = len(topic.partitions)
        return topic.partitions[partition_of_key(key, count)]

    def _append(self, partition: Partition, records: list[CoordinatorRecord], wall_ms: int) -> None:
        """Append records, in a batch for each stretch of one producer's."""
        first = 0
        while first < len(records):
            producer = records[first].producer_id, records[first].producer_epoch
            end = first + 1
            while (
                end < len(records)
                and end - first < MAX_BATCH_RECORDS
                and (records[end].producer_id, records[end].producer_epoch) == producer
            ):
                end += 1
            self._append_batch(partition, records[first:end], *producer, wall_ms)
            first = end

    def _append_batch(
        self, partition: Partition, records: list[CoordinatorRecord], producer_id: int, epoch: int, wall_ms: int
    ) -> None:
        from mockbroker.state.coordinator_log import log_record, value_versions
        from mockbroker.state.logs.producers import NO_EPOCH, BatchMetadata
        from protocol.records import build_batch

        log, topic = partition.log, partition.topic
        versions = value_versions(self.cluster)
        base_offset, leader_epoch = log.end_offset, partition.leader_epoch
        is_transactional = producer_id != NO_PRODUCER_ID
        data = build_batch(
            [log_record(one, wall_ms, versions) for one in records],
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            producer_id=producer_id,
            producer_epoch=epoch if is_transactional else NO_EPOCH,
            transactional=is_transactional,
        )
        log.append(
            data,
            base_offset + len(records) - 1,
            wall_ms,
            leader_epoch,
            now_ms=wall_ms,
            segment_bytes=min(int(topic.config("segment.bytes")), MAX_SEGMENT_BYTES),
            segment_ms=int(topic.config("segment.ms")),
        )
        if is_transactional:
            partition.producers.note(
                producer_id, epoch, BatchMetadata(-1, -1, base_offset, wall_ms), wall_ms, transactional=True
            )
        self.cluster.replication.appended(partition, self.cluster.now_ms)
        followed = self._log_of(topic.name)
        if followed is not None:
            for offset, record in enumerate(records, base_offset):
                followed.appended(partition, record.key, offset, is_deleted=record.value is None)

    # making

    def _make(self, name: str) -> Topic:
        cluster = self.cluster
        if not cluster.liveness.online_brokers():
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no broker is online")
        rules = COORDINATOR_TOPICS[name]

        def setting(what: str) -> int:
            return int(cluster.settings[rules.settings + what])

        control = cluster.replication_control
        there = control.registered() if cluster.support.is_kraft else cluster.liveness.online_brokers()
        replicas = min(setting("replication.factor"), len(there))
        configs: dict[str, Any] = {**rules.configs, "segment.bytes": str(setting("segment.bytes"))}
        if rules.has_min_isr:  # as many may be missing as where there are all replicas
            missing = setting("replication.factor") - replicas
            configs["min.insync.replicas"] = str(max(1, setting("min.isr") - missing))
        return control.create(
            name,
            setting("num.partitions"),
            replicas,
            configs=configs,
            requesting_broker_id=cluster.liveness.online_brokers()[0].id,
            is_name_checked=True,
        )


def has_enough_in_sync(partition: Partition) -> bool:
    return partition.leader == NO_LEADER or len(partition.isr) >= partition.effective_min_isr()
