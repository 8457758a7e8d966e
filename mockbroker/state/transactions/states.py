"""The states of a transactional id, their transitions, its records, and the errors for each state.

Source: TransactionState and its validPreviousStates, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from itertools import groupby
from typing import Any, NamedTuple

from msgspec import structs

from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from mockbroker.state.image import TopicPartition
from mockbroker.state.logs.producers import NO_EPOCH, NO_PRODUCER_ID
from protocol.embedded.transaction_log import TransactionLogKey, TransactionLogValue
from protocol.error_codes import ErrorCode


class TransactionState(IntEnum):
    """The state of a transactional id; the numbers are those of ``TransactionLogValue.transaction_status``."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7  # Kafka passes through it before it aborts; never visible


STATE_NAMES = {state: state.name.title().replace("_", "") for state in TransactionState}
"""The states' names in ListTransactions and DescribeTransactions."""

NO_TRANSACTION = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
"""The states without an open transaction or missing markers: a producer may begin, and the id may expire."""
ENDING = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
"""The states in which the outcome is decided, and markers are missing."""


VALID_BEFORE: dict[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: NO_TRANSACTION,
    TransactionState.ONGOING: NO_TRANSACTION | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    # KIP-890: a producer that does not know whether it has added anything may abort
    TransactionState.PREPARE_ABORT: NO_TRANSACTION | {TransactionState.ONGOING},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
}
"""The states that each state may follow. Before it is deleted, an id is in one of ``NO_TRANSACTION``."""


class Producer(NamedTuple):
    """The producer that sends a request: its transactional id, producer id and epoch."""

    transactional_id: str
    id: int
    epoch: int


def check_epoch(producer: Producer, value: TransactionLogValue) -> None:
    """Raises ApiError: PRODUCER_FENCED, unless the epoch is the current one."""
    if producer.epoch != value.producer_epoch:
        raise fenced(producer, value)


def check_ended(transactional_id: str, value: TransactionLogValue, *, commit: bool) -> None:
    """Check that a transaction has ended with this outcome.

    Raises ApiError: CONCURRENT_TRANSACTIONS while it ends with this outcome; INVALID_TXN_STATE if there is none, or if
        it ends or has ended with the other outcome.
    """
    ending, ended = (
        (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
        if commit
        else (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
    )
    if value.transaction_status == ending:
        raise concurrent(transactional_id, value)
    if value.transaction_status != ended:
        raise in_state(ErrorCode.INVALID_TXN_STATE, transactional_id, value)


def wrong_id(producer: Producer) -> ApiError:
    return ApiError(
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        f"producer id {producer.id} is not the one of {producer.transactional_id}",
    )


def fenced(producer: Producer, value: TransactionLogValue) -> ApiError:
    return ApiError(
        ErrorCode.PRODUCER_FENCED,
        f"expected producer id {value.producer_id} and epoch {value.producer_epoch} of {producer.transactional_id}, "
        f"got {producer.id} and {producer.epoch}",
    )


def concurrent(transactional_id: str, value: TransactionLogValue) -> ApiError:
    return in_state(ErrorCode.CONCURRENT_TRANSACTIONS, transactional_id, value)


def in_state(code: ErrorCode, transactional_id: str, value: TransactionLogValue) -> ApiError:
    state = STATE_NAMES[TransactionState(value.transaction_status)]
    return ApiError(code, f"the transaction of {transactional_id} is in state {state}")


NO_TIME = -1
Topic = TransactionLogValue.Topic


def new_value(producer_id: int, timeout_ms: int, now_ms: int) -> TransactionLogValue:
    """The value of a new transactional id, before its producer gets the first epoch."""
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


def after(value: TransactionLogValue, state: TransactionState, now_ms: int, **changes: Any) -> TransactionLogValue:
    """The value of a transactional id in its next state; its producer id becomes the previous one."""
    assert value.transaction_status in VALID_BEFORE[state], (value, state)
    partitions = changes.pop("partitions", None)
    if partitions is not None:
        changes["transaction_partitions"] = as_topics(partitions)
    if state is TransactionState.EMPTY:
        changes |= {"transaction_partitions": None, "transaction_start_timestamp_ms": NO_TIME}
    elif value.transaction_status in NO_TRANSACTION:  # it begins, if only to be aborted
        changes["transaction_start_timestamp_ms"] = now_ms
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
    """The record of a transactional id's new state; None deletes it."""
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), value)


def partitions_of(value: TransactionLogValue) -> list[TopicPartition]:
    """The partitions that the transaction writes to, sorted."""
    return [(topic.topic, index) for topic in value.transaction_partitions or () for index in topic.partition_ids]


def as_topics(partitions: Iterable[TopicPartition]) -> list[Topic]:
    return [
        Topic(topic=name, partition_ids=[index for _, index in found])
        for name, found in groupby(sorted(partitions), key=lambda partition: partition[0])
    ]
