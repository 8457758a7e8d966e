"""A consumer group: its members, the holder of each partition, and the matches of its expressions.

Source: ConsumerGroup, GroupMetadataManager.consumerGroupFenceMembers, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from kafka_rack.java import string_hash, to_int32
from mockbroker.groups.consumer.members import ConsumerMember
from mockbroker.groups.kind import GroupTimer
from mockbroker.groups.modern.assignors import assignor_names
from mockbroker.groups.modern.group import ModernGroup, RecordTypes
from mockbroker.groups.modern.members import NO_HOLDER, STATIC_LEAVE_EPOCH
from mockbroker.groups.modern.subscriptions import Counts, recount
from mockbroker.state.coordinator_shard import CoordinatorRecord
from protocol.embedded import consumer_group_log

FIBONACCI = -7046029254386353131  # BaseHashTable multiplies hashes by it


class ResolvedExpression(NamedTuple):
    """The topics that matched an expression, with the version of the cluster's topics and the wall clock time."""

    topics: frozenset[str]
    version: int
    wall_ms: int


NOT_RESOLVED = ResolvedExpression(frozenset(), 0, 0)


@dataclass(slots=True, eq=False)
class ConsumerGroup(ModernGroup[ConsumerMember]):
    """A group of KIP-848.

    ``assignors`` has the number of members that prefer each assignor, ``expressions`` the number of members that
    subscribe to each expression, and ``resolved`` the matches of these expressions.
    ``partition_epochs`` has the epoch of the holder of each held partition, by topic id and partition;
    ``classic_protocols`` the number of members of the classic protocol that support each of their assignors.
    """

    kind: ClassVar[str] = "consumer"
    member_class: ClassVar[type[ConsumerMember]] = ConsumerMember
    types: ClassVar[RecordTypes] = RecordTypes(consumer_group_log, "ConsumerGroup")
    replaces_empty_classic: ClassVar[bool] = True
    assignors: dict[str, int] = field(default_factory=dict)
    expressions: dict[str, int] = field(default_factory=dict)
    resolved: dict[str, ResolvedExpression] = field(default_factory=dict)
    partition_epochs: dict[tuple[bytes, int], int] = field(default_factory=dict)
    classic_protocols: dict[str, int] = field(default_factory=dict)
    classic_members: int = 0

    # records

    def expression_record(self, text: str, topics: Collection[str], version: int, wall_ms: int) -> CoordinatorRecord:
        """The record of the topics that match an expression."""
        kind = self.types.values["RegularExpression"]
        value = kind(topics=sorted(topics), version=version, timestamp=wall_ms)
        return self.record("RegularExpression", value, regular_expression=text)

    def no_expression(self, text: str) -> CoordinatorRecord:
        """The record that deletes an expression without subscribers."""
        return self.record("RegularExpression", None, regular_expression=text)

    def tombstones(self) -> list[CoordinatorRecord]:
        return [*map(self.no_expression, self.resolved), *ModernGroup.tombstones(self)]

    def apply_other(self, name: str, key: Any, value: Any | None) -> None:
        if name == "RegularExpression":
            before = self.resolved.pop(key.regular_expression, NOT_RESOLVED)
            after = NOT_RESOLVED
            if value is not None:
                after = ResolvedExpression(frozenset(value.topics), value.version, value.timestamp)
                self.resolved[key.regular_expression] = after
            recount(self.counts, before.topics, after.topics, by_expression=True)

    def member_changed(self, before: ConsumerMember | None, after: ConsumerMember | None) -> None:
        ModernGroup.member_changed(self, before, after)
        if before is not None:
            self._count(before, -1)
            for topic_id, partition, _ in before.held:
                if self.partition_epochs.get((topic_id, partition)) == before.epoch:  # no other member holds it by now
                    del self.partition_epochs[topic_id, partition]
        if after is not None:
            self._count(after, 1)
            for topic_id, partition, _ in after.held:
                self.partition_epochs[topic_id, partition] = after.epoch

    def _count(self, member: ConsumerMember, by: int) -> None:
        if member.assignor is not None:
            add(self.assignors, member.assignor, by)
        if member.expression:
            add(self.expressions, member.expression, by)
        if member.classic is not None:
            self.classic_members += by
            for one in member.classic.supported_protocols:
                add(self.classic_protocols, one.name, by)

    # requests of members

    def holder_epoch(self, topic_id: bytes, partition: int) -> int:
        """The epoch of the member that holds a partition, -1 if none does."""
        return self.partition_epochs.get((topic_id, partition), NO_HOLDER)

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The topics that a member subscribes to, by name and by its expression."""
        resolved = self.resolved.get(member.expression) if member.expression else None
        return member.topics if resolved is None else member.topics | resolved.topics

    def assigned_to(self, member: ConsumerMember) -> Mapping[bytes, Collection[int]]:
        return member.assigned

    def assignment_epochs(self, member: ConsumerMember) -> Callable[[str, int], tuple[str, int | None]]:
        def assigned_in(topic: str, partition: int) -> tuple[str, int | None]:
            topic_id = self.groups.topics.id_of(topic) or b""
            pending = member.pending_revocation.get(topic_id, {}).get(partition)
            return f"Partition {topic}-{partition}", member.assigned.get(topic_id, {}).get(partition, pending)

        return assigned_in

    @property
    def assignor_name(self) -> str:
        return self.preferred_assignor()

    def preferred_assignor(self, before: ConsumerMember | None = None, after: ConsumerMember | None = None) -> str:
        """The assignor that most members prefer after a member's change; the brokers' first one if no member has any.

        Ties are resolved by the order in Kafka's hash tables: the group's table is ordered by name, while a member's
        vote that is counted again comes first in its copy. So each heartbeat of the only member that prefers the other
        of two tied assignors increases the group's epoch.
        """
        counts = {name: self.assignors[name] for name in sorted(self.assignors, key=place_in_table)}
        if before is not None and before.assignor is not None:
            add(counts, before.assignor, -1)
        if after is not None and after.assignor is not None:
            if after.assignor not in counts:
                counts = {after.assignor: 0, **counts}
            counts[after.assignor] += 1
        if not counts:
            return assignor_names(self.groups)[0]
        return max(counts, key=counts.__getitem__)

    def counts_after(self, before: ConsumerMember | None, after: ConsumerMember | None) -> Counts:
        counts = ModernGroup.counts_after(self, before, after)
        text = before.expression if before is not None else None
        if text and (after is None or after.expression != text) and self.expressions.get(text) == 1:
            self._stop_counting(counts, text)
        return counts

    def _stop_counting(self, counts: Counts, text: str) -> None:
        recount(counts, self.resolved.get(text, NOT_RESOLVED).topics, (), by_expression=True)

    def expressions_after(self, before: ConsumerMember, after: ConsumerMember) -> dict[str, int]:
        """The number of subscribers of each expression after a member has changed."""
        expressions = dict(self.expressions)
        if before.expression != after.expression:
            for text, by in ((before.expression, -1), (after.expression, 1)):
                if text:
                    add(expressions, text, by)
        return expressions

    # leaving

    def fence(self, members: Sequence[ConsumerMember], now_ms: int) -> None:
        """Remove members. If only members of the classic protocol remain, the group becomes a classic one."""
        from mockbroker.groups.consumer import migration

        if members and migration.may_downgrade_without(self, members):
            migration.downgrade(self, now_ms, leaving={member.id for member in members}, rebalance=True)
        elif members:
            ModernGroup.fence(self, members, now_ms)

    @property
    def assigns_when_empty(self) -> bool:
        return self.groups.rules.empty_groups_are_assigned

    def records_without(self, members: Sequence[ConsumerMember], epoch: int) -> list[CoordinatorRecord]:
        subscribers = Counter(member.expression for member in members if member.expression)
        gone = [text for text, count in subscribers.items() if self.expressions.get(text) == count]
        counts = self.counts_without(members)
        for text in gone:
            self._stop_counting(counts, text)
        return [*map(self.no_expression, gone), self.epoch_record(epoch, self.groups.topics.hash_of(counts))]

    def on_timer(self, timer: GroupTimer, member_id: str, now_ms: int) -> None:
        if timer is not GroupTimer.REBALANCE or self.members[member_id].epoch != STATIC_LEAVE_EPOCH:
            ModernGroup.on_timer(self, timer, member_id, now_ms)


def place_in_table(assignor: str) -> int:
    """The position of a name in a hash table of Kafka's coordinators with one or two names.

    >>> sorted(["range", "uniform"], key=place_in_table)
    ['uniform', 'range']
    """
    return (to_int32(string_hash(assignor)) * FIBONACCI & (1 << 64) - 1) >> 63


def add(counts: dict[str, int], name: str, by: int) -> None:
    """Change a count by ``by``; a count of 0 is removed."""
    total = counts.get(name, 0) + by
    if total > 0:
        counts[name] = total
    else:
        counts.pop(name, None)
