"""A member of a Streams group: one thread of an application, in one epoch.

Source: StreamsGroupMember, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from mockbroker.groups.modern.members import (
    STATIC_LEAVE_EPOCH,
    MemberState,
    ModernMember,
    parts_of,
    with_epochs,
)
from mockbroker.streams_groups.tasks import HOLDS_NOTHING, ROLES, HeldTasks, tasks_as

Endpoint = tuple[str, int]
"""Host and port of a member for interactive queries."""


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
        assigned, pending = (tasks_as(kind.TaskIds, held) for held in (self.assigned, self.pending_revocation))
        return self.message(kind, **assigned, **{f"{role}_pending_revocation": pending[role] for role in ROLES})

    def with_assignment(self, value: Any) -> Self:
        assigned, pending = (
            HeldTasks(
                with_epochs(getattr(value, f"active_tasks{suffix}"), value.member_epoch),
                parts_of(getattr(value, f"standby_tasks{suffix}")),
                parts_of(getattr(value, f"warmup_tasks{suffix}")),
            )
            for suffix in ("", "_pending_revocation")
        )
        return self.updated(value, state=MemberState(value.state), assigned=assigned, pending_revocation=pending)

    def absent(self) -> Self:
        assigned = self.assigned._replace(active=dict.fromkeys(self.assigned.active, 0))
        return replace(self, epoch=STATIC_LEAVE_EPOCH, pending_revocation=HOLDS_NOTHING, assigned=assigned)
