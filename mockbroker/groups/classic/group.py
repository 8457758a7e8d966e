"""One classic group: its members, its generation, and its rebalances.

A group waits for its members twice per generation: until all have joined again, so that it can choose a protocol and a
leader, and until the leader has sent the assignment. A waiting call has one ``PendingAnswer``.

Source: ClassicGroup, ClassicGroupState, the classicGroup methods of GroupMetadataManager and its replay of
GroupMetadataKey, GroupCoordinatorRecordHelpers, Apache Kafka 4.4; KIP-345
(static members), KIP-394 (member ids), KIP-814 (skipped assignment). Where Kafka leaves a parked call unanswered
(a call that its client repeats, a call of a removed member), this group answers it; where Kafka iterates a hash table,
members here are in the order in which they joined.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any, ClassVar

from mockbroker.groups.classic.members import (
    ClassicGroupMember,
    PendingJoin,
    PendingSync,
    differ,
    new_member_id,
    protocols_of,
    refused_join,
    topics_in,
    vote,
)
from mockbroker.groups.kind import CoordinatedGroup, GroupTimer, Sender
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from mockbroker.state.image import TopicPartition
from protocol.apis.classic_group import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocol.embedded.group_log import GroupMetadataKey, GroupMetadataValue
from protocol.error_codes import ErrorCode

CONSUMER_PROTOCOL_TYPE = "consumer"
MEMBER_ID_REQUIRED_VERSION, SKIP_ASSIGNMENT_VERSION = 4, 9  # of JoinGroup
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000  # GroupCoordinatorConfig.CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS


class ClassicGroupState(Enum):
    """The state of a group; the values are those in ListGroups and DescribeGroups. A group that is gone is dead."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(slots=True, eq=False, kw_only=True)
class ClassicGroup(CoordinatedGroup[ClassicGroupMember]):
    """A classic group and its generation; ``members`` are in the order in which they joined.

    ``pending`` are the ids of new members that have not yet joined with them,
    ``unsynced`` the members of this generation that have not yet sent a SyncGroup. ``_initial_delay`` is set while the
    first rebalance of an empty group is delayed: the current delay, and the maximum time that may follow it.
    """

    kind: ClassVar[str] = "classic"
    state: ClassicGroupState = ClassicGroupState.EMPTY
    state_since_ms: int = 0
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    pending: set[str] = field(default_factory=set)
    unsynced: set[str] = field(default_factory=set)
    _initial_delay: tuple[int, int] | None = None
    _member_added: bool = False  # during that delay

    def restore(self, records: Sequence[CoordinatorRecord], now_ms: int) -> None:
        """Resume the generation in the log, if any: its members do not notice, and get a full session.

        Of the protocols of its members only the chosen one is known.
        """
        self.state_since_ms = self.groups.clock.at(now_ms)
        if not records:
            return
        value: Any = records[0].value
        self.generation = value.generation
        self.protocol_type, self.protocol_name = value.protocol_type or None, value.protocol
        self.leader_id = value.leader
        self.state_since_ms = value.current_state_timestamp
        for one in value.members:
            known = {own: getattr(one, name) for name, own in ClassicGroupMember.common_with(type(one))}
            if one.rebalance_timeout == -1:
                known["rebalance_timeout_ms"] = one.session_timeout
            protocols = {value.protocol or "": one.subscription}
            self.members[one.member_id] = ClassicGroupMember(**known, protocols=protocols)
        if self.members:
            self.state = ClassicGroupState.STABLE
        self.restart_sessions(now_ms)

    def begin(self, now_ms: int, *, rebalance: bool) -> None:
        """Continue with the generation that the group was created with, or make all members join again."""
        self.commit_generation()
        self.restart_sessions(now_ms)
        if rebalance:
            self._prepare_rebalance(now_ms)

    # joining

    def join(self, request: JoinGroupRequest, sender: Sender, now_ms: int, rng: Random) -> PendingJoin:
        """Handle a JoinGroup; the answer arrives when the rebalance completes, or at once.

        Raises ApiError: INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
        """
        member_id, instance_id = request.member_id, request.group_instance_id
        if not self._has_capacity_for(member_id):
            self._remove(member_id)
            return PendingJoin(refused_join("", ErrorCode.GROUP_MAX_SIZE_REACHED))
        if not self._supports_any(request):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if member_id in self.pending:
            if instance_id is not None:  # only dynamic members get an id before they join
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "a static member cannot join with a dynamic member's id")
            return self._add_member(request, sender, member_id, now_ms)
        if member_id:
            return self._join_again(request, self.check_member(member_id, instance_id), now_ms)
        member_id = new_member_id(sender.client_id if instance_id is None else instance_id, rng)
        if instance_id is None and sender.version >= MEMBER_ID_REQUIRED_VERSION:
            self.pending.add(member_id)
            self.set_timer(GroupTimer.SESSION, member_id, now_ms + request.session_timeout_ms)
            return PendingJoin(refused_join(member_id, ErrorCode.MEMBER_ID_REQUIRED))
        if (absent := self.static_member(instance_id)) is not None:
            return self._replace_static_member(request, sender, absent, member_id, now_ms)
        return self._add_member(request, sender, member_id, now_ms)

    def _join_again(self, request: JoinGroupRequest, member: ClassicGroupMember, now_ms: int) -> PendingJoin:
        if list(member.protocols.items()) == list(protocols_of(request.protocols).items()):
            is_follower_again = self.state is ClassicGroupState.STABLE and member.id != self.leader_id
            if is_follower_again or self.state is ClassicGroupState.COMPLETING:
                return PendingJoin(self.answer_for(member))  # the first answer may have been lost
        parked = self._update_member(member, request)
        self._rebalance(now_ms)
        return parked

    def _add_member(self, request: JoinGroupRequest, sender: Sender, member_id: str, now_ms: int) -> PendingJoin:
        parked = PendingJoin()
        member = ClassicGroupMember(
            member_id,
            request.group_instance_id,
            sender.client_id,
            sender.client_host,
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
            protocols_of(request.protocols),
            is_new=True,
            join=parked,
        )
        if not self.members:
            self.protocol_type = request.protocol_type
        self.members[member_id] = member
        if self.leader_id is None:
            self.leader_id = member_id
        self.pending.discard(member_id)
        self._member_added = self._initial_delay is not None
        self.set_timer(GroupTimer.SESSION, member_id, now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalance(now_ms)
        return parked

    def _replace_static_member(
        self, request: JoinGroupRequest, sender: Sender, member: ClassicGroupMember, member_id: str, now_ms: int
    ) -> PendingJoin:
        """Replace the member id of a static member that has returned (KIP-345)."""
        old_leader = self.leader_id
        del self.members[member.id]
        self._answer_calls(member, ErrorCode.FENCED_INSTANCE_ID)
        self.cancel_timer(GroupTimer.SESSION, member.id)
        self.unsynced.discard(member.id)
        if self.leader_id == member.id:
            self.leader_id = member_id
        member.id = member_id
        member.is_new = False
        self.members[member_id] = member
        self._extend_session(member, now_ms)
        parked = self._update_member(member, request)
        if self.state is ClassicGroupState.COMPLETING:
            self._prepare_rebalance(now_ms)  # the leader may be assigning to the old id
        elif self.state is ClassicGroupState.STABLE and vote(self.members.values()) == self.protocol_name:
            self.commit_generation()
            answer = self.join_answer(member)
            if sender.version < SKIP_ASSIGNMENT_VERSION:
                answer.leader = old_leader or ""  # so that the member does not assign again
            elif member.id == self.leader_id:
                answer.skip_assignment, answer.members = True, self.joined_members()
            self._answer_join(member, answer)
        else:
            self._rebalance(now_ms)
        return parked

    def answer_for(self, member: ClassicGroupMember) -> JoinGroupResponse:
        """The current generation; for the leader it includes the members until the assignment arrives."""
        answer = self.join_answer(member)
        if member.id == self.leader_id and self.state is ClassicGroupState.COMPLETING:
            answer.members = self.joined_members()
        return answer

    def join_answer(self, member: ClassicGroupMember) -> JoinGroupResponse:
        """The current generation."""
        return JoinGroupResponse(
            member_id=member.id,
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader_id or "",
        )

    def joined_members(self) -> list[JoinGroupResponse.Member]:
        """The members with their metadata for the chosen protocol, by which the leader assigns partitions."""
        return [
            member.message(JoinGroupResponse.Member, metadata=member.metadata(self.protocol_name))
            for member in self.members.values()
        ]

    # syncing, heartbeats, leaving

    def sync(self, request: SyncGroupRequest, now_ms: int) -> PendingSync:
        """Handle a SyncGroup; the answer arrives with the leader's assignment.

        Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL,
            REBALANCE_IN_PROGRESS.
        """
        member = self._member_of_generation(request)
        if differ(request.protocol_type, self.protocol_type) or differ(request.protocol_name, self.protocol_name):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if self.state is ClassicGroupState.PREPARING:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)
        self.unsynced.discard(member.id)
        if not self.unsynced:
            self.cancel_timer(GroupTimer.SYNC)
        if self.state is ClassicGroupState.STABLE:
            return PendingSync(self.assignment_of(member))
        self._answer_sync(member, ErrorCode.REBALANCE_IN_PROGRESS)  # an earlier one: no client waits
        parked = member.sync = PendingSync()
        if member.id == self.leader_id:
            assignments = {one.member_id: one.assignment for one in request.assignments}
            for each in self.members.values():
                each.assignment = assignments.get(each.id, b"")
            self._enter(ClassicGroupState.STABLE, now_ms)
            self.commit_generation()
            self._answer_syncs(now_ms)
        return parked

    def assignment_of(self, member: ClassicGroupMember) -> SyncGroupResponse:
        """The assignment that the leader made for a member."""
        return SyncGroupResponse(
            protocol_type=self.protocol_type, protocol_name=self.protocol_name, assignment=member.assignment
        )

    def heartbeat(self, request: HeartbeatRequest, now_ms: int) -> None:
        """Handle a heartbeat.

        Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION; REBALANCE_IN_PROGRESS, in which case
            the session is extended all the same.
        """
        self._extend_session(self._member_of_generation(request), now_ms)
        if self.state is ClassicGroupState.PREPARING:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(self, leaving: Sequence[tuple[str, str | None]], now_ms: int) -> list[ErrorCode]:
        """Remove members by member id, instance id or both; returns one error code each.

        An administrator removes a static member with an empty member id and its instance id.
        """
        errors = [self._leave_one(member_id, instance_id) for member_id, instance_id in leaving]
        if ErrorCode.NONE in errors and self.state is not ClassicGroupState.EMPTY:
            self._rebalance(now_ms)
        return errors

    def _leave_one(self, member_id: str, instance_id: str | None) -> ErrorCode:
        if member_id not in self.pending:
            try:
                member_id = self.leaving_member(member_id, instance_id).id
            except ApiError as error:
                return ErrorCode(error.code)
        self._remove(member_id)
        return ErrorCode.NONE

    # offsets and admins

    def accept_commit(
        self, request: Any, offsets: Collection[TopicPartition], now_ms: int, version: int | None
    ) -> None:
        """Accept a commit of offsets, which extends the member's session; without a member, only if the group is empty.

        A transaction's offsets (``version`` None) are accepted in any state; a member in the request must be valid
        (KIP-447).

        Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS.
        """
        generation = request.generation_id_or_member_epoch
        names_member = generation >= 0 or bool(request.member_id) or request.group_instance_id is not None
        if (generation < 0 and self.state is ClassicGroupState.EMPTY) or (version is None and not names_member):
            return
        member = self.check_member(request.member_id, request.group_instance_id)
        self._check_generation(generation)
        if version is not None:
            if self.state is ClassicGroupState.COMPLETING:
                raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)
            self._extend_session(member, now_ms)

    def accept_fetch(self, member_id: str | None, generation: int) -> None:
        """Any client may read a classic group's offsets."""

    @property
    def state_name(self) -> str:
        return self.state.value

    def answer_waiting(self, error: ErrorCode) -> None:
        """Answer every waiting call with an error."""
        for member in self.members.values():
            self._answer_calls(member, error)

    def retention_begun_ms(self, committed_ms: int) -> int | None:
        """The time at which the retention of an offset with this commit time began; not called for topics being read.

        In a group that has had members it begins when the last one leaves; while members join, no offset expires.
        Source: ClassicGroup.offsetExpirationCondition, Apache Kafka 4.4.
        """
        if self.protocol_type is not None and self.state is ClassicGroupState.EMPTY:
            return self.state_since_ms
        if self.protocol_type is not None and self.state is not ClassicGroupState.STABLE:
            return None
        return committed_ms

    def subscribed_topics(self) -> Collection[str] | None:
        """The topics that members read, None if a subscription cannot be read.

        Raises ApiError: NON_EMPTY_GROUP, if members are not consumers.
        """
        if self.state is not ClassicGroupState.EMPTY and self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)
        subscriptions = [topics_in(member.metadata(self.protocol_name)) for member in self.members.values()]
        return None if None in subscriptions else set().union(*filter(None, subscriptions))

    def delete(self) -> None:
        """End the group. Raises ApiError: NON_EMPTY_GROUP."""
        if self.state is not ClassicGroupState.EMPTY:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)
        for member_id in sorted(self.pending):
            self._remove(member_id)

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that delete the group's state except its offsets."""
        return [CoordinatorRecord(GroupMetadataKey(group=self.id), None)]

    def _member_of_generation(self, request: SyncGroupRequest | HeartbeatRequest) -> ClassicGroupMember:
        member = self.check_member(request.member_id, request.group_instance_id)
        self._check_generation(request.generation_id)
        return member

    # time

    def on_timer(self, timer: GroupTimer, member_id: str, now_ms: int) -> None:
        """Handle one of this group's deadlines, which was removed from ``timers``."""
        if timer is GroupTimer.JOIN:
            self._end_join_wait(now_ms)
        elif timer is GroupTimer.SYNC and not self.unsynced:
            pass  # the last missing member has left
        elif timer is GroupTimer.SYNC:
            for each in [member_id for member_id in self.members if member_id in self.unsynced]:
                self._remove(each)
            self._prepare_rebalance(now_ms)
        elif member_id in self.pending:
            self._remove(member_id)
            self._complete_join_if_all_joined(now_ms)
        elif not self.members[member_id].has_satisfied_heartbeat():
            self._remove(member_id)
            if self.state is ClassicGroupState.PREPARING:
                self._complete_join_if_all_joined(now_ms)
            else:
                self._prepare_rebalance(now_ms)

    def restart_sessions(self, now_ms: int) -> None:
        """Start a full session for every member that has been in a generation."""
        for member in self.members.values():
            if not member.is_new:
                self._extend_session(member, now_ms)

    def _end_join_wait(self, now_ms: int) -> None:
        if self._initial_delay is None or not self._member_added or self._initial_delay[1] == 0:
            self._complete_join(now_ms)
            return
        self._member_added = False
        delay_ms, remaining_ms = self._initial_delay
        delay_next_ms = min(self.groups.cluster.settings["group.initial.rebalance.delay.ms"], remaining_ms)
        self._initial_delay = (delay_next_ms, max(remaining_ms - delay_ms, 0))
        self.set_timer(GroupTimer.JOIN, "", now_ms + delay_next_ms)

    # a rebalance

    def _rebalance(self, now_ms: int) -> None:
        """Start a rebalance, or complete the current one if that has become possible."""
        if self.state is not ClassicGroupState.PREPARING:
            self._prepare_rebalance(now_ms)
        elif self._initial_delay is None:
            self._complete_join_if_all_joined(now_ms)

    def _prepare_rebalance(self, now_ms: int) -> None:
        if self.state is ClassicGroupState.COMPLETING:
            for member in self.members.values():
                member.assignment = b""
            self._answer_syncs(now_ms, ErrorCode.REBALANCE_IN_PROGRESS)
        self.unsynced.clear()
        self.cancel_timer(GroupTimer.SYNC)
        first = self.state is ClassicGroupState.EMPTY
        self._enter(ClassicGroupState.PREPARING, now_ms)
        delay_ms = self.groups.cluster.settings["group.initial.rebalance.delay.ms"] if first else 0
        if first and delay_ms > 0:  # so that other members of a new group can join
            self._initial_delay = (delay_ms, max(self._rebalance_timeout_ms() - delay_ms, 0))
            self._member_added = False
            self.set_timer(GroupTimer.JOIN, "", now_ms + delay_ms)
        elif first or self._all_joined():
            self._complete_join(now_ms)
        else:
            self.set_timer(GroupTimer.JOIN, "", now_ms + self._rebalance_timeout_ms())

    def _complete_join_if_all_joined(self, now_ms: int) -> None:
        if self.state is ClassicGroupState.PREPARING and self._all_joined():
            self._complete_join(now_ms)

    def _complete_join(self, now_ms: int) -> None:
        """Begin the next generation with the members that joined. Static members remain even if they did not."""
        self.cancel_timer(GroupTimer.JOIN)
        self._initial_delay = None
        for member in list(self.members.values()):
            if member.join is None and member.instance_id is None:
                self._remove(member.id)
        if self.members and not self._elect_leader():
            # Only absent static members are left: their sessions will expire unless they return.
            self.set_timer(GroupTimer.JOIN, "", now_ms + max(self._rebalance_timeout_ms(), 1))
            return
        self.generation += 1
        self.unsynced.clear()
        if not self.members:
            self.protocol_name = None
            self._enter(ClassicGroupState.EMPTY, now_ms)
            self.commit_generation()
            return
        self.protocol_name = vote(self.members.values())
        self._enter(ClassicGroupState.COMPLETING, now_ms)
        for member in self.members.values():
            self._answer_join(member, self.answer_for(member))
            self._extend_session(member, now_ms)
            member.is_new = False
            self.unsynced.add(member.id)
        self.set_timer(GroupTimer.SYNC, "", now_ms + self._rebalance_timeout_ms())

    def _elect_leader(self) -> bool:
        """Ensure that the leader is a member that joined; returns False if none did."""
        assert self.leader_id is not None
        if self.members[self.leader_id].join is None:
            joined = [member.id for member in self.members.values() if member.join is not None]
            if not joined:
                return False
            self.leader_id = joined[0]
        return True

    def _enter(self, state: ClassicGroupState, now_ms: int) -> None:
        self.state = state
        self.state_since_ms = self.groups.clock.at(now_ms)

    def commit_generation(self) -> None:
        """Write the current generation, with each member's assignment."""
        members = [
            member.message(GroupMetadataValue.Member, subscription=member.metadata(self.protocol_name))
            for member in self.members.values()
        ]
        value = GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol_name,
            leader=self.leader_id,
            current_state_timestamp=self.state_since_ms,
            members=members,
        )
        self.groups.write(self.id, [CoordinatorRecord(GroupMetadataKey(group=self.id), value)])

    # members

    def _has_capacity_for(self, member_id: str) -> bool:
        limit: int = self.groups.cluster.settings["group.max.size"]
        member = self.members.get(member_id)
        if self.state is ClassicGroupState.EMPTY:
            return True
        if self.state is ClassicGroupState.PREPARING:  # a lowered limit rejects the last joiner
            waiting = sum(one.join is not None for one in self.members.values())
            return (member is not None and member.join is not None) or waiting < limit
        return member is not None or len(self.members) < limit

    def _supports_any(self, request: JoinGroupRequest) -> bool:
        if self.state is ClassicGroupState.EMPTY:
            return bool(request.protocol_type and request.protocols)
        return request.protocol_type == self.protocol_type and any(
            all(one.name in member.protocols for member in self.members.values()) for one in request.protocols
        )

    def _update_member(self, member: ClassicGroupMember, request: JoinGroupRequest) -> PendingJoin:
        self._answer_join(member, refused_join(member.id, ErrorCode.REBALANCE_IN_PROGRESS))  # an earlier one
        member.protocols = protocols_of(request.protocols)
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        parked = member.join = PendingJoin()
        return parked

    def _remove(self, member_id: str) -> None:
        self.pending.discard(member_id)
        self.unsynced.discard(member_id)
        self.cancel_timer(GroupTimer.SESSION, member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._answer_calls(member, ErrorCode.UNKNOWN_MEMBER_ID, "")
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def _all_joined(self) -> bool:
        return not self.pending and all(member.join is not None for member in self.members.values())

    def _rebalance_timeout_ms(self) -> int:
        return max((0, *(member.rebalance_timeout_ms for member in self.members.values())))

    def _check_generation(self, generation: int) -> None:
        if generation != self.generation:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)

    # answers

    def _answer_syncs(self, now_ms: int, error: ErrorCode = ErrorCode.NONE) -> None:
        for member in self.members.values():
            if member.sync is not None:
                self._answer_sync(member, error)
                self._extend_session(member, now_ms)

    def _answer_calls(self, member: ClassicGroupMember, error: ErrorCode, member_id: str | None = None) -> None:
        self._answer_join(member, refused_join(member.id if member_id is None else member_id, error))
        self._answer_sync(member, error)

    def _answer_join(self, member: ClassicGroupMember, answer: JoinGroupResponse) -> None:
        parked, member.join = member.join, None
        if parked is not None:
            parked.answer = answer
            self.groups.notify(parked)

    def _answer_sync(self, member: ClassicGroupMember, error: ErrorCode) -> None:
        parked, member.sync = member.sync, None
        if parked is not None:
            parked.answer = SyncGroupResponse(error_code=error) if error else self.assignment_of(member)
            self.groups.notify(parked)

    # timers

    def _extend_session(self, member: ClassicGroupMember, now_ms: int) -> None:
        self.set_timer(GroupTimer.SESSION, member.id, now_ms + member.session_timeout_ms)
