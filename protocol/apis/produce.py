"""Produce (key 0): batches of records for the leaders of their partitions."""

from ..declare import field, record, request, response
from ..wire import Array, Int16, Int32, Int64, Records, String, Uuid


@request(key=0, versions="0-13", flexible="9+")
class ProduceRequest:
    """Records to append. Message sets up to version 2, batches of magic 2 from 3 on; topics by id from 13 (KIP-516)."""

    @record
    class Topic:
        @record
        class Partition:
            index: int = field(Int32)
            records: bytes | None = field(Records, nullable="0+")

        name: str = field(String, versions="0-12", ignorable=True)
        topic_id: bytes = field(Uuid, versions="13+", ignorable=True)
        partition_data: list[Partition] = field(Array(Partition))

    transactional_id: str | None = field(String, versions="3+", nullable="3+", default=None)
    acks: int = field(Int16)  # 0: answer nothing; 1: once the leader has it; -1: once all in-sync replicas have it
    timeout_ms: int = field(Int32)
    topic_data: list[Topic] = field(Array(Topic))


@response(key=0, versions="0-13", flexible="9+")
class ProduceResponse:
    """The offset of each partition's records, or the error. From version 10 it names a new leader (KIP-951)."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class RecordError:
                batch_index: int = field(Int32, versions="8+")
                batch_index_error_message: str | None = field(String, versions="8+", nullable="8+", default=None)

            @record
            class LeaderIdAndEpoch:
                leader_id: int = field(Int32, versions="10+", default=-1)
                leader_epoch: int = field(Int32, versions="10+", default=-1)

            index: int = field(Int32)
            error_code: int = field(Int16)
            base_offset: int = field(Int64)  # of the first record appended
            # -1 unless the topic stamps records on append
            log_append_time_ms: int = field(Int64, versions="2+", default=-1, ignorable=True)
            log_start_offset: int = field(Int64, versions="5+", default=-1, ignorable=True)
            # which records made the broker refuse the batch (KIP-467)
            record_errors: list[RecordError] = field(Array(RecordError), versions="8+", ignorable=True)
            error_message: str | None = field(String, versions="8+", nullable="8+", default=None, ignorable=True)
            current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, versions="10+", tag=0)

        name: str = field(String, versions="0-12", ignorable=True)
        topic_id: bytes = field(Uuid, versions="13+", ignorable=True)
        partition_responses: list[Partition] = field(Array(Partition))

    @record
    class NodeEndpoint:
        node_id: int = field(Int32, versions="10+")
        host: str = field(String, versions="10+")
        port: int = field(Int32, versions="10+")
        rack: str | None = field(String, versions="10+", nullable="10+", default=None)

    responses: list[Topic] = field(Array(Topic))
    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="10+", tag=0)  # of the leaders named above
