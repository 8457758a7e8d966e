"""A member of a share group, in one member epoch.

Source: ShareGroupMember, Apache Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from mockbroker.state.groups.modern.members import MemberState, ModernMember, Partitions
from protocol.embedded.share_group_log import ShareGroupCurrentMemberAssignmentValue, ShareGroupMemberMetadataValue


@dataclass(slots=True, frozen=True, kw_only=True)
class ShareMember(ModernMember):
    """``assigned`` are the partitions that the member reads."""

    assigned: Partitions = field(default_factory=dict)

    def with_metadata(self, value: ShareGroupMemberMetadataValue) -> Self:
        return replace(
            self,
            rack=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=frozenset(value.subscribed_topic_names),
        )

    def with_assignment(self, value: ShareGroupCurrentMemberAssignmentValue) -> Self:
        return replace(
            self,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState(value.state),
            assigned={one.topic_id: frozenset(one.partitions) for one in value.assigned_partitions},
        )

    def without_assignment(self) -> Self:
        return replace(self, epoch=-1, previous_epoch=-1, assigned={})
