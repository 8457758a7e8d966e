"""The topic ``__consumer_offsets``: groups of the consumer protocol (KIP-848).

Keys begin with their type and values with their version, both int16. A null value deletes.
"""

from ..declare import data, field, record
from ..wire import Array, Bytes, Int8, Int32, Int64, String, Uuid


@data(versions="0", key=3)
class ConsumerGroupMetadataKey:
    """Which group."""

    group_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=3)
class ConsumerGroupMetadataValue:
    """Its epoch, which rises with each change of members or topics."""

    epoch: int = field(Int32)
    metadata_hash: int = field(Int64, tag=0)  # of the topics, their partitions and racks (KIP-1101); 0: not known


@data(versions="0", key=4)
class ConsumerGroupPartitionMetadataKey:
    """Which group."""

    group_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=4)
class ConsumerGroupPartitionMetadataValue:
    """The topics that it reads, and the racks of their replicas. Since Kafka 4.1 a hash does instead."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            racks: list[str] = field(Array(String))

        topic_id: bytes = field(Uuid)
        topic_name: str = field(String)
        num_partitions: int = field(Int32)
        partition_metadata: list[Partition] = field(Array(Partition))

    topics: list[Topic] = field(Array(Topic))


@data(versions="0", key=5)
class ConsumerGroupMemberMetadataKey:
    """Which member."""

    group_id: str = field(String, versions="0")
    member_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=5)
class ConsumerGroupMemberMetadataValue:
    """The member's description of itself."""

    @record
    class ClassicMemberMetadata:
        @record
        class ClassicProtocol:
            name: str = field(String)
            metadata: bytes = field(Bytes)

        session_timeout_ms: int = field(Int32)
        supported_protocols: list[ClassicProtocol] = field(Array(ClassicProtocol))

    instance_id: str | None = field(String, nullable="0+")
    rack_id: str | None = field(String, nullable="0+")
    client_id: str = field(String)
    client_host: str = field(String)
    subscribed_topic_names: list[str] = field(Array(String))
    subscribed_topic_regex: str | None = field(String, nullable="0+")
    rebalance_timeout_ms: int = field(Int32, default=-1)
    server_assignor: str | None = field(String, nullable="0+")
    # of a member that speaks the classic protocol
    classic_member_metadata: ClassicMemberMetadata | None = field(ClassicMemberMetadata, nullable="0+", tag=0)


@data(versions="0", key=6)
class ConsumerGroupTargetAssignmentMetadataKey:
    """Which group."""

    group_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=6)
class ConsumerGroupTargetAssignmentMetadataValue:
    """The epoch for which the target was worked out."""

    assignment_epoch: int = field(Int32)
    assignment_timestamp: int = field(Int64, ignorable=True, tag=0)


@data(versions="0", key=7)
class ConsumerGroupTargetAssignmentMemberKey:
    """Which member."""

    group_id: str = field(String, versions="0")
    member_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=7)
class ConsumerGroupTargetAssignmentMemberValue:
    """The partitions that the member is to read."""

    @record
    class TopicPartition:
        topic_id: bytes = field(Uuid)
        partitions: list[int] = field(Array(Int32))

    topic_partitions: list[TopicPartition] = field(Array(TopicPartition))


@data(versions="0", key=8)
class ConsumerGroupCurrentMemberAssignmentKey:
    """Which member."""

    group_id: str = field(String, versions="0")
    member_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=8)
class ConsumerGroupCurrentMemberAssignmentValue:
    """The partitions that the member reads on the way to its target."""

    @record
    class TopicPartitions:
        topic_id: bytes = field(Uuid)
        partitions: list[int] = field(Array(Int32))
        assignment_epochs: list[int] | None = field(Array(Int32), nullable="0+", tag=0)

    member_epoch: int = field(Int32)
    previous_member_epoch: int = field(Int32)
    state: int = field(Int8)
    assigned_partitions: list[TopicPartitions] = field(Array(TopicPartitions))
    partitions_pending_revocation: list[TopicPartitions] = field(Array(TopicPartitions))


@data(versions="0", key=16)
class ConsumerGroupRegularExpressionKey:
    """Which expression of which group."""

    group_id: str = field(String, versions="0")
    regular_expression: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=16)
class ConsumerGroupRegularExpressionValue:
    """The topics that match it."""

    topics: list[str] = field(Array(String))
    version: int = field(Int64)  # of the metadata in which they were looked up
    timestamp: int = field(Int64)
