"""Refused appends: an error code and, where Kafka reports it, the log's start offset.

Source: ReplicaManager.appendRecordsToLeader, Apache Kafka 4.4, which returns a log's start unless the error is one of
``WITHOUT_START``, and messages only for single records.
"""

from __future__ import annotations

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

UNKNOWN_START = -1
WITHOUT_START = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)


class RefusedAppendError(ApiError):
    """Records that a log refused.

    ``record_errors`` are of single records, as (index in the batch, message); only these have a message in answers.
    ``log_start_offset`` is -1 where Kafka does not report it.
    """

    def __init__(self, code: int, message: str | None = None, record_errors: tuple[tuple[int, str], ...] = ()) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors
        self.log_start_offset = UNKNOWN_START


def refused(error: ApiError, start_offset: int) -> RefusedAppendError:
    """The refusal for an error of a log with this start offset."""
    refusal = error if isinstance(error, RefusedAppendError) else RefusedAppendError(error.code)
    if error.code not in WITHOUT_START:
        refusal.log_start_offset = start_offset
    return refusal
