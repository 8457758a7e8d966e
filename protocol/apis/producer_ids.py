"""InitProducerId (key 22) and AllocateProducerIds (67): who a producer is."""

from ..declare import field, request, response
from ..wire import Bool, Int16, Int32, Int64, String


@request(key=22, versions="0-6", flexible="2+", latest_unstable=True)
class InitProducerIdRequest:
    """Asks for an id and an epoch (KIP-98), or for the next epoch of those it has (KIP-360)."""

    transactional_id: str | None = field(String, nullable="0+")  # null: idempotent only
    transaction_timeout_ms: int = field(Int32)
    producer_id: int = field(Int64, versions="3+", default=-1)
    producer_epoch: int = field(Int16, versions="3+", default=-1)
    enable2_pc: bool = field(Bool, versions="6+")
    keep_prepared_txn: bool = field(Bool, versions="6+")


@response(key=22, versions="0-6", flexible="2+")
class InitProducerIdResponse:
    """The id and epoch; since version 6 those of a prepared transaction, too (KIP-939)."""

    throttle_time_ms: int = field(Int32, ignorable=True)
    error_code: int = field(Int16)
    producer_id: int = field(Int64, default=-1)
    producer_epoch: int = field(Int16)
    ongoing_txn_producer_id: int = field(Int64, versions="6+", default=-1)
    ongoing_txn_producer_epoch: int = field(Int16, versions="6+", default=-1)


@request(key=67, versions="0", flexible="0+")
class AllocateProducerIdsRequest:
    """A broker asks the controller for a block of ids (KIP-730)."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, default=-1)


@response(key=67, versions="0", flexible="0+")
class AllocateProducerIdsResponse:
    """The block."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    producer_id_start: int = field(Int64)
    producer_id_len: int = field(Int32)
