"""The steps of a consumer group's member towards its target."""

from __future__ import annotations

from dataclasses import replace

from mockbroker.groups.consumer.group import ConsumerGroup
from mockbroker.groups.consumer.members import ConsumerMember, Holding
from mockbroker.groups.modern.members import Partitions
from mockbroker.groups.modern.reconciliation import ReconciliationStep


class ConsumerStep(ReconciliationStep[ConsumerMember]):
    """One member's next step: ``target`` are Partitions, ``owned`` too, or None."""

    group: ConsumerGroup
    target: Partitions

    def still_owns(self, pending: Holding) -> bool:
        return self.owned is None or not self.owned.isdisjoint(pending)

    def without_left_topics(self) -> ConsumerMember:
        member, subscribed = self.member, self._subscribed()
        left = {at: since for at, since in member.assigned.items() if at[0] not in subscribed}
        if not left:
            return member
        retained = {at: since for at, since in member.assigned.items() if at not in left}
        pending = {**member.pending_revocation, **left}
        if not self.still_owns(pending):
            return replace(member, previous_epoch=member.epoch, assigned=retained)
        return self.revoking(member.epoch, retained, pending)

    def approach(self, epoch: int) -> ConsumerMember:
        target, held, taken = self.target, self.member.assigned, self.group.held()
        if self.revokes_at_once:
            subscribed = self._subscribed()
            target = frozenset(at for at in target if at[0] in subscribed)
            taken.difference_update(self.member.pending_revocation)  # it is about to have revoked them
        retained = {at: since for at, since in held.items() if at in target}
        lost = {at: since for at, since in held.items() if at not in target}
        if lost and self.still_owns(lost):
            return self.revoking(epoch, retained, lost)
        coming = target.difference(held)
        free = dict.fromkeys(sorted(coming - taken), self.assignment_epoch)
        return self.assigned(retained | free, waits=len(free) < len(coming))

    def _subscribed(self) -> set[bytes]:
        return self.group.groups.topics.ids_of(self.group.topics_of(self.member))
