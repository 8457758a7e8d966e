"""ListOffsets (key 2): the offset at a time, or at one end of the log."""

from ..declare import field, record, request, response
from ..wire import Array, Int8, Int16, Int32, Int64, String


@request(key=2, versions="0-11", flexible="6+")
class ListOffsetsRequest:
    """Times to look up; -1 asks for the end, -2 for the start, lower ones for other marks of the log (KIP-734,
    KIP-1005).
    """

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            current_leader_epoch: int = field(Int32, versions="4+", default=-1, ignorable=True)
            timestamp: int = field(Int64)
            max_num_offsets: int = field(Int32, versions="0", default=1)

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    replica_id: int = field(Int32)
    isolation_level: int = field(Int8, versions="2+")  # 1 counts only up to the last stable offset (KIP-98)
    topics: list[Topic] = field(Array(Topic))
    timeout_ms: int = field(Int32, versions="10+", ignorable=True)  # for lookups in remote storage (KIP-1075)


@response(key=2, versions="0-11", flexible="6+")
class ListOffsetsResponse:
    """The first offset at or after each time. Version 0 gave the starts of segments instead."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            timestamp: int = field(Int64, versions="1+", default=-1)
            offset: int = field(Int64, versions="1+", default=-1)
            leader_epoch: int = field(Int32, versions="4+", default=-1)
            old_style_offsets: list[int] = field(Array(Int64), versions="0")  # newest first

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32, versions="2+", ignorable=True)
    topics: list[Topic] = field(Array(Topic))
