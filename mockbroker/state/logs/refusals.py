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
    }
)


class RefusedAppendError(ApiError):
    """Records that a log refused.

    ``record_errors`` has the errors of single records, as (index in the batch, message).
    """

    def __init__(
        self,
        code: int,
        log_start_offset: int = UNKNOWN_START,
        message: str | None = None,
        record_errors: tuple[tuple[int, str], ...] = (),
    ) -> None:
        super().__init__(code, message)
        self.log_start_offset = log_start_offset
        self.record_errors = record_errors


class BadBatchError(Exception):
    """A batch that breaks a rule; ``code`` is the error code for the producer."""

    def __init__(self, code: int, reason: str, record_errors: tuple[tuple[int, str], ...] = ()) -> None:
        super().__init__(code, reason, record_errors)
        self.code, self.reason, self.record_errors = code, reason, record_errors
