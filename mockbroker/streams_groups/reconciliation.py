"""The steps of a Streams group's member towards its target: it gets tasks that other processes have released."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from mockbroker.groups.modern.heartbeat import ReconciliationStep
from mockbroker.streams_groups.group import HeldTasks, StreamsGroup, StreamsMember, Task, TaskSet

TaskNumbers = set[Task]


class _Role:
    """The tasks of one role that a member retains, loses and gets in one step, except those that are still taken."""

    def __init__(self, held: Collection[Task], target: Collection[Task], taken: TaskNumbers) -> None:
        self.held = set(held)
        self.retained = self.held.intersection(target)
        self.lost = self.held.difference(target)
        coming = set(target) - self.held
        self.coming = coming - taken
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
    nothing: ClassVar[HeldTasks] = HeldTasks()

    def still_owns(self, pending: HeldTasks) -> bool:
        if self.owned is None:
            return True
        return any(not owned.isdisjoint(tasks) for owned, tasks in zip(self.owned, pending, strict=True))

    def approach(self, epoch: int) -> StreamsMember:
        roles = active, standby, warmup = self._roles()
        for task in active.held:
            standby.grant(task)
        for outgoing, incoming in ((standby, warmup), (warmup, standby)):
            for task in outgoing.held:
                if incoming.grant(task):
                    outgoing.lost.discard(task)
        promoted = self.target.active
        standby.lost -= promoted
        warmup.lost -= promoted
        lost = self._held(*(role.lost for role in roles))
        revokes = any(lost) and self.still_owns(lost)
        for role in (standby, warmup):
            role.retained |= {task for task in role.held & promoted if revokes or task not in active.coming}
        if revokes:
            return self.revoking(epoch, self._held(*(role.retained for role in roles)), lost)
        assigned = self._held(*(role.retained | role.coming for role in roles))
        return self.assigned(assigned, waits=any(role.is_waiting for role in roles))

    def _roles(self) -> tuple[_Role, _Role, _Role]:
        """The member's tasks by role. A task waits for another process that runs it, and for members of its process."""
        own, target = self.member.assigned, self.target
        running: TaskNumbers = set()  # in any process
        active: TaskNumbers = set()  # in the member's process, as the others
        standby: TaskNumbers = set()
        warmup: TaskNumbers = set()
        for member in self.group.members.values():
            for held in (member.assigned, member.pending_revocation):
                running.update(held.active)
                if member.process_id == self.member.process_id:
                    active.update(held.active)
                    standby |= held.standby
                    warmup |= held.warmup
        others_standby, others_warmup = standby - own.standby, warmup - own.warmup
        return (
            _Role(own.active, target.active, running | others_standby | others_warmup),
            _Role(own.standby, target.standby, active.difference(own.active) | standby | others_warmup),
            _Role(own.warmup, target.warmup, active | others_standby | warmup),
        )

    def _held(self, active: TaskNumbers, standby: TaskNumbers, warmup: TaskNumbers) -> HeldTasks:
        """Tasks by role. Active ones have the epochs in which the member got them; new ones get the target's epoch."""
        before = self.member.assigned.active
        with_epochs = {task: before.get(task, self.assignment_epoch) for task in active}
        return HeldTasks(with_epochs, frozenset(standby), frozenset(warmup))
