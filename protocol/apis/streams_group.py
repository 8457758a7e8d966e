"""StreamsGroupHeartbeat (key 88) and StreamsGroupDescribe (89): groups of Kafka Streams whose coordinator assigns tasks
(KIP-1071).
"""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int8, Int16, Int32, Int64, String, UInt16
from .streams_topology import TopologyDescription


@record
class KeyValue:
    """A setting of a topic, or a tag of a client."""

    key: str = field(String)
    value: str = field(String)


@request(key=88, versions="0-1", flexible="0+")
class StreamsGroupHeartbeatRequest:
    """Joins, stays and leaves; null says that a thing is as it was last time."""

    @record
    class Topology:
        @record
        class Subtopology:
            @record
            class TopicInfo:
                name: str = field(String)
                partitions: int = field(Int32)  # 0: the topology demands no number
                replication_factor: int = field(Int16)
                topic_configs: list[KeyValue] = field(Array(KeyValue))

            @record
            class CopartitionGroup:
                source_topics: list[int] = field(Array(Int16))  # positions in the lists of the subtopology
                source_topic_regex: list[int] = field(Array(Int16))
                repartition_source_topics: list[int] = field(Array(Int16))

            subtopology_id: str = field(String)
            source_topics: list[str] = field(Array(String))
            source_topic_regex: list[str] = field(Array(String))  # of RE2
            state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo))
            repartition_sink_topics: list[str] = field(Array(String))
            repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo))
            copartition_groups: list[CopartitionGroup] = field(Array(CopartitionGroup))

        epoch: int = field(Int32)
        subtopologies: list[Subtopology] = field(Array(Subtopology))

    @record
    class TaskIds:
        subtopology_id: str = field(String)
        partitions: list[int] = field(Array(Int32))

    @record
    class Endpoint:
        host: str = field(String)
        port: int = field(UInt16)

    @record
    class TaskOffset:
        subtopology_id: str = field(String)
        partition: int = field(Int32)
        offset: int = field(Int64)

    group_id: str = field(String)
    member_id: str = field(String)
    member_epoch: int = field(Int32)  # 0: join; -1: leave; -2: leave for a while, as a static member
    endpoint_information_epoch: int = field(Int32)
    instance_id: str | None = field(String, nullable="0+", default=None)
    rack_id: str | None = field(String, nullable="0+", default=None)
    rebalance_timeout_ms: int = field(Int32, default=-1)
    topology: Topology | None = field(Topology, nullable="0+", default=None)
    active_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    standby_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    # the same for all members of one process, so that standbys go elsewhere
    process_id: str | None = field(String, nullable="0+", default=None)
    # where other members find this one, for interactive queries
    user_endpoint: Endpoint | None = field(Endpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] | None = field(Array(KeyValue), nullable="0+", default=None)
    task_offsets: list[TaskOffset] | None = field(Array(TaskOffset), nullable="0+", default=None)
    task_end_offsets: list[TaskOffset] | None = field(Array(TaskOffset), nullable="0+", default=None)
    shutdown_application: bool = field(Bool)


@response(key=88, versions="0-1", flexible="0+")
class StreamsGroupHeartbeatResponse:
    """The epoch of the member, and its tasks where they changed."""

    @record
    class Status:
        status_code: int = field(Int8)
        status_detail: str = field(String)

    @record
    class TaskIds:
        subtopology_id: str = field(String)
        partitions: list[int] = field(Array(Int32))

    @record
    class EndpointToPartitions:
        @record
        class Endpoint:
            host: str = field(String)
            port: int = field(UInt16)

        @record
        class TopicPartition:
            topic: str = field(String)
            partitions: list[int] = field(Array(Int32))

        user_endpoint: Endpoint = field(Endpoint)
        active_partitions: list[TopicPartition] = field(Array(TopicPartition))
        standby_partitions: list[TopicPartition] = field(Array(TopicPartition))

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    member_id: str = field(String)
    member_epoch: int = field(Int32)
    heartbeat_interval_ms: int = field(Int32)
    acceptable_recovery_lag_legacy: int = field(Int32, versions="0")
    task_offset_interval_ms: int = field(Int32)
    # how far behind, in records, a standby may be to take over; -1: the broker does not say
    acceptable_recovery_lag: int = field(Int64, versions="1+", default=-1, ignorable=True)
    status: list[Status] | None = field(Array(Status), nullable="0+")
    active_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    standby_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = field(Array(TaskIds), nullable="0+", default=None)
    # send StreamsGroupTopologyDescriptionUpdate (KIP-1331)
    topology_description_required: bool = field(Bool, versions="1+")
    endpoint_information_epoch: int = field(Int32)
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = field(
        Array(EndpointToPartitions), nullable="0+", default=None
    )


@request(key=89, versions="0-1", flexible="0+")
class StreamsGroupDescribeRequest:
    """Groups to describe."""

    group_ids: list[str] = field(Array(String))
    include_authorized_operations: bool = field(Bool)
    include_topology_description: bool = field(Bool, versions="1+")


@response(key=89, versions="0-1", flexible="0+")
class StreamsGroupDescribeResponse:
    """Their topology and members: which tasks each has and which it shall have."""

    @record
    class Group:
        @record
        class Topology:
            @record
            class Subtopology:
                @record
                class TopicInfo:
                    name: str = field(String)
                    partitions: int = field(Int32)
                    replication_factor: int = field(Int16)
                    topic_configs: list[KeyValue] = field(Array(KeyValue))

                subtopology_id: str = field(String)
                source_topics: list[str] = field(Array(String))
                repartition_sink_topics: list[str] = field(Array(String))
                state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo))
                repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo))

            epoch: int = field(Int32)
            subtopologies: list[Subtopology] | None = field(Array(Subtopology), nullable="0+", default=None)

        @record
        class Member:
            @record
            class Endpoint:
                host: str = field(String)
                port: int = field(UInt16)

            @record
            class TaskOffset:
                subtopology_id: str = field(String)
                partition: int = field(Int32)
                offset: int = field(Int64)

            @record
            class Assignment:
                @record
                class TaskIds:
                    subtopology_id: str = field(String)
                    partitions: list[int] = field(Array(Int32))

                active_tasks: list[TaskIds] = field(Array(TaskIds))
                standby_tasks: list[TaskIds] = field(Array(TaskIds))
                warmup_tasks: list[TaskIds] = field(Array(TaskIds))

            member_id: str = field(String)
            member_epoch: int = field(Int32)
            instance_id: str | None = field(String, nullable="0+", default=None)
            rack_id: str | None = field(String, nullable="0+", default=None)
            client_id: str = field(String)
            client_host: str = field(String)
            topology_epoch: int = field(Int32)
            process_id: str = field(String)
            user_endpoint: Endpoint | None = field(Endpoint, nullable="0+", default=None)
            client_tags: list[KeyValue] = field(Array(KeyValue))
            task_offsets: list[TaskOffset] = field(Array(TaskOffset))
            task_end_offsets: list[TaskOffset] = field(Array(TaskOffset))
            assignment: Assignment = field(Assignment)
            target_assignment: Assignment = field(Assignment)
            is_classic: bool = field(Bool)

        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+", default=None)
        group_id: str = field(String)
        group_state: str = field(String)
        group_epoch: int = field(Int32)
        assignment_epoch: int = field(Int32)
        topology: Topology | None = field(Topology, nullable="0+", default=None)
        members: list[Member] = field(Array(Member))
        authorized_operations: int = field(Int32, default=-2147483648)
        topology_description: TopologyDescription | None = field(
            TopologyDescription, versions="1+", nullable="1+", default=None
        )
        topology_description_status: int = field(Int8, versions="1+")  # 0: not asked for; 1: none; 2: error; 3: there
        assignor_name: str | None = field(String, versions="1+", nullable="1+", default=None, ignorable=True)

    throttle_time_ms: int = field(Int32)
    groups: list[Group] = field(Array(Group))
