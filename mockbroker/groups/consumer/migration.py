"""Conversion of groups with members from the classic protocol to the consumer protocol, and back.

``group.consumer.migration.policy`` sets the allowed directions.

The first member of the consumer protocol converts a classic group of consumers; when the last such member has left,
the group becomes a classic one again. Members of the classic protocol only see a rebalance.

Source: GroupMetadataManager.convertToConsumerGroup and convertToClassicGroup, ConsumerGroup.fromClassicGroup,
ClassicGroup.fromConsumerGroup, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mockbroker.groups.classic.group import CONSUMER_PROTOCOL_TYPE, ClassicGroup, ClassicGroupState
from mockbroker.groups.classic.members import ClassicGroupMember, Protocols, protocols_of, vote
from mockbroker.groups.consumer.group import ClassicMetadata, ConsumerGroup, ConsumerMember
from mockbroker.groups.modern.members import Partitions
from mockbroker.groups.modern.topics import GroupTopics
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, write_versioned
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError

if TYPE_CHECKING:
    from mockbroker.groups.coordinator import Groups

UPGRADES = frozenset({"bidirectional", "upgrade"})
DOWNGRADES = frozenset({"bidirectional", "downgrade"})
MAX_PROTOCOL_VERSION = 3  # ConsumerProtocol.highestSupportedVersion


def policy(groups: Groups) -> str:
    """``group.consumer.migration.policy``; a value unknown to Kafka means disabled."""
    named = str(groups.config("group.consumer.migration.policy")).lower()
    return named if named in UPGRADES | DOWNGRADES else "disabled"


def group_for(groups: Groups, group_id: str, *, create: bool) -> tuple[ConsumerGroup, list[CoordinatorRecord]]:
    """The consumer group of a heartbeat, and the records that convert a classic group with members.

    Raises ApiError: GROUP_ID_NOT_FOUND, for another kind of group, and for one that may not or cannot be converted.
    """
    found = groups.find(group_id)
    if create and isinstance(found, ClassicGroup) and found.state is not ClassicGroupState.EMPTY:
        return upgraded(found, groups)
    return groups.find_or_make(ConsumerGroup, group_id, create=create), []


def upgraded(classic: ClassicGroup, groups: Groups) -> tuple[ConsumerGroup, list[CoordinatorRecord]]:
    """A consumer group with the members of a classic one and their assignments, and its records.

    Raises ApiError: GROUP_ID_NOT_FOUND.
    """
    start = f"Cannot upgrade classic group {classic.id} to consumer group because"
    if policy(groups) not in UPGRADES:
        raise not_found(f"{start} online upgrade is disabled.")
    if classic.protocol_type != CONSUMER_PROTOCOL_TYPE:
        raise not_found(f"{start} the group does not use the consumer embedded protocol.")
    if len(classic.members) > groups.config("group.consumer.max.size"):
        raise not_found(f"{start} the group size exceeds the consumer group maximum size.")
    classic.answer_waiting(ErrorCode.REBALANCE_IN_PROGRESS)
    if classic.protocol_name is None:  # its first generation has not begun
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "the classic group has no protocol yet")
    group = ConsumerGroup(classic.id, groups)
    epoch = classic.generation
    found: list[CoordinatorRecord] = [group.target_epoch_record(epoch, 0)]
    try:
        for one in classic.members.values():
            assigned = partitions_of(one.assignment, groups.topics)
            member = upgraded_member(one, classic.protocol_name, epoch, assigned)
            found += group.member_records(member, assigned)
    except ProtocolError:
        raise not_found(f"{start} the embedded consumer protocol is malformed.") from None
    for record in found:
        group.apply(record)
    epoch_record = group.epoch_record(epoch, group.hash_for(group.members.values()))
    group.apply(epoch_record)
    return group, [*found, epoch_record]


def upgraded_member(one: ClassicGroupMember, protocol_name: str, epoch: int, assigned: Partitions) -> ConsumerMember:
    """A member of a classic group as one of a consumer group.

    Raises ProtocolError: its metadata cannot be read; ApiError: UNKNOWN_SERVER_ERROR, for a member that joined with
        other protocols than the generation's.
    """
    if protocol_name not in one.protocols:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    subscription = read_versioned(ConsumerProtocolSubscription, one.metadata(protocol_name), trailing="ignore")
    return ConsumerMember.like(
        one,
        epoch=epoch,
        previous_epoch=epoch,
        rack=subscription.rack_id or None,
        topics=frozenset(subscription.topics),
        assigned=dict.fromkeys(assigned, epoch),
        classic=classic_metadata(one.session_timeout_ms, one.protocols),
    )


def classic_metadata(session_timeout_ms: int, protocols: Protocols) -> ClassicMetadata:
    """The stored metadata of a member of the classic protocol."""
    supported = [ClassicMetadata.ClassicProtocol(name=name, metadata=sent) for name, sent in protocols.items()]
    return ClassicMetadata(session_timeout_ms=session_timeout_ms, supported_protocols=supported)


def start_sessions(group: ConsumerGroup, now_ms: int) -> None:
    """Start full sessions for the converted members, with their own session time-outs."""
    for member in group.members.values():
        if member.classic is not None:
            group.extend_session(member.id, now_ms, member.classic.session_timeout_ms)


def partitions_of(assignment: bytes, topics: GroupTopics) -> Partitions:
    """A classic member's assignment, limited to existing topics.

    Raises ProtocolError; ApiError: GROUP_ID_NOT_FOUND, for user data, which a consumer group cannot store.
    """
    if not assignment:
        return frozenset()
    read = read_versioned(ConsumerProtocolAssignment, assignment, trailing="ignore")
    if read.user_data:
        raise not_found(
            "Cannot upgrade classic group because an unsupported custom assignor is in use. Please refer to the"
            " documentation or switch to a default assignor before re-attempting the upgrade."
        )
    return existing(read.assigned_partitions, topics)


def existing(named: Iterable[Any], topics: GroupTopics) -> Partitions:
    """The partitions of the existing topics among these, which have a topic's name and partitions."""
    return frozenset(
        (topic_id, number) for one in named if (topic_id := topics.id_of(one.topic)) for number in one.partitions
    )


def not_found(problem: str) -> ApiError:
    return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, problem)


# back


def may_downgrade(group: ConsumerGroup, leaving: Collection[ConsumerMember], joining: int = 0) -> bool:
    """True if the group becomes a classic one when these members leave and others of the classic protocol join."""
    staying = [one for one in group.members.values() if one not in leaving]
    if not all(one.is_classic for one in staying) or policy(group.groups) not in DOWNGRADES:
        return False
    return 0 < len(staying) + joining <= int(group.groups.config("group.max.size"))


def downgrade(
    group: ConsumerGroup,
    now_ms: int,
    leaving: Sequence[ConsumerMember],
    *,
    rebalance: bool,
    joining: ConsumerMember | None = None,
) -> None:
    """Convert a consumer group, all of whose remaining members use the classic protocol, to a classic group.

    Args:
        rebalance: make the members join again at once; otherwise they continue with their targets.
        joining: replaces the first one that leaves.
    """
    groups = group.groups
    staying = [one for one in group.members.values() if one not in leaving]
    targets = {one.id: group.target_of(one.id) for one in staying}
    if joining is not None:
        staying.append(joining)
        targets[joining.id] = group.target_of(leaving[0].id)
    members = {one.id: classic_member(one) for one in staying}
    classic = ClassicGroup(
        group.id,
        groups,
        state=ClassicGroupState.STABLE,
        state_since_ms=groups.clock.at(now_ms),
        generation=group.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=vote(members.values()),
        leader_id=next(iter(members)),
        members=members,
    )
    for one in members.values():
        version = protocol_version(one.metadata(classic.protocol_name))
        one.assignment = assignment_bytes(targets[one.id], version, groups.topics)
    groups.register(classic)
    classic.begin(now_ms, rebalance=rebalance)


def classic_member(member: ConsumerMember) -> ClassicGroupMember:
    """A member of the classic protocol in the form of a classic group."""
    assert member.classic is not None
    return ClassicGroupMember.like(
        member,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocols=protocols_of(member.classic.supported_protocols),
    )


def protocol_version(metadata: bytes) -> int:
    """The version of the consumer protocol at the start of a member's metadata, at most the highest known one."""
    return min(int.from_bytes(metadata[:2], "big", signed=True), MAX_PROTOCOL_VERSION)


def assignment_bytes(partitions: Iterable[tuple[bytes, int]], version: int, topics: GroupTopics) -> bytes:
    """An assignment encoded for a member of the classic protocol."""
    named = topics.numbers_by_name(partitions).items()
    found = [ConsumerProtocolAssignment.TopicPartition(topic=name, partitions=numbers) for name, numbers in named]
    return write_versioned(ConsumerProtocolAssignment(assigned_partitions=found), version)
