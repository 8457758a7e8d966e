"""Facts about a cluster from the frames of many connections, with their times: for readers of one connection each.

Parallel readers see a part of a capture each. They record the facts in their frames, each with its position; the facts
of all readers together are the knowledge at any position.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Position = tuple[int, str, int, int]
"""A place in a capture: the time of its packets so far or the block of its file, the file, the offset in there, and how
many frames of one packet came before."""
TOPIC, LEADER, IN_SYNC, RACK = "topic", "leader", "in_sync", "rack"
ENDPOINT, SERVER, CAPTURE = "endpoint", "server", "capture"


class Fact(NamedTuple):
    """One fact: a topic id's name, a partition's leader, a broker's rack, the broker at an address.

    A fact of kind ``server`` says that an address is a broker's, one of kind ``capture`` that the file is a capture.
    """

    kind: str
    key: Any
    value: Any
    position: Position


class Changes:
    """Values by key and position, read as they were at ``clock``."""

    def __init__(self, clock: Clock, before: Mapping[Any, Any] | None = None) -> None:
        self.clock = clock
        self.before: Mapping[Any, Any] = before or {}
        self.positions: dict[Any, list[Position]] = {}
        self.values: dict[Any, list[Any]] = {}

    def add(self, key: Any, value: Any, position: Position) -> None:
        """Add a later value than those before."""
        self.positions.setdefault(key, []).append(position)
        self.values.setdefault(key, []).append(value)

    def get(self, key: Any) -> Any:
        """The value as last reported, None without any."""
        positions = self.positions.get(key)
        at = 0 if positions is None else bisect_right(positions, self.clock.now)
        return self.values[key][at - 1] if at else self.before.get(key)

    def last(self) -> dict[Any, Any]:
        """The last value of each key."""
        return {**self.before, **{key: values[-1] for key, values in self.values.items()}}


class Clock:
    """The position that is being read."""

    now: Position = (0, "", 0, 0)


class ClusterFacts:
    """A cluster as reported at each position; with the attributes and methods of ``frames.ObservedCluster``.

    Args:
        facts: of one capture, by position.
        racks, endpoints: those that the user names, which hold whatever is reported later of endpoints.
        at_any_place: racks and endpoints are known from the start on, as packets' reader has them.

    New facts go to ``noted``, if it is a list.
    """

    def __init__(
        self,
        clock: Clock,
        facts: Iterable[Fact] = (),
        racks: Mapping[int, str | None] | None = None,
        endpoints: Mapping[tuple[str, int], int] | None = None,
        *,
        at_any_place: bool = False,
        noted: list[Fact] | None = None,
    ) -> None:
        self.clock, self.noted = clock, noted
        self.topics, self.leaders, self.in_sync = Changes(clock), Changes(clock), Changes(clock)
        self.racks = Changes(clock, racks)
        self.endpoints: dict[tuple[str, int], int] = {}
        self.servers: set[tuple[str, int]] = set()
        changes = {TOPIC: self.topics, LEADER: self.leaders, IN_SYNC: self.in_sync, RACK: self.racks}
        for kind, key, value, position in facts:
            if kind in changes:
                changes[kind].add(key, value, position)
            elif kind == ENDPOINT:
                self.endpoints[key] = value
            elif kind == SERVER:
                self.servers.add(key)
        self.endpoints |= endpoints or {}
        self.last_racks = {**self.racks.last(), **(racks or {})}
        if at_any_place:
            self.racks.before = self.last_racks

    def note(self, kind: str, key: Any, value: Any) -> None:
        if self.noted is not None:
            self.noted.append(Fact(kind, key, value, self.clock.now))

    def name_rack(self, broker_id: int, rack: str | None) -> None:
        if rack is not None:  # no rack takes back none that was named
            self.note(RACK, broker_id, rack)

    def name_endpoint(self, host: str, port: int, broker_id: int) -> None:
        self.note(ENDPOINT, (host, port), broker_id)

    def name_topic(self, topic_id: bytes, name: str) -> None:
        self.note(TOPIC, topic_id, name)

    def name_leaders(self, topic: str, leaders: Iterable[tuple[int, int]]) -> None:
        if self.noted is not None:
            for partition, leader in leaders:
                self.note(LEADER, (topic, partition), leader)

    def name_in_sync(self, topic: str, partition: int, replicas: tuple[int, ...]) -> None:
        self.note(IN_SYNC, (topic, partition), replicas)
