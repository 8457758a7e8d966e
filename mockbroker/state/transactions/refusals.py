"""What the transaction coordinator refuses, with the words for it.

Source: TransactionCoordinator, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.state.errors import ApiError
from mockbroker.state.transactions.states import STATE_NAMES, TransactionState
from protocol.embedded.transaction_log import TransactionLogValue
from protocol.error_codes import ErrorCode


def check_epoch(transactional_id: str, value: TransactionLogValue, epoch: int) -> None:
    """Raises ApiError: PRODUCER_FENCED, unless the epoch is the present one."""
    if epoch != value.producer_epoch:
        raise fenced(transactional_id, value, value.producer_id, epoch)


def check_ended(transactional_id: str, value: TransactionLogValue, *, commit: bool) -> None:
    """Nothing where a transaction has ended this way.

    Raises ApiError: CONCURRENT_TRANSACTIONS while it ends this way; INVALID_TXN_STATE where there is none, or where it
        ends or has ended the other way.
    """
    ending, ended = (
        (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
        if commit
        else (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
    )
    if value.transaction_status == ending:
        raise concurrent(transactional_id, value)
    if value.transaction_status != ended:
        raise wrong_state(transactional_id, value, commit=commit)


def wrong_id(transactional_id: str, producer_id: int) -> ApiError:
    return ApiError(
        ErrorCode.INVALID_PRODUCER_ID_MAPPING, f"producer id {producer_id} is not the one of {transactional_id}"
    )


def fenced(transactional_id: str, value: TransactionLogValue, producer_id: int, epoch: int) -> ApiError:
    return ApiError(
        ErrorCode.PRODUCER_FENCED,
        f"expected producer id {value.producer_id} and epoch {value.producer_epoch} of {transactional_id}, "
        f"got {producer_id} and {epoch}",
    )


def concurrent(transactional_id: str, value: TransactionLogValue) -> ApiError:
    state = STATE_NAMES[TransactionState(value.transaction_status)]
    return ApiError(ErrorCode.CONCURRENT_TRANSACTIONS, f"the transaction of {transactional_id} is in state {state}")


def wrong_state(transactional_id: str, value: TransactionLogValue, *, commit: bool) -> ApiError:
    state = STATE_NAMES[TransactionState(value.transaction_status)]
    wish = "commit" if commit else "abort"
    return ApiError(
        ErrorCode.INVALID_TXN_STATE, f"expected a transaction of {transactional_id} to {wish}, got state {state}"
    )
