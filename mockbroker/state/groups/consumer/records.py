"""The records of a consumer group in ``__consumer_offsets``.

Source: GroupCoordinatorRecordHelpers, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable

from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.groups.consumer.members import ConsumerMember, recorded_partitions
from mockbroker.state.groups.modern.records import GroupRecordTypes
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

TYPES = GroupRecordTypes(
    group_key=ConsumerGroupMetadataKey,
    group_value=ConsumerGroupMetadataValue,
    member_key=ConsumerGroupMemberMetadataKey,
    assignment_key=ConsumerGroupCurrentMemberAssignmentKey,
    target_key=ConsumerGroupTargetAssignmentMemberKey,
    target_value=ConsumerGroupTargetAssignmentMemberValue,
    target_epoch_key=ConsumerGroupTargetAssignmentMetadataKey,
    target_epoch_value=ConsumerGroupTargetAssignmentMetadataValue,
)
group_epoch, target = TYPES.group_epoch, TYPES.target
target_epoch, no_member = TYPES.target_epoch, TYPES.no_member


def member_metadata(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """The record of a member's metadata."""
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
    """The record of a member's current assignment."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=recorded_partitions(member.assigned),
        partitions_pending_revocation=recorded_partitions(member.pending_revocation),
    )
    return CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.id), value)


def expression(group_id: str, text: str, topics: Iterable[str], version: int, wall_ms: int) -> CoordinatorRecord:
    """The record of the topics that match an expression."""
    value = ConsumerGroupRegularExpressionValue(topics=sorted(topics), version=version, timestamp=wall_ms)
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=text), value)


def no_expression(group_id: str, text: str) -> CoordinatorRecord:
    """The record that deletes an expression without subscribers."""
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=text), None)


def no_group(group_id: str, member_ids: Iterable[str], expressions: Iterable[str]) -> list[CoordinatorRecord]:
    """The records that delete a group with all its members."""
    found = [record for member_id in member_ids for record in no_member(group_id, member_id)]
    found += [no_expression(group_id, text) for text in expressions]
    found.append(CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    found.append(CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), None))
    return found
