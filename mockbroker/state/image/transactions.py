"""Transactional ids: the producer that each has, and the state of its transaction.

Source: TransactionStateManager.loadTransactionMetadata, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.state.image.coordinator_records import CoordinatorRecord
from protocol.embedded.transaction_log import TransactionLogKey

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image


def set_transaction(image: Image, record: CoordinatorRecord) -> None:
    if record.value is None:
        image.transactions.pop(record.key.transactional_id, None)
    else:
        image.transactions[record.key.transactional_id] = record.value


APPLY: dict[type, Apply] = {TransactionLogKey: set_transaction}
