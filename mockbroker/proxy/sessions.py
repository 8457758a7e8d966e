"""Clients' fetch sessions at the real brokers, followed by requests and answers (KIP-227).

A request in a session names only changes, so faults by topic, the journal and its assertions need the earlier ones. The
sessions are stored where our own brokers store theirs, within the same limits, so that ``subjects.py`` finds them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from mockbroker.call import Call
from mockbroker.handlers.fetch import forgotten, named_partitions
from mockbroker.state.errors import ApiError
from mockbroker.state.sessions.fetch_sessions import (
    FINAL_EPOCH,
    FIRST_EPOCH,
    NO_SESSION,
    FetchSessions,
)

SESSION_VERSION, TOPIC_ID_VERSION = 7, 13


def fetch_forwarded(call: Call) -> None:
    """A Fetch is forwarded: record all its partitions. Raises ProtocolError."""
    request, sessions = call.request, call.cluster.fetch_sessions_of(call.broker.id)
    by_topic_id = call.version >= TOPIC_ID_VERSION
    named = {one.key: one for one in named_partitions(request, by_topic_id)}
    call.wanted = list(named.values())
    call.replica_id = max(request.replica_id, request.replica_state.replica_id)
    if call.version < SESSION_VERSION or request.session_id == NO_SESSION:
        return
    if request.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
        forget(sessions, request.session_id)
        return
    session = sessions.by_id.pop(request.session_id, None)
    if session is None:
        return
    sessions.by_id[session.id] = session  # most recently used
    sessions.update(session, named.values(), forgotten(request, by_topic_id))
    call.wanted, call.in_session = list(session.partitions.values()), True


def fetch_answered(call: Call, response: Any) -> None:
    """A broker has answered a Fetch, which may start or end a session."""
    if call.version < SESSION_VERSION:
        return
    request, sessions = call.request, call.cluster.fetch_sessions_of(call.broker.id)
    if response.error_code or response.session_id == NO_SESSION:
        forget(sessions, request.session_id)
    elif request.session_epoch == FIRST_EPOCH:
        forget(sessions, response.session_id)
        sessions.open(call.version >= TOPIC_ID_VERSION, call.wanted, response.session_id)


def forget(sessions: FetchSessions, session_id: int) -> None:
    """Forget a session, if there is one with this id."""
    with suppress(ApiError):  # no session can have this id
        sessions.close(session_id)
