"""AddPartitionsToTxn (key 24), AddOffsetsToTxn (25), EndTxn (26), WriteTxnMarkers (27), TxnOffsetCommit (28):
transactions (KIP-98).
"""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int8, Int16, Int32, Int64, String, Uuid


@record
class AddPartitionsToTxnTopic:
    """Partitions of one topic."""

    name: str = field(String)
    partitions: list[int] = field(Array(Int32))


@request(key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest:
    """Partitions that a transaction will write to; since version 4 brokers ask for many at once (KIP-890)."""

    @record
    class Transaction:
        transactional_id: str = field(String, versions="4+")
        producer_id: int = field(Int64, versions="4+")
        producer_epoch: int = field(Int16, versions="4+")
        verify_only: bool = field(Bool, versions="4+")  # ask whether they are in, without adding them
        topics: list[AddPartitionsToTxnTopic] = field(Array(AddPartitionsToTxnTopic), versions="4+")

    transactions: list[Transaction] = field(Array(Transaction), versions="4+")
    v3_and_below_transactional_id: str = field(String, versions="0-3")
    v3_and_below_producer_id: int = field(Int64, versions="0-3")
    v3_and_below_producer_epoch: int = field(Int16, versions="0-3")
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(Array(AddPartitionsToTxnTopic), versions="0-3")


@record
class AddPartitionsToTxnTopicResult:
    """The outcome for the partitions of one topic."""

    @record
    class Partition:
        partition_index: int = field(Int32)
        partition_error_code: int = field(Int16)

    name: str = field(String)
    results_by_partition: list[Partition] = field(Array(Partition))


@response(key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnResponse:
    """How that went, for each partition."""

    @record
    class Transaction:
        transactional_id: str = field(String, versions="4+")
        topic_results: list[AddPartitionsToTxnTopicResult] = field(Array(AddPartitionsToTxnTopicResult), versions="4+")

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16, versions="4+", ignorable=True)
    results_by_transaction: list[Transaction] = field(Array(Transaction), versions="4+")
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(
        Array(AddPartitionsToTxnTopicResult), versions="0-3"
    )


@request(key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest:
    """The group whose offsets a transaction will commit."""

    transactional_id: str = field(String)
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int16)
    group_id: str = field(String)


@response(key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse:
    """Says if the coordinator recorded the group."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)


@request(key=26, versions="0-5", flexible="3+")
class EndTxnRequest:
    """Commits or aborts."""

    transactional_id: str = field(String)
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int16)
    committed: bool = field(Bool)  # true: commit; false: abort


@response(key=26, versions="0-5", flexible="3+")
class EndTxnResponse:
    """Says if the end has begun; from version 5 with the epoch to continue with (KIP-890)."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    producer_id: int = field(Int64, versions="5+", default=-1, ignorable=True)
    producer_epoch: int = field(Int16, versions="5+", default=-1, ignorable=True)


@request(key=27, versions="0-2", flexible="1+")
class WriteTxnMarkersRequest:
    """The coordinator has partition leaders end transactions in their logs."""

    @record
    class Marker:
        @record
        class Topic:
            name: str = field(String)
            partition_indexes: list[int] = field(Array(Int32))

        producer_id: int = field(Int64)
        producer_epoch: int = field(Int16)
        transaction_result: bool = field(Bool)  # true: commit; false: abort
        topics: list[Topic] = field(Array(Topic))
        coordinator_epoch: int = field(Int32)
        # 2: the epoch was raised for this marker (KIP-1228)
        transaction_version: int = field(Int8, versions="2+", ignorable=True)

    markers: list[Marker] = field(Array(Marker))


@response(key=27, versions="0-2", flexible="1+")
class WriteTxnMarkersResponse:
    """How that went, for each partition."""

    @record
    class Marker:
        @record
        class Topic:
            @record
            class Partition:
                partition_index: int = field(Int32)
                error_code: int = field(Int16)

            name: str = field(String)
            partitions: list[Partition] = field(Array(Partition))

        producer_id: int = field(Int64)
        topics: list[Topic] = field(Array(Topic))

    markers: list[Marker] = field(Array(Marker))


@request(key=28, versions="0-6", flexible="3+")
class TxnOffsetCommitRequest:
    """Offsets of a group, valid once the transaction commits. Fenced by generation since version 3 (KIP-447), of topics
    by id since version 6 (KIP-1319).
    """

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            committed_offset: int = field(Int64)
            committed_leader_epoch: int = field(Int32, versions="2+", default=-1, ignorable=True)
            committed_metadata: str | None = field(String, nullable="0+")

        name: str = field(String, versions="0-5", ignorable=True)
        topic_id: bytes = field(Uuid, versions="6+", ignorable=True)
        partitions: list[Partition] = field(Array(Partition))

    transactional_id: str = field(String)
    group_id: str = field(String)
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int16)
    # the generation of a classic group, or the epoch of the member in a group of the consumer protocol
    generation_id_or_member_epoch: int = field(Int32, versions="3+", default=-1)
    member_id: str = field(String, versions="3+")
    group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None)
    topics: list[Topic] = field(Array(Topic))


@response(key=28, versions="0-6", flexible="3+")
class TxnOffsetCommitResponse:
    """How that went, for each partition."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)

        name: str = field(String, versions="0-5", ignorable=True)
        topic_id: bytes = field(Uuid, versions="6+", ignorable=True)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32)
    topics: list[Topic] = field(Array(Topic))
