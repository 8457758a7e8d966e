"""A consumer group as ``__consumer_offsets`` keeps it.

Source: GroupCoordinatorRecordHelpers, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable

from mockbroker.state.groups.consumer.members import ConsumerMember, recorded_partitions
from mockbroker.state.groups.modern.members import Partitions
from mockbroker.state.image.coordinator_records import CoordinatorRecord
from protocol.embedded.consumer_group_log import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """A group has reached an epoch."""
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), value)


def member_metadata(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """What a member has said of itself."""
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.expression,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=member.classic,
    )
    return CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.id), value)


def member_assignment(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """How far a member is."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=recorded_partitions(member.assigned),
        partitions_pending_revocation=recorded_partitions(member.pending_revocation),
    )
    return CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.id), value)


def target(group_id: str, member_id: str, partitions: Partitions) -> CoordinatorRecord:
    """What a member is to read."""
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            ConsumerGroupTargetAssignmentMemberValue.TopicPartition(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(partitions.items())
        ]
    )
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def target_epoch(group_id: str, epoch: int, wall_ms: int) -> CoordinatorRecord:
    """For which epoch of the group the targets were worked out, and when by the wall clock."""
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=wall_ms)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def expression(group_id: str, text: str, topics: Iterable[str], version: int, wall_ms: int) -> CoordinatorRecord:
    """Which topics match an expression."""
    value = ConsumerGroupRegularExpressionValue(topics=sorted(topics), version=version, timestamp=wall_ms)
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=text), value)


def no_expression(group_id: str, text: str) -> CoordinatorRecord:
    """Nobody subscribes to an expression any more."""
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=text), None)


def no_member(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """A member is gone."""
    names = {"group_id": group_id, "member_id": member_id}
    return [
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(**names), None),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(**names), None),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(**names), None),
    ]


def no_group(group_id: str, member_ids: Iterable[str], expressions: Iterable[str]) -> list[CoordinatorRecord]:
    """A group is gone, with all its members."""
    found = [record for member_id in member_ids for record in no_member(group_id, member_id)]
    found += [no_expression(group_id, text) for text in expressions]
    found.append(CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    found.append(CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), None))
    return found
