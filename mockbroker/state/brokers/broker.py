"""Brokers and their listeners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.configs.loggers import BrokerLoggers

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

    def process_ended(self) -> None:
        """Discard the state of its process."""
        self.loggers = BrokerLoggers()
        self.chosen_dirs.clear()

    @property
    def online(self) -> bool:
        """True if the controller regards it as up: registered and not fenced."""
        return self.registration is not None and not self.registration.fenced

    @property
    def epoch(self) -> int:
        """The registration epoch, which increases with each start (KIP-631)."""
        return -1 if self.registration is None else self.registration.broker_epoch

    def has_moved(self) -> bool:
        """True if its addresses differ from its registration."""
        registered = () if self.registration is None else self.registration.end_points
        return [(one.name, one.host, one.port) for one in self.listeners] != [
            (one.name, one.host, one.port) for one in registered
        ]

    @property
    def host(self) -> str:
        return self.listeners[0].host

    @property
    def port(self) -> int:
        return self.listeners[0].port

    def listener(self, name: str) -> Listener:
        """The listener with this name, or the first one."""
        return next((one for one in self.listeners if one.name == name), self.listeners[0])
