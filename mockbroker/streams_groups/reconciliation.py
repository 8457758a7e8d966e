"""The steps of a Streams group's member towards its target: it gets tasks that other processes have released."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from mockbroker.groups.modern.members import grouped
from mockbroker.groups.modern.reconciliation import ReconciliationStep
from mockbroker.streams_groups.group import StreamsGroup
from mockbroker.streams_groups.members import StreamsMember
from mockbroker.streams_groups.tasks import ActiveTasks, HeldTasks, Task, Tasks, TaskSet, any_of

TaskNumbers = set[Task]


class _Role:
    """The tasks of one role that a member retains, loses and gets in one step."""

    def __init__(self, held: TaskNumbers, target: TaskNumbers, is_unreleased: Callable[[Task], bool]) -> None:
        self.held = held
        self.retained = held & target
        self.lost = held - target
        coming = target - held
        self.coming = {task for task in coming if not is_unreleased(task)}
        self.is_waiting = len(self.coming) < len(coming)

    def grant(self, task: Task) -> bool:
        """Move a task from coming to retained; returns False if it was not coming."""
        if task not in self.coming:
            return False
        self.coming.discard(task)
        self.retained.add(task)
        return True


class StreamsStep(ReconciliationStep[StreamsMember]):
    """One member's next step: ``target`` is a TaskSet, ``owned`` one too, or None."""

    group: StreamsGroup
    target: TaskSet
    noun: ClassVar[str] = "tasks"
    nothing: ClassVar[HeldTasks] = HeldTasks()

    def still_owns(self, pending: HeldTasks) -> bool:
        return self.owned is None or any_of(self.owned, pending.without_epochs)

    def approach(self, epoch: int) -> StreamsMember:
        held = self.member.assigned
        active = _Role(numbers(held.active), numbers(self.target.active), self._is_active_unreleased)
        standby = _Role(numbers(held.standby), numbers(self.target.standby), self._is_standby_unreleased)
        warmup = _Role(numbers(held.warmup), numbers(self.target.warmup), self._is_warmup_unreleased)
        for task in active.held:
            standby.grant(task)
        for outgoing, incoming in ((standby, warmup), (warmup, standby)):
            for task in outgoing.held:
                if incoming.grant(task):
                    outgoing.lost.discard(task)
        promoted = numbers(self.target.active)
        standby.lost -= promoted
        warmup.lost -= promoted
        lost = self._held(active.lost, standby.lost, warmup.lost)
        revokes = any(lost) and self.still_owns(lost)
        for role in (standby, warmup):
            role.retained |= {task for task in role.held & promoted if revokes or task not in active.coming}
        if revokes:
            return self.revoking(epoch, self._held(active.retained, standby.retained, warmup.retained), lost)
        roles = (active, standby, warmup)
        assigned = self._held(*(role.retained | role.coming for role in roles))
        return self.assigned(assigned, waits=any(role.is_waiting for role in roles))

    def _held(self, active: TaskNumbers, standby: TaskNumbers, warmup: TaskNumbers) -> HeldTasks:
        """Tasks by role. Active ones have the epochs in which the member got them; new ones get the target's epoch."""
        with_epochs: dict[str, dict[int, int]] = {}
        for name, number in sorted(active):
            since = self.member.assigned.active.get(name, {}).get(number, self.assignment_epoch)
            with_epochs.setdefault(name, {})[number] = since
        return HeldTasks(with_epochs, grouped(sorted(standby)), grouped(sorted(warmup)))

    def _is_active_unreleased(self, task: Task) -> bool:
        held = self.member.assigned
        return (
            task in self.group.active_holders
            or self._another_here(self.group.standby_holders, held.standby, task)
            or self._another_here(self.group.warmup_holders, held.warmup, task)
        )

    def _is_standby_unreleased(self, task: Task) -> bool:
        held = self.member.assigned
        runs_here = self.group.active_holders.get(task) == self.member.process_id
        return (
            (runs_here and task[1] not in held.active.get(task[0], {}))
            or self.member.process_id in self.group.standby_holders.get(task, ())
            or self._another_here(self.group.warmup_holders, held.warmup, task)
        )

    def _is_warmup_unreleased(self, task: Task) -> bool:
        return (
            self.group.active_holders.get(task) == self.member.process_id
            or self._another_here(self.group.standby_holders, self.member.assigned.standby, task)
            or self.member.process_id in self.group.warmup_holders.get(task, ())
        )

    def _another_here(self, holders: Mapping[Task, set[str]], own: Tasks, task: Task) -> bool:
        """True if another member of the same process holds the task in a role."""
        return self.member.process_id in holders.get(task, ()) and task[1] not in own.get(task[0], frozenset())


def numbers(tasks: Tasks | ActiveTasks) -> TaskNumbers:
    return {(name, number) for name, partitions in tasks.items() for number in partitions}
