"""A member of a Streams group: one thread of an application, in one epoch.

Source: StreamsGroupMember, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from mockbroker.groups.modern.members import STATIC_LEAVE_EPOCH, MemberState, ModernMember, with_epochs
from mockbroker.streams_groups.tasks import HOLDS_NOTHING, HeldTasks, task_ids, tasks_of

Endpoint = tuple[str, int]
"""Host and port of a member for interactive queries."""
ROLES = ("active_tasks", "standby_tasks", "warmup_tasks")


@dataclass(slots=True, frozen=True, kw_only=True)
class StreamsMember(ModernMember):
    """``assigned`` are the tasks of the member, ``pending_revocation`` those that it must revoke first.

    Members with one ``process_id`` are threads of one process; a task and its standby go to different processes.
    """

    previous_epoch: int = 0
    topology_epoch: int = -1
    process_id: str = ""
    endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)
    assigned: HeldTasks = HOLDS_NOTHING
    pending_revocation: HeldTasks = HOLDS_NOTHING

    def endpoint_as(self, kind: type[Any]) -> Any | None:
        """The endpoint as a message of this class."""
        return None if self.endpoint is None else kind(host=self.endpoint[0], port=self.endpoint[1])

    def metadata(self, kind: type[Any]) -> Any:
        tags = [kind.KeyValue(key=key, value=value) for key, value in sorted(self.client_tags.items())]
        return self.message(kind, client_tags=tags, user_endpoint=self.endpoint_as(kind.Endpoint))

    def with_metadata(self, value: Any) -> Self:
        endpoint = value.user_endpoint
        return self.updated(
            value,
            endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
            client_tags={tag.key: tag.value for tag in value.client_tags},
        )

    def assignment(self, kind: type[Any]) -> Any:
        return self.message(
            kind,
            **recorded(kind.TaskIds, self.assigned, ""),
            **recorded(kind.TaskIds, self.pending_revocation, "_pending_revocation"),
        )

    def with_assignment(self, value: Any) -> Self:
        assigned, pending = (
            HeldTasks(
                {
                    one.subtopology_id: with_epochs(one, value.member_epoch)
                    for one in getattr(value, f"active_tasks{suffix}")
                },
                tasks_of(getattr(value, f"standby_tasks{suffix}")),
                tasks_of(getattr(value, f"warmup_tasks{suffix}")),
            )
            for suffix in ("", "_pending_revocation")
        )
        return self.updated(value, state=MemberState(value.state), assigned=assigned, pending_revocation=pending)

    def absent(self) -> Self:
        active = {name: dict.fromkeys(numbers, 0) for name, numbers in self.assigned.active.items()}
        return replace(
            self,
            epoch=STATIC_LEAVE_EPOCH,
            pending_revocation=HOLDS_NOTHING,
            assigned=self.assigned._replace(active=active),
        )


def recorded(kind: type[Any], held: HeldTasks, suffix: str) -> dict[str, list[Any]]:
    """The fields of a record with a member's tasks of each role; active ones have the epochs of their assignment."""
    active = task_ids(kind, held.active)
    for one in active:
        one.assignment_epochs = [held.active[one.subtopology_id][number] for number in one.partitions]
    found = (active, task_ids(kind, held.standby), task_ids(kind, held.warmup))
    return {f"{role}{suffix}": tasks for role, tasks in zip(ROLES, found, strict=True)}
