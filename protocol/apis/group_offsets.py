"""OffsetCommit (key 8), OffsetFetch (key 9), OffsetDelete (key 47): how far a group has come."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int16, Int32, Int64, String, Uuid


@request(key=8, versions="0-10", flexible="8+")
class OffsetCommitRequest:
    """Offsets to remember. Version 0 kept them in Zookeeper; topics go by id from 10 on (KIP-848)."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            committed_offset: int = field(Int64)
            committed_leader_epoch: int = field(Int32, versions="6+", default=-1, ignorable=True)
            commit_timestamp: int = field(Int64, versions="1", default=-1)  # -1: now
            committed_metadata: str | None = field(String, nullable="0+")

        name: str = field(String, versions="0-9", ignorable=True)
        topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
        partitions: list[Partition] = field(Array(Partition))

    group_id: str = field(String)
    # -1 from a consumer that assigns its partitions itself
    generation_id_or_member_epoch: int = field(Int32, versions="1+", default=-1, ignorable=True)
    member_id: str = field(String, versions="1+", ignorable=True)
    group_instance_id: str | None = field(String, versions="7+", nullable="7+", default=None)
    # -1: as the broker is set up; since version 5 always that (KIP-211)
    retention_time_ms: int = field(Int64, versions="2-4", default=-1, ignorable=True)
    topics: list[Topic] = field(Array(Topic))


@response(key=8, versions="0-10", flexible="8+")
class OffsetCommitResponse:
    """How that went, for each partition."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)

        name: str = field(String, versions="0-9", ignorable=True)
        topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32, versions="3+", ignorable=True)
    topics: list[Topic] = field(Array(Topic))


@request(key=9, versions="0-10", flexible="6+")
class OffsetFetchRequest:
    """A group's offsets; those of many groups from version 8 on (KIP-709)."""

    @record
    class Topic:
        name: str = field(String, versions="0-7")
        partition_indexes: list[int] = field(Array(Int32), versions="0-7")

    @record
    class Group:
        @record
        class Topic:
            name: str = field(String, versions="8-9", ignorable=True)
            topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
            partition_indexes: list[int] = field(Array(Int32), versions="8+")

        group_id: str = field(String, versions="8+")
        member_id: str | None = field(String, versions="9+", nullable="9+", default=None, ignorable=True)
        member_epoch: int = field(Int32, versions="9+", default=-1, ignorable=True)
        topics: list[Topic] | None = field(Array(Topic), versions="8+", nullable="8+")  # null: all that the group has

    group_id: str = field(String, versions="0-7")
    topics: list[Topic] | None = field(Array(Topic), versions="0-7", nullable="2-7")  # null: all that the group has
    groups: list[Group] = field(Array(Group), versions="8+")
    require_stable: bool = field(Bool, versions="7+")  # wait for open transactions (KIP-447)


@response(key=9, versions="0-10", flexible="6+")
class OffsetFetchResponse:
    """The committed offsets; -1 where none was committed."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32, versions="0-7")
            committed_offset: int = field(Int64, versions="0-7")
            committed_leader_epoch: int = field(Int32, versions="5-7", default=-1, ignorable=True)
            metadata: str | None = field(String, versions="0-7", nullable="0-7")
            error_code: int = field(Int16, versions="0-7")

        name: str = field(String, versions="0-7")
        partitions: list[Partition] = field(Array(Partition), versions="0-7")

    @record
    class Group:
        @record
        class Topic:
            @record
            class Partition:
                partition_index: int = field(Int32, versions="8+")
                committed_offset: int = field(Int64, versions="8+")
                committed_leader_epoch: int = field(Int32, versions="8+", default=-1, ignorable=True)
                metadata: str | None = field(String, versions="8+", nullable="8+")
                error_code: int = field(Int16, versions="8+")

            name: str = field(String, versions="8-9", ignorable=True)
            topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
            partitions: list[Partition] = field(Array(Partition), versions="8+")

        group_id: str = field(String, versions="8+")
        topics: list[Topic] = field(Array(Topic), versions="8+")
        error_code: int = field(Int16, versions="8+")

    throttle_time_ms: int = field(Int32, versions="3+", ignorable=True)
    topics: list[Topic] = field(Array(Topic), versions="0-7")
    error_code: int = field(Int16, versions="2-7", ignorable=True)
    groups: list[Group] = field(Array(Group), versions="8+")


@request(key=47, versions="0")
class OffsetDeleteRequest:
    """Forgets a group's offsets of partitions that it no longer reads (KIP-496)."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    group_id: str = field(String)
    topics: list[Topic] = field(Array(Topic))


@response(key=47, versions="0")
class OffsetDeleteResponse:
    """How that went, for each partition."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    error_code: int = field(Int16)
    throttle_time_ms: int = field(Int32, ignorable=True)
    topics: list[Topic] = field(Array(Topic))
