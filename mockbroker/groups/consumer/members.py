"""A member of a consumer group: its subscription, its assignment and its pending revocations.

Source: ConsumerGroupMember, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from mockbroker.groups.modern.members import STATIC_LEAVE_EPOCH, MemberState, ModernMember, messages_of, with_epochs
from protocol.embedded.consumer_group_log import ConsumerGroupMemberMetadataValue

ClassicMetadata = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata
Holding = Mapping[tuple[bytes, int], int]
"""Partitions by topic id and number, with the epoch in which each was assigned."""


@dataclass(slots=True, frozen=True, kw_only=True)
class ConsumerMember(ModernMember):
    """A member in one of its epochs.

    ``expression`` is an RE2 expression that topics have to match, empty for none. ``assigned`` has the partitions that
    the member holds, ``pending_revocation`` those that it has to give up first. ``classic`` is the JoinGroup metadata
    of a member of the classic protocol; None for the consumer protocol.
    """

    expression: str | None = ""
    assignor: str | None = None
    assigned: Holding = field(default_factory=dict)
    pending_revocation: Holding = field(default_factory=dict)
    classic: ClassicMetadata | None = None

    @property
    def is_classic(self) -> bool:
        return self.classic is not None

    @property
    def held(self) -> set[tuple[bytes, int]]:
        """The partitions that no other member may have."""
        return {*self.assigned, *self.pending_revocation}

    def assignment(self, kind: type[Any]) -> Any:
        assigned, pending = (
            messages_of(kind.TopicPartitions, holding) for holding in (self.assigned, self.pending_revocation)
        )
        return self.message(kind, assigned_partitions=assigned, partitions_pending_revocation=pending)

    def with_assignment(self, value: Any) -> Self:
        assigned, pending = (
            with_epochs(recorded, value.member_epoch)
            for recorded in (value.assigned_partitions, value.partitions_pending_revocation)
        )
        return self.updated(value, state=MemberState(value.state), assigned=assigned, pending_revocation=pending)

    def absent(self) -> Self:
        assigned = dict.fromkeys(self.assigned, 0)
        return replace(self, epoch=STATIC_LEAVE_EPOCH, pending_revocation={}, assigned=assigned)
