"""The steps of a consumer group's member towards its target."""

from __future__ import annotations

from dataclasses import replace

from mockbroker.groups.consumer.group import ConsumerGroup
from mockbroker.groups.consumer.members import ConsumerMember, Holding
from mockbroker.groups.modern.members import NO_HOLDER, Partitions
from mockbroker.groups.modern.reconciliation import ReconciliationStep


class ConsumerStep(ReconciliationStep[ConsumerMember]):
    """One member's next step: ``target`` are Partitions, ``owned`` too, or None."""

    group: ConsumerGroup
    target: Partitions

    def still_owns(self, pending: Holding) -> bool:
        if self.owned is None:
            return True
        return any(partitions & pending.get(topic_id, {}).keys() for topic_id, partitions in self.owned.items())

    def without_left_topics(self) -> ConsumerMember:
        member, subscribed = self.member, self._subscribed()
        left = {topic_id: held for topic_id, held in member.assigned.items() if topic_id not in subscribed}
        if not left:
            return member
        retained = {topic_id: held for topic_id, held in member.assigned.items() if topic_id in subscribed}
        pending = dict(member.pending_revocation)
        for topic_id, held in left.items():
            pending[topic_id] = {**pending.get(topic_id, {}), **held}
        if not self.still_owns(pending):
            return replace(member, previous_epoch=member.epoch, assigned=retained)
        return self.revoking(member.epoch, retained, pending)

    def approach(self, epoch: int) -> ConsumerMember:
        member, subscribed = self.member, self._subscribed()
        assigned: dict[bytes, dict[int, int]] = {}
        revoked: dict[bytes, dict[int, int]] = {}
        free: dict[bytes, list[int]] = {}
        waits = False
        for topic_id in sorted(self.target.keys() | member.assigned.keys()):
            reads = topic_id in subscribed or not self.revokes_at_once
            target = self.target.get(topic_id, frozenset()) if reads else frozenset()
            held = member.assigned.get(topic_id, {})
            if retained := {partition: since for partition, since in held.items() if partition in target}:
                assigned[topic_id] = retained
            if lost := {partition: since for partition, since in held.items() if partition not in target}:
                revoked[topic_id] = lost
            for partition in sorted(target.difference(held)):
                if self._is_free(topic_id, partition):
                    free.setdefault(topic_id, []).append(partition)
                else:
                    waits = True
        if revoked and self.still_owns(revoked):
            return self.revoking(epoch, assigned, revoked)
        for topic_id, partitions in free.items():
            assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions, self.assignment_epoch))
        return self.assigned(assigned, waits=waits)

    def _subscribed(self) -> set[bytes]:
        return self.group.groups.topics.ids_of(self.group.topics_of(self.member))

    def _is_free(self, topic_id: bytes, partition: int) -> bool:
        """True if no member holds a partition, or this member is about to have revoked it."""
        if self.group.holder_epoch(topic_id, partition) == NO_HOLDER:
            return True
        return self.revokes_at_once and partition in self.member.pending_revocation.get(topic_id, {})
