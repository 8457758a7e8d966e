"""ShareFetch (key 78) and ShareAcknowledge (79): records for one member of a share group, and what became of them
(KIP-932).
"""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int8, Int16, Int32, Int64, Records, String, Uuid


@request(key=78, versions="0-2", flexible="0+")
class ShareFetchRequest:
    """The partitions to read, and the results of records read before. Version 0 was a preview."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class AcknowledgementBatch:
                first_offset: int = field(Int64)
                last_offset: int = field(Int64)
                # for each record or for all: 0: gap; 1: accept; 2: release; 3: reject; 4: renew
                acknowledge_types: list[int] = field(Array(Int8))

            partition_index: int = field(Int32)
            partition_max_bytes: int = field(Int32, versions="0")
            acknowledgement_batches: list[AcknowledgementBatch] = field(Array(AcknowledgementBatch))

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class ForgottenTopic:
        topic_id: bytes = field(Uuid)
        partitions: list[int] = field(Array(Int32))

    group_id: str | None = field(String, nullable="0+", default=None)
    member_id: str | None = field(String, nullable="0+")
    share_session_epoch: int = field(Int32)  # 0: open a session; -1: close it
    max_wait_ms: int = field(Int32)
    min_bytes: int = field(Int32)
    max_bytes: int = field(Int32, default=0x7FFFFFFF)
    max_records: int = field(Int32, versions="1+")
    batch_size: int = field(Int32, versions="1+")
    # 0: whole batches; 1: never more than MaxRecords (KIP-1206)
    share_acquire_mode: int = field(Int8, versions="2+", ignorable=True)
    is_renew_ack: bool = field(Bool, versions="2+")  # the batches renew locks (KIP-1222)
    topics: list[Topic] = field(Array(Topic))
    forgotten_topics_data: list[ForgottenTopic] = field(Array(ForgottenTopic))


@response(key=78, versions="0-2", flexible="0+")
class ShareFetchResponse:
    """Records, and which of them this member alone may now work on."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class LeaderIdAndEpoch:
                leader_id: int = field(Int32)
                leader_epoch: int = field(Int32)

            @record
            class AcquiredRecords:
                first_offset: int = field(Int64)
                last_offset: int = field(Int64)
                delivery_count: int = field(Int16)

            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+", default=None)
            acknowledge_error_code: int = field(Int16)
            acknowledge_error_message: str | None = field(String, nullable="0+", default=None)
            current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch)
            records: bytes | None = field(Records, nullable="0")
            acquired_records: list[AcquiredRecords] = field(Array(AcquiredRecords))

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class NodeEndpoint:
        node_id: int = field(Int32)
        host: str = field(String)
        port: int = field(Int32)
        rack: str | None = field(String, nullable="0+", default=None)

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = field(Int32, versions="1+")
    responses: list[Topic] = field(Array(Topic))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint))


@request(key=79, versions="0-2", flexible="0+")
class ShareAcknowledgeRequest:
    """The results of records that were read. Version 0 was a preview."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class AcknowledgementBatch:
                first_offset: int = field(Int64)
                last_offset: int = field(Int64)
                # for each record or for all: 0: gap; 1: accept; 2: release; 3: reject; 4: renew
                acknowledge_types: list[int] = field(Array(Int8))

            partition_index: int = field(Int32)
            acknowledgement_batches: list[AcknowledgementBatch] = field(Array(AcknowledgementBatch))

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    group_id: str | None = field(String, nullable="0+", default=None)
    member_id: str | None = field(String, nullable="0+")
    share_session_epoch: int = field(Int32)  # -1: close the session
    is_renew_ack: bool = field(Bool, versions="2+")  # the batches renew locks (KIP-1222)
    topics: list[Topic] = field(Array(Topic))


@response(key=79, versions="0-2", flexible="0+")
class ShareAcknowledgeResponse:
    """How that went, for each partition."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class LeaderIdAndEpoch:
                leader_id: int = field(Int32)
                leader_epoch: int = field(Int32)

            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+", default=None)
            current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch)

        topic_id: bytes = field(Uuid)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class NodeEndpoint:
        node_id: int = field(Int32)
        host: str = field(String)
        port: int = field(Int32)
        rack: str | None = field(String, nullable="0+", default=None)

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = field(Int32, versions="2+", ignorable=True)
    responses: list[Topic] = field(Array(Topic))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint))
