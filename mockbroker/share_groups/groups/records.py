"""The records of a share group in ``__consumer_offsets``.

Source: GroupCoordinatorRecordHelpers, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mockbroker.share_groups.groups.members import ShareMember
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.groups.modern.records import GroupRecordTypes
from protocol.embedded.share_group_log import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

TYPES = GroupRecordTypes(
    group_key=ShareGroupMetadataKey,
    group_value=ShareGroupMetadataValue,
    member_key=ShareGroupMemberMetadataKey,
    assignment_key=ShareGroupCurrentMemberAssignmentKey,
    target_key=ShareGroupTargetAssignmentMemberKey,
    target_value=ShareGroupTargetAssignmentMemberValue,
    target_epoch_key=ShareGroupTargetAssignmentMetadataKey,
    target_epoch_value=ShareGroupTargetAssignmentMetadataValue,
)
group_epoch, target = TYPES.group_epoch, TYPES.target
target_epoch, no_member = TYPES.target_epoch, TYPES.no_member


class TopicState(NamedTuple):
    """Partitions of a topic whose share partitions are initialized or being initialized."""

    name: str
    partitions: frozenset[int]


class StatePartitions(NamedTuple):
    """The topics, by id, whose share partitions are being initialized, are initialized, or are being deleted."""

    initializing: Mapping[bytes, TopicState] = {}
    initialized: Mapping[bytes, TopicState] = {}
    deleting: Mapping[bytes, str] = {}


def member_metadata(group_id: str, member: ShareMember) -> CoordinatorRecord:
    """The record of a member's subscription, client and rack."""
    value = ShareGroupMemberMetadataValue(
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
    )
    return CoordinatorRecord(ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.id), value)


def member_assignment(group_id: str, member: ShareMember) -> CoordinatorRecord:
    """The record of a member's epoch and assignment."""
    value = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=[
            ShareGroupCurrentMemberAssignmentValue.TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(member.assigned.items())
        ],
    )
    return CoordinatorRecord(ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.id), value)


def state_partitions(group_id: str, found: StatePartitions) -> CoordinatorRecord:
    """The record of a group's share partitions."""
    value = ShareGroupStatePartitionMetadataValue(
        initializing_topics=partition_infos(found.initializing),
        initialized_topics=partition_infos(found.initialized),
        deleting_topics=[
            ShareGroupStatePartitionMetadataValue.TopicInfo(topic_id=topic_id, topic_name=name)
            for topic_id, name in sorted(found.deleting.items())
        ],
    )
    return CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group_id=group_id), value)


def partition_infos(
    topics: Mapping[bytes, TopicState],
) -> list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo]:
    return [
        ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo(
            topic_id=topic_id, topic_name=topic.name, partitions=sorted(topic.partitions)
        )
        for topic_id, topic in sorted(topics.items())
    ]


def recorded_partitions(value: ShareGroupStatePartitionMetadataValue | None) -> StatePartitions:
    """The share partitions of a group, read from their record."""
    if value is None:
        return StatePartitions()
    initializing, initialized = (
        {one.topic_id: TopicState(one.topic_name, frozenset(one.partitions)) for one in infos}
        for infos in (value.initializing_topics, value.initialized_topics)
    )
    return StatePartitions(initializing, initialized, {one.topic_id: one.topic_name for one in value.deleting_topics})


def no_group(group_id: str, member_ids: Iterable[str]) -> list[CoordinatorRecord]:
    """The tombstones of a deleted group and all its members."""
    found = [record for member_id in member_ids for record in no_member(group_id, member_id)]
    found.append(CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    found.append(CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group_id=group_id), None))
    found.append(CoordinatorRecord(ShareGroupMetadataKey(group_id=group_id), None))
    return found
