"""Reconciles a member with its target: it first revokes partitions, then gets those that no other member holds.

Source: CurrentAssignmentBuilder and GroupMetadataManager.maybeReconcile, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mockbroker.state.errors import ApiError
from mockbroker.state.groups.consumer.group import ConsumerGroup
from mockbroker.state.groups.consumer.members import ConsumerMember, Holding
from mockbroker.state.groups.modern.members import NO_HOLDER, MemberState, Partitions
from protocol.error_codes import ErrorCode

Owned = Iterable[tuple[bytes, Iterable[int]]]
"""The partitions that a member claims to hold, by topic id."""


def reconcile(
    group: ConsumerGroup,
    member: ConsumerMember,
    assignment_epoch: int,
    target: Partitions,
    owned: Owned | None,
    *,
    subscription_changed: bool,
) -> ConsumerMember:
    """The member one step nearer to its target, or unchanged.

    Args:
        group: the group before this heartbeat.
        owned: the partitions that the member holds; None: not reported, so it may still hold all of them.

    Raises ApiError: FENCED_MEMBER_EPOCH, for a member in an unknown state.
    """
    if not subscription_changed and member.is_reconciled(assignment_epoch):
        return member
    step = _ConsumerStep(group, member, assignment_epoch, target, owned)
    at_once = group.groups.rules.unsubscribing_counts_at_once
    subscription_changed = subscription_changed and at_once
    if member.state is MemberState.STABLE and member.epoch == assignment_epoch:
        return step.drop_left_topics() if subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS and step.still_owns(member.pending_revocation):
        return step.drop_left_topics() if subscription_changed else member
    if member.state is MemberState.UNKNOWN:
        if owned is None or list(owned):
            problem = "The consumer group member is in a unknown state."
            problem += " The member must abandon all its partitions and rejoin."
            raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, problem)
        return step.approach(assignment_epoch)
    if member.state is MemberState.UNREVOKED_PARTITIONS and not at_once:
        return step.approach(member.epoch + 1)
    return step.approach(member.epoch)


class _ConsumerStep:
    """One member's next step."""

    def __init__(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        assignment_epoch: int,
        target: Partitions,
        owned: Owned | None,
    ) -> None:
        self.group, self.member = group, member
        self.assignment_epoch, self.target = assignment_epoch, target
        self.owned = None if owned is None else list(owned)
        self.at_once = group.groups.rules.unsubscribing_counts_at_once
        self.subscribed = group.groups.topics.ids_of(group.topics_of(member))

    def still_owns(self, given_up: Holding) -> bool:
        """True if the member, by its own report, may still hold a partition that it has to revoke."""
        if self.owned is None:
            return True
        return any(
            partition in given_up[topic_id]
            for topic_id, partitions in self.owned
            if topic_id in given_up
            for partition in partitions
        )

    def drop_left_topics(self) -> ConsumerMember:
        """Within the epoch, revoke the partitions of topics that the member has unsubscribed from."""
        member = self.member
        left = {topic_id: held for topic_id, held in member.assigned.items() if topic_id not in self.subscribed}
        if not left:
            return member
        kept = {topic_id: held for topic_id, held in member.assigned.items() if topic_id in self.subscribed}
        pending = dict(member.pending_revocation)
        for topic_id, held in left.items():
            pending[topic_id] = {**pending.get(topic_id, {}), **held}
        if not self.still_owns(pending):
            return replace(member, previous_epoch=member.epoch, assigned=kept)
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_epoch=member.epoch,
            assigned=kept,
            pending_revocation=pending,
        )

    def approach(self, epoch: int) -> ConsumerMember:
        """Revoke partitions outside the target; if there are none, assign the free partitions of the target."""
        member = self.member
        assigned: dict[bytes, dict[int, int]] = {}
        revoked: dict[bytes, dict[int, int]] = {}
        free: dict[bytes, list[int]] = {}
        unreleased = False
        for topic_id in sorted(self.target.keys() | member.assigned.keys()):
            reads = topic_id in self.subscribed or not self.at_once
            wanted = self.target.get(topic_id, frozenset()) if reads else frozenset()
            held = member.assigned.get(topic_id, {})
            if kept := {partition: given for partition, given in held.items() if partition in wanted}:
                assigned[topic_id] = kept
            if lost := {partition: given for partition, given in held.items() if partition not in wanted}:
                revoked[topic_id] = lost
            for partition in sorted(wanted.difference(held)):
                if self._is_free(topic_id, partition):
                    free.setdefault(topic_id, []).append(partition)
                else:
                    unreleased = True
        if revoked and self.still_owns(revoked):
            return replace(
                member,
                state=MemberState.UNREVOKED_PARTITIONS,
                epoch=epoch,
                previous_epoch=member.epoch,
                assigned=assigned,
                pending_revocation=revoked,
            )
        for topic_id, partitions in free.items():
            assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions, self.assignment_epoch))
        return replace(
            member,
            state=MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE,
            epoch=self.assignment_epoch,
            previous_epoch=member.epoch,
            assigned=assigned,
            pending_revocation={},
        )

    def _is_free(self, topic_id: bytes, partition: int) -> bool:
        """True if no member holds a partition, or this member is about to have revoked it."""
        if self.group.holder_epoch(topic_id, partition) == NO_HOLDER:
            return True
        return self.at_once and partition in self.member.pending_revocation.get(topic_id, {})
