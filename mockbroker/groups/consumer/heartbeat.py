"""Handles ConsumerGroupHeartbeat: joining, subscribing, reconciling with the target, leaving.

A heartbeat is evaluated against the current group; its records are written at the end, so a rejected heartbeat changes
nothing.

Source: GroupMetadataManager.consumerGroupHeartbeat and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from mockbroker.groups.consumer import migration
from mockbroker.groups.consumer.expressions import refresh, takes_effect
from mockbroker.groups.consumer.group import ConsumerGroup
from mockbroker.groups.consumer.members import ConsumerMember, Holding
from mockbroker.groups.consumer.reconciliation import ConsumerStep, Owned
from mockbroker.groups.modern.assignors import RACK_AWARE, assign_targets, assignor_names
from mockbroker.groups.modern.group import check_filled
from mockbroker.groups.modern.members import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    Partitions,
    changed,
)
from mockbroker.groups.modern.subscriptions import all_subscribe_alike
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.groups.coordinator import Groups

NO_TIMEOUT = -1
progress_of = attrgetter("epoch", "previous_epoch", "state", "assigned", "pending_revocation")
"""The fields of a member that change as it approaches its target."""
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
    rack_id: str | None = None
    rebalance_timeout_ms: int = NO_TIMEOUT
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
        return self.rebalance_timeout_ms != NO_TIMEOUT and subscribes and self.owned is not None


def check_heartbeat(groups: Groups, beat: ConsumerHeartbeat, version: int) -> None:
    """Raises ApiError: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, for errors that do not depend on a group's state."""
    if version >= MEMBER_MAKES_ID_VERSION or beat.epoch > JOIN_EPOCH or beat.epoch == LEAVE_EPOCH:
        check_filled(beat, "member_id")
    check_filled(beat, "group_id", "instance_id", "rack_id")
    if beat.epoch == JOIN_EPOCH:
        if beat.rebalance_timeout_ms == NO_TIMEOUT:
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
    names = assignor_names(groups)
    if beat.assignor is not None and beat.assignor not in names:
        problem = f"ServerAssignor {beat.assignor} is not supported. Supported assignors: {', '.join(sorted(names))}."
        raise ApiError(ErrorCode.UNSUPPORTED_ASSIGNOR, problem)


def invalid(problem: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, problem)


def take_heartbeat(
    groups: Groups, beat: ConsumerHeartbeat, now_ms: int, rng: Random
) -> tuple[ConsumerGroup, ConsumerMember, Holding | None]:
    """Handle a checked heartbeat of a member that joins or stays.

    Returns: its group and the member in its current epoch, and its assignment if the answer has to include it.

    Raises ApiError: GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
        FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, INVALID_REGULAR_EXPRESSION, UNKNOWN_SERVER_ERROR.
    """
    group, new_records = migration.group_for(groups, beat.group_id, create=beat.epoch == JOIN_EPOCH)
    is_upgrade = bool(new_records)
    check_room(group, beat.member_id, beat.instance_id)
    member_id = beat.member_id or new_member_id(rng)
    member, replaced = group.member_of(
        member_id, beat.instance_id, beat.epoch, lambda member: holds(member.assigned, beat.owned)
    )
    if replaced is not None:
        member = group.replace_member(replaced, member_id, new_records)
    update = MemberUpdate(group, member, replaced, new_records, now_ms)
    changes = {
        "instance_id": beat.instance_id,
        "rack": beat.rack_id,
        "rebalance_timeout_ms": None if beat.rebalance_timeout_ms == NO_TIMEOUT else beat.rebalance_timeout_ms,
        "assignor": beat.assignor,
        "topics": None if beat.topics is None else frozenset(beat.topics),
        "expression": beat.expression,
        "client_id": beat.client_id,
        "client_host": beat.client_host,
    }
    after = update.subscribe(changed(member, changes, classic=None))
    after = update.reconcile(after, *update.assign(after), beat.owned)
    update.write(after)
    if is_upgrade:
        migration.start_sessions(group, now_ms)
    group.extend_session(after.id, now_ms)
    update.refresh_expressions(beat.may_see)
    has_news = beat.epoch == JOIN_EPOCH or beat.is_full or member.assigned != after.assigned
    return group, after, after.assigned if has_news else None


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
            self.records.append(group.member_record(after))
        expression_counts = takes_effect(group, before, after, self.records)
        self.subscription_changed = names_changed or after.expression != before.expression
        if self.is_classic:
            bump = self.subscription_changed
        else:
            assignor = group.preferred_assignor(before, after)
            rack_counts = assignor in RACK_AWARE and after.rack != before.rack
            bump = (
                names_changed
                or expression_counts
                or (rules.assignor_counts and assignor != group.preferred_assignor())
                or rack_counts
                or group.epoch == 0
            )
        self.counts_members = bump or group.metadata_expired()
        if self.counts_members:
            self.epoch = group.next_epoch(group.counts_after(before, after), self.records, has_changed=bump)
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
        assignor = group.preferred_assignor(self.member, after)
        alike = all_subscribe_alike(group.counts, len(group.members), group.expressions)
        if self.counts_members:
            alike = all_subscribe_alike(
                group.counts_after(self.member, after), len(members), group.expressions_after(self.member, after)
            )
        targets = assign_targets(group, assignor, self.epoch, members, old_targets, alike=alike)
        self.records += group.target_records(self.epoch, targets, old_targets, self.now_ms)
        return self.epoch, targets[after.id]

    def reconcile(
        self, after: ConsumerMember, assignment_epoch: int, target: Partitions, owned: Owned | None
    ) -> ConsumerMember:
        """Move the member a step towards its target. Raises ApiError: FENCED_MEMBER_EPOCH."""
        at_once = self.group.groups.rules.unsubscribing_counts_at_once
        step = ConsumerStep(self.group, after, assignment_epoch, target, owned, revokes_at_once=at_once)
        reached = step.reconciled(subscription_changed=self.subscription_changed)
        if reached != after:
            self.records.append(self.group.assignment_record(reached))
        return reached

    def write(self, reached: ConsumerMember) -> None:
        """Write all records, and set the deadline for the partitions that the member has to revoke."""
        group, before = self.group, self.group.members.get(reached.id)
        group.groups.register(group)
        if self.replaced is not None:
            group.cancel_timers_of(self.replaced.id)
        if self.records:
            group.write(self.records)
        if reached.classic is None and (before is None or progress_of(before) != progress_of(reached)):
            group.schedule_revocation(reached, self.now_ms)

    def refresh_expressions(self, may_see: Callable[[str], bool] | None) -> None:
        """After the answer, match expressions with the topics that the member may see."""
        refresh(self.group, self._last_resolved, self.now_ms, may_see)


def check_room(group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    """Raises ApiError: GROUP_MAX_SIZE_REACHED, for a new member of a full group."""
    replaces = group.groups.rules.static_members_replace_in_full_groups
    if not replaces or group.static_member(instance_id) is None:
        group.check_capacity(member_id)


def new_member_id(rng: Random) -> str:
    """A member id as Kafka generates it: a random UUID in base64."""
    return base64.urlsafe_b64encode(UUID(int=rng.getrandbits(128), version=4).bytes).decode().rstrip("=")


def holds(assigned: Holding, owned: Owned | None) -> bool:
    """True if all partitions that a member claims to own were assigned to it."""
    if owned is None:
        return False
    return all(
        topic_id in assigned and all(partition in assigned[topic_id] for partition in partitions)
        for topic_id, partitions in owned
    )
