"""Classic groups, committed offsets and transactional ids, as the logs of their coordinators have them.

What a transaction is to commit is pending until its marker ends it; what was committed for a partition after that
counts in its place.

Source: GroupMetadataManager.replay, OffsetMetadataManager.replay and replayEndTransactionMarker,
TransactionStateManager.loadTransactionMetadata, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.state.image.coordinator_records import NO_PRODUCER_ID, CoordinatorRecord
from protocol.embedded.control_records import ControlRecordTypeSchema
from protocol.embedded.group_log import GroupMetadataKey, OffsetCommitKey
from protocol.embedded.transaction_log import TransactionLogKey
from protocol.records import ControlType

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image, TopicPartition
    from protocol.embedded.group_log import OffsetCommitValue


def set_group(image: Image, record: CoordinatorRecord) -> None:
    if record.value is None:
        image.groups.pop(record.key.group, None)
    else:
        image.groups[record.key.group] = record.value


def set_offset(image: Image, record: CoordinatorRecord) -> None:
    """An offset of a producer's transaction is pending until that ends; without a value all trace of it goes."""
    key: OffsetCommitKey = record.key
    partition = (key.topic, key.partition)
    if record.value is None:
        drop(image.offsets, key.group, partition)
        for producer_id, by_group in list(image.pending_offsets.items()):
            drop(by_group, key.group, partition)
            image.commit_numbers.pending.pop((producer_id, key.group, partition), None)
            if not by_group:
                del image.pending_offsets[producer_id]
        if not image.pending_offsets:
            image.commit_numbers.clear()
    elif record.producer_id == NO_PRODUCER_ID:
        image.offsets.setdefault(key.group, {})[partition] = record.value
        if image.pending_offsets:
            numbers = image.commit_numbers
            numbers.last += 1
            numbers.committed[key.group, partition] = numbers.last
    else:
        by_group = image.pending_offsets.setdefault(record.producer_id, {})
        by_group.setdefault(key.group, {})[partition] = record.value
        numbers = image.commit_numbers
        numbers.last += 1
        numbers.pending[record.producer_id, key.group, partition] = numbers.last


def drop(by_group: dict[str, dict[TopicPartition, OffsetCommitValue]], group: str, partition: TopicPartition) -> None:
    offsets = by_group.get(group)
    if offsets is not None:
        offsets.pop(partition, None)
        if not offsets:
            del by_group[group]


def end_transaction(image: Image, record: CoordinatorRecord) -> None:
    numbers = image.commit_numbers
    for group, offsets in image.pending_offsets.pop(record.producer_id, {}).items():
        for partition, value in offsets.items():
            number = numbers.pending.pop((record.producer_id, group, partition))
            if record.key.type == ControlType.COMMIT and number > numbers.committed.get((group, partition), 0):
                image.offsets.setdefault(group, {})[partition] = value
                numbers.committed[group, partition] = number
    if not image.pending_offsets:
        numbers.clear()


def set_transaction(image: Image, record: CoordinatorRecord) -> None:
    if record.value is None:
        image.transactions.pop(record.key.transactional_id, None)
    else:
        image.transactions[record.key.transactional_id] = record.value


APPLY: dict[type, Apply] = {
    GroupMetadataKey: set_group,
    OffsetCommitKey: set_offset,
    ControlRecordTypeSchema: end_transaction,
    TransactionLogKey: set_transaction,
}
