"""A transactional id as ``__transaction_state`` keeps it.

Source: TransactionLog and TransactionMetadata.prepareTransitionTo, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from msgspec import structs

from mockbroker.state.image.coordinator_records import CoordinatorRecord
from mockbroker.state.image.image import TopicPartition
from mockbroker.state.logs.producers import NO_EPOCH, NO_PRODUCER_ID
from mockbroker.state.transactions.states import NEXT_STATE, TransactionEvent, TransactionState
from protocol.embedded.transaction_log import TransactionLogKey, TransactionLogValue

NO_TIME = -1
Topic = TransactionLogValue.Topic


def new_value(producer_id: int, timeout_ms: int, now_ms: int) -> TransactionLogValue:
    """A transactional id that was not known, before its producer is given the first epoch."""
    return TransactionLogValue(
        producer_id=producer_id,
        previous_producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_EPOCH,
        transaction_timeout_ms=timeout_ms,
        transaction_status=TransactionState.EMPTY,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=now_ms,
        transaction_start_timestamp_ms=NO_TIME,
    )


def after(value: TransactionLogValue, event: TransactionEvent, now_ms: int, **changes: Any) -> TransactionLogValue:
    """A transactional id after an event, with other changes; the producer id that it has is its previous one then."""
    state = NEXT_STATE[TransactionState(value.transaction_status), event]
    partitions = changes.pop("partitions", None)
    if partitions is not None:
        changes["transaction_partitions"] = as_topics(partitions)
    if state is TransactionState.EMPTY:
        changes["transaction_partitions"] = None
    message: Any = value
    replaced: TransactionLogValue = structs.replace(
        message,
        previous_producer_id=value.producer_id,
        transaction_status=state,
        transaction_last_update_timestamp_ms=now_ms,
        **changes,
    )
    return replaced


def record(transactional_id: str, value: TransactionLogValue | None) -> CoordinatorRecord:
    """What a transactional id is from now on; None ends it."""
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), value)


def partitions_of(value: TransactionLogValue) -> list[TopicPartition]:
    """The partitions that the transaction writes to, sorted."""
    return [(topic.topic, index) for topic in value.transaction_partitions or () for index in topic.partition_ids]


def as_topics(partitions: Iterable[TopicPartition]) -> list[Topic]:
    return [
        Topic(topic=name, partition_ids=[index for _, index in found])
        for name, found in groupby(sorted(partitions), key=lambda partition: partition[0])
    ]
