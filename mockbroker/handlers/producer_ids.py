"""InitProducerId (key 22): an id for a producer's sequence numbers.

Writes cluster.producers. Errors: INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, NOT_COORDINATOR, PRODUCER_FENCED
(INVALID_PRODUCER_EPOCH before v4), and that of ``transactional_ids``.
Source: KIP-98, KIP-360; KafkaApis.handleInitProducerIdRequest and TransactionCoordinator.handleInitProducerId,
Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.call import Call, handles
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.handlers.transactional_ids import check_transactional_id
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.producers import NO_EPOCH, NO_PRODUCER_ID
from protocol.apis.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from protocol.error_codes import ErrorCode

FENCED_VERSION = 4


@handles(InitProducerIdRequest)
def init_producer_id(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """A producer id and epoch."""
    try:
        present = named_pair(request)
        if request.transactional_id is not None:
            check_transactional(call, request.transactional_id, request.transaction_timeout_ms)
        producer_id, epoch = call.cluster.producers.initialise(
            request.transactional_id,
            request.transaction_timeout_ms,
            present,
            broker_id=call.broker.id,
            broker_epoch=call.broker.epoch,
            now_ms=call.now_ms,
        )
    except ApiError as error:
        code = error.code
        if code == ErrorCode.PRODUCER_FENCED and call.version < FENCED_VERSION:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)


def named_pair(request: InitProducerIdRequest) -> tuple[int, int] | None:
    """The producer id and epoch that the producer has, None where it names none.

    Raises ApiError: INVALID_REQUEST, where it names only one of them.
    """
    producer_id, epoch = request.producer_id, request.producer_epoch
    if (producer_id == NO_PRODUCER_ID) != (epoch == NO_EPOCH):
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"expected a producer id and an epoch or neither of them, got {producer_id} and {epoch}",
        )
    return None if producer_id == NO_PRODUCER_ID else (producer_id, epoch)


def check_transactional(call: Call, transactional_id: str, timeout_ms: int) -> None:
    """Refuse what the transaction coordinator would refuse before it looks at its state.

    Raises ApiError: INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, NOT_COORDINATOR, and that of ``transactional_ids``.
    """
    if not transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, "expected a transactional id or none, got ''")
    max_timeout_ms = call.cluster.settings["transaction.max.timeout.ms"]
    if not 0 < timeout_ms <= max_timeout_ms:
        raise ApiError(
            ErrorCode.INVALID_TRANSACTION_TIMEOUT, f"expected a timeout of 1 to {max_timeout_ms} ms, got {timeout_ms}"
        )
    check_coordinator(call, transactional_id)
    check_transactional_id(transactional_id)
