"""The online brokers, their racks, and the rotation of brokers for clients of diskless topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kafka_rack.diskless import DisklessBrokers
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.errors import UnknownNameError


@dataclass(eq=False)
class Liveness:
    """The brokers by id, with derived data that is cached until brokers change."""

    brokers: dict[int, Broker]
    rotations: Counter[str | None] = field(default_factory=Counter)  # responses with diskless topics, by rack

    @cached_property
    def online_brokers(self) -> list[Broker]:
        """The online brokers, by id."""
        return [broker for broker in self.brokers.values() if broker.online]

    @cached_property
    def online_ids(self) -> frozenset[int]:
        """The ids of the online brokers."""
        return frozenset(broker.id for broker in self.online_brokers)

    @cached_property
    def rack_by_online_broker(self) -> Mapping[int, str | None]:
        """The rack of each online broker, by id; None without a rack."""
        return {broker.id: broker.rack for broker in self.online_brokers}

    @cached_property
    def known_racks(self) -> frozenset[str]:
        """The racks of brokers, online or not."""
        return frozenset(broker.rack for broker in self.brokers.values() if broker.rack)

    @cached_property
    def for_diskless(self) -> DisklessBrokers:
        """The brokers in the form that the choice of leaders for diskless partitions uses."""
        known = [(one.id, one.rack) for one in self.brokers.values()]
        return DisklessBrokers(self.rack_by_online_broker.items(), known)

    def racks(self) -> list[str]:
        """The racks of brokers, sorted."""
        return sorted(self.known_racks)

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

    def rotation(self, rack: str | None) -> int:
        """The number of responses with diskless topics to clients of this rack; racks without brokers share one."""
        return self.rotations[rack if rack in self.known_racks else None]

    def place_in_rotation(self, rack: str | None) -> int:
        """The index of the next broker in the rotation for this rack."""
        return self.rotation(rack) % (len(self.for_diskless.near(rack)) or 1)

    def rotate(self, rack: str | None) -> None:
        """Advance the rotation for this rack."""
        self.rotations[rack if rack in self.known_racks else None] += 1

    def add(self, broker: Broker) -> None:
        """Add a new broker."""
        self.brokers[broker.id] = broker
        ordered = sorted(self.brokers.items())
        self.brokers.clear()
        self.brokers.update(ordered)
        self.brokers_changed()

    def brokers_changed(self) -> None:
        """Clear all caches after brokers started, stopped, or changed their racks."""
        for name in ("online_brokers", "online_ids", "rack_by_online_broker", "known_racks", "for_diskless"):
            self.__dict__.pop(name, None)
