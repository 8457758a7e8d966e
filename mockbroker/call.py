"""The call that a handler receives, the results that it may return, and the one outcome in which a call ends.

A handler is a function ``(call, request) -> response``. It may also return a ``Wait``, to be called again later, a
``Verdict`` that ends the connection, or None if the protocol has no answer (Produce with acks=0).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mockbroker.state.security.access import Access, access_of
from protocol.codec import codec
from protocol.records import DecompressionBudget
from protocol.registry import message_class

if TYPE_CHECKING:
    from mockbroker.session import Session
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.metadata import KnownPartition, MetadataView
    from mockbroker.state.sessions.fetch_sessions import FetchPartition
    from mockbroker.state.topics.topic import Partition


class ProducedPart(Struct, frozen=True, gc=False):
    """The result of a Produce for one partition.

    ``topic_id`` is zeros for an unknown topic. ``size_bytes`` is the size of the records. ``isr`` has the in-sync
    brokers at the time of the write, None for a diskless topic, and ``leader_racks`` the racks that had leaders of the
    topic then. ``end_offset`` is the offset after the records, -1 if
    they were not appended; ``crc`` the four bytes of the checksum of their first batch. ``entry`` is the partition's
    entry of the answer: its error code and base offset may change while the call waits.
    """

    topic: str
    topic_id: bytes
    size_bytes: int
    isr: tuple[int, ...] | None
    end_offset: int
    crc: bytes
    entry: Any
    acks: int
    leader_racks: frozenset[str]

    @property
    def partition(self) -> int:
        """The number of the partition."""
        return int(self.entry.index)

    @property
    def error_code(self) -> int:
        """The partition's error in the answer."""
        return int(self.entry.error_code)

    @property
    def is_done(self) -> bool:
        """True if the records were written; with acks=0 to a real broker, if they were sent."""
        return self.end_offset >= 0 or (self.acks == NO_ACKS and not self.error_code)

    @property
    def records(self) -> int:
        """The number of records that were appended, 0 if unknown."""
        base_offset: int = self.entry.base_offset
        return self.end_offset - base_offset if self.end_offset >= 0 and base_offset >= 0 else 0


class FetchedPart(Struct, frozen=True, gc=False):
    """The result of a Fetch for one partition.

    ``topic`` is None for an unknown topic id. ``preferred_replica`` is the replica to which the reader was redirected,
    -1 for none. ``next_offset`` is the offset after the records, ``fetch_offset`` without records, -1 if not
    determined. ``high_watermark`` is the end of what this broker lets readers read.
    """

    topic: str | None
    topic_id: bytes
    partition: int
    size_bytes: int
    isr: tuple[int, ...] | None
    error_code: int
    preferred_replica: int
    fetch_offset: int
    first_offset: int
    next_offset: int
    high_watermark: int

    @property
    def is_done(self) -> bool:
        """True if the reader was served, be it without new records; False if it was redirected."""
        return not self.error_code and self.preferred_replica < 0

    @property
    def records(self) -> int:
        """The number of offsets of the records."""
        return self.next_offset - self.first_offset if self.size_bytes else 0


Part = ProducedPart | FetchedPart
NO_API = -1
NO_ACKS = 0
UNCOUNTED_APIS = frozenset({6})
"""UpdateMetadata, from a controller to its brokers: its size grows with the cluster."""


@dataclass(slots=True, eq=False)
class InjectedFaults:
    """The effects of faults on one call, other than a wait or its end.

    ``partition_errors`` has, by topic and number, the error of each partition that the handler refuses; None is for all
    topics, or all partitions of one. The functions of ``amend`` change the answer's message before it is encoded, in
    order. ``pace`` returns the time at which an answer of N bytes has been sent. ``mute_ms`` is how long the connection
    is not read after the call. ``hides_part``: the handler does not see the whole request.
    """

    partition_errors: dict[tuple[str | None, int | None], int] = field(default_factory=dict)
    amend: list[Callable[[Any], Any]] = field(default_factory=list)
    pace: list[Callable[[int, int], int]] = field(default_factory=list)
    mute_ms: int = 0
    hides_part: bool = False

    def mute(self, ms: int) -> None:
        """Leave the connection unread for this long, at least."""
        self.mute_ms = max(self.mute_ms, ms)

    def error_of(self, topic: str, index: int) -> int | None:
        """The error of a partition, None if the handler serves it."""
        errors = self.partition_errors
        return errors.get((topic, index), errors.get((topic, None), errors.get((None, None))))


class Call(Struct, eq=False):
    """One request: its broker, its client's session, and the current time.

    The path of a call fills in ``api_key``, ``version``, ``correlation_id`` and ``body_start`` from the frame's header;
    ``request`` is decoded at its first use, into ``decoded``, which may be replaced; ``finish`` is called with the
    outcome. Handlers record their results for observers: ``parts``, one for each partition of a Produce or of a Fetch's
    answer; ``wanted``, all partitions of a Fetch (shared with its session if it is ``in_session``), and ``replica_id``,
    the fetching replica, -1 for a consumer. ``cached`` is the call's entry in the response cache, ``observed`` a value
    that the first observer computes for the others. ``took_turn``: the answer has diskless topics, and advanced the
    rotation of their brokers.

    ``faults`` has the ids of the faults that match the call, in order, and ``injected`` their effects; ``subjects`` the
    subjects of the request, once ``subjects.py`` has found them.
    """

    cluster: Cluster
    session: Session
    frame: bytes
    now_ms: int
    rng: Random
    api_key: int = NO_API
    version: int = 0
    correlation_id: int = 0
    body_start: int = 0
    arrived_ms: int = 0
    was_parked: bool = False
    parts: Sequence[Part] | None = None
    wanted: Sequence[FetchPartition] = ()
    in_session: bool = False
    replica_id: int = -1
    cached: Any = None
    observed: Any = None
    took_turn: bool = False
    finish: Callable[[Outcome], None] | None = None
    faults: tuple[str, ...] = ()
    injected: InjectedFaults | None = None
    subjects: Any = None
    decoded: Any = None
    _decompression: DecompressionBudget | None = None

    @property
    def broker(self) -> Broker:
        """The broker that received the call."""
        return self.session.broker

    def effects(self) -> InjectedFaults:
        """The effects of faults and quotas on the call, empty at first."""
        if self.injected is None:
            self.injected = InjectedFaults()
        return self.injected

    def amend(self, change: Callable[[Any], Any]) -> None:
        """Change the answer's message before it is encoded."""
        self.effects().amend.append(change)

    @property
    def access(self) -> Access:
        """The permissions of the client."""
        return access_of(self.cluster, self.session.principal, self.session.address)

    @property
    def view(self) -> MetadataView:
        """The broker's metadata of the cluster."""
        return self.cluster.support.view(self.session.broker.id)

    def leadership(self, partition: Partition) -> KnownPartition:
        """The leader, epoch and replicas of a partition, as the broker knows them."""
        return self.cluster.support.leadership(self.session.broker.id, partition)

    def own_copy(self, partition: Partition) -> Partition:
        """The partition as its leader has it: a copy, if the broker was deposed as leader and does not know."""
        return self.cluster.support.own_copy(self.session.broker.id, partition)

    @property
    def request(self) -> Any:
        """The request's message. Bytes after it are ignored, as in Kafka.

        Raises: DecodeError, without the place of the error, which would take long to find. Also for a request whose
            arrays have more than ``max.request.items`` elements in all, before they are created.
        """
        if self.decoded is None:
            most = self.cluster.settings["max.request.items"]
            if len(self.frame) <= most or self.api_key in UNCOUNTED_APIS:  # an element takes a byte at least
                self.decoded, _ = decoder_of(self.api_key, self.version)(self.frame, self.body_start)
            else:
                count = codec(message_class(self.api_key, "request"), self.version).counting_decoder()
                self.decoded, _ = count(self.frame, self.body_start, most)
        return self.decoded

    @property
    def decompression(self) -> DecompressionBudget:
        """The limit of bytes that the call may still decompress."""
        if self._decompression is None:
            self._decompression = DecompressionBudget(self.cluster.settings["max.decompressed.request.bytes"])
        return self._decompression


class Verdict(Struct, eq=False, frozen=True):
    """The end of a call: an answer, the end of its connection, or an answer and then that end.

    ``response`` is the answer's message, in ``version`` (None: the request's); without it there is no answer.
    ``output`` is an encoded answer, for which observers see ``response``. ``closes`` is the reason for closing the
    connection, which is how acks=0 reports errors. ``error`` is an unexpected exception of our own code.
    """

    response: Any = None
    version: int | None = None
    output: Sequence[bytes] | None = None
    closes: str | None = None
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class Wait:
    """A delayed answer: ``then(call)`` runs when a key of ``on`` is notified or the time ``until_ms`` is reached.

    ``call.now_ms`` is brought up to date first. ``then`` returns what a handler returns, another Wait included.
    """

    until_ms: int | None
    on: tuple[Hashable, ...]
    then: Callable[[Call], Any]


class Ending(Enum):
    """The way a call ended; ``ANSWERED`` also if the protocol has no answer (Produce with acks=0)."""

    ANSWERED = "answered"
    ANSWERED_LATER = "answered later"  # after a wait
    DROPPED = "dropped"  # the client or the broker went while it waited
    CLOSED = "closed"  # its connection was closed instead of an answer


class Outcome(Struct, eq=False, frozen=True):
    """A call's end.

    ``output`` is the encoded response with its length in front, in pieces; empty without a response. ``response`` is
    its message, None without one or if the answer came from the cache. ``reason`` is why the connection was closed, and
    ``error`` the exception of our own code that closed it or was answered with UNKNOWN_SERVER_ERROR.
    """

    call: Call
    ending: Ending
    at_ms: int
    output: Sequence[bytes] = ()
    response: Any = None
    reason: str | None = None
    error: Exception | None = None

    @property
    def response_bytes(self) -> int:
        """The size of the response frame without its length field, 0 without a response."""
        return sum(map(len, self.output)) - 4 if self.output else 0


@cache
def decoder_of(api_key: int, version: int) -> Callable[[bytes, int], tuple[Any, int]]:
    """The decoder of a request. Raises UnsupportedVersionError."""
    return codec(message_class(api_key, "request"), version).brief_decoder()
