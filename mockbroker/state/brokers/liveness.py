"""Which brokers are up, in which racks, and whom clients of diskless topics are sent to in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_rack import diskless
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.errors import UnknownNameError
from mockbroker.state.topics.topic import NO_LEADER

MAX_RACKS_KEPT = 1000  # clients may claim any rack


@dataclass(slots=True, eq=False)
class Liveness:
    """Brokers by id, and what follows from which of them are up; that is worked out once until it changes."""

    brokers: dict[int, Broker]
    turns: dict[str | None, int] = field(default_factory=dict)  # how many diskless answers each rack had
    _racks: frozenset[str] = field(init=False)
    _online: list[Broker] | None = None
    _online_ids: frozenset[int] | None = None
    _rack_by_online_broker: Mapping[int, str | None] | None = None
    _candidates: dict[str | None, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._racks = frozenset(broker.rack for broker in self.brokers.values() if broker.rack)

    def online_brokers(self) -> list[Broker]:
        """The brokers that are up, by id."""
        if self._online is None:
            self._online = [broker for broker in self.brokers.values() if broker.online]
        return self._online

    def online_ids(self) -> frozenset[int]:
        """The ids of the brokers that are up, to look one up in."""
        if self._online_ids is None:
            self._online_ids = frozenset(broker.id for broker in self.online_brokers())
        return self._online_ids

    def rack_by_online_broker(self) -> Mapping[int, str | None]:
        """The rack of each broker that is up, by its id; None for a broker without one."""
        if self._rack_by_online_broker is None:
            self._rack_by_online_broker = {broker.id: broker.rack for broker in self.online_brokers()}
        return self._rack_by_online_broker

    def racks(self) -> list[str]:
        """The racks that brokers name, sorted."""
        return sorted(self._racks)

    def brokers_in(self, rack: str) -> list[Broker]:
        """The brokers of a rack, by id, whether up or not. Raises KeyError: no broker names this rack."""
        found = [broker for broker in self.brokers.values() if broker.rack == rack]
        if not found:
            raise UnknownNameError(f"expected a rack of {', '.join(self.racks()) or 'none'}; got {rack!r}")
        return found

    def broker(self, broker_id: int) -> Broker:
        """The broker of this id, whether up or not. Raises KeyError: there is none."""
        broker = self.brokers.get(broker_id)
        if broker is None:
            raise UnknownNameError(f"expected a broker of {', '.join(map(str, self.brokers))}; got {broker_id!r}")
        return broker

    def diskless_candidates(self, rack: str | None) -> list[int]:
        """The ids of the brokers that may be named to a client of this rack as the leader of diskless partitions."""
        found = self._candidates.get(rack)
        if found is None:
            found = diskless.candidates([(broker.id, broker.rack) for broker in self.online_brokers()], rack)
            if len(self._candidates) < MAX_RACKS_KEPT:
                self._candidates[rack] = found
        return found

    @property
    def known_racks(self) -> frozenset[str]:
        """The racks that brokers have, up or not."""
        return self._racks

    def diskless_broker(self, rack: str | None, candidates: list[int] | None = None) -> int:
        """The candidate whose turn it is for clients of this rack, -1 where there is none.

        Args:
            candidates: as a broker knows them that is cut off from the controller; by default those that are up.
        """
        chosen = self.diskless_candidates(rack) if candidates is None else candidates
        turn = self.turns.get(rack if rack in self._racks else None, 0)
        return diskless.choose(chosen, turn) if chosen else NO_LEADER

    def take_turn(self, rack: str | None) -> None:
        """The next answer to a client of this rack names the next candidate."""
        counted = rack if rack in self._racks else None
        self.turns[counted] = self.turns.get(counted, 0) + 1

    def add(self, broker: Broker) -> None:
        """Take in a broker that nobody knew."""
        self.brokers[broker.id] = broker
        ordered = sorted(self.brokers.items())
        self.brokers.clear()
        self.brokers.update(ordered)
        self.racks_changed()

    def racks_changed(self) -> None:
        """Work out anew which racks there are."""
        self._racks = frozenset(broker.rack for broker in self.brokers.values() if broker.rack)
        self.brokers_changed()

    def brokers_changed(self) -> None:
        """Work everything out anew: brokers have come or gone."""
        self._online = None
        self._online_ids = None
        self._rack_by_online_broker = None
        self._candidates.clear()
