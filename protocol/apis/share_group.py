"""ShareGroupHeartbeat (key 76) and ShareGroupDescribe (77): groups whose members share partitions (KIP-932)."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int16, Int32, String, Uuid


@request(key=76, versions="0-1", flexible="0+")
class ShareGroupHeartbeatRequest:
    """Joins, stays and leaves; null says that a thing is as it was last time. Version 0 was a preview."""

    group_id: str = field(String)
    member_id: str = field(String)
    member_epoch: int = field(Int32)  # 0: join; -1: leave
    rack_id: str | None = field(String, nullable="0+", default=None)
    subscribed_topic_names: list[str] | None = field(Array(String), nullable="0+", default=None)


@response(key=76, versions="0-1", flexible="0+")
class ShareGroupHeartbeatResponse:
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


@request(key=77, versions="0-1", flexible="0+")
class ShareGroupDescribeRequest:
    """Groups to describe. Version 0 was a preview."""

    group_ids: list[str] = field(Array(String))
    include_authorized_operations: bool = field(Bool)


@response(key=77, versions="0-1", flexible="0+")
class ShareGroupDescribeResponse:
    """Their members and assignments."""

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
            rack_id: str | None = field(String, nullable="0+", default=None)
            member_epoch: int = field(Int32)
            client_id: str = field(String)
            client_host: str = field(String)
            subscribed_topic_names: list[str] = field(Array(String))
            assignment: Assignment = field(Assignment)

        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+", default=None)
        group_id: str = field(String)
        group_state: str = field(String)
        group_epoch: int = field(Int32)
        assignment_epoch: int = field(Int32)
        assignor_name: str = field(String)
        members: list[Member] = field(Array(Member))
        authorized_operations: int = field(Int32, default=-2147483648)

    throttle_time_ms: int = field(Int32)
    groups: list[Group] = field(Array(Group))
