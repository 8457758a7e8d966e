"""DescribeProducers (key 61), DescribeTransactions (65), ListTransactions (66): to find hanging transactions.

They read cluster.transactions and partitions' producer state.
Errors: per partition UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, INVALID_TOPIC_EXCEPTION,
KAFKA_STORAGE_ERROR; per transactional id INVALID_REQUEST, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE,
TRANSACTIONAL_ID_NOT_FOUND; at the top of ListTransactions INVALID_REGULAR_EXPRESSION.
Source: KIP-664, KIP-994, KIP-1152; KafkaApis and TransactionStateManager.listTransactionStates, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import Any

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.error_responses import answer_parts
from mockbroker.handlers.find_coordinator import check_coordinator, coordinates
from mockbroker.handlers.leadership import find_partition, served_by
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.producers import NO_OFFSET, PartitionProducers
from mockbroker.state.patterns import PatternError, compiled
from mockbroker.state.security.operations import Operation
from mockbroker.state.topics.coordinator_keys import TRANSACTIONS_TOPIC
from mockbroker.state.topics.topic import check_topic_name
from mockbroker.state.transactions.states import STATE_NAMES, TransactionState
from mockbroker.subjects import nothing_named
from protocol.apis.transaction_admin import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from protocol.error_codes import ErrorCode

NO_SEQUENCE = -1
UNAUTHORIZED = ErrorCode.TOPIC_AUTHORIZATION_FAILED

ProducersOfPartition = DescribeProducersResponse.Topic.Partition
TransactionEntry = DescribeTransactionsResponse.Transaction


@handles(DescribeProducersRequest, access=Needs(topic="Read"), errors=Errors(words="nothing"), subjects=nothing_named)
def describe_producers(call: Call, request: DescribeProducersRequest) -> DescribeProducersResponse:
    """The active producers of each partition, as its replica knows them."""
    return answer_parts(call, request, DescribeProducersResponse, describe_partition)


def describe_partition(
    call: Call, entry: ProducersOfPartition, topic: DescribeProducersRequest.Topic, index: int
) -> None:
    """One partition's producers; the error has a message for an unknown topic, not for an unknown partition."""
    try:
        check_topic_name(topic.name)
        if not call.access.may_topic(Operation.READ, topic.name):
            raise ApiError(UNAUTHORIZED, UNAUTHORIZED.meaning)
        call.cluster.find_topic(topic.name)
    except ApiError as error:
        entry.error_code, entry.error_message = error.code, error.message
        return
    partition = find_partition(call, topic.name, index)
    served_by(call, partition, followers_too=True)
    entry.active_producers = active_producers(call.own_copy(partition).producers)


def active_producers(producers: PartitionProducers) -> list[ProducersOfPartition.Producer]:
    return [
        ProducersOfPartition.Producer(
            producer_id=producer_id,
            producer_epoch=one.epoch,
            last_sequence=one.batches[-1].last_sequence if one.batches else NO_SEQUENCE,
            last_timestamp=one.last_ms,
            coordinator_epoch=one.coordinator_epoch,
            current_txn_start_offset=producers.transactions.open.get(producer_id, NO_OFFSET),
        )
        for producer_id, one in sorted(producers.by_id.items())
    ]


@handles(
    DescribeTransactionsRequest,
    access=Needs(transactional_id="Describe", note="topics are shown with Describe on the topic", handler="all"),
)
def describe_transactions(call: Call, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    """The state of each transactional id that the broker coordinates."""
    return answer_parts(call, request, DescribeTransactionsResponse, describe_transaction)


def describe_transaction(call: Call, entry: TransactionEntry, transactional_id: str) -> None:
    access = call.access
    if not access.may_transactional_id(Operation.DESCRIBE, transactional_id):
        raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    check_coordinator(call, transactional_id, TRANSACTIONS_TOPIC)
    value = call.cluster.transactions.get(transactional_id)
    entry.transaction_state = STATE_NAMES[TransactionState(value.transaction_status)]
    entry.transaction_timeout_ms = value.transaction_timeout_ms
    entry.transaction_start_time_ms = value.transaction_start_timestamp_ms
    entry.producer_id, entry.producer_epoch = value.producer_id, value.producer_epoch
    entry.topics = [
        TransactionEntry.Topic(topic=topic.topic, partitions=list(topic.partition_ids))
        for topic in value.transaction_partitions or ()
        if access.may_topic(Operation.DESCRIBE, topic.topic)
    ]


@handles(ListTransactionsRequest, access=Needs(note="those with Describe on the transactional id are listed"))
def list_transactions(call: Call, request: ListTransactionsRequest) -> ListTransactionsResponse:
    """The transactional ids that the broker coordinates, match the filters and the client may describe."""
    wanted = whole_match(request.transactional_id_pattern)
    access = call.access
    names = set(STATE_NAMES.values())
    states, producer_ids = request.state_filters, request.producer_id_filters
    begun_before = call.cluster.clock.at(call.now_ms) - request.duration_filter
    return ListTransactionsResponse(
        unknown_state_filters=[name for name in dict.fromkeys(request.state_filters) if name not in names],
        transaction_states=[
            ListTransactionsResponse.Transaction(
                transactional_id=transactional_id,
                producer_id=value.producer_id,
                transaction_state=STATE_NAMES[TransactionState(value.transaction_status)],
            )
            for transactional_id, value in sorted(call.cluster.transactions.values().items())
            if coordinates(call, transactional_id, TRANSACTIONS_TOPIC)
            and access.may_transactional_id(Operation.DESCRIBE, transactional_id)
            and (wanted is None or wanted.fullmatch(transactional_id) is not None)
            and (not states or STATE_NAMES[TransactionState(value.transaction_status)] in states)
            and (not producer_ids or value.producer_id in producer_ids)
            and (request.duration_filter < 0 or value.transaction_start_timestamp_ms < begun_before)
        ],
    )


def whole_match(pattern: str | None) -> Any:
    """The pattern that whole transactional ids match, None for any. Raises ApiError: INVALID_REGULAR_EXPRESSION."""
    if not pattern:
        return None
    try:
        return compiled(pattern)
    except PatternError as error:
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION, f"expected a regular expression, got {pattern!r}: {error}"
        ) from None
