"""Produce (key 0) and TxnOffsetCommit (28) in a transaction: checks that it contains what the producer writes to.

For a client with transaction.version 2 the broker adds the partition to the transaction; for any other client it
verifies with the transaction coordinator that the client has added it, which fails if the brokers are disconnected.

Errors of the whole request: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, INVALID_PRODUCER_ID_MAPPING; per partition
INVALID_PRODUCER_ID_MAPPING, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, TRANSACTION_ABORTABLE,
CONCURRENT_TRANSACTIONS, and NOT_ENOUGH_REPLICAS for errors on which older clients do not retry.
Source: KIP-890; KafkaApis.handleProduceRequest, ReplicaManager.handleProduceAppend and AddPartitionsToTxnManager,
Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection

from mockbroker.call import Call
from mockbroker.handlers.leadership import find_partition, served_by
from mockbroker.state.errors import ApiError
from mockbroker.state.image import TopicPartition
from mockbroker.state.logs.batch_checks import RefusedAppendError
from mockbroker.state.logs.producers import PartitionProducers
from mockbroker.state.topics.coordinator_keys import TRANSACTIONS_TOPIC
from mockbroker.state.topics.topic import Partition
from mockbroker.state.transactions.coordinator import BUMP
from mockbroker.state.transactions.states import Producer
from protocol.apis.produce import ProduceRequest
from protocol.error_codes import ErrorCode
from protocol.records import BatchHeader, RecordError, iter_batches

ABORTABLE_VERSION = 11  # of Produce
TOPIC_ID_VERSION = 13
TransactionErrors = dict[TopicPartition, ErrorCode]
NOT_COORDINATED = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def transaction_errors(
    call: Call, producer: Producer, partitions: Collection[TopicPartition], missing: ErrorCode | None
) -> dict[TopicPartition, ErrorCode]:
    """The errors of partitions that a producer's transaction cannot write to; it omits the others.

    ``missing`` is the error of those that the client has not added; None lets the broker add them.
    """
    cluster = call.cluster
    try:
        coordinator = cluster.internal_topics.coordinator(producer.transactional_id, TRANSACTIONS_TOPIC)
        if not (coordinator.is_running and cluster.network.connects(call.broker.id, coordinator.id)):
            return dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)
        transactions = cluster.transactions
        if missing is None:
            transactions.add_partitions(producer, partitions, client_version=BUMP)
            return {}
        if not cluster.configs.broker(call.broker.id, "transaction.partition.verification.enable"):
            return {}
        found = transactions.verify(producer, partitions)
    except ApiError as error:
        code = ErrorCode(error.code)
        if code is ErrorCode.PRODUCER_FENCED:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return dict.fromkeys(partitions, code)
    return {one: missing for one, code in found.items() if code is not ErrorCode.NONE}


def check_in_transaction(errors: TransactionErrors, partition: Partition) -> None:
    """Raises RefusedAppendError if the batch of a partition is refused; with a message only where Kafka has one."""
    code = errors.get((partition.topic.name, partition.index))
    if code is None:
        return
    if code is ErrorCode.INVALID_TXN_STATE:
        raise RefusedAppendError(code, "the partition was not added to the transaction")
    if code in NOT_COORDINATED:
        reason = f"the transaction coordinator cannot be reached: {code.name}"
        raise RefusedAppendError(ErrorCode.NOT_ENOUGH_REPLICAS, reason)
    raise RefusedAppendError(code)


def transaction_errors_of(call: Call, request: ProduceRequest, transactional_id: str) -> TransactionErrors:
    """The errors of partitions that a request writes to, and in which the producer's transaction is not open.

    Raises ApiError: INVALID_PRODUCER_ID_MAPPING for batches of several producers.
    """
    batches: dict[TopicPartition, tuple[int, int]] = {}
    unverified: list[tuple[TopicPartition, PartitionProducers, int]] = []
    for topic in request.topic_data:
        for wanted in topic.partition_data:
            header = transactional_header(wanted.records)
            if header is None:
                continue
            pair = header.producer_id, header.producer_epoch
            try:
                key = topic.topic_id if call.version >= TOPIC_ID_VERSION else topic.name
                partition = find_partition(call, key, wanted.index)
                served_by(call, partition)
            except ApiError:
                continue  # its own error, reported by the append
            place = (partition.topic.name, partition.index)
            batches[place] = pair
            producers = call.own_copy(partition).producers
            if not producers.has_open(*pair):
                unverified.append((place, producers, header.base_sequence))
    pairs = set(batches.values())
    if len(pairs) > 1:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if not unverified:
        return {}
    (pair,) = pairs
    missing = code_if_missing(call.version, ABORTABLE_VERSION)
    errors: TransactionErrors = {
        place: ErrorCode.INVALID_PRODUCER_EPOCH
        for place, producers, sequence in unverified
        if not producers.begin_verification(*pair, sequence, starts_at_zero=missing is None)
    }
    places = [place for place, _, _ in unverified if place not in errors]
    if places:
        errors |= transaction_errors(call, Producer(transactional_id, *pair), places, missing)
    if missing is not None:
        for place, code in errors.items():
            if code is ErrorCode.CONCURRENT_TRANSACTIONS:
                errors[place] = ErrorCode.NOT_COORDINATOR  # on which older clients retry
    return errors


def code_if_missing(version: int, abortable_version: int) -> ErrorCode | None:
    """The error of a partition that the client has not added to its transaction; None if the broker adds it.

    ``abortable_version``: the only version of the request whose clients add partitions, and know the newer error.
    """
    if version > abortable_version:
        return None
    return ErrorCode.TRANSACTION_ABORTABLE if version == abortable_version else ErrorCode.INVALID_TXN_STATE


def transactional_header(records: bytes | None) -> BatchHeader | None:
    """The header of a batch that belongs to a transaction, None for any other."""
    try:
        header = next(iter_batches(records or b""), None)
    except RecordError:
        return None
    if header is None or header.partial or not header.is_transactional or header.producer_id < 0:
        return None
    return header
