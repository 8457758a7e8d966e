"""Records of coordinators' topics, which have a key and a value.

Source: CoordinatorRecord, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image

NO_PRODUCER_ID = -1


class CoordinatorRecord(NamedTuple):
    """A record of ``__consumer_offsets``, ``__transaction_state`` or ``__share_group_state``; a value of None deletes.

    ``producer_id`` is set on what belongs to a producer's transaction, and on the marker that ends it;
    ``producer_epoch`` on the former.
    """

    key: Any
    value: Any | None
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1


def apply_by_key(image: Image, record: CoordinatorRecord) -> None:
    image.apply_as(type(record.key), record)


APPLY: dict[type, Apply] = {CoordinatorRecord: apply_by_key}
