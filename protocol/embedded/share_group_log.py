"""The topic ``__consumer_offsets``: share groups (KIP-932).

Keys begin with their type and values with their version, both int16. A null value deletes.
"""

from ..declare import data, field, record
from ..wire import Array, Int8, Int32, Int64, String, Uuid


@data(versions="0", key=10)
class ShareGroupMemberMetadataKey:
    """Which member."""

    group_id: str = field(String, versions="0")
    member_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=10)
class ShareGroupMemberMetadataValue:
    """The member's description of itself."""

    rack_id: str | None = field(String, nullable="0+")
    client_id: str = field(String)
    client_host: str = field(String)
    subscribed_topic_names: list[str] = field(Array(String))


@data(versions="0", key=11)
class ShareGroupMetadataKey:
    """Which group."""

    group_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=11)
class ShareGroupMetadataValue:
    """Its epoch, which rises with each change of members or topics."""

    epoch: int = field(Int32)
    metadata_hash: int = field(Int64)  # of the topics, their partitions and racks (KIP-1101)


@data(versions="0", key=12)
class ShareGroupTargetAssignmentMetadataKey:
    """Which group."""

    group_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=12)
class ShareGroupTargetAssignmentMetadataValue:
    """The epoch for which the target was worked out."""

    assignment_epoch: int = field(Int32)
    assignment_timestamp: int = field(Int64, ignorable=True, tag=0)


@data(versions="0", key=13)
class ShareGroupTargetAssignmentMemberKey:
    """Which member."""

    group_id: str = field(String, versions="0")
    member_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=13)
class ShareGroupTargetAssignmentMemberValue:
    """The partitions that the member is to read."""

    @record
    class TopicPartition:
        topic_id: bytes = field(Uuid)
        partitions: list[int] = field(Array(Int32))

    topic_partitions: list[TopicPartition] = field(Array(TopicPartition))


@data(versions="0", key=14)
class ShareGroupCurrentMemberAssignmentKey:
    """Which member."""

    group_id: str = field(String, versions="0")
    member_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=14)
class ShareGroupCurrentMemberAssignmentValue:
    """The partitions that the member reads now."""

    @record
    class TopicPartitions:
        topic_id: bytes = field(Uuid)
        partitions: list[int] = field(Array(Int32))

    member_epoch: int = field(Int32)
    previous_member_epoch: int = field(Int32)
    state: int = field(Int8)
    assigned_partitions: list[TopicPartitions] = field(Array(TopicPartitions))


@data(versions="0", key=15)
class ShareGroupStatePartitionMetadataKey:
    """Which group."""

    group_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=15)
class ShareGroupStatePartitionMetadataValue:
    """The share partitions that have state: begun, being begun, being deleted."""

    @record
    class TopicPartitionsInfo:
        topic_id: bytes = field(Uuid)
        topic_name: str = field(String)
        partitions: list[int] = field(Array(Int32))

    @record
    class TopicInfo:
        topic_id: bytes = field(Uuid)
        topic_name: str = field(String)

    initializing_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    initialized_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    deleting_topics: list[TopicInfo] = field(Array(TopicInfo))


@data(versions="9")
class ShareGroupPartitionMetadataKey:
    """Which group, in the preview of Kafka 3.9; the version is the type of the key."""

    group_id: str = field(String, versions="9")


@data(versions="0", flexible="0+")
class ShareGroupPartitionMetadataValue:
    """The share partitions that have state, in that preview."""

    @record
    class TopicPartitionsInfo:
        topic_id: bytes = field(Uuid)
        topic_name: str = field(String)
        partitions: list[int] = field(Array(Int32))

    @record
    class TopicInfo:
        topic_id: bytes = field(Uuid)
        topic_name: str = field(String)

    initialized_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    deleting_topics: list[TopicInfo] = field(Array(TopicInfo))
