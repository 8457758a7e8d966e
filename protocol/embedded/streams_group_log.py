"""The topic ``__consumer_offsets``: groups of Kafka Streams (KIP-1071).

Keys begin with their type and values with their version, both int16. A null value deletes.
"""

from ..declare import data, field, record
from ..wire import Array, Int8, Int16, Int32, Int64, String, UInt16


@data(versions="0", key=17)
class StreamsGroupMetadataKey:
    """Which group."""

    group_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=17)
class StreamsGroupMetadataValue:
    """Its epoch, which rises with each change of members, topics or topology."""

    @record
    class LastAssignmentConfig:
        key: str = field(String)
        value: str = field(String)

    epoch: int = field(Int32)
    metadata_hash: int = field(Int64)  # of the topics, their partitions and racks (KIP-1101)
    validated_topology_epoch: int = field(Int32, default=-1, tag=0)
    last_assignment_configs: list[LastAssignmentConfig] | None = field(
        Array(LastAssignmentConfig), nullable="0+", tag=1
    )
    # topology epochs of the description that is stored and of the one that failed to be (KIP-1331); -1: none, -2: it is
    # uncertain whether one is stored
    stored_description_topology_epoch: int = field(Int32, default=-1, tag=2)
    failed_description_topology_epoch: int = field(Int32, default=-1, tag=3)


@data(versions="0", key=19)
class StreamsGroupMemberMetadataKey:
    """Which member."""

    group_id: str = field(String, versions="0")
    member_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=19)
class StreamsGroupMemberMetadataValue:
    """The member's description of itself."""

    @record
    class Endpoint:
        host: str = field(String)
        port: int = field(UInt16)

    @record
    class KeyValue:
        key: str = field(String)
        value: str = field(String)

    instance_id: str | None = field(String, nullable="0+")
    rack_id: str | None = field(String, nullable="0+")
    client_id: str = field(String)
    client_host: str = field(String)
    rebalance_timeout_ms: int = field(Int32, default=-1)
    topology_epoch: int = field(Int32)
    process_id: str = field(String)
    user_endpoint: Endpoint | None = field(Endpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] = field(Array(KeyValue))


@data(versions="0", key=23)
class StreamsGroupTopologyKey:
    """Which group."""

    group_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=23)
class StreamsGroupTopologyValue:
    """The topology: subtopologies with their topics."""

    @record
    class Subtopology:
        @record
        class TopicInfo:
            @record
            class TopicConfig:
                key: str = field(String)
                value: str = field(String)

            name: str = field(String)
            partitions: int = field(Int32)
            replication_factor: int = field(Int16)
            topic_configs: list[TopicConfig] = field(Array(TopicConfig))

        @record
        class CopartitionGroup:
            source_topics: list[int] = field(Array(Int16))  # positions in the lists of the subtopology
            source_topic_regex: list[int] = field(Array(Int16))
            repartition_source_topics: list[int] = field(Array(Int16))

        subtopology_id: str = field(String)
        source_topics: list[str] = field(Array(String))
        source_topic_regex: list[str] = field(Array(String))
        state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo))
        repartition_sink_topics: list[str] = field(Array(String))
        repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo))
        copartition_groups: list[CopartitionGroup] = field(Array(CopartitionGroup))

    epoch: int = field(Int32)
    subtopologies: list[Subtopology] = field(Array(Subtopology))


@data(versions="0", key=20)
class StreamsGroupTargetAssignmentMetadataKey:
    """Which group."""

    group_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=20)
class StreamsGroupTargetAssignmentMetadataValue:
    """The epoch for which the target was worked out."""

    assignment_epoch: int = field(Int32)
    assignment_timestamp: int = field(Int64, ignorable=True, tag=0)


@data(versions="0", key=21)
class StreamsGroupTargetAssignmentMemberKey:
    """Which member."""

    group_id: str = field(String, versions="0")
    member_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=21)
class StreamsGroupTargetAssignmentMemberValue:
    """The tasks that the member shall have."""

    @record
    class TaskIds:
        subtopology_id: str = field(String)
        partitions: list[int] = field(Array(Int32))

    active_tasks: list[TaskIds] = field(Array(TaskIds))
    standby_tasks: list[TaskIds] = field(Array(TaskIds))
    warmup_tasks: list[TaskIds] = field(Array(TaskIds))


@data(versions="0", key=22)
class StreamsGroupCurrentMemberAssignmentKey:
    """Which member."""

    group_id: str = field(String, versions="0")
    member_id: str = field(String, versions="0")


@data(versions="0", flexible="0+", key=22)
class StreamsGroupCurrentMemberAssignmentValue:
    """The tasks that the member has on its way there."""

    @record
    class TaskIds:
        subtopology_id: str = field(String)
        partitions: list[int] = field(Array(Int32))
        assignment_epochs: list[int] | None = field(Array(Int32), nullable="0+", tag=0)

    member_epoch: int = field(Int32)
    previous_member_epoch: int = field(Int32)
    state: int = field(Int8)
    active_tasks: list[TaskIds] = field(Array(TaskIds))
    standby_tasks: list[TaskIds] = field(Array(TaskIds))
    warmup_tasks: list[TaskIds] = field(Array(TaskIds))
    active_tasks_pending_revocation: list[TaskIds] = field(Array(TaskIds))
    standby_tasks_pending_revocation: list[TaskIds] = field(Array(TaskIds))
    warmup_tasks_pending_revocation: list[TaskIds] = field(Array(TaskIds))
