"""Vote (key 52), BeginQuorumEpoch (53), EndQuorumEpoch (54), DescribeQuorum (55): controllers elect a leader (KIP-595).

Listeners and directory ids came with voters that can change (KIP-853).
"""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int16, Int32, Int64, String, UInt16, Uuid


@request(key=52, versions="0-2", flexible="0+")
class VoteRequest:
    """A candidate asks for a vote; since version 2 it may ask beforehand whether it would get it (KIP-996)."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            replica_epoch: int = field(Int32)  # that it stands for
            replica_id: int = field(Int32)
            replica_directory_id: bytes = field(Uuid, versions="1+", ignorable=True)
            voter_directory_id: bytes = field(Uuid, versions="1+", ignorable=True)
            last_offset_epoch: int = field(Int32)
            last_offset: int = field(Int64)
            pre_vote: bool = field(Bool, versions="2+")  # only asks

        topic_name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    cluster_id: str | None = field(String, nullable="0+", default=None)
    voter_id: int = field(Int32, versions="1+", default=-1, ignorable=True)
    topics: list[Topic] = field(Array(Topic))


@response(key=52, versions="0-2", flexible="0+")
class VoteResponse:
    """The vote, and the leader as far as the voter knows."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            leader_id: int = field(Int32)  # -1: not known
            leader_epoch: int = field(Int32)
            vote_granted: bool = field(Bool)

        topic_name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class NodeEndpoint:
        node_id: int = field(Int32, versions="1+")
        host: str = field(String, versions="1+")
        port: int = field(UInt16, versions="1+")

    error_code: int = field(Int16)
    topics: list[Topic] = field(Array(Topic))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="1+", tag=0)


@request(key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochRequest:
    """A new leader makes itself known."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            voter_directory_id: bytes = field(Uuid, versions="1+", ignorable=True)
            leader_id: int = field(Int32)
            leader_epoch: int = field(Int32)

        topic_name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class LeaderEndpoint:
        name: str = field(String, versions="1+")
        host: str = field(String, versions="1+")
        port: int = field(UInt16, versions="1+")

    cluster_id: str | None = field(String, nullable="0+", default=None)
    voter_id: int = field(Int32, versions="1+", default=-1, ignorable=True)
    topics: list[Topic] = field(Array(Topic))
    leader_endpoints: list[LeaderEndpoint] = field(Array(LeaderEndpoint), versions="1+", ignorable=True)


@response(key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochResponse:
    """Says if the epoch is accepted."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            leader_id: int = field(Int32)
            leader_epoch: int = field(Int32)

        topic_name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class NodeEndpoint:
        node_id: int = field(Int32, versions="1+")
        host: str = field(String, versions="1+")
        port: int = field(UInt16, versions="1+")

    error_code: int = field(Int16)
    topics: list[Topic] = field(Array(Topic))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="1+", tag=0)


@request(key=54, versions="0-1", flexible="1+")
class EndQuorumEpochRequest:
    """A leader steps down, and says who had best follow."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class Candidate:
                candidate_id: int = field(Int32, versions="1+")
                candidate_directory_id: bytes = field(Uuid, versions="1+")

            partition_index: int = field(Int32)
            leader_id: int = field(Int32)
            leader_epoch: int = field(Int32)
            preferred_successors: list[int] = field(Array(Int32), versions="0", ignorable=True)  # best first
            preferred_candidates: list[Candidate] = field(Array(Candidate), versions="1+", ignorable=True)

        topic_name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class LeaderEndpoint:
        name: str = field(String, versions="1+")
        host: str = field(String, versions="1+")
        port: int = field(UInt16, versions="1+")

    cluster_id: str | None = field(String, nullable="0+", default=None)
    topics: list[Topic] = field(Array(Topic))
    leader_endpoints: list[LeaderEndpoint] = field(Array(LeaderEndpoint), versions="1+", ignorable=True)


@response(key=54, versions="0-1", flexible="1+")
class EndQuorumEpochResponse:
    """Says if the others were notified."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            leader_id: int = field(Int32)
            leader_epoch: int = field(Int32)

        topic_name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class NodeEndpoint:
        node_id: int = field(Int32, versions="1+")
        host: str = field(String, versions="1+")
        port: int = field(UInt16, versions="1+")

    error_code: int = field(Int16)
    topics: list[Topic] = field(Array(Topic))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="1+", tag=0)


@request(key=55, versions="0-2", flexible="0+")
class DescribeQuorumRequest:
    """Partitions of the quorum to describe; there is one."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)

        topic_name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    topics: list[Topic] = field(Array(Topic))


@response(key=55, versions="0-2", flexible="0+")
class DescribeQuorumResponse:
    """Leader, voters and observers, with how far each has come (KIP-836)."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class Replica:
                replica_id: int = field(Int32)
                replica_directory_id: bytes = field(Uuid, versions="2+")
                log_end_offset: int = field(Int64)
                last_fetch_timestamp: int = field(Int64, versions="1+", default=-1, ignorable=True)
                last_caught_up_timestamp: int = field(Int64, versions="1+", default=-1, ignorable=True)

            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, versions="2+", nullable="2+", ignorable=True)
            leader_id: int = field(Int32)
            leader_epoch: int = field(Int32)
            high_watermark: int = field(Int64)
            current_voters: list[Replica] = field(Array(Replica))
            observers: list[Replica] = field(Array(Replica))

        topic_name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    @record
    class Node:
        @record
        class Listener:
            name: str = field(String, versions="2+")
            host: str = field(String, versions="2+")
            port: int = field(UInt16, versions="2+")

        node_id: int = field(Int32, versions="2+")
        listeners: list[Listener] = field(Array(Listener), versions="2+")

    error_code: int = field(Int16)
    error_message: str | None = field(String, versions="2+", nullable="2+", ignorable=True)
    topics: list[Topic] = field(Array(Topic))
    nodes: list[Node] = field(Array(Node), versions="2+")
