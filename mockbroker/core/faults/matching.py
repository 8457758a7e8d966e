"""Matches calls with a fault, and says in which field a call missed it.

A matcher tests the cheap fields first: API, broker, client. Only a call that passes these is decoded, and only if the
fault names topics or groups and the call's API has any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import ip_network
from itertools import chain, islice
from typing import Any, NamedTuple

from msgspec import UNSET

from mockbroker.call import Call
from mockbroker.core.faults.fault import Fault, RackLink
from mockbroker.core.faults.reading import shown
from mockbroker.state.patterns import is_within, name_test
from mockbroker.subjects import NOTHING, Subjects, subjects_of
from protocol.errors import ProtocolError
from protocol.registry import APIS

MAX_NAMES_SHOWN = 5
METADATA, OFFSET_FETCH, DESCRIBE_TOPIC_PARTITIONS = 3, 9, 75
LISTS_PARTITIONS = frozenset({METADATA, OFFSET_FETCH, DESCRIBE_TOPIC_PARTITIONS})
"""The APIs whose responses have a topic's partitions though the request may not name them."""
RACK_VERSIONS = {1: 11, METADATA: 14, DESCRIBE_TOPIC_PARTITIONS: 1}
"""The APIs whose requests may name the client's rack, with the first version that does."""

Test = Callable[[Any], bool]


class Hit(NamedTuple):
    """The parts of a call that match a fault.

    ``topics`` has the matching partitions by topic, None for the topic as a whole; it is None itself if the fault names
    neither topics nor partitions. ``groups`` is None if it names no groups.
    """

    topics: dict[str, tuple[int, ...] | None] | None = None
    groups: tuple[str, ...] | None = None


class Miss(NamedTuple):
    """A call that does not match a fault: the field that missed, and its rank among those that the fault compares."""

    rank: int
    field: str


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


VALUES: dict[str, Callable[[Call], Iterable[Any]]] = {
    "api": lambda call: [APIS[call.api_key][1]],
    "broker": lambda call: [call.session.broker.id],
    "rack": lambda call: [call.session.broker.rack],
    "client_id": lambda call: [call.session.client_id],
    "listener": lambda call: [call.session.listener],
    "client_rack": lambda call: [call.session.rack],
    "client_address": lambda call: [call.session.address],
    "link": lambda call: [(call.session.rack, call.session.broker.rack)],
    "topic": topics_named,
    "partition": lambda call: dict.fromkeys(chain.from_iterable(topics_named(call).values())),
    "group": lambda call: read_subjects(call).groups,
}
"""The values of a call that are compared with each field of a fault, in this order; the last three decode a request."""


class Matcher:
    """The compiled tests of one fault's fields."""

    def __init__(self, fault: Fault) -> None:
        match, values = fault.match, {name: fault.match.values(name) for name in VALUES}
        tests = {name: field_test(name, given) for name, given in values.items() if given}
        if fault.link:
            tests["link"] = link_test(fault.link)
        self._reads_rack = match.client_rack is not UNSET or bool(fault.link)
        self._partitions = frozenset(values["partition"])
        self._topics, self._groups = tests.get("topic"), tests.get("group")
        self._tests = [(name, tests[name]) for name in VALUES if name in tests and name not in ("partition", "group")]

    def hit(self, call: Call) -> Hit | Miss:
        """The part of the call that matches, or the first field that does not."""
        if self._reads_rack:
            learn_rack(call)
        for rank, (name, passes) in enumerate(self._tests):
            if not any(map(passes, VALUES[name](call))):
                return Miss(rank, name)
        topics = self._topics_hit(call) if self._topics or self._partitions else None
        if topics is not None and not topics:
            return Miss(len(self._tests), "partition")
        groups = None if self._groups is None else tuple(filter(self._groups, read_subjects(call).groups))
        if groups is not None and not groups:
            return Miss(len(self._tests) + 1, "group")
        return Hit(topics, groups)

    def _topics_hit(self, call: Call) -> dict[str, tuple[int, ...] | None]:
        found: dict[str, tuple[int, ...] | None] = {}
        for name, indexes in topics_named(call).items():
            if self._topics is not None and not self._topics(name):
                continue
            if not self._partitions:
                found[name] = indexes or None
                continue
            if not indexes and call.api_key in LISTS_PARTITIONS:
                topic = call.cluster.topics.get(name)
                indexes = tuple(range(len(topic.partitions))) if topic is not None else ()  # noqa: PLW2901
            meant = tuple(index for index in indexes if index in self._partitions)
            if meant:
                found[name] = meant
        return found


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


def field_test(name: str, values: tuple[Any, ...]) -> Test:
    """A test of a value that a call has in one field; None, which is no value, passes none."""
    if name == "client_address":
        networks = [ip_network(block, strict=False) for block in values]
        return lambda address: is_within(address, networks)
    passes = name_test([str(value) for value in values])
    return lambda value: value is not None and passes(str(value))


def link_test(link: RackLink) -> Callable[[tuple[str | None, str | None]], bool]:
    """A test for the racks of a client, or follower, and of its broker: True if the link joins them."""
    source, target = (name_test((end,)) for end in link.ends)

    def joins(racks: tuple[str | None, str | None]) -> bool:
        rack, broker_rack = racks
        if not rack or not broker_rack:
            return False
        return (source(rack) and target(broker_rack)) or (not link.one_way and target(rack) and source(broker_rack))

    return joins


# words for misses


def miss_in_words(fault: Fault, call: Call, name: str) -> str:
    """``Fetch v12 of client 'c' to broker 0: topic: expected 'orders', got 'payments'``."""
    session = call.session
    if name == "link":
        wanted, got = str(fault.link), f"from {shown(session.rack)} to {shown(session.broker.rack)}"
    else:
        wanted, got = listed(fault.match.values(name)), listed(VALUES[name](call))
    client, broker = shown(session.client_id), session.broker.id
    what = f"{APIS[call.api_key][1]} v{call.version} of client {client} to broker {broker}"
    return f"{what}: {name}: expected {wanted}, got {got}"


def listed(values: Iterable[Any]) -> str:
    """The first few values in words."""
    return ", ".join(map(shown, islice(values, MAX_NAMES_SHOWN))) or "none"
