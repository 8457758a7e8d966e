"""The files ``*.txnindex`` beside the segments of a log: aborted transactions (KIP-98)."""

from ..declare import data, field
from ..wire import Int64


@data(versions="0")
class AbortedTxn:
    """One aborted transaction. Behind its version, int16, on disk: 34 bytes in all.

    Before Apache Kafka 4.4 the same bytes were written by hand, without a schema.
    """

    producer_id: int = field(Int64)
    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    last_stable_offset: int = field(Int64)  # of the partition, when the transaction ended
