"""Drives the groups of a cluster by hand: members join, sync and fall silent, and only ``advance`` moves time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from mockbroker.groups.classic.group import ClassicGroup
from mockbroker.groups.classic.members import PendingAnswer
from mockbroker.groups.coordinator import Groups
from mockbroker.groups.kind import Sender
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError
from mockbroker.state.image import TopicPartition
from protocol.apis.classic_group import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocol.apis.group_offsets import OffsetCommitRequest
from protocol.embedded.group_log import OffsetCommitValue
from protocol.error_codes import ErrorCode

GROUP = "readers"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
Protocols = Iterable[tuple[str, bytes]]
RANGE: Protocols = (("range", b"orders"),)
VERSION, WITHOUT_SKIPPING, WITHOUT_IDS = 9, 8, 3  # of JoinGroup


class GroupDriver:
    """One group named ``GROUP`` at time 0, with settings given by Kafka's names."""

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.cluster = Cluster.create([Broker(0, None)], settings=settings)
        self.notified, self.groups = self.cluster.woken, self.cluster.groups
        self.now_ms = 0
        self.rng = Random(0)

    @property
    def group(self) -> ClassicGroup:
        found = self.groups.get(GROUP)
        assert isinstance(found, ClassicGroup)
        return found

    def next_ms(self) -> int | None:
        """The earliest deadline of a group, None if no group has one."""
        return self.groups.timers.next_ms()

    def advance(self, ms: int) -> None:
        """Let time pass, carrying out what falls due at its own time."""
        target_ms = self.now_ms + ms
        while (deadline_ms := self.cluster.timers.next_ms()) is not None and deadline_ms <= target_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.cluster.timers.advance(self.now_ms)
        self.now_ms = target_ms

    def join(
        self,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: Protocols = RANGE,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        protocol_type: str = "consumer",
        requires_member_id: bool = True,
        skips_assignment: bool = True,
    ) -> PendingAnswer[JoinGroupResponse]:
        request = join_request(member_id, instance_id, protocols, session_ms, rebalance_ms, protocol_type)
        version = VERSION if skips_assignment else WITHOUT_SKIPPING
        sender = Sender(version if requires_member_id else WITHOUT_IDS, "client", "/127.0.0.1")
        self.groups.check_joining(GROUP, session_ms)
        return self.groups.join(request, sender, self.now_ms, self.rng)

    def enter(self, **how: Any) -> tuple[str, PendingAnswer[JoinGroupResponse]]:
        """Join as a new member, with the second JoinGroup that a dynamic one needs; its id and that join."""
        parked = self.join(**how)
        if parked.answer is not None and parked.answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            parked = self.join(parked.answer.member_id, **how)
        member_id = next(
            (member.id for member in self.group.members.values() if member.join is parked),
            parked.answer.member_id if parked.answer else "",
        )
        return member_id, parked

    def sync(
        self,
        member_id: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        generation: int | None = None,
        instance_id: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = None,
    ) -> PendingAnswer[SyncGroupResponse]:
        known = self.group.generation if generation is None else generation
        request = sync_request(member_id, known, assignments, instance_id=instance_id)
        request.protocol_type, request.protocol_name = protocol_type, protocol_name
        return self.groups.of_members(request.group_id).sync(request, self.now_ms)

    def heartbeat(self, member_id: str, *, generation: int | None = None, instance_id: str | None = None) -> ErrorCode:
        """The error that a heartbeat is answered with."""
        generation = self.group.generation if generation is None else generation
        try:
            self.groups.of_members(GROUP).heartbeat(heartbeat_request(member_id, generation, instance_id), self.now_ms)
        except ApiError as error:
            return ErrorCode(error.code)
        return ErrorCode.NONE

    def leave(self, *leaving: str | tuple[str, str | None]) -> list[ErrorCode]:
        pairs = [(each, None) if isinstance(each, str) else each for each in leaving]
        return self.groups.leave(GROUP, pairs, self.now_ms)

    def settle(self, *members: tuple[str, str | None]) -> None:
        """Join all these members, given as (member id, instance id), and sync them: the group is stable afterwards."""
        for member_id, instance_id in members:
            self.join(member_id, instance_id=instance_id)
        for member_id, instance_id in members:
            self.sync(member_id, self.assignments(), instance_id=instance_id)

    def assignments(self) -> dict[str, bytes]:
        """An assignment that tells each member its own id and the generation."""
        return {member_id: f"{member_id} {self.group.generation}".encode() for member_id in self.group.members}

    def stable_members(self, count: int) -> list[str]:
        """A stable group of so many dynamic members; their ids, the leader's first."""
        member_ids: list[str] = []
        for _ in range(count):
            member_id, _ = self.enter()
            member_ids.append(member_id)
            self.settle(*[(each, None) for each in member_ids])
        return member_ids


def join_request(
    member_id: str = "",
    instance_id: str | None = None,
    protocols: Protocols = RANGE,
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
    protocol_type: str = "consumer",
    *,
    group_id: str = GROUP,
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequest.Protocol(name=name, metadata=metadata) for name, metadata in protocols],
    )


def sync_request(
    member_id: str,
    generation: int,
    assignments: Mapping[str, bytes] | None = None,
    *,
    instance_id: str | None = None,
    group_id: str = GROUP,
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group_id,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance_id,
        assignments=[
            SyncGroupRequest.Assignment(member_id=each, assignment=assignment)
            for each, assignment in (assignments or {}).items()
        ],
    )


def heartbeat_request(
    member_id: str, generation: int, instance_id: str | None = None, *, group_id: str = GROUP
) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=group_id, generation_id=generation, member_id=member_id, group_instance_id=instance_id
    )


def commit_offsets(
    groups: Groups,
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetCommitValue],
    now_ms: int,
    *,
    generation: int = -1,
    member_id: str = "",
    instance_id: str | None = None,
    producer: tuple[int, int] | None = None,
) -> None:
    """Commit offsets at this time; without a generation, of no member."""
    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=instance_id,
    )
    wall_ms = groups.clock.at(now_ms)
    stamped = {
        at: OffsetCommitValue(one.offset, one.leader_epoch, one.metadata, wall_ms) for at, one in offsets.items()
    }
    groups.commit(request, stamped, now_ms, OffsetCommitRequest.valid_versions.highest, producer)
