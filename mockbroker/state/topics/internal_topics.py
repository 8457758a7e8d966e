"""The topics of coordinators, created on first use: the leader of a key's partition coordinates that key.

A coordinator's state is its shard, the decoded log of its partition (``mockbroker.state.coordinator_shard``); live
groups are built from it. The bytes of a log are encoded when a client first reads the partition, the last record of
each key, as in a log that was just compacted. From then on each record is encoded as it is written. In a durable
cluster, whose restart replays these logs, all records are. Logs are compacted like all others, unless an optional part
deletes from their front (``CoordinatorTopic.log``): those are always encoded, and have no shard.

Source: DefaultAutoTopicCreationManager, Apache Kafka 4.4. With fewer brokers than the replication factor requires,
Kafka creates no topic; here it gets as many replicas as there are brokers, and its ``min.insync.replicas`` decreases
by the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from mockbroker.parts import load
from mockbroker.state.coordinator_shard import NO_PRODUCER_ID, CoordinatorRecord, CoordinatorShard
from mockbroker.state.errors import ApiError
from mockbroker.state.replicas.replication import is_under_min_isr
from mockbroker.state.topics.coordinator_keys import (
    COORDINATOR_TOPICS,
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    partition_of_key,
)
from mockbroker.state.topics.placing import with_places
from mockbroker.state.topics.topic import NO_LEADER, Partition, Topic
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.logs.producers import Marker

MAX_SEGMENT_BYTES = 1 << 18  # so that compaction, which leaves the last segment alone, keeps logs small


@dataclass(slots=True, eq=False)
class InternalTopics:
    """The coordinators' topics of a cluster.

    ``_encoded`` are the partitions whose logs have all records as bytes; ``_delayed`` has the records to append to
    these once they have a leader again. ``_counts`` has the number of partitions that coordinators use, by topic id:
    the number at their start, as in Kafka.
    """

    cluster: Cluster
    _counts: dict[bytes, int] = field(default_factory=dict)
    _encoded: set[Partition] = field(default_factory=set)
    _delayed: dict[Partition, list[CoordinatorRecord]] = field(default_factory=dict)
    _logs: dict[str, Any] = field(default_factory=dict)  # of topics that have ``CoordinatorTopic.log``, by name

    def restore(self) -> None:
        """Replay the logs that have records as bytes. Raises DecodeError, UnsupportedVersionError."""
        from mockbroker.state.coordinator_log import load_shard

        for partition in self.cluster.filled_partitions():
            topic = partition.topic
            if not topic.is_internal:
                continue
            self._encoded.add(partition)
            replayer = self._log_of(topic.name)
            if replayer is not None:
                replayer.restore(partition)
            else:
                batches = partition.log.batches(partition.log.start_offset)
                self.cluster.log_store.shards[topic.id, partition.index] = load_shard(topic.name, batches)

    # coordinators

    def topic(self, name: str) -> Topic:
        """A coordinators' topic, created if necessary.

        Raises ApiError: COORDINATOR_NOT_AVAILABLE, if there is neither the topic nor a broker for it.
        """
        return self.cluster.topics.get(name) or self._make(name)

    def partition_of(self, name: str, key: str) -> Partition:
        """The partition of a key in a coordinators' topic. Raises ApiError: COORDINATOR_NOT_AVAILABLE."""
        return self._partition_in(self.topic(name), key)

    def coordinator(self, key: str, name: str = OFFSETS_TOPIC) -> Broker:
        """The leader of a key's partition. Raises ApiError: COORDINATOR_NOT_AVAILABLE, no leader is up."""
        partition = self.partition_of(name, key)
        broker = self._leader_of(partition)
        if broker is None:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name}-{partition.index} has no leader that is up")
        return broker

    def _leader_of(self, partition: Partition) -> Broker | None:
        """The leader of a partition, None if none is up."""
        broker = self.cluster.brokers.get(partition.leader)
        return broker if broker is not None and broker.online else None

    def has_coordinator(self, name: str, key: str) -> bool:
        """True if a key has a coordinator now."""
        topic = self.cluster.topics.get(name)
        if topic is None:
            return bool(self.cluster.liveness.online_brokers)
        return self._leader_of(self._partition_in(topic, key)) is not None

    def move_coordinator(self, key: str, broker: Broker) -> bool:
        """Let a broker coordinate a group, or a transactional id, whenever it is up; returns False if it already does.

        It becomes the first replica, and the leader, of the key's partition of ``__consumer_offsets``, and of
        ``__transaction_state`` if that topic exists; other keys in these partitions move along. The previous
        broker answers NOT_COORDINATOR, also to members that wait there.

        Raises ApiError: COORDINATOR_NOT_AVAILABLE, the broker is not up.
        """
        if not broker.online:
            up = ", ".join(str(one.id) for one in self.cluster.liveness.online_brokers) or "none"
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
        """True if a key's partition has ``min.insync.replicas`` in sync, or no leader."""
        partition = self.partition_of(name, key)
        return partition.leader == NO_LEADER or not is_under_min_isr(partition)

    def check_takes_writes(self, name: str, key: str) -> None:
        """Raises ApiError: COORDINATOR_NOT_AVAILABLE, to which Kafka maps a coordinator's NOT_ENOUGH_REPLICAS."""
        if not self.takes_writes(name, key):
            partition = self.partition_of(name, key)
            raise ApiError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"expected {partition.effective_min_isr()} replicas of {name}-{partition.index} in sync, "
                f"got {len(partition.isr)}",
            )

    def leader_changed(self, partition: Partition) -> None:
        """Handle a change of the leader of a partition of one of these topics; it may have none."""
        cluster = self.cluster
        if partition.leader != NO_LEADER and partition in self._delayed:
            self._append(partition, self._delayed.pop(partition))
        if partition.topic.name == OFFSETS_TOPIC and cluster.has_groups:
            ids = (group.id for group in cluster.groups.select())
            groups = [one for one in ids if self._partition_in(partition.topic, one) is partition]
            cluster.groups.coordinator_moved(groups, self._shard_of(partition), cluster.now_ms)

    # records

    def _log_of(self, name: str) -> Any:
        """The ``CoordinatorTopic.log`` of a topic, created on first use; None for a topic without one."""
        path = COORDINATOR_TOPICS[name].log
        if path and name not in self._logs:
            self._logs[name] = load(path)(self.cluster)
        return self._logs.get(name)

    def shard(self, name: str, key: str) -> CoordinatorShard:
        """The shard of a key, for reading."""
        topic = self.cluster.topics.get(name)
        return CoordinatorShard() if topic is None else self._shard_of(self._partition_in(topic, key))

    def shards(self, name: str) -> list[CoordinatorShard]:
        """The shards of a topic, by partition."""
        topic = self.cluster.topics.get(name)
        return [] if topic is None else [self._shard_of(partition) for partition in topic.partitions]

    def write(self, name: str, key: str, records: Sequence[CoordinatorRecord]) -> None:
        """Append records of a key to the log of its partition, and replay them.

        Raises ApiError: COORDINATOR_NOT_AVAILABLE where the topic has to be created and no broker is up, and
            KAFKA_STORAGE_ERROR where records cannot be stored. Nothing is replayed then.
        """
        if records:
            partition = self.partition_of(name, key)
            if self.is_encoded(partition):
                self._append(partition, records)
            if not COORDINATOR_TOPICS[name].log:
                self._shard_of(partition).replay(records)

    def end_transaction(self, partition: Partition, marker: Marker) -> None:
        """Apply the marker that ends a producer's transaction in a partition; the caller appends its bytes."""
        shard = self._shard_of(partition)
        shard.end_transaction(marker.producer_id, marker.producer_epoch, committed=marker.commit)

    def _shard_of(self, partition: Partition) -> CoordinatorShard:
        return self.cluster.log_store.shards.setdefault((partition.topic.id, partition.index), CoordinatorShard())

    def is_encoded(self, partition: Partition) -> bool:
        """True if the log of a partition has all records as bytes."""
        return (
            partition in self._encoded or self.cluster.is_durable or bool(COORDINATOR_TOPICS[partition.topic.name].log)
        )

    def open(self, partition: Partition) -> None:
        """Encode the log of a partition that a client reads; from now on it has all records as bytes."""
        if self.is_encoded(partition) or partition.leader == NO_LEADER:
            return
        self._encoded.add(partition)
        self._append(partition, self._shard_of(partition).in_order())

    def forget(self, topic: Topic) -> None:
        """Forget a deleted topic, and the state of its coordinators."""
        cluster = self.cluster
        self._encoded.difference_update(topic.partitions)
        self._counts.pop(topic.id, None)
        for partition in topic.partitions:
            self._delayed.pop(partition, None)
            cluster.log_store.shards.pop((topic.id, partition.index), None)
        if topic.name in self._logs:
            self._logs[topic.name].forget_all()
        if topic.name == OFFSETS_TOPIC and cluster.has_groups:
            cluster.groups.forget_all()
        elif topic.name == TRANSACTIONS_TOPIC:
            cluster.transactions.forget_all()

    def _partition_in(self, topic: Topic, key: str) -> Partition:
        """The partition of a key; after a topic was expanded, the same partition as before."""
        count = self._counts.get(topic.id)
        if count is None:
            count = self._counts[topic.id] = len(topic.partitions)
        return topic.partitions[partition_of_key(key, count)]

    def _append(self, partition: Partition, records: Sequence[CoordinatorRecord]) -> None:
        """Append records as soon as there is a leader, in one batch for each run of records of one producer."""
        from mockbroker.state.coordinator_log import log_record, value_versions
        from mockbroker.state.logs.appending import write
        from mockbroker.state.logs.batch_checks import append_rules
        from protocol.records import build_batch, iter_batches

        if partition.leader == NO_LEADER:
            self._delayed.setdefault(partition, []).extend(records)
            return
        topic, wall_ms = partition.topic, self.cluster.clock.at(self.cluster.now_ms)
        versions, followed = value_versions(self.cluster), self._log_of(topic.name)
        for (producer_id, epoch), run in groupby(records, key=lambda one: (one.producer_id, one.producer_epoch)):
            batch, base_offset = list(run), partition.log.end_offset
            is_transactional = producer_id != NO_PRODUCER_ID
            data = build_batch(
                [log_record(one, wall_ms, versions) for one in batch],
                base_offset=base_offset,
                producer_id=producer_id,
                producer_epoch=epoch,
                transactional=is_transactional,
            )
            write(partition, data, append_rules(topic), wall_ms, max_segment_bytes=MAX_SEGMENT_BYTES)
            if is_transactional:
                partition.producers.note(next(iter_batches(data)), base_offset, wall_ms)
            self.cluster.replication.appended(partition, self.cluster.now_ms)
            for offset, record in enumerate(batch if followed is not None else (), base_offset):
                followed.appended(partition, record, offset)

    # creation

    def _make(self, name: str) -> Topic:
        cluster = self.cluster
        if not cluster.liveness.online_brokers:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no broker is online")
        rules = COORDINATOR_TOPICS[name]

        def setting(what: str) -> int:
            return int(cluster.settings[rules.settings + what])

        control = cluster.replication_control
        replicas = min(setting("replication.factor"), len(with_places(cluster)))
        configs: dict[str, Any] = {**rules.configs, "segment.bytes": str(setting("segment.bytes"))}
        if rules.has_min_isr:  # as many may be missing as with all replicas
            missing = setting("replication.factor") - replicas
            configs["min.insync.replicas"] = str(max(1, setting("min.isr") - missing))
        return control.create(
            name,
            setting("num.partitions"),
            replicas,
            configs=configs,
            requesting_broker_id=cluster.liveness.online_brokers[0].id,
            is_name_checked=True,
        )
