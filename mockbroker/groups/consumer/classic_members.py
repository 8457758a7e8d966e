"""Members of the classic protocol in a consumer group: their JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

No call waits: a join returns the group's epoch as the generation, a sync the member's assignment in it.

Source: the methods classicGroup...ToConsumerGroup of GroupMetadataManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from mockbroker.groups.classic.group import CONSUMER_PROTOCOL_TYPE, MEMBER_ID_REQUIRED_VERSION
from mockbroker.groups.classic.members import PendingJoin, PendingSync, differ, protocols_of, refused_join
from mockbroker.groups.consumer import migration
from mockbroker.groups.consumer.group import ConsumerGroup, ConsumerMember
from mockbroker.groups.consumer.heartbeat import ConsumerUpdate, check_room, new_member_id
from mockbroker.groups.kind import GroupTimer, Sender
from mockbroker.groups.modern.members import MemberState
from mockbroker.state.errors import ApiError
from protocol.apis.classic_group import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError


@dataclass(slots=True, eq=False)
class ClassicMembers:
    """The members of the classic protocol in a consumer group; handles their requests as ``ClassicGroup`` does."""

    group: ConsumerGroup

    def join(self, request: JoinGroupRequest, sender: Sender, now_ms: int, rng: Random) -> PendingJoin:
        """Handle a JoinGroup.

        Raises ApiError: INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
        """
        group, instance_id = self.group, request.group_instance_id
        if migration.policy(group.groups) == "disabled":
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        member_id = request.member_id or new_member_id(rng)
        check_room(group, member_id, instance_id)
        if not supports_any(group, request):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if not request.member_id and instance_id is None and sender.version >= MEMBER_ID_REQUIRED_VERSION:
            return PendingJoin(refused_join(member_id, ErrorCode.MEMBER_ID_REQUIRED))
        update = ConsumerUpdate(group, now_ms, is_classic=True)
        existing = group.static_member(instance_id)
        if instance_id is not None and request.member_id:
            before = group.check_member(member_id, instance_id)
        elif existing is not None:
            before = update.replacing(existing, member_id)
        else:
            before = group.member_or_new(member_id)
        downgrades = existing is not None and not existing.is_classic and migration.may_downgrade(group, [existing], 1)
        subscription = subscription_of(request)
        after = before.after_request(
            request,
            sender,
            instance_id=instance_id,
            rack=subscription.rack_id or None,
            topics=frozenset(subscription.topics),
            expression="",
            classic=migration.classic_metadata(request.session_timeout_ms, protocols_of(request.protocols)),
        )
        update.subscribe(before, after)
        owned = migration.existing(subscription.owned_partitions, group.groups.topics)
        group.cancel_timer(GroupTimer.JOIN, after.id)
        if downgrades:
            assert existing is not None
            stale = group.assignment_epoch < update.epoch
            if not stale:
                after = update.reconcile(after, group.assignment_epoch, group.target_of(existing.id), owned)
            migration.downgrade(group, now_ms, [existing], joining=after, rebalance=stale)
        else:
            after = update.reconcile(after, *update.assign(after, update.epoch, update.targets), owned)
            update.write(after, request.session_timeout_ms)
            group.set_timer(GroupTimer.SYNC, after.id, now_ms + request.rebalance_timeout_ms)
            update.refresh_expressions(sender)
        return PendingJoin(
            JoinGroupResponse(
                member_id=after.id,
                generation_id=after.epoch,
                protocol_type=CONSUMER_PROTOCOL_TYPE,
                protocol_name=protocol_name(after),
            )
        )

    def sync(self, request: SyncGroupRequest, now_ms: int) -> PendingSync:
        """Handle a SyncGroup.

        Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL,
            REBALANCE_IN_PROGRESS.
        """
        group, protocol_type, name = self.group, request.protocol_type, request.protocol_name
        if not group.members:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        member = self._member_of_generation(request)
        assert member.classic is not None
        if differ(protocol_type, CONSUMER_PROTOCOL_TYPE) or differ(name, protocol_name(member)):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.assignment_epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            await_join(group, member, now_ms)
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)
        group.cancel_timer(GroupTimer.SYNC, member.id)
        group.extend_session(member.id, now_ms, member.classic.session_timeout_ms)
        version = migration.protocol_version(member.classic.supported_protocols[0].metadata)
        assignment = migration.assignment_bytes(member.assigned, version, group.groups.topics)
        return PendingSync(SyncGroupResponse(protocol_type=protocol_type, protocol_name=name, assignment=assignment))

    def heartbeat(self, request: HeartbeatRequest, now_ms: int) -> None:
        """Handle a heartbeat.

        Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION; REBALANCE_IN_PROGRESS, in which case
            the session is extended all the same.
        """
        group, member = self.group, self._member_of_generation(request)
        assert member.classic is not None
        group.extend_session(member.id, now_ms, member.classic.session_timeout_ms)
        if (
            member.epoch < group.assignment_epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (member.state is MemberState.UNRELEASED_PARTITIONS and not waits_for_others(group, member))
        ):
            await_join(group, member, now_ms)
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(self, leaving: Sequence[tuple[str, str | None]], now_ms: int) -> list[ErrorCode]:
        """Remove members by member id, instance id or both; returns one error code each."""
        errors: list[ErrorCode] = []
        gone: dict[str, ConsumerMember] = {}
        for member_id, instance_id in leaving:
            try:
                member = self.group.leaving_member(member_id, instance_id)
            except ApiError as error:
                errors.append(ErrorCode(error.code))
            else:
                gone[member.id] = member
                errors.append(ErrorCode.NONE)
        self.group.fence(list(gone.values()), now_ms)
        return errors

    def _member_of_generation(self, request: SyncGroupRequest | HeartbeatRequest) -> ConsumerMember:
        """The member of the classic protocol that sent a request, if the generation is its current epoch.

        Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
        """
        member = self.group.check_member(request.member_id, request.group_instance_id)
        if member.classic is None:
            problem = f"Member {member.id} does not use the classic protocol."
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, problem)
        if member.epoch != request.generation_id:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        return member


def supports_any(group: ConsumerGroup, request: JoinGroupRequest) -> bool:
    """True if the member supports an assignor that all other members of the classic protocol support."""
    if request.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return False
    known = [{one.name for one in each.classic.supported_protocols} for each in group.members.values() if each.classic]
    return any(all(one.name in names for names in known) for one in request.protocols)


def subscription_of(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    """A consumer's metadata for its assignor. Raises ApiError: INCONSISTENT_GROUP_PROTOCOL."""
    try:
        found: ConsumerProtocolSubscription = read_versioned(
            ConsumerProtocolSubscription, request.protocols[0].metadata, trailing="ignore"
        )
    except ProtocolError:
        problem = "Malformed embedded consumer protocol in subscription deserialization."
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, problem) from None
    return found


def protocol_name(member: ConsumerMember) -> str:
    """The assignor that the answer to a member names as chosen: the member's first choice."""
    assert member.classic is not None
    return str(member.classic.supported_protocols[0].name)


def await_join(group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
    """Require the member to join again within its rebalance time-out, which starts with the first such answer."""
    if not group.has_timer(GroupTimer.JOIN, member.id):
        group.set_timer(GroupTimer.JOIN, member.id, now_ms + member.rebalance_timeout_ms)


def waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """True if another member still holds a partition of this member's target."""
    return not group.held().isdisjoint(group.target_of(member.id).difference(member.assigned))
