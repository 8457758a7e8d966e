"""A consumer group: its members, the holder of each partition, and the matches of its expressions.

Source: ConsumerGroup, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kafka_rack.java import string_hash, to_int32
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.consumer import records
from mockbroker.state.groups.consumer.members import ConsumerMember
from mockbroker.state.groups.modern.assignors import assignor_names
from mockbroker.state.groups.modern.group import MemberTimer, ModernGroup
from mockbroker.state.groups.modern.members import NOBODY, STATIC_LEAVE_EPOCH, MemberState
from mockbroker.state.groups.modern.subscriptions import Counts, count_matches, count_names
from mockbroker.state.image.image import TopicPartition
from protocol.embedded.consumer_group_log import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.groups.kind import CommitCheck

FIBONACCI = -7046029254386353131  # BaseHashTable multiplies hashes by it
FIRST_COMMIT_VERSION = 9  # of OffsetCommit, by members that speak the consumer protocol


class ResolvedExpression(NamedTuple):
    """The topics that matched an expression, with the version of the cluster's topics and the wall clock time."""

    topics: frozenset[str]
    version: int
    wall_ms: int


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
    replaces_empty_classic: ClassVar[bool] = True
    protocol_type: ClassVar[str | None] = "consumer"
    assignors: dict[str, int] = field(default_factory=dict)
    expressions: dict[str, int] = field(default_factory=dict)
    resolved: dict[str, ResolvedExpression] = field(default_factory=dict)
    partition_epochs: dict[tuple[bytes, int], int] = field(default_factory=dict)
    classic_protocols: dict[str, int] = field(default_factory=dict)
    classic_members: int = 0

    # records

    def apply(self, record: CoordinatorRecord) -> None:
        APPLY[type(record.key)](self, record)

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.no_group(self.id, self.members, self.resolved)

    def member_changed(self, before: ConsumerMember | None, after: ConsumerMember | None) -> None:
        self._count(before, -1)
        self._release(before)
        self._count(after, 1)
        for topic_id, partition, _ in after.held if after is not None else ():
            assert after is not None
            self.partition_epochs[topic_id, partition] = after.epoch

    def put_expression(self, text: str, found: ResolvedExpression | None) -> None:
        """Set the topics that an expression matches; None: no member subscribes to it."""
        before = self.resolved.pop(text, None)
        if before is not None:
            count_matches(self.counts, before.topics, -1)
        if found is not None:
            self.resolved[text] = found
            count_matches(self.counts, found.topics, 1)

    def _release(self, member: ConsumerMember | None) -> None:
        """Release the partitions of a member, except those that another member holds by now."""
        for topic_id, partition, _ in member.held if member is not None else ():
            assert member is not None
            if self.partition_epochs.get((topic_id, partition)) == member.epoch:
                del self.partition_epochs[topic_id, partition]

    def _count(self, member: ConsumerMember | None, by: int) -> None:
        if member is None:
            return
        count_names(self.counts, member.topics, by)
        if member.assignor is not None:
            add(self.assignors, member.assignor, by)
        if member.expression:
            add(self.expressions, member.expression, by)
        if member.classic is not None:
            self.classic_members += by
            for one in member.classic.supported_protocols:
                add(self.classic_protocols, one.name, by)

    # what members and their heartbeats ask

    def holder_epoch(self, topic_id: bytes, partition: int) -> int:
        """The epoch of the member that holds a partition, -1 if none does."""
        return self.partition_epochs.get((topic_id, partition), NOBODY)

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The topics that a member subscribes to, by name and by its expression."""
        resolved = self.resolved.get(member.expression) if member.expression else None
        return member.topics if resolved is None else member.topics | resolved.topics

    def assigned_to(self, member: ConsumerMember) -> Mapping[bytes, Collection[int]]:
        return member.assigned

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
            return assignor_names(self.groups.configs)[0]
        return max(counts, key=counts.__getitem__)

    def counts_after(self, before: ConsumerMember | None, after: ConsumerMember | None) -> Counts:
        counts = ModernGroup.counts_after(self, before, after)
        text = before.expression if before is not None else None
        if text and (after is None or after.expression != text) and self.expressions.get(text) == 1:
            resolved = self.resolved.get(text)
            if resolved is not None:
                count_matches(counts, resolved.topics, -1)
        return counts

    def expressions_after(self, before: ConsumerMember | None, after: ConsumerMember | None) -> dict[str, int]:
        """The number of subscribers of each expression after a member has changed."""
        expressions = dict(self.expressions)
        old, new = (one.expression if one is not None else None for one in (before, after))
        if old != new:
            if old:
                add(expressions, old, -1)
            if new:
                add(expressions, new, 1)
        return expressions

    # offsets

    def accept_commit(
        self, member_id: str, instance_id: str | None, generation: int, now_ms: int, *, version: int
    ) -> CommitCheck | None:
        """Accept a commit in the member's epoch, or in an older one for partitions assigned to it then (KIP-1251).

        Raises ApiError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, for a member of the classic protocol
            ILLEGAL_GENERATION, UNSUPPORTED_VERSION.
        """
        if generation < 0 and not self.members:
            return None
        member = self.member(member_id)
        if member.classic is None and version < FIRST_COMMIT_VERSION:
            problem = "OffsetCommit version 9 or above must be used by members using the consumer group protocol"
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, problem)
        return self._check_of(member, generation)

    def accept_transactional_commit(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> CommitCheck | None:
        """Accept a transaction's offsets like a commit; always if the request names no member.

        Raises ApiError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, for a member of the classic protocol
            ILLEGAL_GENERATION.
        """
        if generation < 0 and not self.members:
            return None
        if generation == -1 and not member_id and instance_id is None:
            return None
        return self._check_of(self.member(member_id), generation)

    def accept_fetch(self, member_id: str | None, generation: int) -> None:
        """Let a member read offsets in its epoch, and any client that names no member.

        Raises ApiError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, for a member of the classic protocol
            ILLEGAL_GENERATION; UNKNOWN_SERVER_ERROR, for an epoch without a member.
        """
        if member_id is None and generation < 0:
            return
        if member_id is None:  # Kafka looks null up in a table that rejects it
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        member = self.member(member_id)
        if generation != member.epoch:
            said = "member epoch" if member.classic is None else "generation id"
            problem = f"The received {said} {generation} does not match the expected member epoch {member.epoch}."
            raise ApiError(stale_code(member), problem)

    def _check_of(self, member: ConsumerMember, epoch: int) -> CommitCheck | None:
        if epoch == member.epoch:
            return None
        said = "member epoch" if member.classic is None else "generation id"
        if not self.groups.rules.commits_by_assignment_epoch:
            problem = f"The received {said} {epoch} does not match the expected member epoch {member.epoch}."
            raise ApiError(stale_code(member), problem)
        if epoch > member.epoch:
            problem = f"Received {said} {epoch} is newer than current member epoch {member.epoch}."
            raise ApiError(stale_code(member), problem)

        def check(at: TopicPartition) -> None:
            topic_id = self.groups.topics.id_of(at[0]) or b""
            given = member.assigned.get(topic_id, {}).get(at[1])
            if given is None:
                given = member.pending_revocation.get(topic_id, {}).get(at[1])
            if given is None:
                problem = f"Partition {at[0]}-{at[1]} is not assigned or pending revocation for member."
                raise ApiError(stale_code(member), problem)
            if epoch < given:
                problem = (
                    f"Received {said} {epoch} is older than assignment epoch {given} for partition {at[0]}-{at[1]}."
                )
                raise ApiError(stale_code(member), problem)

        return check

    # time

    def on_timer(self, timer: MemberTimer, member_id: str, now_ms: int) -> None:
        """Remove a member that has exceeded a deadline."""
        from mockbroker.state.groups.consumer.leaving import fence

        member = self.members[member_id]
        if timer is not MemberTimer.REBALANCE or member.epoch != STATIC_LEAVE_EPOCH:
            fence(self, [member], now_ms)

    def restart_sessions(self, now_ms: int) -> None:
        for member in self.members.values():
            self.put_off_session(member.id, now_ms)
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                self.set_timer(MemberTimer.REBALANCE, member.id, now_ms + member.rebalance_timeout_ms)


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


def stale_code(member: ConsumerMember) -> ErrorCode:
    """The error for a request with an epoch that is not the member's."""
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION


def _set_expression(group: ConsumerGroup, record: CoordinatorRecord) -> None:
    value = record.value
    found = None if value is None else ResolvedExpression(frozenset(value.topics), value.version, value.timestamp)
    group.put_expression(record.key.regular_expression, found)


def _ignore(group: ConsumerGroup, record: CoordinatorRecord) -> None:
    """Ignore the topic metadata that Kafka up to 4.0 stored; it has been replaced by a hash."""


APPLY: dict[type, Callable[[ConsumerGroup, CoordinatorRecord], None]] = {
    ConsumerGroupMetadataKey: ConsumerGroup.apply_group_epoch,
    ConsumerGroupMemberMetadataKey: ConsumerGroup.apply_member,
    ConsumerGroupCurrentMemberAssignmentKey: ConsumerGroup.apply_assignment,
    ConsumerGroupTargetAssignmentMemberKey: ConsumerGroup.apply_target,
    ConsumerGroupTargetAssignmentMetadataKey: ConsumerGroup.apply_target_epoch,
    ConsumerGroupRegularExpressionKey: _set_expression,
    ConsumerGroupPartitionMetadataKey: _ignore,
}
