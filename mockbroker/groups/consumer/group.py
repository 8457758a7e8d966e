"""A consumer group: its members, the holder of each partition, and the matches of its expressions.

Source: ConsumerGroup, ConsumerGroupMember, GroupMetadataManager.consumerGroupFenceMembers, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from kafka_rack.java import string_hash, to_int32
from mockbroker.groups.kind import GroupTimer
from mockbroker.groups.modern.assignors import assignor_names
from mockbroker.groups.modern.group import ModernGroup, RecordTypes
from mockbroker.groups.modern.members import STATIC_LEAVE_EPOCH, MemberState, ModernMember, messages_of, with_epochs
from mockbroker.state.coordinator_shard import CoordinatorRecord
from protocol.embedded import consumer_group_log
from protocol.embedded.consumer_group_log import ConsumerGroupMemberMetadataValue, ConsumerGroupRegularExpressionValue

FIBONACCI = -7046029254386353131  # BaseHashTable multiplies hashes by it
ClassicMetadata = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata
Holding = Mapping[tuple[bytes, int], int]
"""Partitions by topic id and number, with the epoch in which each was assigned."""


@dataclass(slots=True, frozen=True, kw_only=True)
class ConsumerMember(ModernMember):
    """A member in one of its epochs.

    ``expression`` is an RE2 expression that topics have to match, empty for none. ``assigned`` has the partitions that
    the member holds, ``pending_revocation`` those that it has to give up first. ``classic`` is the JoinGroup metadata
    of a member of the classic protocol; None for the consumer protocol.
    """

    expression: str | None = ""
    assignor: str | None = None
    assigned: Holding = field(default_factory=dict)
    pending_revocation: Holding = field(default_factory=dict)
    classic: ClassicMetadata | None = None

    @property
    def is_classic(self) -> bool:
        return self.classic is not None

    @property
    def held(self) -> set[tuple[bytes, int]]:
        """The partitions that no other member may have."""
        return {*self.assigned, *self.pending_revocation}

    def assignment(self, kind: type[Any]) -> Any:
        assigned, pending = (
            messages_of(kind.TopicPartitions, holding) for holding in (self.assigned, self.pending_revocation)
        )
        return self.message(kind, assigned_partitions=assigned, partitions_pending_revocation=pending)

    def with_assignment(self, value: Any) -> Self:
        assigned, pending = (
            with_epochs(recorded, value.member_epoch)
            for recorded in (value.assigned_partitions, value.partitions_pending_revocation)
        )
        return self.updated(value, state=MemberState(value.state), assigned=assigned, pending_revocation=pending)

    def absent(self) -> Self:
        assigned = dict.fromkeys(self.assigned, 0)
        return replace(self, epoch=STATIC_LEAVE_EPOCH, pending_revocation={}, assigned=assigned)


@dataclass(slots=True, eq=False)
class ConsumerGroup(ModernGroup[ConsumerMember]):
    """A group of KIP-848.

    ``resolved`` has the last matches of the expressions to which members subscribe, ``matched_topics`` the ids of all
    topics at that time, as far as this coordinator has matched them.
    """

    kind: ClassVar[str] = "consumer"
    member_class: ClassVar[type[ConsumerMember]] = ConsumerMember
    types: ClassVar[RecordTypes] = RecordTypes(consumer_group_log, "ConsumerGroup")
    replaces_empty_classic: ClassVar[bool] = True
    empty_groups_assigned_since: ClassVar[str] = "4.4"
    resolved: dict[str, ConsumerGroupRegularExpressionValue] = field(default_factory=dict)
    matched_topics: frozenset[bytes] = frozenset()

    # records

    def expression_record(self, text: str, topics: Collection[str], version: int, wall_ms: int) -> CoordinatorRecord:
        """The record of the topics that match an expression."""
        kind = self.types.values["RegularExpression"]
        return self.record("RegularExpression", kind(topics=sorted(topics), version=version, timestamp=wall_ms), text)

    def no_expression(self, text: str) -> CoordinatorRecord:
        """The record that deletes an expression without subscribers."""
        return self.record("RegularExpression", None, text)

    def tombstones(self) -> list[CoordinatorRecord]:
        return [*map(self.no_expression, self.resolved), *ModernGroup.tombstones(self)]

    def apply_other(self, name: str, key: Any, value: Any | None) -> None:
        if name == "RegularExpression":
            self.resolved.pop(key.regular_expression, None)
            if value is not None:
                self.resolved[key.regular_expression] = value

    # requests of members

    def held(self) -> set[tuple[bytes, int]]:
        """The partitions that any member holds or has to revoke."""
        return set().union(*(member.held for member in self.members.values()))

    def subscribers(self) -> Counter[str]:
        """The number of members that subscribe to each expression."""
        return Counter(member.expression for member in self.members.values() if member.expression)

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The topics that a member subscribes to, by name and by its expression."""
        resolved = self.resolved.get(member.expression) if member.expression else None
        return member.topics if resolved is None else member.topics.union(resolved.topics)

    def assignment_epoch_of(self, member: ConsumerMember, topic: str, index: int) -> int | None:
        at = (self.groups.topics.id_of(topic) or b"", index)
        return member.assigned.get(at, member.pending_revocation.get(at))

    @property
    def assignor_name(self) -> str:
        return self.preferred_assignor(self.members.values())

    def preferred_assignor(self, members: Iterable[ConsumerMember], changed: ConsumerMember | None = None) -> str:
        """The assignor that most of these members and a changed one prefer; the brokers' first one if none has any.

        Ties are resolved by the order in Kafka's hash tables: the group's table is ordered by name, while a member's
        vote that is counted again comes first in its copy. So each heartbeat of the only member that prefers the other
        of two tied assignors increases the group's epoch.
        """
        votes = sorted((one.assignor for one in members if one.assignor is not None), key=place_in_table)
        if changed is not None and changed.assignor is not None:
            votes.insert(len(votes) if changed.assignor in votes else 0, changed.assignor)
        return Counter(votes).most_common(1)[0][0] if votes else assignor_names(self.groups)[0]

    # leaving

    def fence(self, members: Sequence[ConsumerMember], now_ms: int) -> None:
        """Remove members. If only members of the classic protocol remain, the group becomes a classic one."""
        from mockbroker.groups.consumer import migration

        if members and migration.may_downgrade(self, members):
            migration.downgrade(self, now_ms, members, rebalance=True)
        elif members:
            ModernGroup.fence(self, members, now_ms)

    def records_with(self, members: Sequence[ConsumerMember], epoch: int) -> list[CoordinatorRecord]:
        gone = self.subscribers().keys() - {member.expression for member in members}
        return [*map(self.no_expression, sorted(gone)), *ModernGroup.records_with(self, members, epoch)]

    def on_timer(self, timer: GroupTimer, member_id: str, now_ms: int) -> None:
        if timer is not GroupTimer.REBALANCE or self.members[member_id].epoch != STATIC_LEAVE_EPOCH:
            ModernGroup.on_timer(self, timer, member_id, now_ms)


def place_in_table(assignor: str) -> int:
    """The position of a name in a hash table of Kafka's coordinators with one or two names.

    >>> sorted(["range", "uniform"], key=place_in_table)
    ['uniform', 'range']
    """
    return (to_int32(string_hash(assignor)) * FIBONACCI & (1 << 64) - 1) >> 63
