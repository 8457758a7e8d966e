"""Operations that show groups: their members, assignments and lag."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from mockbroker.adapters.control.operations import ControlCall, known, operation
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError

if TYPE_CHECKING:
    from mockbroker.groups.modern.group import ModernGroup


OF_REAL_GROUPS = "kafka-consumer-groups.sh shows them, and GET /requests?group=... the calls for them that came by here"


class MemberView(msgspec.Struct):
    """A member; ``rack`` is what it says in its subscription (KIP-881)."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rack: str | None
    topics: list[str]
    assignment: dict[str, list[int]]


class OffsetView(msgspec.Struct):
    """A group's committed offset of a partition; ``lag`` counts to the high watermark, null without the partition.

    Of a share group, ``offset`` is where it begins, and ``lag`` leaves out what it is done with from there on.
    """

    topic: str
    partition: int
    offset: int
    lag: int | None


class GroupView(msgspec.Struct):
    """A group; ``coordinator`` is null while no broker is up, ``lag`` the sum over its partitions.

    Of a group whose coordinator assigns, ``generation`` is its epoch and ``protocol`` the assignor.
    """

    id: str
    type: str
    state: str
    protocol_type: str | None
    protocol: str | None
    generation: int
    coordinator: int | None
    members: list[MemberView]
    offsets: list[OffsetView]
    lag: int


class GroupsView(msgspec.Struct):
    """All groups, by id."""

    groups: list[GroupView]


@operation("GET", "/groups", "All groups with members and lag", answer=GroupsView, statuses=(409,))
async def groups(call: ControlCall) -> Any:
    """By id. Refused on a proxy."""
    call.must_be_ours(OF_REAL_GROUPS)
    return GroupsView(groups_of(call.state))


@operation("GET", "/groups/{group}", "One group", answer=GroupView, statuses=(409,))
async def group(call: ControlCall) -> Any:
    """Its members, their assignments, its offsets. Refused on a proxy."""
    call.must_be_ours(OF_REAL_GROUPS)
    return group_of(call.state, known("group", call.names["group"], group_ids(call.state)))


def group_ids(state: Cluster) -> list[str]:
    return [one.id for one in state.groups.select()] if state.has_groups else []


def groups_of(state: Cluster) -> list[GroupView]:
    """Every group."""
    return [group_of(state, group_id) for group_id in group_ids(state)]


def group_of(state: Cluster, group_id: str) -> GroupView:
    from mockbroker.groups.classic.group import ClassicGroup
    from mockbroker.groups.modern.group import ModernGroup

    found = state.groups.get(group_id)
    try:
        coordinator = state.internal_topics.coordinator(group_id).id
    except ApiError:
        coordinator = None
    begun = found.begun_offsets(state) if isinstance(found, ModernGroup) else None
    offsets = offsets_of(state, group_id) if begun is None else [OffsetView(*one) for one in begun]
    protocol, generation, members = None, 0, []
    if isinstance(found, ClassicGroup):
        protocol, generation, members = found.protocol_name, found.generation, members_of(found)
    elif isinstance(found, ModernGroup):
        protocol, generation, members = found.assignor_name, found.epoch, modern_members_of(found)
    return GroupView(
        id=found.id,
        type=found.kind,
        state=found.state_name,
        protocol_type=found.protocol_type,
        protocol=protocol,
        generation=generation,
        coordinator=coordinator,
        members=members,
        offsets=offsets,
        lag=sum(one.lag or 0 for one in offsets),
    )


def members_of(group: Any) -> list[MemberView]:
    """The members of a classic group by id, with the subscriptions and assignments of consumers if they are valid."""
    from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
    from protocol.embedded.versioned import read_versioned
    from protocol.errors import ProtocolError

    shown = []
    for _, member in sorted(group.members.items()):
        subscription, assigned = ConsumerProtocolSubscription(), ConsumerProtocolAssignment()
        if group.protocol_type == "consumer":
            with suppress(ProtocolError):  # metadata of a consumer's own making
                metadata = member.metadata(group.protocol_name or next(iter(member.protocols)))
                subscription = read_versioned(ConsumerProtocolSubscription, metadata)
            with suppress(ProtocolError):
                assigned = read_versioned(ConsumerProtocolAssignment, member.assignment)
        assignment = {one.topic: sorted(one.partitions) for one in assigned.assigned_partitions}
        topics = sorted(subscription.topics)
        shown.append(member_of(member, subscription.rack_id, topics, dict(sorted(assignment.items()))))
    return shown


def member_of(member: Any, rack: str | None, topics: list[str], assignment: dict[str, list[int]]) -> MemberView:
    instance, client, host = member.instance_id, member.client_id, member.client_host
    return MemberView(member.id, instance, client, host, rack, topics, assignment)


def modern_members_of(group: ModernGroup[Any]) -> list[MemberView]:
    """The members of a group whose coordinator assigns, by id, with their current partitions."""
    return [
        member_of(
            member,
            member.rack,
            sorted(group.topics_of(member)),
            group.groups.topics.numbers_by_name(group.assigned_to(member)),
        )
        for _, member in sorted(group.members.items())
    ]


def offsets_of(state: Cluster, group_id: str) -> list[OffsetView]:
    committed = state.groups.offsets(group_id)
    shown = []
    for topic, index in committed.partitions():
        offset = committed.get((topic, index)).offset
        partitions = state.topics[topic].partitions if topic in state.topics else []
        lag = max(0, partitions[index].high_watermark - offset) if index < len(partitions) else None
        shown.append(OffsetView(topic, index, offset, lag))
    return shown
