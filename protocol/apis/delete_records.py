"""DeleteRecords (key 21): the records of a partition before an offset may go."""

from ..declare import field, record, request, response
from ..wire import Array, Int16, Int32, Int64, String


@request(key=21, versions="0-2", flexible="2+")
class DeleteRecordsRequest:
    """Offsets before which records may go (KIP-107)."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            offset: int = field(Int64)  # -1: up to the high watermark

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    topics: list[Topic] = field(Array(Topic))
    timeout_ms: int = field(Int32)


@response(key=21, versions="0-2", flexible="2+")
class DeleteRecordsResponse:
    """The low watermarks after that."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            low_watermark: int = field(Int64)
            error_code: int = field(Int16)

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32)
    topics: list[Topic] = field(Array(Topic))
