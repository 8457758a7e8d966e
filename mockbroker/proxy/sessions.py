"""Clients' fetch sessions at the real brokers, followed by requests and answers (KIP-227).

A request in a session names only changes, so faults by topic, the journal and its assertions need the earlier ones. The
sessions are stored where our own brokers store theirs, so that ``subjects.py`` finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mockbroker.call import Call
from mockbroker.state.cluster import Cluster
from mockbroker.state.sessions.fetch_sessions import (
    FINAL_EPOCH,
    FIRST_EPOCH,
    NO_SESSION,
    FetchPartition,
    FetchSession,
    PartitionKey,
    next_epoch,
)

SESSION_VERSION, TOPIC_ID_VERSION = 7, 13
MAX_FOLLOWED_BYTES = 64 << 20
SESSION_BYTES, PARTITION_BYTES = 600, 400  # estimates, on the high side


def session_bytes(partitions: int) -> int:
    """The memory of a session with this many partitions."""
    return SESSION_BYTES + PARTITION_BYTES * partitions


@dataclass(slots=True)
class FollowedSessions:
    """The sessions of all brokers, in bounded memory; evicts the least recently used."""

    cluster: Cluster
    max_bytes: int = MAX_FOLLOWED_BYTES
    size_bytes: int = 0
    _sizes: dict[tuple[int, int], int] = field(default_factory=dict)  # by broker and session, least recently used first

    def __len__(self) -> int:
        return len(self._sizes)

    def forwarded(self, call: Call) -> None:
        """A Fetch is forwarded: record all its partitions. Raises ProtocolError."""
        request, broker_id = call.request, call.broker.id
        by_topic_id = call.version >= TOPIC_ID_VERSION
        named = {one.key: one for one in named_partitions(request, by_topic_id)}
        call.wanted = list(named.values())
        if call.version < SESSION_VERSION or request.session_id == NO_SESSION:
            return
        if request.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
            self._forget(broker_id, request.session_id)
            return
        sessions = self.cluster.fetch_sessions.get(broker_id)
        session = sessions.by_id.get(request.session_id) if sessions is not None else None
        if session is None:
            return
        session.update(named.values(), forgotten(request, by_topic_id))
        call.wanted, call.in_session = list(session.partitions.values()), True
        self._keep(broker_id, session)

    def answered(self, call: Call, response: Any) -> None:
        """A broker has answered a Fetch, which may start or end a session."""
        if call.version < SESSION_VERSION:
            return
        request, broker_id = call.request, call.broker.id
        if response.error_code or response.session_id == NO_SESSION:
            self._forget(broker_id, request.session_id)
        elif request.session_epoch == FIRST_EPOCH:
            partitions = {one.key: one for one in call.wanted}
            is_by_id = call.version >= TOPIC_ID_VERSION
            self._keep(broker_id, FetchSession(response.session_id, next_epoch(FIRST_EPOCH), is_by_id, partitions))

    def _keep(self, broker_id: int, session: FetchSession) -> None:
        self._forget(broker_id, session.id)
        size = session_bytes(len(session.partitions))
        while self._sizes and self.size_bytes + size > self.max_bytes:
            self._forget(*next(iter(self._sizes)))
        if size > self.max_bytes:
            return
        self.cluster.fetch_sessions_of(broker_id).by_id[session.id] = session
        self._sizes[broker_id, session.id] = size
        self.size_bytes += size

    def _forget(self, broker_id: int, session_id: int) -> None:
        size = self._sizes.pop((broker_id, session_id), None)
        if size is not None:
            self.size_bytes -= size
            self.cluster.fetch_sessions_of(broker_id).by_id.pop(session_id, None)


def named_partitions(request: Any, by_topic_id: bool) -> Iterator[FetchPartition]:
    """The partitions that a Fetch names."""
    for topic in request.topics:
        key = topic.topic_id if by_topic_id else topic.topic
        for one in topic.partitions:
            yield FetchPartition(key, one.partition, one.fetch_offset, one.partition_max_bytes)


def forgotten(request: Any, by_topic_id: bool) -> Iterator[PartitionKey]:
    """The partitions that a Fetch removes from its session."""
    for topic in request.forgotten_topics_data:
        for index in topic.partitions:
            yield (topic.topic_id if by_topic_id else topic.topic, index)
