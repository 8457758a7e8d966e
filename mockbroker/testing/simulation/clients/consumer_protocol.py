"""A member of a group of the consumer protocol: heartbeats say what it owns, answers say what it is to own.

Source: ConsumerMembershipManager and ConsumerHeartbeatRequestManager, Apache Kafka 4.4; KIP-848, KIP-1082.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from kafka_rack.consistency import Assignment
from mockbroker.testing.simulation.clients.client import Client, ConnectionLostError, TopicPartition
from mockbroker.testing.simulation.clients.membership import REBALANCE_TIMEOUT_MS, error_of
from mockbroker.testing.simulation.scheduler import Signal
from protocol.apis.consumer_group import ConsumerGroupHeartbeatRequest
from protocol.error_codes import ErrorCode

JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH = 0, -1, -2
MADE_UP_VERSION = 1  # from which on the member makes up its own id
FENCED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNRELEASED_INSTANCE_ID})


class ConsumerMembership:
    """One member. While ``is_stable`` its partitions are ``assigned``; ``term`` changes with them.

    ``generation`` is its member epoch. ``on_revoked`` gets the partitions that it no longer has, before the group hears
    that it has given them up.
    """

    def __init__(
        self,
        client: Client,
        group: str,
        topics: Sequence[str],
        *,
        instance_id: str | None = None,
        on_revoked: Callable[[Sequence[TopicPartition]], None] = lambda places: None,
    ) -> None:
        self.client, self.group, self.topics, self.instance_id = client, group, tuple(topics), instance_id
        self.member_id = str(UUID(bytes=client.rng.randbytes(16), version=4))
        self.generation, self.term = -1, 0
        self.assigned: tuple[TopicPartition, ...] = ()
        self.is_stable = False
        self.changed = Signal()
        self._on_revoked = on_revoked
        self._interval_ms = 1_000
        self._is_whole = True  # the next heartbeat says all, since an answer was lost or the member is new
        self._beat_now = Signal()

    def is_in(self, term: int) -> bool:
        """Whether it still has what it had in this term."""
        return self.is_stable and self.term == term

    async def join(self) -> None:
        """Join until there is an answer that says so."""
        attempt = 0
        await self.client.know(*self.topics)
        while not self.is_stable:
            self.generation, self._is_whole = JOIN_EPOCH, True
            await self._beat()
            if not self.is_stable:
                await self.client.back_off(attempt)
                attempt = min(attempt + 1, 3)

    async def keep_alive(self) -> None:
        """Send heartbeats for as long as the client lives: at their interval, and when partitions have changed."""
        while True:
            await self.client.wait(self._beat_now.wait(), self._interval_ms)
            if self.is_stable:
                await self._beat()

    def lost(self, error: ErrorCode) -> None:
        """An answer about offsets has said that the member is none, or that its epoch is old."""
        if error is ErrorCode.STALE_MEMBER_EPOCH:
            self._beat_now.set()
        elif self.is_stable:
            self._leave_behind()

    def _leave_behind(self) -> None:
        self.is_stable, self._is_whole = False, True
        self._revoke(self.assigned)
        self.assigned = ()
        self.term += 1
        self.changed.set()

    def _revoke(self, places: Sequence[TopicPartition]) -> None:
        if places:
            self._on_revoked(places)

    async def _beat(self) -> None:
        """Send one heartbeat, and do what its answer says."""
        epoch = self.generation
        try:
            answer = await self.client.ask_coordinator(self.group, self._request, error_of)
        except ConnectionLostError:
            self._is_whole = True
            return
        error = ErrorCode(answer.error_code)
        if epoch != self.generation:
            return
        if error is not ErrorCode.NONE:
            self._is_whole = True
            if error in FENCED and self.is_stable:
                self._leave_behind()
            return
        self.member_id, self.generation = answer.member_id or self.member_id, answer.member_epoch
        self._interval_ms = answer.heartbeat_interval_ms or self._interval_ms
        self._is_whole = False
        if not self.is_stable:
            self.is_stable = True
            self.term += 1
        if answer.assignment is not None:
            await self._take(answer.assignment)

    def _request(self) -> Any:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=self.generation, instance_id=self.instance_id
        )
        if self._is_whole:
            request.rack_id = self.client.rack
            request.rebalance_timeout_ms = REBALANCE_TIMEOUT_MS
            request.subscribed_topic_names = list(self.topics)
        by_topic: dict[bytes, list[int]] = {}
        for name, index in self.assigned:
            if name in self.client.topics:
                by_topic.setdefault(self.client.topics[name].id, []).append(index)
        kind = ConsumerGroupHeartbeatRequest.TopicPartitions
        request.topic_partitions = [kind(topic_id=one, partitions=indexes) for one, indexes in by_topic.items()]
        return request

    async def _take(self, assignment: Any) -> None:
        """Own what an answer says, and tell the group with the next heartbeat."""
        client = self.client
        if any(client.name_of(one.topic_id) is None for one in assignment.topic_partitions):
            await client.refresh()
        found = tuple(
            sorted(
                (name, index)
                for one in assignment.topic_partitions
                if (name := client.name_of(one.topic_id)) is not None
                for index in one.partitions
            )
        )
        if found == self.assigned or not self.is_stable:
            return
        self._revoke([place for place in self.assigned if place not in found])
        self.assigned = found
        self.term += 1
        client.world.history.add(
            Assignment(self.instance_id or client.name, self.group, self.generation, found, client.now_ms)
        )
        self.changed.set()
        self._beat_now.set()

    async def leave(self) -> None:
        """Tell the group that the member goes."""
        self.is_stable = False
        epoch = LEAVE_EPOCH if self.instance_id is None else STATIC_LEAVE_EPOCH
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=epoch, instance_id=self.instance_id
        )
        try:
            await self.client.ask(await self.client.coordinator(self.group), request)
        except ConnectionLostError:
            return
