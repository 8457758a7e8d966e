"""The call that a handler gets, and the results that it may return.

A handler is a function ``(call, request) -> response``. It may also return a ``Wait``, to be called again later, a
``Verdict`` that ends the connection, or None where the protocol has no answer (Produce with acks=0).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from protocol.codec import codec
from protocol.records import DecompressionBudget
from protocol.registry import message_class

if TYPE_CHECKING:
    from mockbroker.session import Session
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.metadata.kraft import DeposedPartition
    from mockbroker.state.metadata.view import KnownPartition, MetadataView
    from mockbroker.state.sessions.fetch_sessions import FetchPartition
    from mockbroker.state.topics.topic import Partition

Part = tuple[Any, ...]
"""The fields of a ``ProducedPart`` or a ``FetchedPart``: a plain tuple, as there are so many."""


class ProducedPart(NamedTuple):
    """What a Produce did to one partition.

    ``topic_id`` is zeros where there is no such topic. ``size_bytes`` are those of its records. ``isr`` has the brokers
    in sync when it was written, None of a diskless topic. ``end_offset`` is the offset behind the records, -1 where
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


class FetchedPart(NamedTuple):
    """What a Fetch answered of one partition.

    ``topic`` is None where an id has no topic. ``preferred_replica`` is where the reader was sent, -1 nowhere.
    ``next_offset`` is the one behind the records, ``fetch_offset`` where there are none, -1 where it was not looked
    for. ``high_watermark`` is how far this broker let readers read.
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


Response = Any
NO_API = -1
UNCOUNTED_APIS = frozenset({6})
"""UpdateMetadata, which a controller sends its brokers: it is as large as the cluster."""


@dataclass(slots=True, eq=False)
class InjectedFaults:
    """What faults do to one call beyond having it wait or end.

    ``partition_errors`` has, by topic, the error of each partition that is not to be handled, the key None standing
    for all of them; ``every_partition`` is the error of all partitions of all topics. ``amend`` changes the answer's
    message before it is encoded, in its order. ``pace`` is asked for the time at which an answer of so many bytes has
    gone out. ``mute_ms`` is for how long the connection is not heard once the call has ended. ``hides_part``: the
    handler does not see the whole request.
    """

    partition_errors: dict[str, dict[int | None, int]] = field(default_factory=dict)
    every_partition: int | None = None
    amend: list[Callable[[Any], Any]] = field(default_factory=list)
    pace: list[Callable[[int, int], int]] = field(default_factory=list)
    mute_ms: int = 0
    hides_part: bool = False

    def error_of(self, topic: str, index: int) -> int | None:
        """The error of a partition, None where it is handled."""
        errors = self.partition_errors.get(topic)
        if errors is None:
            return self.every_partition
        return errors.get(index, errors.get(None, self.every_partition))


@dataclass(slots=True, eq=False)
class Call:
    """One request on its way: where it arrived, from whom, and when it is now.

    The path of a call fills in ``api_key``, ``version``, ``correlation_id`` and ``body_start`` from the frame's header;
    ``request`` is read when somebody asks for it, and ``finish`` gets the call's outcome. Handlers put down for
    observers what they did: ``parts``, one for each partition that a Produce names or a Fetch answers, as the fields of
    ``ProducedPart`` or ``FetchedPart``; ``wanted``, all that a Fetch asked for (shared with its session if it is
    ``in_session``), and ``replica_id``, whose fetch it is, -1 of a consumer. ``cached`` is what the response cache has
    of a call, ``observed`` what the first observer found out that asked. ``diskless_turn`` holds the rack whose turn an
    answer with diskless topics took, and the place of the broker that it named.

    ``faults`` has the ids of the faults that hit the call, in order, and ``injected`` what they do to it;
    ``subjects`` what the request names, once ``subjects.py`` was asked.
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
    arrived_ms: int = field(init=False)
    was_parked: bool = False
    parts: list[Part] | None = None
    wanted: Sequence[FetchPartition] = ()
    in_session: bool = False
    replica_id: int = -1
    cached: Any = None
    observed: Any = None
    diskless_turn: tuple[str | None, int] | None = None
    finish: Callable[[Any], None] | None = None
    faults: tuple[str, ...] = ()
    injected: InjectedFaults | None = None
    subjects: Any = None
    _decompression: DecompressionBudget | None = None
    _request: Any = None

    def __post_init__(self) -> None:
        self.arrived_ms = self.now_ms

    @property
    def broker(self) -> Broker:
        """The broker that was called."""
        return self.session.broker

    @property
    def view(self) -> MetadataView:
        """What the broker that was called knows of the cluster."""
        return self.cluster.support.view(self.session.broker.id)

    def leadership(self, partition: Partition) -> KnownPartition:
        """Who leads a partition, as the broker that was called knows."""
        return self.cluster.support.leadership(self.session.broker.id, partition)

    def deposed(self, partition: Partition) -> DeposedPartition | None:
        """The partition, where the broker that was called leads it in its own eyes alone."""
        return self.cluster.support.deposed(self.session.broker.id, partition)

    @property
    def request(self) -> Any:
        """The request's message. Bytes that are left over behind it are ignored, as in Kafka.

        Raises: DecodeError, which does not say where: to find that out would take long. Also for a request whose arrays
            have more than ``max.request.items`` elements in all, before they are made.
        """
        if self._request is None:
            decode = _decoders.get((self.api_key, self.version)) or decoder_of(self.api_key, self.version)
            most = self.cluster.settings["max.request.items"]
            if len(self.frame) <= most or self.api_key in UNCOUNTED_APIS:  # an element takes a byte at least
                self._request, _ = decode(self.frame, self.body_start)
            else:
                count = codec(message_class(self.api_key, "request"), self.version).counting_decoder()
                self._request, _ = count(self.frame, self.body_start, most)
        return self._request

    @property
    def decompression(self) -> DecompressionBudget:
        """What may still come out of compressed records on the call's behalf."""
        if self._decompression is None:
            self._decompression = DecompressionBudget(self.cluster.settings["max.decompressed.request.bytes"])
        return self._decompression

    @property
    def read_request(self) -> Any:
        """The request's message where somebody has asked for it, else None."""
        return self._request

    def put_request(self, request: Any) -> None:
        """Have handlers see another message than the frame holds."""
        self._request = request


class Verdict(NamedTuple):
    """The end of a call: an answer, the end of its connection, or an answer and then that end.

    ``response`` is the message to answer with, in ``version`` (None: the request's); without it there is no answer.
    ``output`` is an answer that is encoded already, of which observers see ``response``. ``closes`` says why the
    connection is closed: so acks=0 reports errors. ``error`` is an exception that our own code did not expect.
    """

    response: Any = None
    version: int | None = None
    output: Sequence[bytes] | None = None
    closes: str | None = None
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class Wait:
    """An answer put off: ``then(call)`` runs when a key of ``on`` is notified or the time ``until_ms`` is reached.

    ``call.now_ms`` is brought up to date first. ``then`` returns what a handler returns, another Wait included.
    """

    until_ms: int | None
    on: tuple[Hashable, ...]
    then: Callable[[Call], Any]


_decoders: dict[tuple[int, int], Callable[[bytes, int], tuple[Any, int]]] = {}


def decoder_of(api_key: int, version: int) -> Callable[[bytes, int], tuple[Any, int]]:
    """The reader of a request. Raises UnsupportedVersionError."""
    found = _decoders[api_key, version] = codec(message_class(api_key, "request"), version).brief_decoder()
    return found
