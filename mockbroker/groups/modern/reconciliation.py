"""Reconciles a member with its target: it first revokes partitions or tasks, then gets those that are free.

Source: CurrentAssignmentBuilder of consumer and of Streams groups, GroupMetadataManager.maybeReconcile, Apache Kafka
4.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic

from mockbroker.groups.modern.group import ModernGroup
from mockbroker.groups.modern.members import MemberState, SomeMember
from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode


@dataclass
class ReconciliationStep(Generic[SomeMember]):
    """One member's next step.

    Args:
        group: the group before this heartbeat.
        owned: what the member reports that it holds; None: not reported, so it may still hold all of it.
        revokes_at_once: a member revokes the partitions of topics that it leaves within its epoch, and can get
            partitions again that it has just revoked; otherwise its epoch advances as it revokes.
    """

    noun: ClassVar[str] = "partitions"
    nothing: ClassVar[Any] = {}
    group: ModernGroup[SomeMember]
    member: SomeMember
    assignment_epoch: int
    target: Any
    owned: Any
    revokes_at_once: bool = False

    def reconciled(self, *, subscription_changed: bool = False) -> SomeMember:
        """The member one step nearer to its target, or unchanged.

        Raises ApiError: FENCED_MEMBER_EPOCH, for a member in an unknown state.
        """
        member, state = self.member, self.member.state
        has_revoked = state is MemberState.UNREVOKED_PARTITIONS and not self.still_owns(member.pending_revocation)
        if member.is_reconciled(self.assignment_epoch) or (
            state is MemberState.UNREVOKED_PARTITIONS and not has_revoked
        ):
            return self.without_left_topics() if subscription_changed and self.revokes_at_once else member
        if state is MemberState.UNKNOWN:
            if self.owned is None or any(self.owned):
                problem = f"The {self.group.kind} group member is in a unknown state."
                problem += f" The member must abandon all its {self.noun} and rejoin."
                raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, problem)
            return self.approach(self.assignment_epoch)
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
