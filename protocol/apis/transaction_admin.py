"""DescribeProducers (key 61), DescribeTransactions (65), ListTransactions (66): to find hanging ones (KIP-664)."""

from ..declare import field, record, request, response
from ..wire import Array, Int16, Int32, Int64, String


@request(key=61, versions="0", flexible="0+")
class DescribeProducersRequest:
    """Partitions to ask about."""

    @record
    class Topic:
        name: str = field(String)
        partition_indexes: list[int] = field(Array(Int32))

    topics: list[Topic] = field(Array(Topic))


@response(key=61, versions="0", flexible="0+")
class DescribeProducersResponse:
    """The producers of whom a partition's leader knows."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class Producer:
                producer_id: int = field(Int64)
                producer_epoch: int = field(Int32)
                last_sequence: int = field(Int32, default=-1)
                last_timestamp: int = field(Int64, default=-1)
                coordinator_epoch: int = field(Int32)
                current_txn_start_offset: int = field(Int64, default=-1)  # -1: no open transaction

            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+", default=None)
            active_producers: list[Producer] = field(Array(Producer))

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32)
    topics: list[Topic] = field(Array(Topic))


@request(key=65, versions="0", flexible="0+")
class DescribeTransactionsRequest:
    """Transactional ids to ask about."""

    transactional_ids: list[str] = field(Array(String))


@response(key=65, versions="0", flexible="0+")
class DescribeTransactionsResponse:
    """The state of each, and the partitions it writes to."""

    @record
    class Transaction:
        @record
        class Topic:
            topic: str = field(String)
            partitions: list[int] = field(Array(Int32))

        error_code: int = field(Int16)
        transactional_id: str = field(String)
        transaction_state: str = field(String)
        transaction_timeout_ms: int = field(Int32)
        transaction_start_time_ms: int = field(Int64)
        producer_id: int = field(Int64)
        producer_epoch: int = field(Int16)
        topics: list[Topic] = field(Array(Topic))

    throttle_time_ms: int = field(Int32)
    transaction_states: list[Transaction] = field(Array(Transaction))


@request(key=66, versions="0-2", flexible="0+")
class ListTransactionsRequest:
    """Which to list: by state, by producer, since version 1 by age (KIP-994), since 2 by name (KIP-1152)."""

    state_filters: list[str] = field(Array(String))
    producer_id_filters: list[int] = field(Array(Int64))
    duration_filter: int = field(Int64, versions="1+", default=-1)  # only older ones, in ms; -1: all
    # a regular expression of RE2
    transactional_id_pattern: str | None = field(String, versions="2+", nullable="2+", default=None)


@response(key=66, versions="0-2", flexible="0+")
class ListTransactionsResponse:
    """The transactions that one broker coordinates."""

    @record
    class Transaction:
        transactional_id: str = field(String)
        producer_id: int = field(Int64)
        transaction_state: str = field(String)

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    unknown_state_filters: list[str] = field(Array(String))  # states that the broker does not know
    transaction_states: list[Transaction] = field(Array(Transaction))
