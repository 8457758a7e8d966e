"""Fetch (key 1): records from the partitions that a broker holds, for consumers and for following replicas."""

from ..declare import field, record, request, response
from ..wire import Array, Int8, Int16, Int32, Int64, Records, String, Uuid


@request(key=1, versions="0-18", flexible="12+")
class FetchRequest:
    """The partitions to read, and how long to wait for records. Sessions from 7 (KIP-227), the rack from 11 (KIP-392),
    topic ids from 13.
    """

    @record
    class ReplicaState:
        replica_id: int = field(Int32, versions="15+", default=-1)
        replica_epoch: int = field(Int64, versions="15+", default=-1)

    @record
    class Topic:
        @record
        class Partition:
            partition: int = field(Int32)
            current_leader_epoch: int = field(Int32, versions="9+", default=-1, ignorable=True)
            fetch_offset: int = field(Int64)
            last_fetched_epoch: int = field(Int32, versions="12+", default=-1)
            log_start_offset: int = field(Int64, versions="5+", default=-1, ignorable=True)
            partition_max_bytes: int = field(Int32)
            replica_directory_id: bytes = field(Uuid, versions="17+", ignorable=True, tag=0)
            # as the follower knows it, so that the leader can wake it when that changes (KIP-1166)
            high_watermark: int = field(Int64, versions="18+", default=0x7FFFFFFFFFFFFFFF, ignorable=True, tag=1)

        topic: str = field(String, versions="0-12", ignorable=True)
        topic_id: bytes = field(Uuid, versions="13+", ignorable=True)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class ForgottenTopic:
        topic: str = field(String, versions="7-12", ignorable=True)
        topic_id: bytes = field(Uuid, versions="13+", ignorable=True)
        partitions: list[int] = field(Array(Int32), versions="7+")

    cluster_id: str | None = field(String, versions="12+", nullable="12+", default=None, ignorable=True, tag=0)
    replica_id: int = field(Int32, versions="0-14", default=-1)  # -1 for a consumer, a broker id for a follower
    # the same from 15 on, with the epoch of the broker (KIP-903)
    replica_state: ReplicaState = field(ReplicaState, versions="15+", tag=1)
    max_wait_ms: int = field(Int32)
    min_bytes: int = field(Int32)
    max_bytes: int = field(Int32, versions="3+", default=0x7FFFFFFF, ignorable=True)
    isolation_level: int = field(Int8, versions="4+", ignorable=True)
    session_id: int = field(Int32, versions="7+", ignorable=True)
    # -1: no session; 0: open one; above: the next request of a session
    session_epoch: int = field(Int32, versions="7+", default=-1, ignorable=True)
    topics: list[Topic] = field(Array(Topic))
    # to drop from the session
    forgotten_topics_data: list[ForgottenTopic] = field(Array(ForgottenTopic), versions="7+")
    rack_id: str = field(String, versions="11+", ignorable=True)  # where the consumer is


@response(key=1, versions="0-18", flexible="12+")
class FetchResponse:
    """Records, and for a consumer in another rack the replica it had better read from (KIP-392)."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class EpochEndOffset:
                epoch: int = field(Int32, versions="12+", default=-1)
                end_offset: int = field(Int64, versions="12+", default=-1)

            @record
            class LeaderIdAndEpoch:
                leader_id: int = field(Int32, versions="12+", default=-1)
                leader_epoch: int = field(Int32, versions="12+", default=-1)

            @record
            class SnapshotId:
                end_offset: int = field(Int64, versions="4+", default=-1)
                epoch: int = field(Int32, versions="4+", default=-1)

            @record
            class AbortedTransaction:
                producer_id: int = field(Int64, versions="4+")
                first_offset: int = field(Int64, versions="4+")

            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            high_watermark: int = field(Int64)
            last_stable_offset: int = field(Int64, versions="4+", default=-1, ignorable=True)
            log_start_offset: int = field(Int64, versions="5+", default=-1, ignorable=True)
            # set where the log of the asker parted from this one (KIP-595)
            diverging_epoch: EpochEndOffset = field(EpochEndOffset, versions="12+", tag=0)
            current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, versions="12+", tag=1)
            # set where the asker must fetch a snapshot first (KIP-630)
            snapshot_id: SnapshotId = field(SnapshotId, versions="12+", tag=2)
            # null under read_uncommitted
            aborted_transactions: list[AbortedTransaction] | None = field(
                Array(AbortedTransaction), versions="4+", nullable="4+", ignorable=True
            )
            preferred_read_replica: int = field(Int32, versions="11+", default=-1)  # -1: go on reading here
            records: bytes | None = field(Records, nullable="0+")

        topic: str = field(String, versions="0-12", ignorable=True)
        topic_id: bytes = field(Uuid, versions="13+", ignorable=True)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class NodeEndpoint:
        node_id: int = field(Int32, versions="16+")
        host: str = field(String, versions="16+")
        port: int = field(Int32, versions="16+")
        rack: str | None = field(String, versions="16+", nullable="16+", default=None)

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16, versions="7+", ignorable=True)
    session_id: int = field(Int32, versions="7+")  # 0 where there is no session
    responses: list[Topic] = field(Array(Topic))  # a session leaves out partitions without news
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="16+", tag=0)
