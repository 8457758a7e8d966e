"""Handles ConsumerGroupHeartbeat: joining, subscribing, reconciling with the target, leaving.

A heartbeat is evaluated against the current group; its records are written at the end, so a rejected heartbeat changes
nothing.

Source: GroupMetadataManager.consumerGroupHeartbeat, GroupCoordinatorService and CurrentAssignmentBuilder, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from mockbroker.groups.consumer import migration
from mockbroker.groups.consumer.expressions import refresh, takes_effect
from mockbroker.groups.consumer.group import ConsumerGroup, ConsumerMember
from mockbroker.groups.kind import Sender
from mockbroker.groups.modern.assignors import RACK_AWARE, assign_targets, assignor_names
from mockbroker.groups.modern.heartbeat import MemberUpdate, check_epoch, check_filled
from mockbroker.groups.modern.members import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    NO_TIMEOUT,
    STATIC_LEAVE_EPOCH,
    Partitions,
    messages_of,
    parts_of,
)
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError, invalid_request
from protocol.apis.consumer_group import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from protocol.error_codes import ErrorCode
from protocol.uuids import uuid_to_text

if TYPE_CHECKING:
    from mockbroker.groups.coordinator import Groups
from mockbroker.groups.consumer.group import Holding
from mockbroker.groups.modern.heartbeat import ReconciliationStep

MEMBER_MAKES_ID_VERSION = 1  # of ConsumerGroupHeartbeat (KIP-1082)
Response = ConsumerGroupHeartbeatResponse


def check_heartbeat(groups: Groups, request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    """Raises ApiError: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, for errors that do not depend on a group's state."""
    epoch = request.member_epoch
    if version >= MEMBER_MAKES_ID_VERSION or epoch > JOIN_EPOCH or epoch == LEAVE_EPOCH:
        check_filled(request, "member_id")
    check_filled(request, "group_id", "instance_id", "rack_id")
    if epoch == JOIN_EPOCH:
        if request.rebalance_timeout_ms == NO_TIMEOUT:
            raise invalid_request("RebalanceTimeoutMs must be provided in first request.")
        if request.topic_partitions is None or request.topic_partitions:
            raise invalid_request("TopicPartitions must be empty when (re-)joining.")
        if not subscribes(request):
            raise invalid_request(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
            )
    check_epoch(request, STATIC_LEAVE_EPOCH)
    names, assignor = assignor_names(groups), request.server_assignor
    if assignor is not None and assignor not in names:
        problem = f"ServerAssignor {assignor} is not supported. Supported assignors: {', '.join(sorted(names))}."
        raise ApiError(ErrorCode.UNSUPPORTED_ASSIGNOR, problem)


def subscribes(request: ConsumerGroupHeartbeatRequest) -> bool:
    return request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None


def take_heartbeat(
    groups: Groups, request: ConsumerGroupHeartbeatRequest, sender: Sender, now_ms: int, rng: Random
) -> Response:
    """Handle a checked heartbeat; the response has the assignment if it changed or the member may not know it.

    Raises ApiError: GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
        FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, INVALID_REGULAR_EXPRESSION, UNKNOWN_SERVER_ERROR.
    """
    epoch, instance_id = request.member_epoch, request.instance_id
    if epoch < JOIN_EPOCH:
        groups.get_as(ConsumerGroup, request.group_id).leave(request, now_ms)
        return Response(member_id=request.member_id, member_epoch=epoch)
    group, new_records = migration.group_for(groups, request.group_id, create=epoch == JOIN_EPOCH)
    check_room(group, request.member_id, instance_id)
    update = ConsumerUpdate(group, now_ms, new_records)
    owned = None if request.topic_partitions is None else parts_of(request.topic_partitions)
    member_id = request.member_id or new_member_id(rng)
    before = update.member(
        member_id, instance_id, epoch, lambda member: owned is not None and owned.issubset(member.assigned)
    )
    after = replace(before.after_request(request, sender), classic=None)
    update.subscribe(before, after)
    after = update.reconcile(after, *update.assign(after, update.epoch, update.targets), owned)
    update.write(after)
    if new_records:
        migration.start_sessions(group, now_ms)
    update.refresh_expressions(sender)
    response = Response(
        member_id=after.id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=group.config("consumer.heartbeat.interval.ms"),
    )
    # a member that sends all fields has lost an answer
    is_full = request.rebalance_timeout_ms != NO_TIMEOUT and subscribes(request) and owned is not None
    if epoch == JOIN_EPOCH or is_full or before.assigned != after.assigned:
        assigned = messages_of(Response.Assignment.TopicPartitions, after.assigned.keys())
        response.assignment = Response.Assignment(topic_partitions=assigned)
    return response


class ConsumerUpdate(MemberUpdate[ConsumerMember]):
    """The effect of a heartbeat, or of a JoinGroup if ``is_classic`` is set."""

    group: ConsumerGroup

    def __init__(
        self,
        group: ConsumerGroup,
        now_ms: int,
        records: Iterable[CoordinatorRecord] = (),
        *,
        is_classic: bool = False,
    ) -> None:
        super().__init__(group, now_ms, records)
        self.is_classic = is_classic
        self.epoch = group.epoch
        self.subscription_changed = False
        self._last_resolved = next(iter(group.resolved.values()), None)

    def subscribe(self, before: ConsumerMember, after: ConsumerMember) -> None:
        """Apply the member's subscription; the group's epoch increases if the change affects its assignment."""
        group = self.group
        names_changed = after.topics != before.topics
        if after != before:
            self.records.append(group.member_record(after))
        expression_counts = takes_effect(group, before, after, self.records)
        self.subscription_changed = names_changed or after.expression != before.expression
        members, _ = self.members_and_targets(after)
        self.assignor = group.preferred_assignor([one for one in members.values() if one is not after], after)
        if self.is_classic:
            bump = self.subscription_changed
        else:
            bump = (
                names_changed
                or expression_counts
                or (group.groups.is_since("4.4") and self.assignor != group.assignor_name)
                or (self.assignor == RACK_AWARE and after.rack != before.rack)
                or group.epoch == 0
            )
        self.counted = list(group.members.values())
        if bump or group.metadata_expired():
            self.counted = list(members.values())
            self.epoch = group.next_epoch(self.counted, self.records, has_changed=bump)

    def targets(
        self, members: Mapping[str, ConsumerMember], old_targets: Mapping[str, Partitions]
    ) -> dict[str, Partitions]:
        """The targets of members by the group's assignor."""
        subscriptions = {(one.topics, one.expression or "") for one in self.counted}
        alike = len(subscriptions) <= 1 and not any(topics and expression for topics, expression in subscriptions)
        return assign_targets(self.group, self.assignor, self.epoch, members, old_targets, alike=alike)

    def reconcile(
        self, after: ConsumerMember, assignment_epoch: int, target: Partitions, owned: Partitions | None
    ) -> ConsumerMember:
        """Move the member a step towards its target."""
        at_once = self.group.groups.is_since("4.2")
        step = ConsumerStep(self.group, after, assignment_epoch, target, owned, revokes_at_once=at_once)
        return self.moved(after, step.reconciled(subscription_changed=self.subscription_changed))

    def refresh_expressions(self, sender: Sender) -> None:
        """After the answer, match expressions with the topics that the sender may see."""
        refresh(self.group, self._last_resolved, self.now_ms, sender)


def check_room(group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    """Raises ApiError: GROUP_MAX_SIZE_REACHED, for a new member of a full group."""
    replaces = group.groups.is_since("4.4")  # a static member can replace itself in a full group
    if not replaces or group.static_member(instance_id) is None:
        group.check_capacity(member_id)


def new_member_id(rng: Random) -> str:
    """A member id as Kafka generates it: a random UUID in base64."""
    return uuid_to_text(UUID(int=rng.getrandbits(128), version=4).bytes)


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
