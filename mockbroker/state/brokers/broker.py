"""Brokers and where they listen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.state.configs.loggers import BrokerLoggers
    from mockbroker.state.image.brokers import BrokerRegistration

DEFAULT_LISTENER = "PLAINTEXT"
RACK_LISTENER = "RACK_"
"""How the names of listeners for one rack's clients begin; the rack comes behind."""


@dataclass(slots=True)
class Listener:
    """Where a broker accepts connections, and the address that it tells clients.

    ``rack`` is set on a listener for one rack's clients. ``bind_host`` and ``bind_port`` where they differ from what
    clients are told. ``protocol`` is Kafka's name of the security protocol.
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
    """One broker: what its process was given, and the registration that the image has of it once it has started.

    ``release`` and ``protocol`` are what it is to emulate and its ``inter.broker.protocol.version`` where they differ
    from the cluster's. ``settings`` are those of TLS, under Kafka's names, that it does not share with the others.
    """

    id: int
    rack: str | None
    listeners: list[Listener] = field(default_factory=lambda: [Listener()])
    release: str | None = None
    protocol: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    registration: BrokerRegistration | None = None
    is_running: bool = True
    """Whether its process is up; one that is cut off from the controller runs but is not online."""
    chosen_dirs: dict[tuple[bytes, int], str] = field(default_factory=dict, repr=False)
    """The directory that a client chose for a replica which the broker has not got yet, by topic id and partition."""
    _loggers: BrokerLoggers | None = None  # of the process that is up; made when first asked for

    @property
    def loggers(self) -> BrokerLoggers:
        """The levels of its loggers."""
        if self._loggers is None:
            from mockbroker.state.configs.loggers import BrokerLoggers

            self._loggers = BrokerLoggers()
        return self._loggers

    def process_ended(self) -> None:
        """Forget what only its process knew."""
        self._loggers = None
        self.chosen_dirs.clear()

    @property
    def online(self) -> bool:
        """Whether it is up as the controller sees it: registered, and not fenced."""
        return self.registration is not None and not self.registration.fenced

    @property
    def epoch(self) -> int:
        """It grows with each start, as the registration epoch of KIP-631 does."""
        return -1 if self.registration is None else self.registration.epoch

    def has_moved(self) -> bool:
        """Whether its addresses are others than those that it registered with."""
        registered = () if self.registration is None else self.registration.end_points
        return [(one.name, one.host, one.port) for one in self.listeners] != [one[:3] for one in registered]

    @property
    def host(self) -> str:
        return self.listeners[0].host

    @property
    def port(self) -> int:
        return self.listeners[0].port

    def listener(self, name: str) -> Listener:
        """The listener of that name, the first one where there is none."""
        for listener in self.listeners:
            if listener.name == name:
                return listener
        return self.listeners[0]
