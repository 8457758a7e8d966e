"""Tasks of a Streams topology: a subtopology's id with partition numbers.

Source: TasksTuple, TasksTupleWithEpochs, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Task = tuple[str, int]
Tasks = Mapping[str, frozenset[int]]
"""Partitions by subtopology."""
ActiveTasks = Mapping[str, Mapping[int, int]]
"""Partitions by subtopology, each with the epoch in which it was assigned."""
OwnedTasks = Iterable[Any]
"""Tasks of one role in a request: messages with ``subtopology_id`` and ``partitions``."""
NONE: Mapping[str, Any] = {}


class TaskSet(NamedTuple):
    """The target tasks of a member, by role."""

    active: Tasks = NONE
    standby: Tasks = NONE
    warmup: Tasks = NONE


class HeldTasks(NamedTuple):
    """The current tasks of a member, by role."""

    active: ActiveTasks = NONE
    standby: Tasks = NONE
    warmup: Tasks = NONE

    @property
    def without_epochs(self) -> TaskSet:
        active = {subtopology: frozenset(partitions) for subtopology, partitions in self.active.items()}
        return TaskSet(active, self.standby, self.warmup)


HOLDS_NOTHING = HeldTasks()


def tasks_of(messages: Iterable[Any]) -> Tasks:
    """The tasks in messages."""
    return {one.subtopology_id: frozenset(one.partitions) for one in messages}


def task_ids(kind: type[Any], tasks: Tasks | ActiveTasks, order: Iterable[str] | None = None) -> list[Any]:
    """Tasks as messages of this class, ordered by subtopology unless ``order`` is set."""
    names = sorted(tasks) if order is None else order
    return [kind(subtopology_id=name, partitions=sorted(tasks[name])) for name in names]


def any_of(tasks: TaskSet, others: TaskSet) -> bool:
    """True if both sets have a task of the same role in common.

    >>> any_of(TaskSet(active={"0": frozenset({1})}), TaskSet(standby={"0": frozenset({1})}))
    False
    """
    return any(
        partitions & theirs.get(subtopology, frozenset())
        for mine, theirs in zip(tasks, others, strict=True)
        for subtopology, partitions in mine.items()
    )


def holds_all(owned: OwnedTasks | None, held: Mapping[str, Iterable[int]]) -> bool:
    """True if all tasks that a member reports are assigned to it; False without a report."""
    if owned is None:
        return False
    return all(one.subtopology_id in held and set(one.partitions).issubset(held[one.subtopology_id]) for one in owned)
