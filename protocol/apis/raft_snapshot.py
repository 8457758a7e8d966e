"""FetchSnapshot (key 59): parts of a snapshot of the metadata log, for replicas behind its start (KIP-630)."""

from ..declare import field, record, request, response
from ..wire import Array, Int16, Int32, Int64, Records, String, UInt16, Uuid


@request(key=59, versions="0-1", flexible="0+")
class FetchSnapshotRequest:
    """Which snapshot, and from which byte on."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class SnapshotId:
                end_offset: int = field(Int64)
                epoch: int = field(Int32)

            partition: int = field(Int32)
            current_leader_epoch: int = field(Int32)
            snapshot_id: SnapshotId = field(SnapshotId)
            position: int = field(Int64)
            replica_directory_id: bytes = field(Uuid, versions="1+", ignorable=True, tag=0)

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    cluster_id: str | None = field(String, nullable="0+", default=None, tag=0)
    replica_id: int = field(Int32, default=-1)
    max_bytes: int = field(Int32, default=0x7FFFFFFF)
    topics: list[Topic] = field(Array(Topic))


@response(key=59, versions="0-1", flexible="0+")
class FetchSnapshotResponse:
    """The bytes, cut anywhere, even inside a batch."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class SnapshotId:
                end_offset: int = field(Int64)
                epoch: int = field(Int32)

            @record
            class LeaderIdAndEpoch:
                leader_id: int = field(Int32)
                leader_epoch: int = field(Int32)

            index: int = field(Int32)
            error_code: int = field(Int16)
            snapshot_id: SnapshotId = field(SnapshotId)
            current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, tag=0)
            size: int = field(Int64)
            position: int = field(Int64)
            unaligned_records: bytes = field(Records)

        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class NodeEndpoint:
        node_id: int = field(Int32, versions="1+")
        host: str = field(String, versions="1+")
        port: int = field(UInt16, versions="1+")

    throttle_time_ms: int = field(Int32, ignorable=True)
    error_code: int = field(Int16)
    topics: list[Topic] = field(Array(Topic))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="1+", tag=0)
