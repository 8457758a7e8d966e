"""A member of a share group: heartbeats, whose answers say which partitions it is to fetch from.

Source: ShareMembershipManager and ShareHeartbeatRequestManager, Apache Kafka 4.4; KIP-932.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from mockbroker.testing.simulation.clients.client import Client, ConnectionLostError, TopicPartition
from mockbroker.testing.simulation.clients.membership import error_of
from protocol.apis.share_group import ShareGroupHeartbeatRequest
from protocol.error_codes import ErrorCode

JOIN_EPOCH = 0
FENCED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})


class ShareMembership:
    """One member, with the partitions that it is ``assigned``; other members may have the same."""

    def __init__(self, client: Client, group: str, topics: Sequence[str]) -> None:
        self.client, self.group, self.topics = client, group, tuple(topics)
        self.member_id = str(UUID(bytes=client.rng.randbytes(16), version=4))
        self.epoch = JOIN_EPOCH
        self.assigned: tuple[TopicPartition, ...] = ()
        self.is_refused = False  # the brokers have the request, and share groups are turned off
        self._interval_ms = 1_000
        self._is_whole = True  # the next heartbeat says all, since an answer was lost or the member is new
        self._named: tuple[tuple[bytes, int], ...] = ()

    async def keep_alive(self) -> None:
        """Send heartbeats for as long as the client lives and brokers have share groups."""
        await self.client.know(*self.topics)
        while not self.is_refused:
            await self._beat()
            await self.client.sleep(self._interval_ms)

    async def _beat(self) -> None:
        """Send one heartbeat, and do what its answer says."""
        try:
            answer = await self.client.ask_coordinator(self.group, self._request, error_of)
        except ConnectionLostError:
            self._is_whole = True
            return
        error = ErrorCode(answer.error_code)
        if error is not ErrorCode.NONE:
            self._is_whole = True
            self.is_refused = error is ErrorCode.UNSUPPORTED_VERSION
            if error in FENCED:
                self.epoch = JOIN_EPOCH
            return
        self.epoch, self._is_whole = answer.member_epoch, False
        self._interval_ms = answer.heartbeat_interval_ms or self._interval_ms
        if answer.assignment is not None:
            self._named = tuple(
                (one.topic_id, index) for one in answer.assignment.topic_partitions for index in one.partitions
            )
        if any(self.client.name_of(topic_id) is None for topic_id, _ in self._named):
            await self.client.refresh()
        named = ((self.client.name_of(topic_id), index) for topic_id, index in self._named)
        self.assigned = tuple(sorted((name, index) for name, index in named if name is not None))

    def _request(self) -> Any:
        request = ShareGroupHeartbeatRequest(group_id=self.group, member_id=self.member_id, member_epoch=self.epoch)
        if self._is_whole or self.epoch == JOIN_EPOCH:
            request.rack_id = self.client.rack
            request.subscribed_topic_names = list(self.topics)
        return request
