"""Which brokers are up, in which racks, and whom clients of diskless topics are sent to in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_rack.diskless import DisklessBrokers
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.errors import UnknownNameError


@dataclass(slots=True, eq=False)
class Liveness:
    """Brokers by id, and what follows from which of them are up; that is worked out once until it changes."""

    brokers: dict[int, Broker]
    turns: dict[str | None, int] = field(default_factory=dict)  # how many diskless answers each rack had
    _racks: frozenset[str] = field(init=False)
    _online: list[Broker] | None = None
    _online_ids: frozenset[int] | None = None
    _rack_by_online_broker: Mapping[int, str | None] | None = None
    _diskless: DisklessBrokers | None = None

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

    def for_diskless(self) -> DisklessBrokers:
        """The brokers as those know them who name leaders of diskless partitions."""
        if self._diskless is None:
            self._diskless = DisklessBrokers(
                self.rack_by_online_broker().items(), [(one.id, one.rack) for one in self.brokers.values()]
            )
        return self._diskless

    @property
    def known_racks(self) -> frozenset[str]:
        """The racks that brokers have, up or not."""
        return self._racks

    def turn(self, rack: str | None) -> int:
        """How many answers with diskless topics clients of this rack had; racks without brokers share a number."""
        return self.turns.get(rack if rack in self._racks else None, 0)

    def place_in_turn(self, rack: str | None) -> int:
        """The place of the broker whose turn it is among those near this rack."""
        return self.turn(rack) % (len(self.for_diskless().near(rack)) or 1)

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
        self._diskless = None
