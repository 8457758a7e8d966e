"""A member of a Streams group: one thread of an application, in one epoch.

Source: StreamsGroupMember, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from mockbroker.state.groups.modern.members import MemberState, ModernMember
from mockbroker.streams_groups.tasks import HOLDS_NOTHING, ActiveTasks, HeldTasks, tasks_of
from protocol.embedded.streams_group_log import (
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataValue,
)

if TYPE_CHECKING:
    RecordedTasks = StreamsGroupCurrentMemberAssignmentValue.TaskIds

Endpoint = tuple[str, int]
"""Host and port of a member for interactive queries."""


@dataclass(slots=True, frozen=True, kw_only=True)
class StreamsMember(ModernMember):
    """``assigned`` are the tasks of the member, ``pending_revocation`` those that it must revoke first.

    Members with one ``process_id`` are threads of one process; a task and its standby go to different processes.
    """

    previous_epoch: int = 0
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)
    assigned: HeldTasks = HOLDS_NOTHING
    pending_revocation: HeldTasks = HOLDS_NOTHING

    def with_metadata(self, value: StreamsGroupMemberMetadataValue) -> Self:
        endpoint = value.user_endpoint
        return replace(
            self,
            instance_id=value.instance_id,
            rack=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            topology_epoch=value.topology_epoch,
            process_id=value.process_id,
            endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
            client_tags={tag.key: tag.value for tag in value.client_tags},
        )

    def with_assignment(self, value: StreamsGroupCurrentMemberAssignmentValue) -> Self:
        return replace(
            self,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState(value.state),
            assigned=HeldTasks(
                active_tasks_of(value.active_tasks, value.member_epoch),
                tasks_of(value.standby_tasks),
                tasks_of(value.warmup_tasks),
            ),
            pending_revocation=HeldTasks(
                active_tasks_of(value.active_tasks_pending_revocation, value.member_epoch),
                tasks_of(value.standby_tasks_pending_revocation),
                tasks_of(value.warmup_tasks_pending_revocation),
            ),
        )

    def without_assignment(self) -> Self:
        return replace(self, epoch=-1, previous_epoch=-1, assigned=HOLDS_NOTHING, pending_revocation=HOLDS_NOTHING)


def active_tasks_of(recorded: Iterable[RecordedTasks], epoch: int) -> ActiveTasks:
    """The tasks of a record; those without an epoch get the member's."""
    found: dict[str, dict[int, int]] = {}
    for one in recorded:
        epochs = one.assignment_epochs
        if epochs is None or len(epochs) != len(one.partitions):
            epochs = [epoch] * len(one.partitions)
        found[one.subtopology_id] = dict(zip(one.partitions, epochs, strict=True))
    return found
