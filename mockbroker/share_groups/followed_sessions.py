"""Members' share sessions at the real brokers, as far as requests and answers tell of them (KIP-932).

As with fetch sessions, a ShareFetch names only what has changed. A session is its member's at one broker, and ends with
the connection that it was begun on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from mockbroker.call import Call
from mockbroker.share_groups.handlers.share_fetch import WantedShare
from mockbroker.share_groups.share_states import share_of
from mockbroker.share_groups.state.sessions import FINAL_EPOCH, FIRST_EPOCH, SessionKey, ShareSessions, TopicIndex
from mockbroker.state.cluster import Cluster
from mockbroker.state.sessions.fetch_sessions import FetchPartition
from protocol.registry import api_key_of

SHARE_FETCH = api_key_of("ShareFetch")


@dataclass(slots=True)
class FollowedShareSessions:
    """The sessions of all brokers, in about so many bytes: where there is no room, the longest unused goes.

    ``size_of`` gives the bytes that a session of so many partitions counts for.

    Sessions stand where our own brokers keep theirs, for ``subjects.py`` to find.
    """

    cluster: Cluster
    size_of: Callable[[int], int]
    max_bytes: int
    size_bytes: int = 0
    _sizes: dict[tuple[int, SessionKey], int] = field(default_factory=dict)  # the longest unused first
    _begun_on: dict[tuple[int, int], SessionKey] = field(default_factory=dict)  # by broker and connection

    def __len__(self) -> int:
        return len(self._sizes)

    def forwarded(self, call: Call) -> None:
        """A ShareFetch or a ShareAcknowledge goes on to its broker: note all that it is about. Raises ProtocolError."""
        request, broker_id = call.request, call.broker.id
        key, is_fetch = key_of(request), call.api_key == SHARE_FETCH
        if request.share_session_epoch == FINAL_EPOCH:
            self._forget(broker_id, key)
            return
        named = named_partitions(request) if is_fetch else []
        if request.share_session_epoch != FIRST_EPOCH:
            session = self._sessions(broker_id).get(key)
            if session is not None:
                gone = [(topic.topic_id, one) for topic in forgotten(request) for one in topic.partitions]
                session.update(named, gone, self.cluster.topic_by_id)
                named = list(session.partitions)
                self._used(broker_id, key, len(named))
        if is_fetch:
            wanted = [WantedShare(*one, key[0]) for one in named]
            call.wanted = cast("list[FetchPartition]", wanted)

    def answered(self, call: Call, response: Any) -> None:
        """A broker has answered one of these: a session may have begun, or have ended."""
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
            self._begun_on[broker_id, call.session.connection] = key
            self._used(broker_id, key, len(named))

    def connection_closed(self, broker_id: int, connection: int) -> None:
        """A connection has ended, and the session that was begun on it."""
        key = self._begun_on.pop((broker_id, connection), None)
        session = None if key is None else self._sessions(broker_id).get(key)
        if key is not None and session is not None and session.connection == connection:
            self._forget(broker_id, key)

    def _sessions(self, broker_id: int) -> ShareSessions:
        sessions: ShareSessions = share_of(self.cluster).sessions_of(broker_id)
        return sessions

    def _used(self, broker_id: int, key: SessionKey, partitions: int) -> None:
        """Note how large a session is that was used just now; the longest unused go where there is no room."""
        self.size_bytes -= self._sizes.pop((broker_id, key), 0)
        size = self.size_of(partitions)
        while self._sizes and self.size_bytes + size > self.max_bytes:
            self._forget(*next(iter(self._sizes)))
        self._sizes[broker_id, key] = size
        self.size_bytes += size
        if size > self.max_bytes:
            self._forget(broker_id, key)

    def _forget(self, broker_id: int, key: SessionKey) -> None:
        self.size_bytes -= self._sizes.pop((broker_id, key), 0)
        session = self._sessions(broker_id).remove(key)
        if session is not None and self._begun_on.get((broker_id, session.connection)) == key:
            del self._begun_on[broker_id, session.connection]


def key_of(request: Any) -> SessionKey:
    """Group and member."""
    return request.group_id or "", request.member_id or ""


def named_partitions(request: Any) -> list[TopicIndex]:
    """What a request names."""
    return [(topic.topic_id, one.partition_index) for topic in request.topics for one in topic.partitions]


def forgotten(request: Any) -> list[Any]:
    """The topics with partitions that a ShareFetch takes out of its session."""
    return getattr(request, "forgotten_topics_data", [])
