"""The check of a partition's leader, or a group's coordinator, with the transaction coordinator before a write.

For a client with transaction.version 2 the broker adds the partition to the transaction; for any other client it
verifies that the client has added it. Brokers send this request to each other, so it fails if they are disconnected.
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
    """How partitions are added to a client's transaction, by the version of its request."""

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
    """The errors of partitions that a producer's transaction cannot write to; it omits the others."""
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
