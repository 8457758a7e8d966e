"""Whether a transactional id may be used: not yet, since there are no transactions. Both APIs that meet one ask here.

TRANSACTIONAL_ID_AUTHORIZATION_FAILED is the refusal that ends a transactional producer at once. With any other,
librdkafka asks for the coordinator again until its time is up, and Java's producer tells of an "unexpected error".
Source: TransactionManager.FindCoordinatorHandler, Apache Kafka 4.4; rd_kafka_txn_handle_FindCoordinator, librdkafka.
"""

from __future__ import annotations

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode


def check_transactional_id(transactional_id: str) -> None:
    """Refuse a transactional id. Raises ApiError: TRANSACTIONAL_ID_AUTHORIZATION_FAILED."""
    raise ApiError(
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        f"transactional id {transactional_id!r} cannot be used: this cluster has no transactions yet",
    )
