"""Tasks of a Streams topology: a subtopology's id with the number of a partition.

Source: TasksTuple, TasksTupleWithEpochs, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

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
