"""The marker that ends a producer's transaction: what it was to commit counts, or is dropped.

Source: OffsetMetadataManager.replayEndTransactionMarker, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.state.image.coordinator_records import CoordinatorRecord
from protocol.embedded.control_records import ControlRecordTypeSchema
from protocol.records import ControlType

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image


def end_transaction(image: Image, record: CoordinatorRecord) -> None:
    pending = image.pending_offsets.pop(record.producer_id, {})
    if record.key.type == ControlType.COMMIT:
        for group, offsets in pending.items():
            image.offsets.setdefault(group, {}).update(offsets)


APPLY: dict[type, Apply] = {ControlRecordTypeSchema: end_transaction}
