"""Members' share sessions at the real brokers, followed from requests and responses (KIP-932).

A ShareFetch names only changes, as in fetch sessions. A session belongs to one member at one broker, and ends with the
connection on which it was opened. Sessions are stored where our own brokers store theirs, so that ``subjects.py`` finds
them.
"""

from __future__ import annotations

from typing import Any

from mockbroker.call import Call
from mockbroker.share_groups.handlers.share_acknowledgements import acknowledgements_of
from mockbroker.share_groups.handlers.share_fetch import forgotten
from mockbroker.share_groups.handlers.share_reading import note_requested
from mockbroker.share_groups.share_states import share_of
from mockbroker.share_groups.state.sessions import SessionKey, ShareSessions
from mockbroker.state.sessions.fetch_sessions import FINAL_EPOCH, FIRST_EPOCH
from protocol.registry import api_key_of

SHARE_FETCH = api_key_of("ShareFetch")


def forwarded(call: Call) -> None:
    """Record the partitions of a forwarded ShareFetch or ShareAcknowledge. Raises ProtocolError."""
    request, is_fetch = call.request, call.api_key == SHARE_FETCH
    sessions, key = place_of(call)
    if request.share_session_epoch == FINAL_EPOCH:
        sessions.pop(key, None)
        return
    partitions = list(acknowledgements_of(request.topics)) if is_fetch else []
    if request.share_session_epoch != FIRST_EPOCH and key in sessions:
        session = sessions[key] = sessions.pop(key)  # most recently used
        if is_fetch:
            session.update(partitions, forgotten(request), call.cluster.topic_by_id)
            partitions = list(session.partitions)
    if is_fetch:
        note_requested(call, partitions, key[0])


def answered(call: Call, response: Any) -> None:
    """Open or end a session, as a broker's response to one of these requests requires."""
    request = call.request
    sessions, key = place_of(call)
    if response.error_code:
        sessions.pop(key, None)
    elif request.share_session_epoch == FIRST_EPOCH and call.api_key == SHARE_FETCH:
        sessions.pop(key, None)
        while len(sessions) >= sessions.max_sessions:
            del sessions[next(iter(sessions))]  # the least recently used one
        named = acknowledgements_of(request.topics)
        sessions.open(key, named, call.session.connection, call.cluster.topic_by_id)


def place_of(call: Call) -> tuple[ShareSessions, SessionKey]:
    """The known sessions at the called broker, and the key of the member's session."""
    sessions = share_of(call.cluster).sessions_of(call.broker.id)
    return sessions, (call.request.group_id or "", call.request.member_id or "")
