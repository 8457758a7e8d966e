"""Matches calls with a fault, and says in which field a call missed it.

A matcher tests the cheap fields first: API, broker, client. Only a call that passes these is decoded, and only if the
fault names topics or groups and the call's API has any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import ip_network
from itertools import islice
from typing import Any, NamedTuple

from msgspec import UNSET

from mockbroker.call import Call
from mockbroker.core.faults.fault import Fault
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

Test = Callable[[Call], bool]


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
        self._names_topics = self._topics is not None or self._partitions is not None

    def hit(self, call: Call) -> Hit | Miss:
        """The part of the call that matches, or the first field that does not."""
        if self._reads_rack:
            learn_rack(call)
        for rank, (name, passes) in enumerate(self._tests):
            if not passes(call):
                return Miss(rank, name)
        topics: dict[str, tuple[int, ...] | None] | None = None
        groups: tuple[str, ...] | None = None
        rank = len(self._tests)
        if self._names_topics:
            topics = self._topics_hit(call)
            if not topics:
                is_named = self._topics is None or any(map(self._topics, topics_named(call)))
                return Miss(rank + is_named, "partition" if is_named else "topic")
        if self._groups is not None:
            groups = tuple(group for group in read_subjects(call).groups if self._groups(group))
            if not groups:
                return Miss(rank + 2, "group")
        return Hit(topics, groups)

    def _topics_hit(self, call: Call) -> dict[str, tuple[int, ...] | None]:
        found: dict[str, tuple[int, ...] | None] = {}
        for name, indexes in topics_named(call).items():
            if self._topics is not None and not self._topics(name):
                continue
            if self._partitions is None:
                found[name] = indexes or None
                continue
            if not indexes and call.api_key in LISTS_PARTITIONS:
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


def field_test(name: str, values: tuple[Any, ...]) -> Test:
    """A test of one field of ``OF_CALL``."""
    if name == "client_address":
        networks = [ip_network(block, strict=False) for block in values]
        return lambda call: is_within(call.session.address, networks)
    of_call, named = OF_CALL[name], name_test([str(value) for value in values])

    def passes(call: Call) -> bool:
        found = of_call(call)
        return found is not None and named(str(found))

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


# words for misses


def miss_in_words(fault: Fault, call: Call, name: str) -> str:
    """``Fetch v12 of client 'c' to broker 0: topic: expected 'orders', got 'payments'``."""
    session = call.session
    if name == "link":
        wanted, got = str(fault.link), f"from {shown(session.rack)} to {shown(session.broker.rack)}"
    else:
        wanted, got = listed(fault.match.values(name)), listed(values_of(call, name))
    client, broker = shown(session.client_id), session.broker.id
    what = f"{APIS[call.api_key][1]} v{call.version} of client {client} to broker {broker}"
    return f"{what}: {name}: expected {wanted}, got {got}"


def values_of(call: Call, name: str) -> Iterable[Any]:
    """The values of a call that a fault compares with a field's."""
    if name == "topic":
        return topics_named(call)
    if name == "group":
        return read_subjects(call).groups
    if name == "partition":
        return dict.fromkeys(index for indexes in topics_named(call).values() for index in indexes)
    return [OF_CALL[name](call)]


def listed(values: Iterable[Any]) -> str:
    """The first few values in words."""
    return ", ".join(map(shown, islice(values, MAX_NAMES_SHOWN))) or "none"
