"""Handles ConsumerGroupHeartbeat: joining, subscribing, reconciling with the target, leaving.

A heartbeat is evaluated against the current group; its records are written at the end, so a rejected heartbeat changes
nothing.

Source: GroupMetadataManager.consumerGroupHeartbeat and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.consumer import migration, records
from mockbroker.state.groups.consumer.expressions import ExpressionChange, change_of, refresh
from mockbroker.state.groups.consumer.group import ConsumerGroup
from mockbroker.state.groups.consumer.leaving import leave
from mockbroker.state.groups.consumer.members import ConsumerMember, Holding
from mockbroker.state.groups.consumer.reconciliation import Owned, reconcile
from mockbroker.state.groups.modern.assignors import RACK_AWARE, MemberSpec, assign_targets, assignor_names
from mockbroker.state.groups.modern.group import NO_ASSIGNMENT, GroupConfigs, MemberTimer
from mockbroker.state.groups.modern.members import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    MemberState,
    Partitions,
)
from mockbroker.state.groups.modern.subscriptions import all_subscribe_alike
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.groups.coordinator import Groups

NOT_SAID = -1
MEMBER_MAKES_ID_VERSION = 1  # of ConsumerGroupHeartbeat (KIP-1082)


@dataclass(slots=True, frozen=True, kw_only=True)
class ConsumerHeartbeat:
    """A ConsumerGroupHeartbeat; a field that is unchanged is None, the time-out -1.

    ``may_see`` returns True if the member may describe a topic; None if all members may.
    """

    group_id: str
    member_id: str
    epoch: int
    instance_id: str | None = None
    rack: str | None = None
    rebalance_timeout_ms: int = NOT_SAID
    topics: Sequence[str] | None = None
    expression: str | None = None
    assignor: str | None = None
    owned: Owned | None = None
    client_id: str = ""
    client_host: str = ""
    may_see: Callable[[str], bool] | None = None

    @property
    def is_full(self) -> bool:
        """True if all fields are set, as a member does after it has lost an answer."""
        subscribes = self.topics is not None or self.expression is not None
        return self.rebalance_timeout_ms != NOT_SAID and subscribes and self.owned is not None


@dataclass(slots=True, frozen=True)
class ConsumerHeartbeatAnswer:
    """The member's current state; ``assigned`` is None if unchanged."""

    member_id: str
    epoch: int
    interval_ms: int = 0
    assigned: Holding | None = None


def check_heartbeat(beat: ConsumerHeartbeat, version: int, configs: GroupConfigs) -> None:
    """Raises ApiError: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, for errors that do not depend on a group."""
    if version >= MEMBER_MAKES_ID_VERSION or beat.epoch > JOIN_EPOCH or beat.epoch == LEAVE_EPOCH:
        check_filled(beat.member_id, "MemberId can't be empty.")
    check_filled(beat.group_id, "GroupId can't be empty.")
    check_filled(beat.instance_id, "InstanceId can't be empty.")
    check_filled(beat.rack, "RackId can't be empty.")
    if beat.epoch == JOIN_EPOCH:
        if beat.rebalance_timeout_ms == NOT_SAID:
            raise invalid("RebalanceTimeoutMs must be provided in first request.")
        if beat.owned is None or list(beat.owned):
            raise invalid("TopicPartitions must be empty when (re-)joining.")
        if beat.topics is None and beat.expression is None:
            raise invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    elif beat.epoch == STATIC_LEAVE_EPOCH:
        if beat.instance_id is None:
            raise invalid("InstanceId can't be null.")
    elif beat.epoch < STATIC_LEAVE_EPOCH:
        raise invalid("MemberEpoch is invalid.")
    names = assignor_names(configs)
    if beat.assignor is not None and beat.assignor not in names:
        problem = f"ServerAssignor {beat.assignor} is not supported. Supported assignors: {', '.join(sorted(names))}."
        raise ApiError(ErrorCode.UNSUPPORTED_ASSIGNOR, problem)


def check_filled(value: str | None, problem: str) -> None:
    """Raises ApiError: INVALID_REQUEST, for text that is empty or blank; None is accepted."""
    if value is not None and not value.strip():
        raise invalid(problem)


def invalid(problem: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, problem)


def take_heartbeat(groups: Groups, beat: ConsumerHeartbeat, now_ms: int, rng: Random) -> ConsumerHeartbeatAnswer:
    """Handle a checked heartbeat.

    Raises ApiError: GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
        FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, INVALID_REGULAR_EXPRESSION, UNKNOWN_SERVER_ERROR.
    """
    if beat.epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
        group = groups.get_as(ConsumerGroup, beat.group_id)
        leave(group, beat.member_id, beat.instance_id, beat.epoch, now_ms)
        return ConsumerHeartbeatAnswer(beat.member_id, beat.epoch)
    group, new_records = migration.group_for(groups, beat.group_id, create=beat.epoch == JOIN_EPOCH)
    is_upgrade = bool(new_records)
    check_room(group, beat.member_id, beat.instance_id)
    member_id = beat.member_id or new_member_id(rng)
    if beat.instance_id is None:
        member, replaced = dynamic_member(group, member_id, beat), None
    else:
        member, replaced = static_member(group, member_id, beat, new_records)
    update = MemberUpdate(group, member, replaced, new_records, now_ms)
    after = update.subscribe(
        replace(
            member,
            instance_id=beat.instance_id if beat.instance_id is not None else member.instance_id,
            rack=beat.rack if beat.rack is not None else member.rack,
            rebalance_timeout_ms=member.rebalance_timeout_ms
            if beat.rebalance_timeout_ms == NOT_SAID
            else beat.rebalance_timeout_ms,
            assignor=beat.assignor if beat.assignor is not None else member.assignor,
            topics=frozenset(beat.topics) if beat.topics is not None else member.topics,
            expression=beat.expression if beat.expression is not None else member.expression,
            client_id=beat.client_id,
            client_host=beat.client_host,
            classic=None,
        )
    )
    after = update.reconcile(after, *update.assign(after), beat.owned)
    update.write(after)
    if is_upgrade:
        migration.start_sessions(group, now_ms)
    group.put_off_session(after.id, now_ms)
    update.refresh_expressions(beat.may_see)
    tell = beat.epoch == JOIN_EPOCH or beat.is_full or member.assigned != after.assigned
    interval_ms = group.groups.configs.group(group.id, "consumer.heartbeat.interval.ms")
    return ConsumerHeartbeatAnswer(after.id, after.epoch, interval_ms, after.assigned if tell else None)


class MemberUpdate:
    """The effect of one request on a member and its group: computed step by step, then written."""

    def __init__(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        replaced: ConsumerMember | None,
        new_records: list[CoordinatorRecord],
        now_ms: int,
        *,
        is_classic: bool = False,
    ) -> None:
        """``member`` is the member before the request; ``replaced`` the static member that it replaces, if any."""
        self.group, self.member, self.replaced, self.records = group, member, replaced, new_records
        self.now_ms, self.is_classic = now_ms, is_classic
        self.epoch = group.epoch
        self.subscription_changed = False
        self.counts_members = False
        self._last_resolved = next(iter(group.resolved.values()), None)

    def subscribe(self, after: ConsumerMember) -> ConsumerMember:
        """Apply the member's subscription; the group's epoch increases if the change affects its assignment."""
        group, before = self.group, self.member
        rules = group.groups.rules
        names_changed = after.topics != before.topics
        if after != before:
            self.records.append(records.member_metadata(group.id, after))
        expression = change_of(group, before, after, self.records)
        self.subscription_changed = names_changed or expression is not ExpressionChange.NONE
        if self.is_classic:
            bump = self.subscription_changed
        else:
            assignor = group.preferred_assignor(before, after)
            rack_counts = assignor in RACK_AWARE and after.rack != before.rack
            bump = (
                names_changed
                or expression is ExpressionChange.RESOLVED
                or (rules.assignor_counts and assignor != group.preferred_assignor())
                or rack_counts
                or group.epoch == 0
            )
        self.counts_members = bump or group.metadata_expired()
        if self.counts_members:
            metadata_hash = group.groups.topics.hash_of(group.counts_after(before, after))
            if bump or metadata_hash != group.metadata_hash:
                self.epoch += 1
                self.records.append(records.group_epoch(group.id, self.epoch, metadata_hash))
            group.metadata_refreshed()
        return after

    def assign(self, after: ConsumerMember) -> tuple[int, Partitions]:
        """The epoch of the effective target, and the member's part of it; computed again when due."""
        group = self.group
        old_id = after.id if self.replaced is None else self.replaced.id
        if group.assignment_epoch >= self.epoch or not group.may_assign(self.now_ms):
            return group.assignment_epoch, group.target_of(old_id)
        members = {one.id: one for one in group.members.values() if one.id != old_id}
        members[after.id] = after
        old_targets = {one: group.targets.get(one if one != after.id else old_id) for one in members}
        specs = {
            one.id: MemberSpec(group.topics_of(one), old_targets[one.id] or NO_ASSIGNMENT, one.rack, one.instance_id)
            for one in members.values()
        }
        assignor = group.preferred_assignor(self.member, after)
        alike = all_subscribe_alike(group.counts, len(group.members), group.expressions)
        if self.counts_members:
            alike = all_subscribe_alike(
                group.counts_after(self.member, after), len(members), group.expressions_after(self.member, after)
            )
        targets = assign_targets(assignor, self.epoch, specs, group.groups.topics, alike=alike)
        for member_id in sorted(targets):
            if targets[member_id] != old_targets[member_id]:
                self.records.append(records.target(group.id, member_id, targets[member_id]))
        self.records.append(records.target_epoch(group.id, self.epoch, group.groups.clock.at(self.now_ms)))
        return self.epoch, targets[after.id]

    def reconcile(
        self, after: ConsumerMember, assignment_epoch: int, target: Partitions, owned: Owned | None
    ) -> ConsumerMember:
        """Move the member a step towards its target. Raises ApiError: FENCED_MEMBER_EPOCH."""
        reached = reconcile(
            self.group, after, assignment_epoch, target, owned, subscription_changed=self.subscription_changed
        )
        if reached != after:
            self.records.append(records.member_assignment(self.group.id, reached))
        return reached

    def write(self, reached: ConsumerMember) -> None:
        """Write all records, and set the deadline for the partitions that the member has to revoke."""
        group, before = self.group, self.group.members.get(reached.id)
        group.groups.register(group)
        if self.replaced is not None:
            group.cancel_timers_of(self.replaced.id)
        if self.records:
            group.write(self.records)
        if reached.classic is not None or (before is not None and not moved(before, reached)):
            return
        if reached.state is MemberState.UNREVOKED_PARTITIONS:
            group.set_timer(MemberTimer.REBALANCE, reached.id, self.now_ms + reached.rebalance_timeout_ms)
        else:
            group.cancel_timer(MemberTimer.REBALANCE, reached.id)

    def refresh_expressions(self, may_see: Callable[[str], bool] | None) -> None:
        """After the answer, match expressions with the topics that the member may see."""
        refresh(self.group, self._last_resolved, self.now_ms, may_see)


def moved(before: ConsumerMember, after: ConsumerMember) -> bool:
    """True if a member's epochs, state or assignment have changed."""
    return (before.epoch, before.previous_epoch, before.state, before.assigned, before.pending_revocation) != (
        after.epoch,
        after.previous_epoch,
        after.state,
        after.assigned,
        after.pending_revocation,
    )


def check_room(group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    """Raises ApiError: GROUP_MAX_SIZE_REACHED, for a new member of a full group."""
    replaces = group.groups.rules.static_members_replace_in_full_groups
    if not replaces or group.static_member(instance_id) is None:
        group.check_capacity(member_id)


def new_member_id(rng: Random) -> str:
    """A member id as Kafka generates it: a random UUID in base64."""
    return base64.urlsafe_b64encode(UUID(int=rng.getrandbits(128), version=4).bytes).decode().rstrip("=")


def dynamic_member(group: ConsumerGroup, member_id: str, beat: ConsumerHeartbeat) -> ConsumerMember:
    """The member of a heartbeat; a new one if it joins. Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH."""
    if beat.epoch == JOIN_EPOCH and member_id not in group.members:
        return ConsumerMember(id=member_id)
    member = group.member(member_id)
    check_epoch(group, member, beat)
    return member


def static_member(
    group: ConsumerGroup, member_id: str, beat: ConsumerHeartbeat, new_records: list[CoordinatorRecord]
) -> tuple[ConsumerMember, ConsumerMember | None]:
    """The static member of a heartbeat, and the member that it replaces if it has returned under another id.

    Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, FENCED_MEMBER_EPOCH.
    """
    assert beat.instance_id is not None
    if beat.epoch != JOIN_EPOCH:
        member = group.check_static_member(member_id, beat.instance_id)
        check_epoch(group, member, beat)
        return member, None
    existing = group.static_member(beat.instance_id)
    if existing is None:
        return group.members.get(member_id) or ConsumerMember(id=member_id), None
    if existing.classic is None and existing.epoch != STATIC_LEAVE_EPOCH:
        problem = (
            f"Static member {member_id} with instance id {beat.instance_id} cannot join the group because the"
            f" instance id is owned by {existing.id} member."
        )
        raise ApiError(ErrorCode.UNRELEASED_INSTANCE_ID, problem)
    return take_place(group, existing, member_id, new_records), existing


def take_place(
    group: ConsumerGroup, existing: ConsumerMember, member_id: str, new_records: list[CoordinatorRecord]
) -> ConsumerMember:
    """Replace a static member that has returned: the new member has another id and the same state."""
    member = replace(existing, id=member_id, epoch=JOIN_EPOCH, previous_epoch=0)
    new_records += records.no_member(group.id, existing.id)
    new_records.append(records.member_metadata(group.id, member))
    new_records.append(records.target(group.id, member_id, group.target_of(existing.id)))
    new_records.append(records.member_assignment(group.id, member))
    return member


def check_epoch(group: ConsumerGroup, member: ConsumerMember, beat: ConsumerHeartbeat) -> None:
    """Raises ApiError: FENCED_MEMBER_EPOCH, for an epoch that is neither the member's nor its previous one."""
    if beat.epoch in (JOIN_EPOCH, member.epoch):
        return
    if beat.epoch < member.epoch and beat.epoch == member.previous_epoch and holds(member.assigned, beat.owned):
        return
    raise group.wrong_epoch(member, beat.epoch)


def holds(assigned: Holding, owned: Owned | None) -> bool:
    """True if all partitions that a member claims to own were assigned to it."""
    if owned is None:
        return False
    return all(
        topic_id in assigned and all(partition in assigned[topic_id] for partition in partitions)
        for topic_id, partitions in owned
    )
