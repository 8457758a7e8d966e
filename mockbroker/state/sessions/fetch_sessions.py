"""Incremental fetch sessions (KIP-227): a broker remembers a client's partitions, so that requests name only changes.

Each broker has its own sessions, which end when it stops. Source: KIP-227; FetchSession, Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

NO_SESSION = 0
FIRST_EPOCH = 0
FINAL_EPOCH = -1
LAST_EPOCH = 2**31 - 1
SHARDS = 8
IDS_OF_SHARD = (2**31 - 1) // SHARDS
"""Kafka shards sessions by id, and fails for an id outside all shards. Source: FetchSessionCache."""

PARTITION_BYTES = 300
"""Approximate memory of a partition in a session."""
MAX_PARTITIONS = (64 << 20) // PARTITION_BYTES  # of all sessions of a broker: at most 64 MiB
TopicKey = str | bytes  # a topic's name, or its id since Fetch v13
PartitionKey = tuple[TopicKey, int]


@dataclass(slots=True)
class FetchPartition:
    """A partition that a client fetches, and the state last sent to it.

    ``name`` is the topic's resolved name if it is fetched by id.
    """

    topic: TopicKey
    index: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    sent_high_watermark: int = -1
    sent_start_offset: int = -1
    name: str | None = None

    @property
    def key(self) -> PartitionKey:
        return (self.topic, self.index)


@dataclass(slots=True, eq=False)
class FetchSession:
    """The partitions that a client fetches, in reading order."""

    id: int
    epoch: int
    by_topic_id: bool
    partitions: dict[PartitionKey, FetchPartition] = field(default_factory=dict)

    def update(self, requested: Iterable[FetchPartition], forgotten: Iterable[PartitionKey]) -> None:
        """Apply the additions, changes and removals of an incremental request."""
        for one in requested:
            known = self.partitions.setdefault(one.key, one)
            known.fetch_offset, known.max_bytes = one.fetch_offset, one.max_bytes
            known.current_leader_epoch, known.last_fetched_epoch = one.current_leader_epoch, one.last_fetched_epoch
        for key in forgotten:
            self.partitions.pop(key, None)

    def move_to_end(self, key: PartitionKey) -> None:
        """Read this partition last from now on, because it was just read."""
        partition = self.partitions.pop(key, None)
        if partition is not None:
            self.partitions[key] = partition


@dataclass(slots=True, eq=False)
class FetchSessions:
    """A broker's sessions by id, least recently used first, at most ``max_sessions``.

    Together they have ``partitions`` partitions, at most ``MAX_PARTITIONS``.
    """

    rng: Random
    max_sessions: int
    by_id: dict[int, FetchSession] = field(default_factory=dict)
    partitions: int = 0

    def open(
        self, by_topic_id: bool, requested: Iterable[FetchPartition], session_id: int | None = None
    ) -> FetchSession | None:
        """Open a session; returns None at capacity, and the client continues without one.

        Args:
            session_id: that of a real broker's session; default: a new one.
        """
        by_key = {one.key: one for one in requested}
        if self.max_sessions <= 0 or len(by_key) > MAX_PARTITIONS:
            return None
        while len(self.by_id) >= self.max_sessions or self.partitions + len(by_key) > MAX_PARTITIONS:
            self._end_longest_unused()
        while session_id is None or session_id in self.by_id:
            session_id = self.rng.randint(1, SHARDS * IDS_OF_SHARD - 1)
        session = FetchSession(session_id, next_epoch(FIRST_EPOCH), by_topic_id, by_key)
        self.by_id[session_id] = session
        self.partitions += len(by_key)
        return session

    def update(
        self, session: FetchSession, requested: Iterable[FetchPartition], forgotten: Iterable[PartitionKey]
    ) -> None:
        """Apply an incremental request to the most recently used session.

        At capacity, the least recently used sessions are closed, in the end this one too.
        """
        before = len(session.partitions)
        session.update(requested, forgotten)
        self.partitions += len(session.partitions) - before
        while self.partitions > MAX_PARTITIONS:
            self._end_longest_unused()

    def _end_longest_unused(self) -> None:
        self.partitions -= len(self.by_id.pop(next(iter(self.by_id))).partitions)

    def close(self, session_id: int) -> None:
        """Close a session, if one with this id exists.

        Raises ApiError: UNKNOWN_SERVER_ERROR for an id that no session can have.
        """
        check_session_id(session_id)
        session = self.by_id.pop(session_id, None)
        if session is not None:
            self.partitions -= len(session.partitions)

    def resume(self, session_id: int, epoch: int, by_topic_id: bool) -> FetchSession:
        """The session that an incremental request continues; advances its epoch.

        Raises ApiError: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR; of
            several the first, in the order of FetchManager.newContext. UNKNOWN_SERVER_ERROR for an id that no session
            can have.
        """
        check_session_id(session_id)
        session = self.by_id.get(session_id)
        if session is None:
            raise ApiError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"there is no fetch session {session_id}")
        if session.epoch != epoch:
            raise ApiError(ErrorCode.INVALID_FETCH_SESSION_EPOCH, f"session epoch {epoch}, but {session.epoch} is next")
        if session.by_topic_id != by_topic_id:
            raise ApiError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.epoch = next_epoch(epoch)
        self.by_id[session_id] = self.by_id.pop(session_id)  # most recently used
        return session


def check_session_id(session_id: int) -> None:
    """Raises ApiError: UNKNOWN_SERVER_ERROR.

    >>> check_session_id(5), check_session_id(-IDS_OF_SHARD + 1)
    (None, None)
    """
    if not -IDS_OF_SHARD < session_id < SHARDS * IDS_OF_SHARD:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)


def next_epoch(epoch: int) -> int:
    """The session epoch of the request after this one.

    >>> next_epoch(0), next_epoch(2**31 - 1)
    (1, 1)
    """
    return 1 if epoch >= LAST_EPOCH else epoch + 1
