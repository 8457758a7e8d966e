"""DescribeGroups (key 15), ListGroups (key 16), DeleteGroups (key 42): groups as an administrator sees them."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Bytes, Int16, Int32, String


@request(key=15, versions="0-6", flexible="5+")
class DescribeGroupsRequest:
    """Classic groups to describe."""

    groups: list[str] = field(Array(String))
    include_authorized_operations: bool = field(Bool, versions="3+")


@response(key=15, versions="0-6", flexible="5+")
class DescribeGroupsResponse:
    """Their state and members."""

    @record
    class Group:
        @record
        class Member:
            member_id: str = field(String)
            group_instance_id: str | None = field(String, versions="4+", nullable="4+", default=None, ignorable=True)
            client_id: str = field(String)
            client_host: str = field(String)
            member_metadata: bytes = field(Bytes)
            member_assignment: bytes = field(Bytes)

        error_code: int = field(Int16)
        error_message: str | None = field(String, versions="6+", nullable="6+", default=None)
        group_id: str = field(String)
        group_state: str = field(String)
        protocol_type: str = field(String)
        protocol_data: str = field(String)  # the assignor that was agreed on
        members: list[Member] = field(Array(Member))
        # a bit set (KIP-430); this default: not asked for
        authorized_operations: int = field(Int32, versions="3+", default=-2147483648)

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    groups: list[Group] = field(Array(Group))


@request(key=16, versions="0-5", flexible="3+")
class ListGroupsRequest:
    """Which groups to list: in some states since version 4 (KIP-518), of some types since 5 (KIP-848)."""

    states_filter: list[str] = field(Array(String), versions="4+")
    types_filter: list[str] = field(Array(String), versions="5+")


@response(key=16, versions="0-5", flexible="3+")
class ListGroupsResponse:
    """The groups that one broker coordinates."""

    @record
    class Group:
        group_id: str = field(String)
        protocol_type: str = field(String)
        group_state: str = field(String, versions="4+", ignorable=True)
        group_type: str = field(String, versions="5+", ignorable=True)

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16)
    groups: list[Group] = field(Array(Group))


@request(key=42, versions="0-3", flexible="2+")
class DeleteGroupsRequest:
    """Empty groups to forget, with their offsets (KIP-229)."""

    groups_names: list[str] = field(Array(String))


@response(key=42, versions="0-3", flexible="2+")
class DeleteGroupsResponse:
    """How that went, for each group; since version 3 in words too."""

    @record
    class Group:
        group_id: str = field(String)
        error_code: int = field(Int16)
        error_message: str | None = field(String, versions="3+", nullable="3+", default=None, ignorable=True)

    throttle_time_ms: int = field(Int32)
    results: list[Group] = field(Array(Group))
