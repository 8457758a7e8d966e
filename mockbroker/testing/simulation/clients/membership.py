"""A member of a classic group: finds its coordinator, joins, syncs, sends heartbeats, and joins again when told to.

Source: AbstractCoordinator and ConsumerCoordinator, Apache Kafka 4.4; KIP-62, KIP-345, KIP-394.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_rack.assignment.members import Member
from kafka_rack.assignment.round_robin import assign_round_robin
from kafka_rack.assignment.topology import Topology
from kafka_rack.consistency import Assignment
from mockbroker.testing.simulation.clients.client import Client, ConnectionLostError, TopicPartition
from mockbroker.testing.simulation.history import GenerationStarted
from mockbroker.testing.simulation.scheduler import Signal
from protocol.apis.classic_group import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from protocol.calls import encode
from protocol.codec import decode_as
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.error_codes import ErrorCode

SESSION_TIMEOUT_MS = 6_000
REBALANCE_TIMEOUT_MS = 8_000
HEARTBEAT_INTERVAL_MS = 1_000
SUBSCRIPTION_VERSION, ASSIGNMENT_VERSION = 3, 3
PROTOCOL_TYPE, PROTOCOL_NAME = "consumer", "roundrobin"
LOST_MEMBERSHIP = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
    }
)


class Membership:
    """One member. While ``is_stable`` its partitions are those of ``assigned``, in generation ``generation``.

    ``changed`` is set when it has lost them, or has to join anew.
    """

    def __init__(self, client: Client, group: str, topics: Sequence[str], *, instance_id: str | None = None) -> None:
        self.client, self.group, self.topics, self.instance_id = client, group, tuple(topics), instance_id
        self.member_id, self.generation = "", -1
        self.assigned: tuple[TopicPartition, ...] = ()
        self.is_stable = False
        self.changed = Signal()
        self._partition_counts: dict[str, int] = {}

    async def join(self) -> None:
        """Join until there is an assignment."""
        attempt = 0
        while not self.is_stable:
            try:
                await self._try_to_join()
            except ConnectionLostError:
                await self.client.refresh()
            if not self.is_stable:
                await self.client.back_off(attempt)
                attempt = min(attempt + 1, 3)

    async def _try_to_join(self) -> None:
        client = self.client
        await client.know(*self.topics)
        answer = await client.ask_coordinator(
            self.group, self._join_request, error_of, timeout_ms=REBALANCE_TIMEOUT_MS + 5_000
        )
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            return
        if error is not ErrorCode.NONE:
            self._leave_behind(error)
            return
        self.member_id, self.generation = answer.member_id, answer.generation_id
        assignments = []
        self._partition_counts.clear()
        if answer.leader == answer.member_id and not answer.skip_assignment:
            await client.know(*self.topics)
            assignments = self._assign(answer.members)
        elif answer.leader == answer.member_id:  # a static leader that comes back: topics may have grown meanwhile
            self._partition_counts = dict.fromkeys(self.topics, 0)
        synced = await client.ask_coordinator(self.group, lambda: self._sync_request(assignments), error_of)
        error = ErrorCode(synced.error_code)
        if error is not ErrorCode.NONE:
            self._leave_behind(error)
            return
        self._take(synced.assignment)

    def _join_request(self) -> Any:
        subscription = ConsumerProtocolSubscription(topics=list(self.topics), rack_id=self.client.rack)
        metadata = SUBSCRIPTION_VERSION.to_bytes(2) + encode(subscription, SUBSCRIPTION_VERSION)
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequest.Protocol(name=PROTOCOL_NAME, metadata=metadata)],
        )

    def _sync_request(self, assignments: list[Any]) -> Any:
        return SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL_NAME,
            assignments=assignments,
        )

    def _assign(self, joined: list[Any]) -> list[Any]:
        """What each member is to have, as the group's leader says."""
        self._partition_counts = {name: len(self.client.topics[name].leaders) for name in self.topics}
        members = []
        for one in joined:
            version = int.from_bytes(one.metadata[:2])
            wanted = decode_as(ConsumerProtocolSubscription, version, one.metadata[2:])
            members.append(Member(one.member_id, tuple(wanted.topics), instance_id=one.group_instance_id))
        topics: dict[str, list[list[int]]] = {name: [[]] * count for name, count in self._partition_counts.items()}
        found = assign_round_robin(Topology({}, topics), members)
        return [
            SyncGroupRequest.Assignment(member_id=member_id, assignment=encoded_assignment(places))
            for member_id, places in found.items()
        ]

    def _take(self, data: bytes) -> None:
        """Begin a generation with this assignment."""
        found = decode_as(ConsumerProtocolAssignment, int.from_bytes(data[:2]), data[2:]) if data else None
        self.assigned = tuple(
            (one.topic, index) for one in (found.assigned_partitions if found else ()) for index in one.partitions
        )
        self.is_stable = True
        client = self.client
        owner = self.instance_id or client.name  # a static member's next life has what the last one had
        client.world.history.add(Assignment(owner, self.group, self.generation, self.assigned, client.now_ms))
        client.world.history.generations.append(GenerationStarted(self.group, self.generation, client.now_ms))

    @property
    def term(self) -> int:
        """Changes with what it is assigned: here it is the generation."""
        return self.generation

    def is_in(self, term: int) -> bool:
        """Whether it still has what it had in this term."""
        return self.is_stable and self.generation == term

    def lost(self, error: ErrorCode) -> None:
        """An answer has said that the member is to join anew."""
        if self.is_stable:
            self._leave_behind(error)

    def _leave_behind(self, error: ErrorCode) -> None:
        self.is_stable = False
        if error in LOST_MEMBERSHIP:
            self.generation = -1
            if error is not ErrorCode.ILLEGAL_GENERATION:
                self.member_id = ""
        self.changed.set()

    async def keep_alive(self) -> None:
        """Send heartbeats for as long as the client lives."""
        while True:
            await self.client.sleep(HEARTBEAT_INTERVAL_MS)
            if not self.is_stable:
                continue
            generation = self.generation
            try:
                answer = await self.client.ask_coordinator(self.group, self._heartbeat_request, error_of)
            except ConnectionLostError:
                continue
            error = ErrorCode(answer.error_code)
            if generation == self.generation and error is not ErrorCode.NONE:
                self.lost(error)
            elif self.has_more_partitions():
                self.lost(ErrorCode.REBALANCE_IN_PROGRESS)

    def has_more_partitions(self) -> bool:
        """Whether topics have grown since this member, as the leader, assigned their partitions."""
        return any(
            name in self.client.topics and len(self.client.topics[name].leaders) > count
            for name, count in self._partition_counts.items()
        )

    def _heartbeat_request(self) -> Any:
        return HeartbeatRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )

    async def leave(self) -> None:
        """Tell the group that the member goes; nobody waits for the answer's arrival for long."""
        if not self.member_id or self.instance_id is not None:
            return
        self.is_stable = False
        members = [LeaveGroupRequest.Member(member_id=self.member_id)]
        try:
            broker = await self.client.coordinator(self.group)
            await self.client.ask(broker, LeaveGroupRequest(group_id=self.group, members=members))
        except ConnectionLostError:
            return


def encoded_assignment(places: Sequence[TopicPartition]) -> bytes:
    """An assignment as it goes into SyncGroup, its version in front."""
    topics: dict[str, list[int]] = {}
    for name, index in sorted(places):
        topics.setdefault(name, []).append(index)
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignment.TopicPartition(topic=name, partitions=indexes)
            for name, indexes in topics.items()
        ]
    )
    return ASSIGNMENT_VERSION.to_bytes(2) + encode(assignment, ASSIGNMENT_VERSION)


def error_of(answer: Any) -> int:
    """The error of an answer that has one for the whole."""
    return int(answer.error_code)
