"""AddRaftVoter (key 80), RemoveRaftVoter (81), UpdateRaftVoter (82): who votes among the controllers (KIP-853)."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int16, Int32, String, UInt16, Uuid


@request(key=80, versions="0-1", flexible="0+")
class AddRaftVoterRequest:
    """A controller to add, with its listeners."""

    @record
    class Listener:
        name: str = field(String)
        host: str = field(String)
        port: int = field(UInt16)

    cluster_id: str | None = field(String, nullable="0+")
    timeout_ms: int = field(Int32)
    voter_id: int = field(Int32)
    voter_directory_id: bytes = field(Uuid)  # tells a voter from itself with a new disk
    listeners: list[Listener] = field(Array(Listener))
    ack_when_committed: bool = field(Bool, versions="1+", default=True)  # false: answer once it is written (KIP-1186)


@response(key=80, versions="0-1", flexible="0+")
class AddRaftVoterResponse:
    """Says if the controller votes now."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", ignorable=True)


@request(key=81, versions="0", flexible="0+")
class RemoveRaftVoterRequest:
    """A controller to take away."""

    cluster_id: str | None = field(String, nullable="0+")
    voter_id: int = field(Int32)
    voter_directory_id: bytes = field(Uuid)


@response(key=81, versions="0", flexible="0+")
class RemoveRaftVoterResponse:
    """Says if the controller no longer votes."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", ignorable=True)


@request(key=82, versions="0", flexible="0+")
class UpdateRaftVoterRequest:
    """A controller says where it listens now, and which versions of KRaft it knows."""

    @record
    class Listener:
        name: str = field(String)
        host: str = field(String)
        port: int = field(UInt16)

    @record
    class KRaftVersionFeature:
        min_supported_version: int = field(Int16)
        max_supported_version: int = field(Int16)

    cluster_id: str | None = field(String, nullable="0+")
    current_leader_epoch: int = field(Int32)
    voter_id: int = field(Int32)
    voter_directory_id: bytes = field(Uuid)
    listeners: list[Listener] = field(Array(Listener))
    kraft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature, json="kRaftVersionFeature")


@response(key=82, versions="0", flexible="0+")
class UpdateRaftVoterResponse:
    """Says if the leader recorded the update, and which node leads."""

    @record
    class CurrentLeader:
        leader_id: int = field(Int32, default=-1)
        leader_epoch: int = field(Int32, default=-1)
        host: str = field(String)
        port: int = field(Int32)

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    current_leader: CurrentLeader = field(CurrentLeader, tag=0)
