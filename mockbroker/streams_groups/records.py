"""The records of a Streams group in ``__consumer_offsets``.

Source: StreamsCoordinatorRecordHelpers, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.groups.modern.records import GroupRecordTypes
from mockbroker.streams_groups.members import StreamsMember
from mockbroker.streams_groups.tasks import ActiveTasks, TaskSet, task_ids
from protocol.embedded.streams_group_log import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)

TYPES = GroupRecordTypes(
    group_key=StreamsGroupMetadataKey,
    group_value=StreamsGroupMetadataValue,
    member_key=StreamsGroupMemberMetadataKey,
    assignment_key=StreamsGroupCurrentMemberAssignmentKey,
    target_key=StreamsGroupTargetAssignmentMemberKey,
    target_value=StreamsGroupTargetAssignmentMemberValue,
    target_epoch_key=StreamsGroupTargetAssignmentMetadataKey,
    target_epoch_value=StreamsGroupTargetAssignmentMetadataValue,
)
target_epoch, no_member = TYPES.target_epoch, TYPES.no_member

HeldTaskIds = StreamsGroupCurrentMemberAssignmentValue.TaskIds
TargetTaskIds = StreamsGroupTargetAssignmentMemberValue.TaskIds
UNKNOWN_EPOCH = -1


@dataclass(slots=True, frozen=True)
class GroupMetadata:
    """The persisted fields of a group, except its epoch.

    Attributes:
        validated_topology_epoch: of the topology whose topics all exist; -1: not yet.
        assignment_configs: configs of the assignor that the last target was computed with.
        stored_description_epoch, failed_description_epoch: of the topology's description (KIP-1331), which is not
            supported.
    """

    metadata_hash: int = 0
    validated_topology_epoch: int = UNKNOWN_EPOCH
    assignment_configs: Mapping[str, str] = field(default_factory=dict)
    stored_description_epoch: int = UNKNOWN_EPOCH
    failed_description_epoch: int = UNKNOWN_EPOCH


def group_epoch(group_id: str, epoch: int, metadata: GroupMetadata) -> CoordinatorRecord:
    """The record of a group's epoch and metadata."""
    value = StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata.metadata_hash,
        validated_topology_epoch=metadata.validated_topology_epoch,
        last_assignment_configs=[
            StreamsGroupMetadataValue.LastAssignmentConfig(key=key, value=value)
            for key, value in sorted(metadata.assignment_configs.items())
        ],
        stored_description_topology_epoch=metadata.stored_description_epoch,
        failed_description_topology_epoch=metadata.failed_description_epoch,
    )
    return CoordinatorRecord(StreamsGroupMetadataKey(group_id=group_id), value)


def recorded_metadata(value: StreamsGroupMetadataValue) -> GroupMetadata:
    """The metadata of a group, read from its record."""
    return GroupMetadata(
        value.metadata_hash,
        value.validated_topology_epoch,
        {one.key: one.value for one in value.last_assignment_configs or ()},
        value.stored_description_topology_epoch,
        value.failed_description_topology_epoch,
    )


def topology(group_id: str, value: StreamsGroupTopologyValue) -> CoordinatorRecord:
    """The record of a group's topology."""
    return CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id), value)


def member_metadata(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    """The record of a member's metadata: client, process, topology epoch and tags."""
    value = StreamsGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        client_tags=[
            StreamsGroupMemberMetadataValue.KeyValue(key=key, value=value)
            for key, value in sorted(member.client_tags.items())
        ],
    )
    if member.endpoint is not None:
        host, port = member.endpoint
        value.user_endpoint = StreamsGroupMemberMetadataValue.Endpoint(host=host, port=port)
    return CoordinatorRecord(StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member.id), value)


def member_assignment(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    """The record of a member's epoch and tasks."""
    held, lost = member.assigned, member.pending_revocation
    value = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        active_tasks=with_epochs(held.active),
        standby_tasks=task_ids(HeldTaskIds, held.standby),
        warmup_tasks=task_ids(HeldTaskIds, held.warmup),
        active_tasks_pending_revocation=with_epochs(lost.active),
        standby_tasks_pending_revocation=task_ids(HeldTaskIds, lost.standby),
        warmup_tasks_pending_revocation=task_ids(HeldTaskIds, lost.warmup),
    )
    return CoordinatorRecord(StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.id), value)


def with_epochs(tasks: ActiveTasks) -> list[HeldTaskIds]:
    found = task_ids(HeldTaskIds, tasks)
    for one in found:
        one.assignment_epochs = [tasks[one.subtopology_id][number] for number in one.partitions]
    return found


def target(group_id: str, member_id: str, tasks: TaskSet) -> CoordinatorRecord:
    """The record of a member's target assignment."""
    active, standby, warmup = (task_ids(TargetTaskIds, of_role) for of_role in tasks)
    value = StreamsGroupTargetAssignmentMemberValue(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)
    return CoordinatorRecord(StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def no_group(group_id: str, member_ids: Iterable[str]) -> list[CoordinatorRecord]:
    """The tombstones of a deleted group and all its members."""
    found = [record for member_id in member_ids for record in no_member(group_id, member_id)]
    found.append(CoordinatorRecord(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    found.append(CoordinatorRecord(StreamsGroupMetadataKey(group_id=group_id), None))
    found.append(CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id), None))
    return found
