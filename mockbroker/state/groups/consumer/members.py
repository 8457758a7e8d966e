"""A member of a consumer group: its subscription, its assignment and its pending revocations.

Source: ConsumerGroupMember, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from mockbroker.state.groups.modern.members import MemberState, ModernMember
from protocol.embedded.consumer_group_log import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
)

if TYPE_CHECKING:
    ClassicMetadata = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata
    RecordedPartitions = ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions

Holding = Mapping[bytes, Mapping[int, int]]
"""Partitions by topic id, each with the epoch in which it was assigned."""


@dataclass(slots=True, frozen=True, kw_only=True)
class ConsumerMember(ModernMember):
    """A member in one of its epochs.

    ``expression`` is an RE2 expression that topics have to match, empty for none. ``assigned`` has the partitions that
    the member holds, ``pending_revocation`` those that it has to give up first. ``classic`` is the JoinGroup metadata
    of a member of the classic protocol; None for the consumer protocol.
    """

    rebalance_timeout_ms: int = -1
    expression: str | None = ""
    assignor: str | None = None
    assigned: Holding = field(default_factory=dict)
    pending_revocation: Holding = field(default_factory=dict)
    classic: ClassicMetadata | None = None

    @property
    def held(self) -> list[tuple[bytes, int, int]]:
        """The partitions that no other member may have: topic id, partition and the epoch of the assignment."""
        return [
            (topic_id, partition, epoch)
            for holding in (self.assigned, self.pending_revocation)
            for topic_id, partitions in holding.items()
            for partition, epoch in partitions.items()
        ]

    def with_metadata(self, value: ConsumerGroupMemberMetadataValue) -> Self:
        return replace(
            self,
            instance_id=value.instance_id,
            rack=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=frozenset(value.subscribed_topic_names),
            expression=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )

    def with_assignment(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> Self:
        return replace(
            self,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState(value.state),
            assigned=holding_of(value.assigned_partitions, value.member_epoch),
            pending_revocation=holding_of(value.partitions_pending_revocation, value.member_epoch),
        )

    def without_assignment(self) -> Self:
        return replace(self, epoch=-1, previous_epoch=-1, assigned={}, pending_revocation={})


def holding_of(recorded: Iterable[RecordedPartitions], epoch: int) -> Holding:
    """The partitions in a record, with the member's own epoch if the record has none."""
    return {
        one.topic_id: dict(
            zip(one.partitions, one.assignment_epochs or [max(epoch, 0)] * len(one.partitions), strict=True)
        )
        for one in recorded
    }


def recorded_partitions(holding: Holding) -> list[RecordedPartitions]:
    """The partitions that a member holds, in the form of records."""
    return [
        ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions(
            topic_id=topic_id,
            partitions=sorted(partitions),
            assignment_epochs=[partitions[partition] for partition in sorted(partitions)],
        )
        for topic_id, partitions in sorted(holding.items())
    ]
