"""Members' share sessions at the real brokers, followed from requests and responses (KIP-932).

A ShareFetch names only changes, as in fetch sessions. A session belongs to one member at one broker, and ends with the
connection on which it was opened.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from mockbroker.call import Call
from mockbroker.share_groups.handlers.share_fetch import FetchedShare
from mockbroker.share_groups.share_states import share_of
from mockbroker.share_groups.state.sessions import FINAL_EPOCH, FIRST_EPOCH, SessionKey, ShareSessions, TopicIndex
from mockbroker.state.cluster import Cluster
from mockbroker.state.sessions.fetch_sessions import FetchPartition
from protocol.registry import api_key_of

SHARE_FETCH = api_key_of("ShareFetch")
MAX_FOLLOWED_BYTES = 64 << 20
SESSION_BYTES, PARTITION_BYTES = 600, 400  # estimates, on the high side


@dataclass(slots=True)
class FollowedShareSessions:
    """The sessions of all brokers, within a limit of bytes: the least recently used are evicted first.

    Sessions are stored where our own brokers store theirs, so that ``subjects.py`` finds them.
    """

    cluster: Cluster
    max_bytes: int = MAX_FOLLOWED_BYTES
    size_bytes: int = 0
    _sizes: dict[tuple[int, SessionKey], int] = field(default_factory=dict)  # least recently used first

    def __len__(self) -> int:
        return len(self._sizes)

    def forwarded(self, call: Call) -> None:
        """Record the partitions of a forwarded ShareFetch or ShareAcknowledge. Raises ProtocolError."""
        request, broker_id = call.request, call.broker.id
        key, is_fetch = key_of(request), call.api_key == SHARE_FETCH
        if request.share_session_epoch == FINAL_EPOCH:
            self._forget(broker_id, key)
            return
        named = named_partitions(request) if is_fetch else []
        if request.share_session_epoch != FIRST_EPOCH:
            session = self._sessions(broker_id).get(key)
            if session is not None:
                forgotten = request.forgotten_topics_data if is_fetch else ()
                gone = [(topic.topic_id, one) for topic in forgotten for one in topic.partitions]
                session.update(named, gone, self.cluster.topic_by_id)
                named = list(session.partitions)
                self._used(broker_id, key, len(named))
        if is_fetch:
            partitions = [FetchedShare(*one, key[0]) for one in named]
            call.wanted = cast("list[FetchPartition]", partitions)

    def answered(self, call: Call, response: Any) -> None:
        """Open or end a session, as a broker's response to one of these requests requires."""
        request, broker_id = call.request, call.broker.id
        key = key_of(request)
        if response.error_code:
            self._forget(broker_id, key)
        elif request.share_session_epoch == FIRST_EPOCH and call.api_key == SHARE_FETCH:
            self._forget(broker_id, key)
            named = named_partitions(request)
            sessions = self._sessions(broker_id)
            while len(sessions) >= sessions.max_sessions:
                self._forget(*next(one for one in self._sizes if one[0] == broker_id))
            sessions.open(key, named, call.session.connection, self.cluster.topic_by_id)
            self._used(broker_id, key, len(named))

    def connection_closed(self, broker_id: int, connection: int) -> None:
        """End the session that was opened on a closed connection."""
        sessions = self._sessions(broker_id)
        key = sessions.connection_closed(connection)
        if key is not None and key in sessions and sessions[key].connection == connection:
            self._forget(broker_id, key)

    def _sessions(self, broker_id: int) -> ShareSessions:
        sessions: ShareSessions = share_of(self.cluster).sessions_of(broker_id)
        return sessions

    def _used(self, broker_id: int, key: SessionKey, partitions: int) -> None:
        """Record the size of a session that was just used; evict the least recently used above the limit of bytes."""
        self.size_bytes -= self._sizes.pop((broker_id, key), 0)
        self._sizes[broker_id, key] = SESSION_BYTES + PARTITION_BYTES * partitions
        self.size_bytes += self._sizes[broker_id, key]
        while self.size_bytes > self.max_bytes:
            self._forget(*next(iter(self._sizes)))

    def _forget(self, broker_id: int, key: SessionKey) -> None:
        self.size_bytes -= self._sizes.pop((broker_id, key), 0)
        self._sessions(broker_id).pop(key, None)


def key_of(request: Any) -> SessionKey:
    """Group and member."""
    return request.group_id or "", request.member_id or ""


def named_partitions(request: Any) -> list[TopicIndex]:
    """The partitions that a request names."""
    return [(topic.topic_id, one.partition_index) for topic in request.topics for one in topic.partitions]
