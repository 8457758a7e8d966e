"""Groups of the consumer, share and streams protocols: the last record of each key, as a compacted log keeps it.

Source: GroupMetadataManager.replay, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.state.image.coordinator_records import CoordinatorRecord
from protocol.embedded import consumer_group_log, share_group_log, streams_group_log

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, GroupRecords, Image


def set_record(image: Image, record: CoordinatorRecord) -> None:
    key = record.key
    detail = getattr(key, "member_id", None) or getattr(key, "regular_expression", None) or ""
    if record.value is not None:
        image.modern_groups.setdefault(key.group_id, {})[type(key), detail] = record
        return
    records = image.modern_groups.get(key.group_id)
    if records is not None:
        records.pop((type(key), detail), None)
        if not records:
            del image.modern_groups[key.group_id]


def without_members(groups: dict[str, GroupRecords]) -> dict[str, GroupRecords]:
    """The groups with what is kept of each as a whole, without their members and what those subscribe to."""
    kept = {
        group_id: {at: record for at, record in records.items() if not at[1]} for group_id, records in groups.items()
    }
    return {group_id: records for group_id, records in kept.items() if records}


APPLY: dict[type, Apply] = {
    key: set_record
    for module in (consumer_group_log, share_group_log, streams_group_log)
    for name, key in vars(module).items()
    if name.endswith("Key") and isinstance(key, type)
}
