"""AlterReplicaLogDirs (key 34), DescribeLogDirs (35), AssignReplicasToDirs (73): the disks of a broker."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int16, Int32, Int64, String, Uuid


@request(key=34, versions="0-2", flexible="2+")
class AlterReplicaLogDirsRequest:
    """Partitions to move between the directories of one broker (KIP-113)."""

    @record
    class Directory:
        @record
        class Topic:
            name: str = field(String)
            partitions: list[int] = field(Array(Int32))

        path: str = field(String)
        topics: list[Topic] = field(Array(Topic))

    dirs: list[Directory] = field(Array(Directory))


@response(key=34, versions="0-2", flexible="2+")
class AlterReplicaLogDirsResponse:
    """How that went, for each partition."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)

        topic_name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32)
    results: list[Topic] = field(Array(Topic))


@request(key=35, versions="0-5", flexible="2+")
class DescribeLogDirsRequest:
    """Partitions to look for (KIP-113)."""

    @record
    class Topic:
        topic: str = field(String)
        partitions: list[int] = field(Array(Int32))

    topics: list[Topic] | None = field(Array(Topic), nullable="0+")  # null: all


@response(key=35, versions="0-5", flexible="2+")
class DescribeLogDirsResponse:
    """The contents of each directory, and since version 4 its size and free space (KIP-827)."""

    @record
    class Result:
        @record
        class Topic:
            @record
            class Partition:
                partition_index: int = field(Int32)
                partition_size: int = field(Int64)
                offset_lag: int = field(Int64)  # behind the high watermark, or behind the copy it will replace
                is_future_key: bool = field(Bool)  # a copy on its way to this directory

            name: str = field(String)
            partitions: list[Partition] = field(Array(Partition))

        error_code: int = field(Int16)
        log_dir: str = field(String)
        topics: list[Topic] = field(Array(Topic))
        total_bytes: int = field(Int64, versions="4+", default=-1, ignorable=True)  # of the volume; -1: not known
        usable_bytes: int = field(Int64, versions="4+", default=-1, ignorable=True)
        is_cordoned: bool = field(Bool, versions="5+", ignorable=True)  # takes no new partitions (KIP-1066)

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16, versions="3+", ignorable=True)
    results: list[Result] = field(Array(Result))


@request(key=73, versions="0", flexible="0+")
class AssignReplicasToDirsRequest:
    """A broker tells the controller which directory holds what (KIP-858)."""

    @record
    class Directory:
        @record
        class Topic:
            @record
            class Partition:
                partition_index: int = field(Int32)

            topic_id: bytes = field(Uuid)
            partitions: list[Partition] = field(Array(Partition))

        id: bytes = field(Uuid)
        topics: list[Topic] = field(Array(Topic))

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, default=-1)
    directories: list[Directory] = field(Array(Directory))


@response(key=73, versions="0", flexible="0+")
class AssignReplicasToDirsResponse:
    """How that went, for each partition."""

    @record
    class Directory:
        @record
        class Topic:
            @record
            class Partition:
                partition_index: int = field(Int32)
                error_code: int = field(Int16)

            topic_id: bytes = field(Uuid)
            partitions: list[Partition] = field(Array(Partition))

        id: bytes = field(Uuid)
        topics: list[Topic] = field(Array(Topic))

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    directories: list[Directory] = field(Array(Directory))
