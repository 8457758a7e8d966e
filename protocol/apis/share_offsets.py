"""DescribeShareGroupOffsets (key 90), AlterShareGroupOffsets (91), DeleteShareGroupOffsets (92): where share groups
start (KIP-932).
"""

from ..declare import field, record, request, response
from ..wire import Array, Int16, Int32, Int64, String, Uuid


@request(key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest:
    """Groups and partitions to ask about."""

    @record
    class Group:
        @record
        class Topic:
            topic_name: str = field(String)
            partitions: list[int] = field(Array(Int32))

        group_id: str = field(String)
        topics: list[Topic] | None = field(Array(Topic), nullable="0+")  # null: all

    groups: list[Group] = field(Array(Group))


@response(key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsResponse:
    """The offset from which each group still has work; since version 1 how much (KIP-1226)."""

    @record
    class Group:
        @record
        class Topic:
            @record
            class Partition:
                partition_index: int = field(Int32)
                start_offset: int = field(Int64)
                leader_epoch: int = field(Int32)
                lag: int = field(Int64, versions="1+", default=-1, ignorable=True)
                error_code: int = field(Int16)
                error_message: str | None = field(String, nullable="0+", default=None)

            topic_name: str = field(String)
            topic_id: bytes = field(Uuid)
            partitions: list[Partition] = field(Array(Partition))

        group_id: str = field(String)
        topics: list[Topic] = field(Array(Topic))
        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+", default=None)

    throttle_time_ms: int = field(Int32)
    groups: list[Group] = field(Array(Group))


@request(key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsRequest:
    """Offsets from which a group shall start again."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            start_offset: int = field(Int64)

        topic_name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    group_id: str = field(String)
    topics: list[Topic] = field(Array(Topic))


@response(key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsResponse:
    """How that went, for each partition."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+", default=None)

        topic_name: str = field(String)
        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    responses: list[Topic] = field(Array(Topic))


@request(key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest:
    """Topics that a group shall forget."""

    @record
    class Topic:
        topic_name: str = field(String)

    group_id: str = field(String)
    topics: list[Topic] = field(Array(Topic))


@response(key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse:
    """How that went, for each topic."""

    @record
    class Topic:
        topic_name: str = field(String)
        topic_id: bytes = field(Uuid)
        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+", default=None)

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    responses: list[Topic] = field(Array(Topic))
