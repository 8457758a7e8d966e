"""A classic group as ``__consumer_offsets`` stores it: its last stable generation, without waiting members.

Source: GroupCoordinatorRecordHelpers and GroupMetadataManager.replay(GroupMetadataKey, ...), Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mockbroker.groups.classic.members import ClassicGroupMember
from mockbroker.state.coordinator_shard import CoordinatorRecord
from protocol.apis.classic_group import JoinGroupRequest
from protocol.embedded.group_log import GroupMetadataKey, GroupMetadataValue

if TYPE_CHECKING:
    from mockbroker.groups.classic.group import ClassicGroup


def generation(group: ClassicGroup) -> CoordinatorRecord:
    """The record of a group's generation, with each member's assignment."""
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=group.state_since_ms,
        members=[
            member.message(GroupMetadataValue.Member, subscription=member.metadata(group.protocol_name))
            for member in group.members.values()
        ],
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.id), value)


def members(value: GroupMetadataValue) -> Iterator[ClassicGroupMember]:
    """The members of a stored generation; of their protocols only the chosen one is known."""
    for one in value.members:
        known = {own: getattr(one, name) for name, own in ClassicGroupMember.common_with(type(one))}
        if one.rebalance_timeout == -1:
            known["rebalance_timeout_ms"] = one.session_timeout
        protocol = JoinGroupRequest.Protocol(name=value.protocol or "", metadata=one.subscription)
        yield ClassicGroupMember(**known, protocols=[protocol])
