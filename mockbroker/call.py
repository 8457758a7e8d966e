"""What a handler is given, what it may give back, and the table of handlers.

A handler is a function ``(call, request) -> response``. It may also return a ``Wait``, to be asked again later,
or None where the protocol has no answer (Produce with acks=0). One whose request may name very many things is a
generator: where ``call.has_had_its_turn()`` it yields, so that other calls have theirs, and returns what it gives.
What takes long in one piece it has done beside the loop, by ``in_background``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import merge
from random import Random
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

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
Handler = Callable[["Call", Any], Any]
AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Any])

NO_API = -1
TURN_ITEMS = 2500
"""How many things one call deals with before it is another's turn: some ms of work."""
LATER_TURN_ITEMS = 500
"""The same in its later turns, which large requests alone have: a ms or two, so that nobody waits for long."""
QUICK_ITEMS = 5_000
"""The same of things that are only put into a dict or a list."""
TURN_MS = 1
SHARDS = 256
SHARE_OF_FREEING = 20
"""How many things are given back in the time that one is dealt with in."""
CREATED_ITEMS = 50
"""What making or deleting a topic counts for."""
LOOKED_UP_ITEMS = 3
"""What a group counts for that is looked up among its coordinators."""
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")
Turns = Generator[Any, None, Result]
"""What a handler is that takes several turns; it yields None, SOON, or the BackgroundWork that the next one is for."""
SOON = "soon"
"""What a handler yields that goes on as soon as what has come meanwhile was looked at."""


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
    answer with diskless topics took, and the broker that it named. ``close_reason`` has the connection closed in place
    of an answer, which is how acks=0 learns of errors.

    ``faults`` has the ids of the faults that hit the call, in order, and ``injected`` what they do to it;
    ``subjects`` what the request names, once ``core/subjects.py`` was asked. ``took_turns``: others had theirs between
    the first thing it dealt with and the last.
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
    close_reason: str | None = None
    finish: Callable[[Any], None] | None = None
    faults: tuple[str, ...] = ()
    injected: InjectedFaults | None = None
    subjects: Any = None
    took_turns: bool = False
    _items: int = 0
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

        Raises: DecodeError, which does not say where: to find that out would hold up everybody else.
        """
        if self._request is None:
            decode = codec(message_class(self.api_key, "request"), self.version).brief_decoder()
            self._request, _ = decode(self.frame, self.body_start)
        return self._request

    def add_work(self, items: int) -> None:
        """Count something that took as long as so many things more."""
        self._items += items

    def has_had_its_turn(self, items: int = 1) -> bool:
        """Whether a handler that has dealt with so many things more is to yield."""
        self._items += items
        if self._items < (LATER_TURN_ITEMS if self.took_turns else TURN_ITEMS):
            return False
        self._items = 0
        self.took_turns = True
        return True

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


@dataclass(slots=True, eq=False)
class BackgroundWork(Generic[Result]):
    """A function that runs beside the loop, where there are threads: what it looks at may not change meanwhile."""

    function: Callable[[], Result] | None
    _result: Result | None = None
    _error: Exception | None = None

    def run(self) -> None:
        """Do the work once, unless it was dropped before; nothing is kept of it but its result."""
        function, self.function = self.function, None
        if function is None:
            return
        try:
            self._result = function()
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            self._error = error

    def drop(self) -> None:
        """Nobody waits for it any more."""
        self.function = None

    def result(self) -> Result:
        """What the function gave, once it has run. Raises what that raised."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # what the function gave


@dataclass(slots=True, eq=False)
class Wait:
    """An answer put off: ``then(call)`` runs when a key of ``on`` is notified or the time ``until_ms`` is reached.

    ``call.now_ms`` is brought up to date first. ``then`` gives what a handler gives: a response, None, or another Wait.
    ``work`` is begun as the call begins to wait, and notified as a key when it is done. ``is_turn``: it waits for its
    next turn; of the calls that do, one after the other has its turn between the others' requests.
    """

    until_ms: int | None
    on: tuple[Hashable, ...]
    then: Callable[[Call], Any]
    work: BackgroundWork[Any] | None = None
    is_turn: bool = False


def each(call: Call, items: Iterable[Item], make: Callable[[Item], Result], cost: int = 1) -> Turns[list[Result]]:
    """What ``make`` makes of each, in turns: ``entries = yield from each(call, names, entry_of)``.

    ``cost``: how many things each counts for.
    """
    made = []
    for item in items:
        made.append(make(item))
        if call.has_had_its_turn(cost):
            yield
    return made


def gathered(call: Call, items: Sequence[Item], take: Callable[[Sequence[Item]], object]) -> Turns[None]:
    """Have ``take`` put some thousands of items at a time wherever they belong, in turns: into a dict or a list."""
    if len(items) <= QUICK_ITEMS:
        take(items)
        return
    for start in range(0, len(items), QUICK_ITEMS):
        take(items[start : start + QUICK_ITEMS])
        if call.has_had_its_turn(TURN_ITEMS):
            yield


def distinct(call: Call, items: Sequence[Item], key: Callable[[Item], Key]) -> Turns[deque[Key]]:
    """The keys of items, each once, in the order in which they come first, in turns.

    Many are looked for in sets by their hashes: one set of all would stand still for long each time that it grows.
    """
    if len(items) <= QUICK_ITEMS:
        return deque(dict.fromkeys(map(key, items)))
    found: deque[Key] = deque()
    shards: list[set[Key]] = [set() for _ in range(SHARDS)]
    for start in range(0, len(items), 2 * LATER_TURN_ITEMS):
        for item in items[start : start + 2 * LATER_TURN_ITEMS]:
            one = key(item)
            shard = shards[hash(one) % SHARDS]
            if one not in shard:
                shard.add(one)
                found.append(one)
        if call.has_had_its_turn(TURN_ITEMS):
            yield
    while shards:  # to give them back at once would take long, too
        shards.pop()
        if call.has_had_its_turn(len(items) // SHARDS // SHARE_OF_FREEING):
            yield
    return found


def sorted_in_turns(call: Call, items: Collection[str]) -> Turns[list[str]]:
    """Texts in their order, sorted by thousands and merged in turns."""
    if len(items) <= QUICK_ITEMS:
        return sorted(items)
    runs: list[list[str]] = []
    yield from gathered(call, list(items), lambda some: runs.append(sorted(some)))
    return (yield from each(call, merge(*runs), lambda item: item))


def in_background(call: Call, function: Callable[[], Result]) -> Turns[Result]:
    """What a function gives or raises that takes long: ``batch = yield from in_background(call, check)``."""
    work = BackgroundWork(function)
    del function
    call.took_turns = True
    yield work
    return work.result()


def next_turn(call: Call, turns: Turns[Any]) -> Any:
    """Have a handler go on for a turn: what it gives in the end, else a wait for its next one."""
    try:
        work = next(turns)
    except StopIteration as end:
        return end.value
    if work is SOON:
        return Wait(call.now_ms, (), lambda later: next_turn(later, turns), is_turn=True)
    if work is not None:
        return Wait(None, (work,), lambda later: next_turn(later, turns), work)
    return until_next_turn(call, lambda later: next_turn(later, turns))


def until_next_turn(call: Call, then: Callable[[Call], Any]) -> Wait:
    """What a call waits for that others are to come before."""
    return Wait(call.now_ms + TURN_MS, (), then, is_turn=True)


_handlers: dict[int, Handler] = {}


def handles(request_class: type) -> Callable[[AnyHandler], AnyHandler]:
    """Register a function as the handler of one API: ``@handles(MetadataRequest)``."""
    api_key: int = request_class.api_key  # type: ignore[attr-defined]

    def register(handler: AnyHandler) -> AnyHandler:
        assert api_key not in _handlers or _handlers[api_key].__qualname__ == handler.__qualname__, api_key
        _handlers[api_key] = handler
        return handler

    return register


def registered_handler(api_key: int) -> Handler | None:
    """The handler of an API key whose module was imported already, else None."""
    return _handlers.get(api_key)
