"""InitProducerId (key 22): an id for a producer's sequence numbers.

Writes cluster.producers. Errors: PRODUCER_FENCED (INVALID_PRODUCER_EPOCH before v4), INVALID_PRODUCER_ID_MAPPING,
INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT.
Source: KIP-98, KIP-360; TransactionCoordinator.handleInitProducerId, Apache Kafka.
"""

from __future__ import annotations

from mockbroker.call import Call, handles
from mockbroker.state.errors import ApiError
from protocol.apis.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from protocol.error_codes import ErrorCode

FENCED_VERSION = 4


@handles(InitProducerIdRequest)
def init_producer_id(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """A producer id and epoch."""
    try:
        if request.transactional_id == "":
            raise ApiError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
        if request.transactional_id is not None:
            most = call.cluster.settings["transaction.max.timeout.ms"]
            if not 0 < request.transaction_timeout_ms <= most:
                raise ApiError(ErrorCode.INVALID_TRANSACTION_TIMEOUT, f"at most {most} ms")
        producer_id, epoch = call.cluster.producers.initialise(
            request.transactional_id,
            request.transaction_timeout_ms,
            request.producer_id,
            request.producer_epoch,
            broker_id=call.broker.id,
            broker_epoch=call.broker.epoch,
            now_ms=call.now_ms,
        )
    except ApiError as error:
        code = error.code
        if code == ErrorCode.PRODUCER_FENCED and call.version < FENCED_VERSION:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)
