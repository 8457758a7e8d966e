"""The topic ``__share_group_state``: how far share groups have come (KIP-932).

Keys begin with their type and values with their version, both int16. A null value deletes.
"""

from ..declare import data, field, record
from ..wire import Array, Int8, Int16, Int32, Int64, String, Uuid


@record
class StateBatch:
    """The delivery state of a range of records, both offsets inclusive."""

    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    delivery_state: int = field(Int8)  # 0: available; 2: acknowledged; 4: archived
    delivery_count: int = field(Int16)


@data(versions="0", key=0)
class ShareSnapshotKey:
    """Which share partition."""

    group_id: str = field(String, versions="0")
    topic_id: bytes = field(Uuid, versions="0")
    partition: int = field(Int32, versions="0")


@data(versions="0", flexible="0+", key=0)
class ShareSnapshotValue:
    """All of its state."""

    snapshot_epoch: int = field(Int32)
    state_epoch: int = field(Int32)
    leader_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    delivery_complete_count: int = field(Int32, default=-1, tag=0)
    create_timestamp: int = field(Int64)
    write_timestamp: int = field(Int64)
    state_batches: list[StateBatch] = field(Array(StateBatch))


@data(versions="0", key=1)
class ShareUpdateKey:
    """Which share partition."""

    group_id: str = field(String, versions="0")
    topic_id: bytes = field(Uuid, versions="0")
    partition: int = field(Int32, versions="0")


@data(versions="0", flexible="0+", key=1)
class ShareUpdateValue:
    """The changes since the snapshot of that epoch."""

    snapshot_epoch: int = field(Int32)
    leader_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    delivery_complete_count: int = field(Int32, default=-1, tag=0)
    state_batches: list[StateBatch] = field(Array(StateBatch))
