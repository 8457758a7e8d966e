"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup (keys 11-14): the classic group protocol, where a member assigns."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Bytes, Int16, Int32, String


@request(key=11, versions="0-9", flexible="6+")
class JoinGroupRequest:
    """Asks to be in the next generation of a group. Static members since version 5 (KIP-345)."""

    @record
    class Protocol:
        name: str = field(String)
        metadata: bytes = field(Bytes)  # a ConsumerProtocolSubscription, for consumers

    group_id: str = field(String)
    session_timeout_ms: int = field(Int32)
    # version 0 waits for the session timeout instead
    rebalance_timeout_ms: int = field(Int32, versions="1+", default=-1, ignorable=True)
    member_id: str = field(String)  # empty at first
    group_instance_id: str | None = field(String, versions="5+", nullable="5+", default=None)
    protocol_type: str = field(String)
    protocols: list[Protocol] = field(Array(Protocol))  # the assignors a member can follow, dearest first
    reason: str | None = field(String, versions="8+", nullable="8+", default=None, ignorable=True)


@response(key=11, versions="0-9", flexible="6+")
class JoinGroupResponse:
    """The new generation. Its leader alone is told the members and what they subscribed to."""

    @record
    class Member:
        member_id: str = field(String)
        group_instance_id: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
        metadata: bytes = field(Bytes)

    throttle_time_ms: int = field(Int32, versions="2+", ignorable=True)
    error_code: int = field(Int16)
    generation_id: int = field(Int32, default=-1)
    protocol_type: str | None = field(String, versions="7+", nullable="7+", default=None, ignorable=True)
    protocol_name: str | None = field(String, nullable="7+")  # null when the group is refused a protocol
    leader: str = field(String)
    # tells a static leader that came back to keep what stands (KIP-814)
    skip_assignment: bool = field(Bool, versions="9+")
    member_id: str = field(String)
    members: list[Member] = field(Array(Member))


@request(key=14, versions="0-5", flexible="4+")
class SyncGroupRequest:
    """The leader brings everyone's assignment; the others come to fetch theirs."""

    @record
    class Assignment:
        member_id: str = field(String)
        assignment: bytes = field(Bytes)  # a ConsumerProtocolAssignment, for consumers

    group_id: str = field(String)
    generation_id: int = field(Int32)
    member_id: str = field(String)
    group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None)
    protocol_type: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    assignments: list[Assignment] = field(Array(Assignment))


@response(key=14, versions="0-5", flexible="4+")
class SyncGroupResponse:
    """The assignment of one member."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16)
    protocol_type: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = field(Bytes)


@request(key=12, versions="0-4", flexible="4+")
class HeartbeatRequest:
    """Says that a member lives."""

    group_id: str = field(String)
    generation_id: int = field(Int32)
    member_id: str = field(String)
    group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None)


@response(key=12, versions="0-4", flexible="4+")
class HeartbeatResponse:
    """No error, or that a rebalance goes on."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16)


@request(key=13, versions="0-5", flexible="4+")
class LeaveGroupRequest:
    """Gives up membership, of many at once since version 3 (KIP-345)."""

    @record
    class Member:
        member_id: str = field(String, versions="3+")
        group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None)
        reason: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)

    group_id: str = field(String)
    member_id: str = field(String, versions="0-2")
    members: list[Member] = field(Array(Member), versions="3+")


@response(key=13, versions="0-5", flexible="4+")
class LeaveGroupResponse:
    """How that went, for each member since version 3."""

    @record
    class Member:
        member_id: str = field(String, versions="3+")
        group_instance_id: str | None = field(String, versions="3+", nullable="3+")
        error_code: int = field(Int16, versions="3+")

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16)
    members: list[Member] = field(Array(Member), versions="3+")
