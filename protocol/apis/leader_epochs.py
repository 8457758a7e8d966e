"""OffsetForLeaderEpoch (key 23): where the records of a leader epoch end, to find where two logs part (KIP-101,
KIP-320).
"""

from ..declare import field, record, request, response
from ..wire import Array, Int16, Int32, Int64, String


@request(key=23, versions="0-4", flexible="4+")
class OffsetForLeaderEpochRequest:
    """The epochs to look up."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            current_leader_epoch: int = field(Int32, versions="2+", default=-1, ignorable=True)
            leader_epoch: int = field(Int32)

        topic: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    # -1: a consumer; -2: anyone, for debugging
    replica_id: int = field(Int32, versions="3+", default=-2, ignorable=True)
    topics: list[Topic] = field(Array(Topic))


@response(key=23, versions="0-4", flexible="4+")
class OffsetForLeaderEpochResponse:
    """For each, the largest epoch not above it, and the offset at which that ends."""

    @record
    class Topic:
        @record
        class Partition:
            error_code: int = field(Int16)
            partition: int = field(Int32)
            leader_epoch: int = field(Int32, versions="1+", default=-1, ignorable=True)
            end_offset: int = field(Int64, default=-1)

        topic: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32, versions="2+", ignorable=True)
    topics: list[Topic] = field(Array(Topic))
