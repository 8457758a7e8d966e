"""InitProducerId (key 22): an id and an epoch for a producer's sequence numbers and transactions.

Writes cluster.producers and cluster.transactions. Errors: INVALID_REQUEST, NOT_COORDINATOR and
those of ``Transactions.initialise``, with INVALID_PRODUCER_EPOCH for PRODUCER_FENCED before v4.
Source: KIP-98, KIP-360, KIP-939; KafkaApis.handleInitProducerIdRequest and TransactionCoordinator.handleInitProducerId,
Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.producers import NO_EPOCH, NO_PRODUCER_ID
from mockbroker.state.topics.coordinator_keys import TRANSACTIONS_TOPIC
from mockbroker.state.transactions.states import Producer
from protocol.apis.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from protocol.error_codes import ErrorCode

FIRST_EPOCH = 0


@handles(
    InitProducerIdRequest,
    access=Needs(
        transactional_id="Write",
        note="an idempotent producer: IdempotentWrite on the cluster, or Write on any topic; "
        "two-phase commit: TwoPhaseCommit on the transactional id too",
    ),
    errors=Errors(
        older={ErrorCode.PRODUCER_FENCED: (4, ErrorCode.INVALID_PRODUCER_EPOCH)},
        failed={"producer_id": -1, "producer_epoch": -1},
    ),
)
def init_producer_id(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """A producer id and epoch."""
    present = request.producer_id, request.producer_epoch
    if (present[0] == NO_PRODUCER_ID) != (present[1] == NO_EPOCH):
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"expected a producer id and an epoch or neither of them, got {present[0]} and {present[1]}",
        )
    transactional_id, transactions = request.transactional_id, call.cluster.transactions
    if transactional_id is None:
        new_id = call.cluster.producers.new_id(call.broker.id, call.broker.epoch)
        return InitProducerIdResponse(producer_id=new_id, producer_epoch=FIRST_EPOCH)
    timeout_ms = transactions.check_initialisation(
        transactional_id,
        request.transaction_timeout_ms,
        two_phase_commit=request.enable2_pc,
        keep_prepared=request.keep_prepared_txn,
    )
    check_coordinator(call, transactional_id, TRANSACTIONS_TOPIC)
    producer_id, epoch = transactions.initialise(Producer(transactional_id, *present), timeout_ms)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)
