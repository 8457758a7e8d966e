"""Matches calls with a fault, and collects the nearest misses of a fault that never matched.

A matcher tests the cheap fields first: API, broker, client. Only a call that passes these is decoded, and only if the
fault names topics or groups and the call's API has any.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple

from msgspec import UNSET

from mockbroker.call import Call
from mockbroker.core.faults.fault import Fault
from mockbroker.core.faults.reading import shown
from mockbroker.state.patterns import wildcards_match
from mockbroker.subjects import NOTHING, Subjects, subjects_of
from protocol.errors import ProtocolError
from protocol.registry import APIS

MAX_NEAREST = 3  # near misses stored per fault
MAX_VALUE = 120  # characters of a value in a near miss
MAX_NAMES_SHOWN = 5
SUBJECT_FIELDS = frozenset({"topic", "partition", "group"})
METADATA, OFFSET_FETCH, DESCRIBE_TOPIC_PARTITIONS = 3, 9, 75
TELLS_PARTITIONS = frozenset({METADATA, OFFSET_FETCH, DESCRIBE_TOPIC_PARTITIONS})
"""The APIs whose responses have a topic's partitions though the request may not name them."""
RACK_VERSIONS = {1: 11, METADATA: 14, DESCRIBE_TOPIC_PARTITIONS: 1}
"""The APIs whose requests may name the client's rack, with the first version that does."""

Test = Callable[[Call], bool]


class Hit(NamedTuple):
    """The parts of a call that match a fault.

    ``topics`` has the matching partitions by topic, None for the topic as a whole; it is None itself if the fault names
    neither topics nor partitions. ``groups`` is None if it names no groups.
    """

    topics: dict[str, tuple[int, ...] | None] | None = None
    groups: tuple[str, ...] | None = None


@dataclass(slots=True)
class NearMiss:
    """Calls of one client that missed by the same values; ``missed`` has the call's values by field."""

    call: str
    missed: dict[str, str]
    count: int = 1


@dataclass(slots=True)
class NearestCalls:
    """The nearest misses of a fault: the calls that missed in the fewest fields, at most ``MAX_NEAREST`` kinds.

    Each holds a few short texts, so that this is bounded to a few kilobytes whatever clients send.
    """

    seen: int = 0
    _kept: dict[Hashable, NearMiss] = field(default_factory=dict)
    _most_missed: int = 0

    def __iter__(self) -> Iterator[NearMiss]:
        """The nearest first; among equally near ones those of the right API first, then the most frequent."""
        return iter(sorted(self._kept.values(), key=lambda one: (len(one.missed), "api" in one.missed, -one.count)))

    def needs(self, missed: int) -> bool:
        """True if a call that missed in this many fields is among the nearest so far."""
        return len(self._kept) < MAX_NEAREST or missed <= self._most_missed

    def add(self, call: Call, missed: list[str]) -> None:
        """Record a call that missed in these fields."""
        key = miss_key(call, missed)
        if key is None or key not in self._kept:
            text, met_by_field = described(call), {name: met(call, name) for name in missed}
            key = (text, *met_by_field.items()) if key is None else key
        if key in self._kept:
            self._kept[key].count += 1
            return
        if len(self._kept) >= MAX_NEAREST:
            worst = max(self._kept, key=lambda one: (len(self._kept[one].missed), -self._kept[one].count))
            if len(self._kept[worst].missed) <= len(missed):
                return
            del self._kept[worst]
        self._kept[key] = NearMiss(text, met_by_field)
        self._most_missed = max(len(one.missed) for one in self._kept.values())


def miss_key(call: Call, missed: list[str]) -> Hashable | None:
    """The key that calls of one kind of near miss share; None if it requires the request, or would be long."""
    session = call.session
    client_id, rack = session.client_id, session.rack
    if not SUBJECT_FIELDS.isdisjoint(missed) or len(client_id or "") > MAX_VALUE or len(rack or "") > MAX_VALUE:
        return None
    return (
        call.api_key,
        call.version,
        client_id,
        rack,
        session.broker.id,
        session.address if "client_address" in missed else None,
        session.listener if "listener" in missed else None,
        *missed,
    )


OF_CALL: dict[str, Callable[[Call], Any]] = {
    "api": lambda call: APIS[call.api_key][1],
    "broker": lambda call: call.session.broker.id,
    "rack": lambda call: call.session.broker.rack,
    "client_id": lambda call: call.session.client_id,
    "listener": lambda call: call.session.listener,
    "client_rack": lambda call: call.session.rack,
    "client_address": lambda call: call.session.address,
}
"""The values of a call that are compared with a fault's fields before its request is decoded, cheap ones first."""


class Matcher:
    """The compiled tests of one fault's fields."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        match = fault.match
        self._tests = [(name, field_test(name, values)) for name in OF_CALL if (values := match.values(name))]
        if fault.link:
            joins = link_joins(fault)
            self._tests.append(("link", lambda call: joins(call.session.rack, call.session.broker.rack)))
        self._reads_rack = match.client_rack is not UNSET or bool(fault.link)
        self._topics = name_test(match.values("topic")) if match.topic is not UNSET else None
        self._partitions = frozenset(match.values("partition")) if match.partition is not UNSET else None
        self._groups = name_test(match.values("group")) if match.group is not UNSET else None
        self._names_subjects = self.names_topics or self._groups is not None

    @property
    def names_topics(self) -> bool:
        """True if the fault names topics or partitions."""
        return self._topics is not None or self._partitions is not None

    def hit(self, call: Call, nearest: NearestCalls | None) -> Hit | None:
        """The part of the call that matches; None if it does not match.

        Args:
            nearest: records the call if it is a near miss; None after a call has matched.
        """
        if self._reads_rack:
            learn_rack(call)
        if nearest is None:
            for _, passes in self._tests:
                if not passes(call):
                    return None
            missed: list[str] = []
            hit = self._subjects_hit(call, missed)
            return None if missed else hit
        missed = [name for name, passes in self._tests if not passes(call)]
        if not missed or (self._names_subjects and len(missed) == 1):
            hit = self._subjects_hit(call, missed)
            if not missed:
                return hit
        if nearest.needs(len(missed)):
            nearest.add(call, missed)
        return None

    def _subjects_hit(self, call: Call, missed: list[str]) -> Hit:
        """The request's topics and groups that match; fields that match none of them are appended to ``missed``."""
        topics: dict[str, tuple[int, ...] | None] | None = None
        groups: tuple[str, ...] | None = None
        if self.names_topics:
            topics = self._topics_hit(call)
            if not topics:
                if self._topics is not None and not any(map(self._topics, topics_named(call))):
                    missed.append("topic")
                else:
                    missed.append("partition")
        if self._groups is not None:
            named = read_subjects(call).groups
            groups = tuple(group for group in named if self._groups(group))
            if not groups:
                missed.append("group")
        return Hit(topics, groups)

    def _topics_hit(self, call: Call) -> dict[str, tuple[int, ...] | None]:
        found: dict[str, tuple[int, ...] | None] = {}
        for name, indexes in topics_named(call).items():
            if self._topics is not None and not self._topics(name):
                continue
            if self._partitions is None:
                found[name] = indexes or None
                continue
            if not indexes and call.api_key in TELLS_PARTITIONS:
                topic = call.cluster.topics.get(name)
                indexes = tuple(range(len(topic.partitions))) if topic is not None else ()  # noqa: PLW2901
            meant = tuple(index for index in indexes if index in self._partitions)
            if meant:
                found[name] = meant
        return found


def topics_named(call: Call) -> dict[str, tuple[int, ...]]:
    """The topics of a request with their partitions; all existing topics if it requests all."""
    subjects = read_subjects(call)
    if not subjects.all_topics:
        return subjects.topics
    return {**dict.fromkeys(call.cluster.topics, ()), **subjects.topics}


def read_subjects(call: Call) -> Subjects:
    """The subjects that the request names; none if it cannot be decoded, which its handler reports."""
    try:
        return subjects_of(call)
    except ProtocolError:
        return NOTHING


def learn_rack(call: Call) -> None:
    """Learn the rack that a request names, before its handler runs."""
    since = RACK_VERSIONS.get(call.api_key)
    if since is None or call.version < since:
        return
    try:
        rack = call.request.rack_id
    except ProtocolError:
        return
    if rack:
        call.session.learn_rack(rack)


# tests of one field


def name_test(names: tuple[str, ...]) -> Callable[[str], bool]:
    """A test for names that are one of these; ``*`` matches anything.

    >>> [name for name in ("orders", "orders-eu", "payments") if name_test(("orders*",))(name)]
    ['orders', 'orders-eu']
    """
    exact = frozenset(name for name in names if "*" not in name)
    patterns = [name for name in names if "*" in name]
    if not patterns:
        return exact.__contains__
    return lambda name: name in exact or any(wildcards_match(pattern, name) for pattern in patterns)


def field_test(name: str, values: tuple[Any, ...]) -> Test:
    """A test of one field of ``OF_CALL``."""
    if name == "client_address":
        return address_test(values)
    if name == "broker":
        return lambda call: call.session.broker.id in values
    of_call, named = OF_CALL[name], name_test(values)
    if name == "api":
        apis = frozenset(key for key, (_, api) in APIS.items() if named(api))
        return lambda call: call.api_key in apis

    def passes(call: Call) -> bool:
        text = of_call(call)
        return text is not None and named(text)

    return passes


def address_test(blocks: tuple[str, ...]) -> Test:
    networks = [ip_network(block, strict=False) for block in blocks]
    known: dict[str, bool] = {}  # by address, since each call of a connection is tested

    def passes(call: Call) -> bool:
        text = call.session.address
        found = known.get(text)
        if found is None:
            if len(known) >= 1024:
                known.clear()
            found = known[text] = is_within(text)
        return found

    def is_within(text: str) -> bool:
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any(one in network for one in (address, mapped) if one is not None for network in networks)

    return passes


def link_joins(fault: Fault) -> Callable[[str | None, str | None], bool]:
    """A test for the racks of a client, or follower, and of its broker: True if a fault's link joins them."""
    assert fault.link
    one_way = fault.link.one_way
    source, target = (name_test((end,)) for end in fault.link.ends)

    def joins(rack: str | None, broker_rack: str | None) -> bool:
        if not rack or not broker_rack:
            return False
        return (source(rack) and target(broker_rack)) or (not one_way and target(rack) and source(broker_rack))

    return joins


# words for near misses


def described(call: Call) -> str:
    """A call in words: ``Fetch v12 of client 'c-1' to broker 0 in rack 'a'``."""
    session = call.session
    client = "a client without client id" if session.client_id is None else f"client {short(session.client_id)}"
    rack = f" in rack {short(session.rack)}" if session.rack else ""
    at = f" in rack {short(session.broker.rack)}" if session.broker.rack else ""
    return f"{APIS[call.api_key][1]} v{call.version} of {client}{rack} to broker {session.broker.id}{at}"


def met(call: Call, name: str) -> str:
    """The value of a call that a field did not match."""
    session = call.session
    if name == "topic":
        return listed(topics_named(call), "topic")
    if name == "group":
        return listed(read_subjects(call).groups, "group")
    if name == "partition":
        indexes = {str(index): None for all_of in topics_named(call).values() for index in all_of}
        return listed(indexes, "partition", quoted=False)
    if name == "link":
        asking = f"a client in rack {short(session.rack)}" if session.rack else "a client whose rack is not known"
        at = f"a broker in rack {short(session.broker.rack)}" if session.broker.rack else "a broker without a rack"
        return f"{asking} to {at}"
    value = OF_CALL[name](call)
    if value is None:
        return "none that is known" if name == "client_rack" else "none"
    return short(value)


def listed(names: Any, what: str, *, quoted: bool = True) -> str:
    found = [short(name) if quoted else name for name in names]
    if not found:
        return f"no {what}"
    more = len(found) - MAX_NAMES_SHOWN
    return ", ".join(found[:MAX_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def short(value: object) -> str:
    return shown(value, MAX_VALUE)
