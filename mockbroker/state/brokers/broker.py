"""Brokers and their listeners; which are online, their racks, and their rotation for clients of diskless topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kafka_rack.diskless import DisklessBrokers
from mockbroker.state.configs.loggers import BrokerLoggers
from mockbroker.state.errors import UnknownNameError

if TYPE_CHECKING:
    from protocol.embedded.metadata_brokers import RegisterBrokerRecord

DEFAULT_LISTENER = "PLAINTEXT"
RACK_LISTENER = "RACK_"
"""The prefix of rack listeners' names, followed by the rack."""


@dataclass(slots=True)
class Listener:
    """A listener of a broker: its advertised address, and the address that it binds.

    ``rack`` is set for a listener of one rack's clients. ``bind_host`` and ``bind_port`` are set if they differ from
    the advertised address. ``protocol`` is Kafka's name of the security protocol.
    """

    name: str = DEFAULT_LISTENER
    host: str = "127.0.0.1"
    port: int = 0
    rack: str | None = None
    bind_host: str | None = None
    bind_port: int | None = None
    protocol: str = "PLAINTEXT"


@dataclass(slots=True, eq=False)
class Broker:
    """A broker: the configuration of its process, and its registration in the image once it has started.

    ``release`` and ``protocol`` are its emulated release and ``inter.broker.protocol.version`` if they differ from the
    cluster's. ``settings`` are its own TLS settings, by Kafka's names.
    """

    id: int
    rack: str | None
    listeners: list[Listener] = field(default_factory=lambda: [Listener()])
    release: str | None = None
    protocol: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    registration: RegisterBrokerRecord | None = None
    is_running: bool = True
    """True if its process is up; a broker that is cut off from the controller runs but is not online."""
    chosen_dirs: dict[tuple[bytes, int], str] = field(default_factory=dict, repr=False)
    """The directory that a client chose for a future replica of the broker, by topic id and partition."""
    loggers: BrokerLoggers = field(default_factory=BrokerLoggers, repr=False)
    """The levels of its loggers."""

    @property
    def online(self) -> bool:
        """True if the controller regards it as up: registered and not fenced."""
        return self.registration is not None and not self.registration.fenced

    @property
    def epoch(self) -> int:
        """The registration epoch, which increases with each start (KIP-631)."""
        return -1 if self.registration is None else self.registration.broker_epoch

    @property
    def host(self) -> str:
        return self.listeners[0].host

    @property
    def port(self) -> int:
        return self.listeners[0].port

    def listener(self, name: str) -> Listener:
        """The listener with this name, or the first one."""
        return next((one for one in self.listeners if one.name == name), self.listeners[0])


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

    def racks_of(self, broker_ids: Iterable[int]) -> frozenset[str]:
        """The racks of these brokers, as far as they are known."""
        known = self.brokers
        return frozenset(rack for one in broker_ids if one in known and (rack := known[one].rack) is not None)

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
