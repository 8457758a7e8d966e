"""The markers that end a transaction in each of its partitions, written as soon as their leaders accept them.

Source: TransactionMarkerChannelManager and TransactionMarkerRequestCompletionHandler, Apache Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.logs.appending import append_marker
from mockbroker.state.logs.producers import Marker
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from mockbroker.state.transactions.states import TransactionState, partitions_of
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.image import TopicPartition
    from mockbroker.state.topics.topic import Partition
    from protocol.embedded.transaction_log import TransactionLogValue


class WrittenMarker(NamedTuple):
    """A marker in a leader's log that not every replica has yet: the offset after it, and the leader's epoch."""

    end_offset: int
    leader_epoch: int


@dataclass(slots=True, eq=False)
class Markers:
    """The missing markers.

    ``_missing`` has, by transactional id, the partitions without a marker, with None, or whose replicas lack it, until
    the transaction's completion is written. A deposed leader may lose the marker, so it is written again at
    its successor, as by Kafka's coordinator; after a restart all are, as by a new coordinator.
    """

    cluster: Cluster
    _missing: dict[str, dict[TopicPartition, WrittenMarker | None]] = field(default_factory=dict)

    def write(self, transactional_id: str, value: TransactionLogValue) -> bool:
        """Write the markers of a transaction that can be written; returns True if none is missing.

        Once its completion is written, ``forget`` ends it.
        """
        missing = self._missing.get(transactional_id)
        if missing is None:
            missing = self._missing[transactional_id] = dict.fromkeys(partitions_of(value))
        for partition in list(missing):
            if self._write_one(transactional_id, value, partition):
                del missing[partition]
        return not missing

    def forget(self, transactional_id: str) -> None:
        """Forget a transaction that has ended, or whose transactional id was deleted."""
        self._missing.pop(transactional_id, None)

    def _write_one(self, transactional_id: str, value: TransactionLogValue, key: TopicPartition) -> bool:
        """Write one partition's marker, unless it is written; returns True if every in-sync replica has it."""
        committed = value.transaction_status == TransactionState.PREPARE_COMMIT
        try:
            partition = self.cluster.find_partition(*key)
        except ApiError:
            return True  # deleted in the meantime
        missing = self._missing[transactional_id]
        written = missing[key]
        if written is None or written.leader_epoch != partition.leader_epoch:
            if not self._reaches_leader(transactional_id, partition):
                return False
            topics = self.cluster.internal_topics
            epoch = topics.partition_of(TRANSACTIONS_TOPIC, transactional_id).leader_epoch
            marker = Marker(committed, value.producer_id, value.producer_epoch, epoch)
            if key[0] == OFFSETS_TOPIC:
                topics.end_transaction(partition, marker)
                if not topics.is_encoded(partition):
                    return True
            try:
                wall_ms, version = self.cluster.clock.at(self.cluster.now_ms), value.client_transaction_version
                end_offset = append_marker(partition, marker, wall_ms, version)
            except ApiError as error:
                # Otherwise an administrator ended it by WriteTxnMarkers, in a later epoch.
                return error.code != ErrorCode.KAFKA_STORAGE_ERROR
            written = missing[key] = WrittenMarker(end_offset, partition.leader_epoch)
            self.cluster.replication.appended(partition, self.cluster.now_ms)
        return partition.high_watermark >= written.end_offset

    def _reaches_leader(self, transactional_id: str, partition: Partition) -> bool:
        """True if the coordinator reaches a partition's leader, and the leader accepts writes with acks=all."""
        cluster = self.cluster
        try:
            coordinator = cluster.internal_topics.coordinator(transactional_id, TRANSACTIONS_TOPIC)
        except ApiError:
            return False
        if not coordinator.is_running:
            return False
        if partition.topic.diskless:
            return True
        leader = cluster.brokers.get(partition.leader)
        return (
            leader is not None
            and leader.is_running
            and cluster.network.connects(coordinator.id, leader.id)
            and len(partition.isr) >= partition.effective_min_isr()
        )
