"""The topic ``__transaction_state`` (KIP-98).

Keys begin with their type and values with their version, both int16. A null value deletes.
"""

from ..declare import data, field, record
from ..wire import Array, Int8, Int16, Int32, Int64, String


@data(versions="0", key=0)
class TransactionLogKey:
    """Which transactional id."""

    transactional_id: str = field(String, versions="0")


@data(versions="0-1", flexible="1+", key=0)
class TransactionLogValue:
    """Its producer and the state of its transaction. Version 1 has tags (KIP-890)."""

    @record
    class Topic:
        topic: str = field(String)
        partition_ids: list[int] = field(Array(Int32))

    producer_id: int = field(Int64)
    previous_producer_id: int = field(Int64, versions="1+", default=-1, tag=0)
    next_producer_id: int = field(Int64, versions="1+", default=-1, tag=1)
    producer_epoch: int = field(Int16)
    next_producer_epoch: int = field(Int16, versions="1+", default=-1, tag=3)
    transaction_timeout_ms: int = field(Int32)
    # 0: empty; 1: ongoing; 2, 3: prepare commit, abort; 4, 5: complete commit, abort; 6: dead; 7: prepare fence
    transaction_status: int = field(Int8)
    transaction_partitions: list[Topic] | None = field(Array(Topic), nullable="0+")  # null when there are none
    transaction_last_update_timestamp_ms: int = field(Int64)
    transaction_start_timestamp_ms: int = field(Int64)
    client_transaction_version: int = field(Int16, versions="1+", tag=2)
