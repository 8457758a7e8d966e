"""The marker that ends a producer's transaction: what it was to commit counts, or is dropped.

What was committed for a partition after that counts in its place.

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
    numbers = image.commit_numbers
    for group, offsets in image.pending_offsets.pop(record.producer_id, {}).items():
        for partition, value in offsets.items():
            number = numbers.pending.pop((record.producer_id, group, partition))
            if record.key.type == ControlType.COMMIT and number > numbers.committed.get((group, partition), 0):
                image.offsets.setdefault(group, {})[partition] = value
                numbers.committed[group, partition] = number
    if not image.pending_offsets:
        numbers.clear()


APPLY: dict[type, Apply] = {ControlRecordTypeSchema: end_transaction}
