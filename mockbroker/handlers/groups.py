"""DescribeGroups (key 15), ListGroups (16), DeleteGroups (42): groups, for admin clients.

They read cluster.groups; DeleteGroups writes it. A broker knows the groups that it coordinates.
Errors: per group NOT_COORDINATOR, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, of DeleteGroups
COORDINATOR_NOT_AVAILABLE; a group that does not exist is described as dead, without an error before v6.
DeleteGroups v3 leaves error messages null, as Kafka 4.4 does for all but GROUP_DELETION_FAILED, an error of Streams.
Source: KIP-229, KIP-430, KIP-518, KIP-848, KIP-1043; KafkaApis and GroupCoordinatorService, Apache Kafka 4.0; of
DeleteGroups v3, 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.groups.classic.group import ClassicGroup, ClassicGroupState
from mockbroker.handlers.error_responses import answer_parts
from mockbroker.handlers.find_coordinator import check_coordinator, coordinates
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import Operation, ResourceType
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from protocol.apis.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from protocol.error_codes import ErrorCode

NOT_FOUND_VERSION = 6  # of DescribeGroups
STATES_VERSION, TYPES_VERSION = 4, 5  # of ListGroups
NOT_REQUESTED = -(2**31)
DescribedGroup = DescribeGroupsResponse.Group
MAX_MEMBERS_BYTES = 64 << 20
"""Limit of members' metadata and assignments in one answer, unless a single group has more."""


@handles(DescribeGroupsRequest, access=Needs(group="Describe"), errors=Errors(injected="request", words="nothing"))
def describe_groups(call: Call, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    """State and members of each group, in the request's order.

    Groups past ``MAX_MEMBERS_BYTES`` get COORDINATOR_LOAD_IN_PROGRESS, on which admin clients retry.
    """
    members_bytes = 0

    def describe(_call: Call, entry: DescribedGroup, group_id: str) -> None:
        nonlocal members_bytes
        entry.authorized_operations = NOT_REQUESTED
        check_coordinator(call, group_id)
        group = call.cluster.groups.find(group_id)
        if not isinstance(group, ClassicGroup):
            entry.group_state = ClassicGroupState.DEAD.value
            if call.version >= NOT_FOUND_VERSION:
                entry.error_code = ErrorCode.GROUP_ID_NOT_FOUND
                entry.error_message = f"Group {group_id} {'not found' if group is None else 'is not a classic group'}."
            elif request.include_authorized_operations:
                entry.authorized_operations = call.access.permitted(ResourceType.GROUP, group_id)
            return
        is_stable = group.state is ClassicGroupState.STABLE
        members = [
            member.message(
                DescribedGroup.Member,
                member_metadata=member.metadata(group.protocol_name) if is_stable else b"",
                member_assignment=member.assignment,
            )
            for _, member in sorted(group.members.items())
        ]
        size = sum(len(one.member_metadata) + len(one.member_assignment) for one in members)
        if members_bytes and members_bytes + size > MAX_MEMBERS_BYTES:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        members_bytes += size
        entry.group_state, entry.members = group.state.value, members
        entry.protocol_type = group.protocol_type or ""
        entry.protocol_data = (group.protocol_name or "") if is_stable else ""
        if request.include_authorized_operations:
            entry.authorized_operations = call.access.permitted(ResourceType.GROUP, group_id)

    return answer_parts(call, request, DescribeGroupsResponse, describe)


@handles(
    ListGroupsRequest,
    access=Needs(note="Describe on the cluster shows all groups, without it those with Describe on the group"),
)
def list_groups(call: Call, request: ListGroupsRequest) -> ListGroupsResponse:
    """The groups that this broker coordinates, by id; since v4 filtered by state, since v5 by type."""
    states = request.states_filter if call.version >= STATES_VERSION else ()
    types = request.types_filter if call.version >= TYPES_VERSION else ()
    access = call.access
    sees_all = access.may_cluster(Operation.DESCRIBE)
    return ListGroupsResponse(
        groups=[
            ListGroupsResponse.Group(
                group_id=group.id,
                protocol_type=group.protocol_type or "",
                group_state=group.state_name,
                group_type=group.kind,
            )
            for group in call.cluster.groups.select(states, types)
            if coordinates(call, group.id) and (sees_all or access.may_group(Operation.DESCRIBE, group.id))
        ]
    )


@handles(DeleteGroupsRequest, access=Needs(group="Delete"), errors=Errors(injected="request", words="nothing"))
def delete_groups(call: Call, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """Delete each group, in the request's order; a repeated name counts once."""
    request.groups_names = list(dict.fromkeys(request.groups_names))
    return answer_parts(call, request, DeleteGroupsResponse, delete)


def delete(call: Call, _entry: DeleteGroupsResponse.Group, group_id: str) -> None:
    check_coordinator(call, group_id)
    call.cluster.internal_topics.check_takes_writes(OFFSETS_TOPIC, group_id)
    call.cluster.groups.delete(group_id)
    for extension in call.cluster.extensions():
        extension.forget_group(group_id)
