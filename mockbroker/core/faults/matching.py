"""Whether a call is one that a fault means, and of those that are not the ones that came nearest.

A matcher asks what costs nothing first: API, broker, client. Only a call that passes there is decoded, and only if its
API names topics or groups at all, where the fault names any.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple

from mockbroker.call import Call
from mockbroker.core.faults.fault import Fault, RackLink
from mockbroker.core.subjects import APIS_WITH_GROUPS, APIS_WITH_TOPICS, NOTHING, Subjects, subjects_of
from mockbroker.state.patterns import wildcards_match
from protocol.errors import ProtocolError
from protocol.registry import APIS

MAX_NEAREST = 3  # near misses that are kept a fault
MAX_VALUE = 120  # characters of a value in a near miss
MAX_NAMES_SHOWN = 5
SUBJECT_FIELDS = frozenset({"topic", "partition", "group"})
METADATA, OFFSET_FETCH, DESCRIBE_TOPIC_PARTITIONS = 3, 9, 75
TELLS_PARTITIONS = frozenset({METADATA, OFFSET_FETCH, DESCRIBE_TOPIC_PARTITIONS})
"""The APIs that answer with a topic's partitions though the request may not name them."""
RACK_VERSIONS = {1: 11, METADATA: 14, DESCRIBE_TOPIC_PARTITIONS: 1}
"""The APIs whose requests may name the client's rack, and since which version."""

Test = Callable[[Call], bool]


class Hit(NamedTuple):
    """What of a matching call the fault means.

    ``topics`` has the partitions that match by topic, None standing for the topic as a whole; it is None itself where
    the fault names neither topics nor partitions. So is ``groups`` where it names no groups.
    """

    topics: dict[str, tuple[int, ...] | None] | None = None
    groups: tuple[str, ...] | None = None


@dataclass(slots=True)
class NearMiss:
    """Calls of one client that missed by the same values; ``missed`` has what was met, by field."""

    call: str
    missed: dict[str, str]
    count: int = 1


@dataclass(slots=True)
class NearestCalls:
    """The calls that came nearest to a fault: those that missed in the fewest fields, at most ``MAX_NEAREST`` kinds.

    Each holds a few short texts, so that this stays within a few kilobytes whatever clients send.
    """

    seen: int = 0
    _kept: dict[Hashable, NearMiss] = field(default_factory=dict)
    _most_missed: int = 0

    def __iter__(self) -> Iterator[NearMiss]:
        """The nearest first; of those that are equally near those of the right API, then what came most often."""
        return iter(sorted(self._kept.values(), key=lambda one: (len(one.missed), "api" in one.missed, -one.count)))

    def needs(self, missed: int) -> bool:
        """Whether a call that missed in so many fields is among the nearest so far."""
        return len(self._kept) < MAX_NEAREST or missed <= self._most_missed

    def add(self, call: Call, missed: list[str]) -> None:
        """Put down a call that missed in these fields."""
        key = miss_key(call, missed)
        if key is not None and key in self._kept:
            self._kept[key].count += 1
            return
        text, met_by_field = described(call), {name: met(call, name) for name in missed}
        if key is None:
            key = (text, *met_by_field.items())
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
    """What makes calls one kind of near miss, without their words; None where that takes the request, or is long."""
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


class Matcher:
    """The fields of one fault, ready to be compared with calls."""

    __slots__ = ("fault", "_groups", "_names_subjects", "_partitions", "_reads_rack", "_tests", "_topics")

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        match = fault.match
        tests: list[tuple[str, Test]] = []
        if "api" in match:
            named = name_test(match["api"])
            apis = frozenset(key for key, (_, name) in APIS.items() if named(name))
            tests.append(("api", lambda call: call.api_key in apis))
        if "broker" in match:
            brokers = frozenset(values_of(match["broker"]))
            tests.append(("broker", lambda call: call.session.broker.id in brokers))
        for name, value in (
            ("rack", lambda call: call.session.broker.rack),
            ("client_id", lambda call: call.session.client_id),
            ("listener", lambda call: call.session.listener),
            ("client_rack", lambda call: call.session.rack),
        ):
            if name in match:
                tests.append((name, text_test(match[name], value)))
        if "client_address" in match:
            tests.append(("client_address", address_test(values_of(match["client_address"]))))
        if fault.link is not None:
            tests.append(("link", link_test(fault.link)))
        self._tests = tests
        self._reads_rack = "client_rack" in match or fault.link is not None
        self._topics = name_test(match["topic"]) if "topic" in match else None
        self._partitions = frozenset(values_of(match["partition"])) if "partition" in match else None
        self._groups = name_test(match["group"]) if "group" in match else None
        self._names_subjects = self.names_topics or self._groups is not None

    @property
    def names_topics(self) -> bool:
        """Whether the fault means single topics or partitions."""
        return self._topics is not None or self._partitions is not None

    def hit(self, call: Call, nearest: NearestCalls | None) -> Hit | None:
        """What of the call is meant, None where it is another call.

        Args:
            nearest: takes the call if it missed by little; None where nobody asks for that any more.
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
        """What of the request's topics and groups is meant; ``missed`` gets the fields that none of them match."""
        topics: dict[str, tuple[int, ...] | None] | None = None
        groups: tuple[str, ...] | None = None
        if self.names_topics:
            topics = self._topics_hit(call) if call.api_key in APIS_WITH_TOPICS else {}
            if not topics:
                if self._topics is not None and not any(map(self._topics, topics_named(call))):
                    missed.append("topic")
                else:
                    missed.append("partition")
        if self._groups is not None:
            named = read_subjects(call).groups if call.api_key in APIS_WITH_GROUPS else ()
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
    """The topics of a request with their partitions; all there are where all were asked for."""
    if call.api_key not in APIS_WITH_TOPICS:
        return {}
    subjects = read_subjects(call)
    if not subjects.all_topics:
        return subjects.topics
    return {**dict.fromkeys(call.cluster.topics, ()), **subjects.topics}


def read_subjects(call: Call) -> Subjects:
    """What the request names; nothing where it cannot be read, which its handler will say."""
    try:
        return subjects_of(call)
    except ProtocolError:
        return NOTHING


def learn_rack(call: Call) -> None:
    """Take the rack that a request names, before its handler does."""
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


def values_of(value: object) -> tuple[Any, ...]:
    """A value, or a list of such, as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def name_test(value: object) -> Callable[[str], bool]:
    """Whether a name is one of these; ``*`` in them stands for any letters.

    >>> [name for name in ("orders", "orders-eu", "payments") if name_test("orders*")(name)]
    ['orders', 'orders-eu']
    """
    names = values_of(value)
    exact = frozenset(name for name in names if "*" not in name)
    patterns = [name for name in names if "*" in name]
    if not patterns:
        return exact.__contains__
    return lambda name: name in exact or any(wildcards_match(pattern, name) for pattern in patterns)


def text_test(value: object, of: Callable[[Call], str | None]) -> Test:
    named = name_test(value)

    def passes(call: Call) -> bool:
        text = of(call)
        return text is not None and named(text)

    return passes


def address_test(blocks: tuple[str, ...]) -> Test:
    networks = [ip_network(block, strict=False) for block in blocks]
    known: dict[str, bool] = {}  # by address, since a connection asks for each call

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


def link_test(link: RackLink) -> Test:
    """Whether a client asks over this link: its rack, once that is known, at one end and the broker's at the other."""
    joins = link_joins(link)
    return lambda call: joins(call.session.rack, call.session.broker.rack)


def link_joins(link: RackLink) -> Callable[[str | None, str | None], bool]:
    """Whether who is in one rack asks who is in another over this link."""
    source, target = name_test(link.source), name_test(link.target)

    def joins(asking: str | None, asked: str | None) -> bool:
        if not asking or not asked:
            return False
        if source(asking) and target(asked):
            return True
        return not link.one_way and target(asking) and source(asked)

    return joins


# words for near misses


def described(call: Call) -> str:
    """A call in words: ``Fetch v12 of client 'c-1' to broker 0 in rack 'a'``."""
    session = call.session
    client = "a client without client id" if session.client_id is None else f"client {short(session.client_id)}"
    rack = f" in rack {short(session.rack)}" if session.rack else ""
    at = f" in rack {short(session.broker.rack)}" if session.broker.rack else ""
    return f"{api_name(call.api_key)} v{call.version} of {client}{rack} to broker {session.broker.id}{at}"


def met(call: Call, name: str) -> str:
    """What stood in a call in place of what a field expects."""
    session = call.session
    if name == "topic":
        return listed(topics_named(call), "topic")
    if name == "group":
        return listed(read_subjects(call).groups if call.api_key in APIS_WITH_GROUPS else (), "group")
    if name == "partition":
        indexes = {str(index): None for all_of in topics_named(call).values() for index in all_of}
        return listed(indexes, "partition", quoted=False)
    if name == "link":
        asking = f"a client in rack {short(session.rack)}" if session.rack else "a client whose rack is not known"
        at = f"a broker in rack {short(session.broker.rack)}" if session.broker.rack else "a broker without a rack"
        return f"{asking} to {at}"
    value: object = None
    if name == "api":
        return short(api_name(call.api_key))
    if name == "broker":
        value = session.broker.id
    elif name == "rack":
        value = session.broker.rack
    elif name == "client_address":
        value = session.address
    elif name == "client_rack":
        value = session.rack
    elif name == "client_id":
        value = session.client_id
    else:
        value = session.listener
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
    text = repr(value)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 3] + "..."


def api_name(api_key: int) -> str:
    """Kafka's name of an API that there is."""
    return APIS[api_key][1]
