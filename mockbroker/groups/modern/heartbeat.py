"""The parts of heartbeats that members of all kinds have in common, and a member's steps towards its target.

In a step a member first revokes partitions or tasks, then gets those that are free.

Source: GroupMetadataManager, GroupCoordinatorService, CurrentAssignmentBuilder of consumer and of Streams groups,
Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic

from mockbroker.groups.modern.group import ModernGroup
from mockbroker.groups.modern.members import JOIN_EPOCH, STATIC_LEAVE_EPOCH, MemberState, SomeMember
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError, invalid_request
from protocol.error_codes import ErrorCode


class MemberUpdate(Generic[SomeMember]):
    """The effect of one request on a member and its group: computed step by step, then written.

    A rejected request changes nothing. ``replaced`` is the static member whose place the member takes, if any.
    """

    group: ModernGroup[SomeMember]

    def __init__(self, group: ModernGroup[SomeMember], now_ms: int, records: Iterable[CoordinatorRecord] = ()) -> None:
        self.group, self.now_ms, self.records = group, now_ms, list(records)
        self.replaced: SomeMember | None = None
        self.has_moved = False

    def member(
        self, member_id: str, instance_id: str | None, epoch: int, holds: Callable[[SomeMember], bool]
    ) -> SomeMember:
        """The member before the request, a new one if it joins.

        Args:
            holds: returns True if the member has all that it claims to own, so that its previous epoch is valid too.

        Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH; UNRELEASED_INSTANCE_ID while the
            static member is in the group.
        """
        group = self.group
        if epoch == JOIN_EPOCH:
            existing = group.static_member(instance_id)
            if existing is None:
                return group.member_or_new(member_id)
            if not existing.is_classic and existing.epoch != STATIC_LEAVE_EPOCH:
                problem = (
                    f"Static member {member_id} with instance id {instance_id} cannot join the group because the"
                    f" instance id is owned by {existing.id} member."
                )
                raise ApiError(ErrorCode.UNRELEASED_INSTANCE_ID, problem)
            return self.replacing(existing, member_id)
        member = group.check_member(member_id, instance_id)
        if epoch == member.epoch or (epoch < member.epoch and epoch == member.previous_epoch and holds(member)):
            return member
        size = "greater" if epoch > member.epoch else "smaller"
        problem = (
            f"The {group.kind} group member has a {size} member epoch ({epoch}) than the one known by the group"
            f" coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
        )
        raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, problem)

    def replacing(self, existing: SomeMember, member_id: str) -> SomeMember:
        """A member that takes the place of a static one: it has another id and the same state."""
        self.replaced, group = existing, self.group
        member = replace(existing, id=member_id, epoch=JOIN_EPOCH, previous_epoch=0)
        self.records += [*group.no_member(existing.id), *group.member_records(member, group.target_of(existing.id))]
        return member

    def members_and_targets(self, after: SomeMember) -> tuple[dict[str, SomeMember], dict[str, Any]]:
        """The group's members and targets with this member, which has the target of the one that it replaces."""
        members, targets = dict(self.group.members), dict(self.group.targets)
        if self.replaced is not None:
            members.pop(self.replaced.id, None)
            if self.replaced.id in targets:
                targets[after.id] = targets.pop(self.replaced.id)
        members[after.id] = after
        return members, targets

    def assign(self, after: SomeMember, epoch: int, compute: Callable[..., Mapping[str, Any]]) -> tuple[int, Any]:
        """The epoch of the effective target, and the member's part of it; computed again when due.

        Args:
            compute: returns the targets of members, from members and current targets by member id.
        """
        group = self.group
        if group.assignment_epoch >= epoch or not group.may_assign(self.now_ms):
            return group.assignment_epoch, group.target_of((self.replaced or after).id)
        members, old_targets = self.members_and_targets(after)
        targets = compute(members, old_targets)
        self.records += group.target_records(epoch, targets, old_targets, self.now_ms)
        return epoch, targets[after.id]

    def moved(self, before: SomeMember, after: SomeMember) -> SomeMember:
        """The member after a step towards its target."""
        if after != before:
            self.records.append(self.group.assignment_record(after))
            self.has_moved = True
        return after

    def write(self, after: SomeMember, session_timeout_ms: int | None = None) -> None:
        """Register the group, write all records, and extend the member's session."""
        self.group.groups.register(self.group)
        if self.replaced is not None:
            self.group.cancel_timers_of(self.replaced.id)
        self.group.write(self.records)
        self.group.extend_session(after.id, self.now_ms, session_timeout_ms)
        if self.has_moved and not after.is_classic:
            self.group.schedule_revocation(after, self.now_ms)


def check_filled(request: Any, *names: str) -> None:
    """Raises ApiError: INVALID_REQUEST, for a text field that is empty or blank; None is accepted."""
    for name in names:
        value = getattr(request, name)
        if value is not None and not value.strip():
            raise invalid_request(f"{name.title().replace('_', '')} can't be empty.")


def check_epoch(request: Any, lowest: int, problem: str = "MemberEpoch is invalid.") -> None:
    """Raises ApiError: INVALID_REQUEST, for an epoch that is too low, or requires an instance id that is missing."""
    if request.member_epoch < lowest:
        raise invalid_request(problem)
    if request.member_epoch < JOIN_EPOCH - 1 and request.instance_id is None:
        raise invalid_request("InstanceId can't be null.")


@dataclass
class ReconciliationStep(Generic[SomeMember]):
    """One member's next step.

    Args:
        group: the group before this heartbeat.
        owned: what the member reports that it holds; None: not reported, so it may still hold all of it.
        revokes_at_once: a member revokes the partitions of topics that it leaves within its epoch, and can get
            partitions again that it has just revoked; otherwise its epoch advances as it revokes.
    """

    nothing: ClassVar[Any] = {}
    group: ModernGroup[SomeMember]
    member: SomeMember
    assignment_epoch: int
    target: Any
    owned: Any
    revokes_at_once: bool = False

    def reconciled(self, *, subscription_changed: bool = False) -> SomeMember:
        """The member one step nearer to its target, or unchanged."""
        member, state = self.member, self.member.state
        has_revoked = state is MemberState.UNREVOKED_PARTITIONS and not self.still_owns(member.pending_revocation)
        if member.is_reconciled(self.assignment_epoch) or (
            state is MemberState.UNREVOKED_PARTITIONS and not has_revoked
        ):
            return self.without_left_topics() if subscription_changed and self.revokes_at_once else member
        return self.approach(member.epoch + 1 if has_revoked and not self.revokes_at_once else member.epoch)

    def still_owns(self, pending: Any) -> bool:
        """True if the member, by its own report, may still hold some of what it has to revoke."""
        raise NotImplementedError

    def without_left_topics(self) -> SomeMember:
        """The member without what it holds of topics that it has unsubscribed from, within its epoch."""
        raise NotImplementedError

    def approach(self, epoch: int) -> SomeMember:
        """Revoke what is not in the target; if there is nothing to revoke, assign what is free."""
        raise NotImplementedError

    def revoking(self, epoch: int, assigned: Any, pending: Any) -> SomeMember:
        """The member in an epoch in which it has to revoke something."""
        return replace(
            self.member,
            state=MemberState.UNREVOKED_PARTITIONS,
            epoch=epoch,
            previous_epoch=self.member.epoch,
            assigned=assigned,
            pending_revocation=pending,
        )

    def assigned(self, assigned: Any, *, waits: bool) -> SomeMember:
        """The member in the target's epoch; it may wait for something that other members have to revoke."""
        return replace(
            self.member,
            state=MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE,
            epoch=self.assignment_epoch,
            previous_epoch=self.member.epoch,
            assigned=assigned,
            pending_revocation=self.nothing,
        )
