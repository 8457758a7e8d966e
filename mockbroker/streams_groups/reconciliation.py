"""Moves a member towards its target: it first revokes tasks, then gets those that other processes have released.

Source: CurrentAssignmentBuilder and GroupMetadataManager.maybeReconcile, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mockbroker.state.errors import ApiError
from mockbroker.state.groups.modern.members import MemberState
from mockbroker.streams_groups.group import StreamsGroup
from mockbroker.streams_groups.members import StreamsMember
from mockbroker.streams_groups.tasks import ActiveTasks, HeldTasks, Task, Tasks, TaskSet, any_of
from protocol.error_codes import ErrorCode

TaskNumbers = set[Task]


def reconcile(
    group: StreamsGroup, member: StreamsMember, assignment_epoch: int, target: TaskSet, owned: TaskSet | None
) -> StreamsMember:
    """The member one step closer to its target, or unchanged.

    Args:
        group: the group before this heartbeat.
        owned: the tasks that the member reports; None: not reported, so it may still own all.

    Raises ApiError: FENCED_MEMBER_EPOCH for a member in an unknown state.
    """
    if member.is_reconciled(assignment_epoch):
        return member
    step = _StreamsStep(group, member, assignment_epoch, target, owned)
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if step.still_owns(member.pending_revocation):
            return member
        return step.approach(member.epoch + 1)
    if member.state is MemberState.UNKNOWN:
        if owned is None or any(owned):
            problem = "The streams group member is in a unknown state."
            problem += " The member must abandon all its tasks and rejoin."
            raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, problem)
        return step.approach(assignment_epoch)
    return step.approach(member.epoch)


class _Role:
    """The tasks of one role that a member keeps, loses and gets in one step."""

    def __init__(self, held: TaskNumbers, wanted: TaskNumbers, is_unreleased: Callable[[Task], bool]) -> None:
        self.held = held
        self.kept = held & wanted
        self.lost = held - wanted
        coming = wanted - held
        self.coming = {task for task in coming if not is_unreleased(task)}
        self.is_waiting = len(self.coming) < len(coming)

    def grant(self, task: Task) -> bool:
        """Move a task from coming to kept; returns False if it was not coming."""
        if task not in self.coming:
            return False
        self.coming.discard(task)
        self.kept.add(task)
        return True


class _StreamsStep:
    """The next step of one member."""

    def __init__(
        self,
        group: StreamsGroup,
        member: StreamsMember,
        assignment_epoch: int,
        target: TaskSet,
        owned: TaskSet | None,
    ) -> None:
        self.group, self.member, self.owned = group, member, owned
        self.assignment_epoch, self.target = assignment_epoch, target

    def still_owns(self, given_up: HeldTasks) -> bool:
        """True if the member may still own some of the revoked tasks, by its own report."""
        return self.owned is None or any_of(self.owned, given_up.without_epochs)

    def approach(self, epoch: int) -> StreamsMember:
        """Revoke tasks that are not in the target; without any to revoke, take the target's released tasks."""
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
        lost = HeldTasks(self._with_epochs(active.lost), grouped(standby.lost), grouped(warmup.lost))
        revokes = not lost.are_none and self.still_owns(lost)
        for role in (standby, warmup):
            role.kept |= {task for task in role.held & promoted if revokes or task not in active.coming}
        if revokes:
            return replace(
                self.member,
                state=MemberState.UNREVOKED_PARTITIONS,
                epoch=epoch,
                previous_epoch=self.member.epoch,
                assigned=HeldTasks(self._with_epochs(active.kept), grouped(standby.kept), grouped(warmup.kept)),
                pending_revocation=lost,
            )
        waits = active.is_waiting or standby.is_waiting or warmup.is_waiting
        return replace(
            self.member,
            state=MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE,
            epoch=self.assignment_epoch,
            previous_epoch=self.member.epoch,
            assigned=HeldTasks(
                self._with_epochs(active.kept | active.coming),
                grouped(standby.kept | standby.coming),
                grouped(warmup.kept | warmup.coming),
            ),
            pending_revocation=HeldTasks(),
        )

    def _with_epochs(self, tasks: TaskNumbers) -> ActiveTasks:
        """Tasks with the epochs in which the member got them; new tasks get the target's epoch."""
        found: dict[str, dict[int, int]] = {}
        for name, number in sorted(tasks):
            given = self.member.assigned.active.get(name, {}).get(number, self.assignment_epoch)
            found.setdefault(name, {})[number] = given
        return found

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


def grouped(tasks: TaskNumbers) -> Tasks:
    found: dict[str, set[int]] = {}
    for name, number in tasks:
        found.setdefault(name, set()).add(number)
    return {name: frozenset(partitions) for name, partitions in sorted(found.items())}
