"""The topic ``__remote_log_metadata``: what is in remote storage (KIP-405).

Each value begins with a frame version, the type of the record (its key here) and its version, all unsigned varints.
"""

from ..declare import data, field, record
from ..wire import Array, Bool, Bytes, Int8, Int32, Int64, String, Uuid


@record
class TopicIdPartition:
    """A partition by name and id."""

    name: str = field(String)
    id: bytes = field(Uuid)
    partition: int = field(Int32)


@record
class RemoteLogSegmentId:
    """A segment of a partition."""

    topic_id_partition: TopicIdPartition = field(TopicIdPartition)
    id: bytes = field(Uuid)


@record
class SegmentLeaderEpoch:
    """The start offset of a leader epoch in a segment."""

    leader_epoch: int = field(Int32)
    offset: int = field(Int64)


@data(versions="0", flexible="0+", key=0)
class RemoteLogSegmentMetadataRecord:
    """A segment that goes to remote storage."""

    remote_log_segment_id: RemoteLogSegmentId = field(RemoteLogSegmentId)
    start_offset: int = field(Int64)
    end_offset: int = field(Int64)
    broker_id: int = field(Int32)
    max_timestamp_ms: int = field(Int64)
    event_timestamp_ms: int = field(Int64)
    segment_leader_epochs: list[SegmentLeaderEpoch] = field(Array(SegmentLeaderEpoch))
    segment_size_in_bytes: int = field(Int32)
    custom_metadata: bytes | None = field(Bytes, nullable="0+", default=None)  # of the storage plugin (KIP-917)
    remote_log_segment_state: int = field(Int8)  # 0: copy started; 1: copied; 2: deletion started; 3: deleted
    txn_index_empty: bool = field(Bool, tag=0)  # so that it need not be fetched


@data(versions="0", flexible="0+", key=1)
class RemoteLogSegmentMetadataUpdateRecord:
    """The new state of a segment."""

    remote_log_segment_id: RemoteLogSegmentId = field(RemoteLogSegmentId)
    broker_id: int = field(Int32)
    event_timestamp_ms: int = field(Int64)
    custom_metadata: bytes | None = field(Bytes, nullable="0+", default=None)
    remote_log_segment_state: int = field(Int8)


@data(versions="0", flexible="0+", key=2)
class RemotePartitionDeleteMetadataRecord:
    """A partition that leaves remote storage."""

    topic_id_partition: TopicIdPartition = field(TopicIdPartition)
    broker_id: int = field(Int32)
    event_timestamp_ms: int = field(Int64)
    remote_partition_delete_state: int = field(Int8)  # 0: marked; 1: started; 2: done


@data(versions="0", flexible="0+", key=3)
class RemoteLogSegmentMetadataSnapshotRecord:
    """A segment in the file that a broker keeps of this topic."""

    segment_id: bytes = field(Uuid)
    start_offset: int = field(Int64)
    end_offset: int = field(Int64)
    broker_id: int = field(Int32)
    max_timestamp_ms: int = field(Int64)
    event_timestamp_ms: int = field(Int64)
    segment_leader_epochs: list[SegmentLeaderEpoch] = field(Array(SegmentLeaderEpoch))
    segment_size_in_bytes: int = field(Int32)
    custom_metadata: bytes | None = field(Bytes, nullable="0+", default=None)
    remote_log_segment_state: int = field(Int8)
    txn_index_empty: bool = field(Bool, tag=0)
