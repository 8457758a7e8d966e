"""What a partition's leader, or a group's coordinator, asks of the transaction coordinator before it takes a write.

A client that knows of transaction.version 2 leaves it to the broker to add a partition to its transaction; for any
other the broker makes sure that the client has added it. That question goes from broker to broker, so it fails where
they do not reach each other.
Source: KIP-890; AddPartitionsToTxnManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from mockbroker.call import Call
from mockbroker.state.errors import ApiError
from mockbroker.state.image.image import TopicPartition
from mockbroker.state.topics.coordinator_keys import TRANSACTIONS_TOPIC
from mockbroker.state.transactions.coordinator import BUMP
from protocol.error_codes import ErrorCode


class TransactionSupport(Enum):
    """What a client does, by the version of its request, about partitions that its transaction does not have."""

    ADDS_BEFORE = "it has added them before"
    KNOWS_ABORTABLE = "the same, and it knows TRANSACTION_ABORTABLE"
    LEAVES_TO_BROKER = "the broker adds them"


def transaction_errors(
    call: Call,
    transactional_id: str,
    producer_id: int,
    epoch: int,
    partitions: Collection[TopicPartition],
    support: TransactionSupport,
) -> dict[TopicPartition, ErrorCode]:
    """Why partitions cannot be written to in a producer's transaction; those that can are left out."""
    cluster = call.cluster
    try:
        coordinator = cluster.internal_topics.coordinator(transactional_id, TRANSACTIONS_TOPIC)
        if not (coordinator.is_running and cluster.network.connects(call.broker.id, coordinator.id)):
            return dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)
        transactions = cluster.transactions
        if support is TransactionSupport.LEAVES_TO_BROKER:
            transactions.add_partitions(
                transactional_id, producer_id, epoch, partitions, call.now_ms, client_version=BUMP
            )
            return {}
        if not cluster.configs.broker(call.broker.id, "transaction.partition.verification.enable"):
            return {}
        found = transactions.verify(transactional_id, producer_id, epoch, partitions, call.now_ms)
    except ApiError as error:
        code = ErrorCode(error.code)
        if code is ErrorCode.PRODUCER_FENCED:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return dict.fromkeys(partitions, code)
    missing = ErrorCode.TRANSACTION_ABORTABLE
    if support is TransactionSupport.ADDS_BEFORE:
        missing = ErrorCode.INVALID_TXN_STATE
    return {one: missing for one, code in found.items() if code is not ErrorCode.NONE}
