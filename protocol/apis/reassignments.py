"""AlterPartitionReassignments (key 45) and ListPartitionReassignments (46): moving replicas (KIP-455)."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int16, Int32, String


@request(key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest:
    """The brokers that partitions' replicas have to move to."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            # null calls off a move under way
            replicas: list[int] | None = field(Array(Int32), nullable="0+", default=None)

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    timeout_ms: int = field(Int32, default=60000)
    # false refuses moves to more or fewer replicas (KIP-860)
    allow_replication_factor_change: bool = field(Bool, versions="1+", default=True)
    topics: list[Topic] = field(Array(Topic))


@response(key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsResponse:
    """Which of these moves have begun."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+")

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32)
    allow_replication_factor_change: bool = field(Bool, versions="1+", default=True, ignorable=True)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    responses: list[Topic] = field(Array(Topic))


@request(key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest:
    """Whose moves to list."""

    @record
    class Topic:
        name: str = field(String)
        partition_indexes: list[int] = field(Array(Int32))

    timeout_ms: int = field(Int32, default=60000)
    topics: list[Topic] | None = field(Array(Topic), nullable="0+", default=None)  # null: all


@response(key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsResponse:
    """The moves under way."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            replicas: list[int] = field(Array(Int32))
            adding_replicas: list[int] = field(Array(Int32))
            removing_replicas: list[int] = field(Array(Int32))

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    topics: list[Topic] = field(Array(Topic))
