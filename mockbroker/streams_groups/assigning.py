"""Computes the target assignment of a Streams group, at once or after the initial rebalance delay.

Source: GroupMetadataManager.maybeUpdateStreamsTargetAssignment and computeDelayedTargetAssignment,
GroupConfig.validate, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mockbroker.state.configs.resource_rules import invalid
from mockbroker.streams_groups.group import NO_TASKS, StreamsGroup, StreamsMember, TaskSet
from mockbroker.streams_groups.sticky_assignor import assign_tasks
from mockbroker.streams_groups.topology import ConfiguredTopology

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


def computed_targets(
    group: StreamsGroup,
    members: Mapping[str, StreamsMember],
    topology: ConfiguredTopology,
    assignor_configs: Mapping[str, str],
) -> dict[str, TaskSet]:
    """The target tasks of each member: none until all topics of the topology exist."""
    if not topology.is_ready:
        return dict.fromkeys(members, NO_TASKS)
    subtopologies = topology.subtopologies or {}
    return assign_tasks(subtopologies, members, group.task_offsets, int(assignor_configs[STANDBYS]))


def assign_after_delay(group: StreamsGroup, now_ms: int) -> None:
    """Compute the target assignment after the initial rebalance delay; without members, nothing happens."""
    is_due = group.epoch > group.assignment_epoch and group.may_assign(now_ms)
    if group.members and group.configured is not None and is_due:
        configs = {STANDBYS: "0"} | group.assignment_configs
        targets = computed_targets(group, group.members, group.configured, configs)
        group.write(group.target_records(group.epoch, targets, group.targets, now_ms))
