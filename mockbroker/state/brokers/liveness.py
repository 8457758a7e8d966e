"""The online brokers, their racks, and the rotation of brokers for clients of diskless topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_rack.diskless import DisklessBrokers
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.errors import UnknownNameError


@dataclass(slots=True, eq=False)
class Liveness:
    """The brokers by id, with derived data that is cached until brokers change."""

    brokers: dict[int, Broker]
    rotations: Counter[str | None] = field(default_factory=Counter)  # responses with diskless topics, by rack
    _racks: frozenset[str] = field(init=False)
    _online: list[Broker] | None = None
    _online_ids: frozenset[int] | None = None
    _rack_by_online_broker: Mapping[int, str | None] | None = None
    _diskless: DisklessBrokers | None = None

    def __post_init__(self) -> None:
        self._racks = frozenset(broker.rack for broker in self.brokers.values() if broker.rack)

    def online_brokers(self) -> list[Broker]:
        """The online brokers, by id."""
        if self._online is None:
            self._online = [broker for broker in self.brokers.values() if broker.online]
        return self._online

    def online_ids(self) -> frozenset[int]:
        """The ids of the online brokers."""
        if self._online_ids is None:
            self._online_ids = frozenset(broker.id for broker in self.online_brokers())
        return self._online_ids

    def rack_by_online_broker(self) -> Mapping[int, str | None]:
        """The rack of each online broker, by id; None without a rack."""
        if self._rack_by_online_broker is None:
            self._rack_by_online_broker = {broker.id: broker.rack for broker in self.online_brokers()}
        return self._rack_by_online_broker

    def racks(self) -> list[str]:
        """The racks of brokers, sorted."""
        return sorted(self._racks)

    def brokers_in(self, rack: str) -> list[Broker]:
        """The brokers of a rack, online or not, by id. Raises KeyError: no broker has this rack."""
        found = [broker for broker in self.brokers.values() if broker.rack == rack]
        if not found:
            raise UnknownNameError(f"expected a rack of {', '.join(self.racks()) or 'none'}; got {rack!r}")
        return found

    def broker(self, broker_id: int) -> Broker:
        """The broker with this id, online or not. Raises KeyError if there is none."""
        broker = self.brokers.get(broker_id)
        if broker is None:
            raise UnknownNameError(f"expected a broker of {', '.join(map(str, self.brokers))}; got {broker_id!r}")
        return broker

    def for_diskless(self) -> DisklessBrokers:
        """The brokers in the form that the choice of leaders for diskless partitions uses."""
        if self._diskless is None:
            self._diskless = DisklessBrokers(
                self.rack_by_online_broker().items(), [(one.id, one.rack) for one in self.brokers.values()]
            )
        return self._diskless

    @property
    def known_racks(self) -> frozenset[str]:
        """The racks of brokers, online or not."""
        return self._racks

    def rotation(self, rack: str | None) -> int:
        """The number of responses with diskless topics to clients of this rack; racks without brokers share one."""
        return self.rotations[rack if rack in self._racks else None]

    def place_in_rotation(self, rack: str | None) -> int:
        """The index of the next broker in the rotation for this rack."""
        return self.rotation(rack) % (len(self.for_diskless().near(rack)) or 1)

    def rotate(self, rack: str | None) -> None:
        """Advance the rotation for this rack."""
        self.rotations[rack if rack in self._racks else None] += 1

    def add(self, broker: Broker) -> None:
        """Add a new broker."""
        self.brokers[broker.id] = broker
        ordered = sorted(self.brokers.items())
        self.brokers.clear()
        self.brokers.update(ordered)
        self.racks_changed()

    def racks_changed(self) -> None:
        """Clear the cached racks."""
        self._racks = frozenset(broker.rack for broker in self.brokers.values() if broker.rack)
        self.brokers_changed()

    def brokers_changed(self) -> None:
        """Clear all caches after brokers started or stopped."""
        self._online = None
        self._online_ids = None
        self._rack_by_online_broker = None
        self._diskless = None
