"""Share sessions: the share partitions that a member fetches from a broker, and the order of its requests.

A session ends with the member's last request, with its connection, or with the broker.
Source: ShareSession and ShareSessionCache, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from mockbroker.state.errors import ApiError
from mockbroker.state.sessions.fetch_sessions import FIRST_EPOCH, next_epoch
from protocol.error_codes import ErrorCode

SessionKey = tuple[str, str]  # group and member
TopicIndex = tuple[bytes, int]  # topic id and partition


@dataclass(slots=True, eq=False)
class ShareSession:
    """One member's session at one broker.

    ``partitions`` has the fetched partitions in order; the value is True if the next response must include the
    partition even without records. ``unknown`` has those whose topic did not exist when they were first named.
    """

    key: SessionKey
    connection: int
    epoch: int
    partitions: dict[TopicIndex, bool] = field(default_factory=dict)
    unknown: set[TopicIndex] = field(default_factory=set)

    def update(self, added: Iterable[TopicIndex], forgotten: Iterable[TopicIndex], topics: Container[bytes]) -> None:
        """Add and remove partitions. ``topics`` has the ids of existing topics."""
        for one in added:
            if one not in self.partitions:
                self.partitions[one] = True
                if one[0] not in topics:
                    self.unknown.add(one)
        for one in forgotten:
            self.partitions.pop(one, None)
            self.unknown.discard(one)

    def has_news(self, one: TopicIndex, entry: Any) -> bool:
        """True if the response includes a partition; records whether the next response must include it."""
        is_due = self.partitions.get(one)
        if is_due is None:
            return True
        has_records, has_error = bool(entry.records), entry.error_code != ErrorCode.NONE
        if has_records:
            del self.partitions[one]  # read last from now on
        self.partitions[one] = has_error
        return has_records or is_due or has_error


class ShareSessions(dict[SessionKey, ShareSession]):
    """The share sessions of a broker as they were opened, at most ``max_sessions``.

    When a connection closes, the session that was opened on it last ends.
    """

    def __init__(self, max_sessions: int) -> None:
        super().__init__()
        self.max_sessions = max_sessions
        self._of_connection: dict[int, SessionKey] = {}

    def find(self, key: SessionKey) -> ShareSession:
        """A member's session. Raises ApiError: SHARE_SESSION_NOT_FOUND."""
        session = self.get(key)
        if session is None:
            raise ApiError(ErrorCode.SHARE_SESSION_NOT_FOUND, f"there is no share session of member {key[1]} here")
        return session

    def open(
        self, key: SessionKey, partitions: Iterable[TopicIndex], connection: int, topics: Container[bytes]
    ) -> ShareSession:
        """Open a session; replaces the member's earlier one. Raises ApiError: SHARE_SESSION_LIMIT_REACHED."""
        self.pop(key, None)
        if len(self) >= self.max_sessions:
            raise ApiError(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED,
                f"there are {self.max_sessions} share sessions, which is the maximum",
            )
        named = dict.fromkeys(partitions, False)
        session = ShareSession(key, connection, FIRST_EPOCH + 1, named, {one for one in named if one[0] not in topics})
        self[key] = session
        self._of_connection[connection] = key
        return session

    def resume(self, key: SessionKey, epoch: int) -> ShareSession:
        """A member's session at this epoch; advances it to the next epoch.

        Raises ApiError: SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH.
        """
        session = self.find(key)
        if session.epoch != epoch:
            raise ApiError(
                ErrorCode.INVALID_SHARE_SESSION_EPOCH, f"share session epoch {epoch}, but {session.epoch} is the next"
            )
        session.epoch = next_epoch(epoch)
        return session

    def connection_closed(self, connection: int) -> SessionKey | None:
        """The key of the session that was opened last on a closed connection, even if that session has ended."""
        return self._of_connection.pop(connection, None)
