"""Tasks of a Streams topology: a subtopology's id with the number of a partition.

Source: TasksTuple, TasksTupleWithEpochs, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mockbroker.groups.modern.members import messages_of

Task = tuple[str, int]
Tasks = frozenset[Task]
ActiveTasks = Mapping[Task, int]
"""Tasks with the epoch in which each was assigned."""


class TaskSet(NamedTuple):
    """The target tasks of a member, by role."""

    active: Tasks = frozenset()
    standby: Tasks = frozenset()
    warmup: Tasks = frozenset()


class HeldTasks(NamedTuple):
    """The current tasks of a member, by role."""

    active: ActiveTasks = MappingProxyType({})
    standby: Tasks = frozenset()
    warmup: Tasks = frozenset()

    @property
    def without_epochs(self) -> TaskSet:
        return TaskSet(frozenset(self.active), self.standby, self.warmup)


HOLDS_NOTHING = HeldTasks()
ROLES = ("active_tasks", "standby_tasks", "warmup_tasks")
"""The names of fields in messages."""


def tasks_as(kind: type[Any], tasks: TaskSet | HeldTasks, **others: Any) -> dict[str, list[Any]]:
    """The fields of a message with tasks of each role, as messages of this class."""
    return {role: messages_of(kind, of_role, **others) for role, of_role in zip(ROLES, tasks, strict=True)}
