"""The files ``*.snapshot`` beside the segments of a log: what it knows of its producers (KIP-98)."""

from ..declare import data, field, record
from ..wire import Array, Int16, Int32, Int64, UInt32


@data(versions="1")
class ProducerSnapshot:
    """The last batch of each producer. Behind its version, int16, on disk."""

    @record
    class Producer:
        producer_id: int = field(Int64, versions="1")
        epoch: int = field(Int16, versions="1")
        last_sequence: int = field(Int32, versions="1")
        last_offset: int = field(Int64, versions="1")
        offset_delta: int = field(Int32, versions="1")  # from the first to the last record of that batch
        timestamp: int = field(Int64, versions="1")
        coordinator_epoch: int = field(Int32, versions="1")
        current_txn_first_offset: int = field(Int64, versions="1")  # -1: no open transaction

    crc: int = field(UInt32, versions="1")  # CRC-32C of all that follows
    producer_entries: list[Producer] = field(Array(Producer), versions="1")
