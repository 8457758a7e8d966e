"""Computes the target assignment of a Streams group, at once or after the initial rebalance delay.

Source: GroupMetadataManager.maybeUpdateStreamsTargetAssignment and computeDelayedTargetAssignment,
GroupConfig.validate, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mockbroker.groups.kind import GroupTimer
from mockbroker.state.configs.resource_rules import invalid
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.streams_groups.group import NO_TASKS, StreamsGroup
from mockbroker.streams_groups.members import StreamsMember
from mockbroker.streams_groups.sticky_assignor import AssignableMember, assign_tasks
from mockbroker.streams_groups.tasks import TaskSet
from mockbroker.streams_groups.topology import ConfiguredTopology, Status, StatusCode

if TYPE_CHECKING:
    from mockbroker.state.configs.effective import ClusterConfigs

ASSIGNOR, TAGS_CONFIG = "streams.assignor.name", "streams.rack.aware.assignment.tags"
STANDBYS, RACK_TAGS = "num.standby.replicas", "rack.aware.assignment.tags"  # names in records


def assignment_configs(group: StreamsGroup) -> dict[str, str]:
    """The effective configs of the assignor, as stored in records."""
    found = {STANDBYS: str(group.config("streams.num.standby.replicas"))}
    tags = group.config(TAGS_CONFIG)
    if tags:
        found[RACK_TAGS] = ",".join(tags)
    return found


def check_group_configs(configs: ClusterConfigs, values: Mapping[str, str]) -> None:
    """Raises ApiError: INVALID_CONFIG for a repeated rack tag or an unknown assignor."""
    tags = [one.strip() for one in values.get(TAGS_CONFIG, "").split(",")]
    if len(set(tags)) != len(tags):
        raise invalid(f"{TAGS_CONFIG}: expected each tag once, got {values[TAGS_CONFIG]!r}")
    known = configs.broker(None, "group.streams.assignors")
    if values.get(ASSIGNOR, known[0]).strip() not in known:
        raise invalid(f"{ASSIGNOR}: expected one of {', '.join(known)}, got {values[ASSIGNOR]!r}")


def new_targets(
    group: StreamsGroup,
    epoch: int,
    members: Mapping[str, StreamsMember],
    targets: Mapping[str, TaskSet],
    topology: ConfiguredTopology,
    assignor_configs: Mapping[str, str],
    written: list[CoordinatorRecord],
    statuses: list[Status],
    now_ms: int,
    *,
    keeps_target: bool,
) -> tuple[int, Mapping[str, TaskSet]]:
    """The target assignment by member and its epoch; computed again unless a delay or interval postpones it.

    Args:
        members, targets: of the group including this heartbeat.
        written, statuses: new records and statuses for the member are appended to these.
        keeps_target: the epoch was raised for members that have not reached their targets; targets do not change.
    """
    if group.has_timer(GroupTimer.INITIAL_REBALANCE, ""):
        statuses.append(delayed("Assignment delayed due to the configured initial rebalance delay."))
        return group.assignment_epoch, {}
    if group.assignment_epoch >= epoch:
        return group.assignment_epoch, targets
    if keeps_target and group.assignment_epoch >= group.epoch:
        written.append(group.target_epoch_record(epoch, group.assignment_timestamp_ms))
        return epoch, targets
    if not group.may_assign(now_ms):
        statuses.append(delayed("Assignment delayed due to the configured assignment interval."))
        return group.assignment_epoch, targets
    found = dict.fromkeys(members, NO_TASKS)
    if topology.is_ready:
        found = assign_tasks(
            topology.assignable,
            {
                member_id: AssignableMember(
                    member.process_id,
                    member.assigned.without_epochs.active,
                    member.assigned.standby,
                    group.task_offsets.get(member_id, {}),
                )
                for member_id, member in members.items()
            },
            int(assignor_configs[STANDBYS]),
        )
    written += group.target_records(epoch, found, targets, now_ms)
    return epoch, found


def assign_after_delay(group: StreamsGroup, now_ms: int) -> None:
    """Compute the target assignment after the initial rebalance delay; without members, nothing happens."""
    if not group.members or group.configured is None or group.epoch <= group.assignment_epoch:
        return
    written: list[CoordinatorRecord] = []
    new_targets(
        group,
        group.epoch,
        group.members,
        group.targets,
        group.configured,
        {STANDBYS: "0"} | group.assignment_configs,
        written,
        [],
        now_ms,
        keeps_target=False,
    )
    group.write(written)


def delayed(detail: str) -> Status:
    return Status(StatusCode.ASSIGNMENT_DELAYED, detail)
