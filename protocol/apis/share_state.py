"""InitializeShareGroupState (key 83), ReadShareGroupState (84), WriteShareGroupState (85), DeleteShareGroupState (86),
ReadShareGroupStateSummary (87): brokers keep the state of share partitions with its coordinator (KIP-932).
"""

from ..declare import field, record, request, response
from ..embedded.share_state_log import StateBatch
from ..wire import Array, Int16, Int32, Int64, String, Uuid


@request(key=83, versions="0", flexible="0+")
class InitializeShareGroupStateRequest:
    """Share partitions to begin."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            state_epoch: int = field(Int32)
            start_offset: int = field(Int64)  # -1: not set yet

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    group_id: str = field(String)
    topics: list[Topic] = field(Array(Topic))


@response(key=83, versions="0", flexible="0+")
class InitializeShareGroupStateResponse:
    """How that went, for each partition."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+", default=None)

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    results: list[Topic] = field(Array(Topic))


@request(key=84, versions="0", flexible="0+")
class ReadShareGroupStateRequest:
    """Share partitions whose state a new leader asks for."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            leader_epoch: int = field(Int32)

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    group_id: str = field(String)
    topics: list[Topic] = field(Array(Topic))


@response(key=84, versions="0", flexible="0+")
class ReadShareGroupStateResponse:
    """Their state: which records are being worked on, and how often they were tried."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+", default=None)
            state_epoch: int = field(Int32)
            start_offset: int = field(Int64)
            state_batches: list[StateBatch] = field(Array(StateBatch))

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    results: list[Topic] = field(Array(Topic))


@request(key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest:
    """State to keep, as changed since the last write."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            state_epoch: int = field(Int32)
            leader_epoch: int = field(Int32)
            start_offset: int = field(Int64)  # -1: unchanged
            delivery_complete_count: int = field(Int32, versions="1+", default=-1, ignorable=True)
            state_batches: list[StateBatch] = field(Array(StateBatch))

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    group_id: str = field(String)
    topics: list[Topic] = field(Array(Topic))


@response(key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateResponse:
    """How that went, for each partition."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+", default=None)

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    results: list[Topic] = field(Array(Topic))


@request(key=86, versions="0", flexible="0+")
class DeleteShareGroupStateRequest:
    """Share partitions to forget."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    group_id: str = field(String)
    topics: list[Topic] = field(Array(Topic))


@response(key=86, versions="0", flexible="0+")
class DeleteShareGroupStateResponse:
    """How that went, for each partition."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+", default=None)

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    results: list[Topic] = field(Array(Topic))


@request(key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryRequest:
    """Share partitions whose start is asked for."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            leader_epoch: int = field(Int32)

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    group_id: str = field(String)
    topics: list[Topic] = field(Array(Topic))


@response(key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryResponse:
    """The start offset of each; since version 1 the number of records after it that are complete (KIP-1226)."""

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+", default=None)
            state_epoch: int = field(Int32)
            leader_epoch: int = field(Int32)
            start_offset: int = field(Int64)
            delivery_complete_count: int = field(Int32, versions="1+", default=-1, ignorable=True)

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    results: list[Topic] = field(Array(Topic))
