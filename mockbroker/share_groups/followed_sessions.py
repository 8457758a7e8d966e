"""Members' share sessions at the real brokers, followed from requests and responses (KIP-932).

A ShareFetch names only changes, as in fetch sessions. A session belongs to one member at one broker, and ends with the
connection on which it was opened.
"""

from __future__ import annotations

from typing import Any, cast

from mockbroker.call import Call
from mockbroker.share_groups.handlers.share_fetch import FetchedShare
from mockbroker.share_groups.share_states import share_of
from mockbroker.share_groups.state.sessions import FINAL_EPOCH, FIRST_EPOCH, SessionKey, ShareSessions, TopicIndex
from mockbroker.state.cluster import Cluster
from mockbroker.state.sessions.fetch_sessions import FetchPartition
from protocol.registry import api_key_of

SHARE_FETCH = api_key_of("ShareFetch")


class FollowedShareSessions:
    """The sessions of all brokers; of each broker the least recently used ones are evicted first.

    Sessions are stored where our own brokers store theirs, so that ``subjects.py`` finds them.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def forwarded(self, call: Call) -> None:
        """Record the partitions of a forwarded ShareFetch or ShareAcknowledge. Raises ProtocolError."""
        request, sessions = call.request, self.sessions_of(call.broker.id)
        key, is_fetch = key_of(request), call.api_key == SHARE_FETCH
        if request.share_session_epoch == FINAL_EPOCH:
            sessions.pop(key, None)
            return
        named = named_partitions(request) if is_fetch else []
        if request.share_session_epoch != FIRST_EPOCH and key in sessions:
            session = sessions[key] = sessions.pop(key)  # most recently used
            forgotten = request.forgotten_topics_data if is_fetch else ()
            gone = [(topic.topic_id, one) for topic in forgotten for one in topic.partitions]
            session.update(named, gone, self.cluster.topic_by_id)
            named = list(session.partitions)
        if is_fetch:
            partitions = [FetchedShare(*one, key[0]) for one in named]
            call.wanted = cast("list[FetchPartition]", partitions)

    def answered(self, call: Call, response: Any) -> None:
        """Open or end a session, as a broker's response to one of these requests requires."""
        request, sessions = call.request, self.sessions_of(call.broker.id)
        key = key_of(request)
        if response.error_code:
            sessions.pop(key, None)
        elif request.share_session_epoch == FIRST_EPOCH and call.api_key == SHARE_FETCH:
            sessions.pop(key, None)
            while len(sessions) >= sessions.max_sessions:
                del sessions[next(iter(sessions))]
            sessions.open(key, named_partitions(request), call.session.connection, self.cluster.topic_by_id)

    def connection_closed(self, broker_id: int, connection: int) -> None:
        """End the session that was opened on a closed connection."""
        sessions = self.sessions_of(broker_id)
        key = sessions.connection_closed(connection)
        if key is not None and key in sessions and sessions[key].connection == connection:
            del sessions[key]

    def sessions_of(self, broker_id: int) -> ShareSessions:
        """The known sessions at a broker."""
        sessions: ShareSessions = share_of(self.cluster).sessions_of(broker_id)
        return sessions


def key_of(request: Any) -> SessionKey:
    """Group and member."""
    return request.group_id or "", request.member_id or ""


def named_partitions(request: Any) -> list[TopicIndex]:
    """The partitions that a request names."""
    return [(topic.topic_id, one.partition_index) for topic in request.topics for one in topic.partitions]
