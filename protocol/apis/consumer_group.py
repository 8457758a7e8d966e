"""ConsumerGroupHeartbeat (key 68) and ConsumerGroupDescribe (69): groups whose coordinator assigns (KIP-848)."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int8, Int16, Int32, String, Uuid


@request(key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest:
    """Joins, stays and leaves; null says that a thing is as it was last time."""

    @record
    class TopicPartitions:
        topic_id: bytes = field(Uuid)
        partitions: list[int] = field(Array(Int32))

    group_id: str = field(String)
    member_id: str = field(String)  # since version 1 the member makes it up (KIP-1082)
    member_epoch: int = field(Int32)  # 0: join; -1: leave; -2: leave for a while, as a static member
    instance_id: str | None = field(String, nullable="0+", default=None)
    rack_id: str | None = field(String, nullable="0+", default=None)
    rebalance_timeout_ms: int = field(Int32, default=-1)
    subscribed_topic_names: list[str] | None = field(Array(String), nullable="0+", default=None)
    subscribed_topic_regex: str | None = field(String, versions="1+", nullable="1+", default=None)  # of RE2
    server_assignor: str | None = field(String, nullable="0+", default=None)
    # what the member holds
    topic_partitions: list[TopicPartitions] | None = field(Array(TopicPartitions), nullable="0+", default=None)


@response(key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse:
    """The epoch of the member, and its assignment where that changed."""

    @record
    class Assignment:
        @record
        class TopicPartitions:
            topic_id: bytes = field(Uuid)
            partitions: list[int] = field(Array(Int32))

        topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions))

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    member_id: str | None = field(String, nullable="0+", default=None)
    member_epoch: int = field(Int32)
    heartbeat_interval_ms: int = field(Int32)
    assignment: Assignment | None = field(Assignment, nullable="0+", default=None)


@request(key=69, versions="0-1", flexible="0+")
class ConsumerGroupDescribeRequest:
    """Groups to describe."""

    group_ids: list[str] = field(Array(String))
    include_authorized_operations: bool = field(Bool)


@response(key=69, versions="0-1", flexible="0+")
class ConsumerGroupDescribeResponse:
    """Their members: what each has and what it shall have."""

    @record
    class Group:
        @record
        class Member:
            @record
            class Assignment:
                @record
                class TopicPartitions:
                    topic_id: bytes = field(Uuid)
                    topic_name: str = field(String)
                    partitions: list[int] = field(Array(Int32))

                topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions))

            member_id: str = field(String)
            instance_id: str | None = field(String, nullable="0+", default=None)
            rack_id: str | None = field(String, nullable="0+", default=None)
            member_epoch: int = field(Int32)
            client_id: str = field(String)
            client_host: str = field(String)
            subscribed_topic_names: list[str] = field(Array(String))
            subscribed_topic_regex: str | None = field(String, nullable="0+", default=None)
            assignment: Assignment = field(Assignment)
            target_assignment: Assignment = field(Assignment)
            # -1: not known; 0: classic; 1: of the new protocol (KIP-1099)
            member_type: int = field(Int8, versions="1+", default=-1, ignorable=True)

        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+", default=None)
        group_id: str = field(String)
        group_state: str = field(String)
        group_epoch: int = field(Int32)
        assignment_epoch: int = field(Int32)
        assignor_name: str = field(String)
        members: list[Member] = field(Array(Member))
        # a bit set (KIP-430); this default: not asked for
        authorized_operations: int = field(Int32, default=-2147483648)

    throttle_time_ms: int = field(Int32)
    groups: list[Group] = field(Array(Group))
