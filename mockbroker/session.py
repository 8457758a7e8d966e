"""The client at the other end of a connection: its identity and its rack, as far as known.

Each connection has one session, created when it is accepted. The session stage of ``core/path.py`` updates it from each
request's header; handlers read it as ``call.session``.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from kafka_rack.diskless import ZONE_KEYS
from kafka_rack.zones import known_rack_in_client_id
from mockbroker.state.brokers.broker import DEFAULT_LISTENER
from mockbroker.state.security.protocols import ANONYMOUS

if TYPE_CHECKING:
    from kafka_rack.locality.rack_rules import RackRules
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.security.authentication import Authenticator


class RackSource(Enum):
    """The source of a client's rack."""

    REQUEST = "request"  # RackId of Fetch, Metadata or DescribeTopicPartitions
    CLIENT_ID = "client.id"
    LISTENER = "listener"
    RACKS_FILE = "racks_file"  # by client id or address, if the client names no rack; brokers do not use it


@dataclass(slots=True, eq=False)
class Session:
    """A client's session at one broker.

    ``address`` is the peer's host, ``connection`` a number that is unique in the cluster. ``listener_rack`` is the rack
    of its listener, None unless each rack has a listener, or that of its address, if the diskless profile reads
    addresses. ``served_versions`` has API key -> lowest and highest version that the broker serves. ``rack`` is the
    client's rack, as far as known, and ``rack_source`` its source.
    """

    broker: Broker
    address: str = ""
    connection: int = 0
    listener: str = DEFAULT_LISTENER
    listener_rack: str | None = None
    served_versions: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    authenticator: Authenticator | None = None
    """The client's login, if the listener requires one, or requires it again after some time."""
    principal: str = ANONYMOUS
    client_id: str | None = None
    software: tuple[str, str] | None = None
    """The name and version in the client's ApiVersions, empty in versions without them."""
    rack: str | None = None
    rack_source: RackSource | None = None
    named_racks: tuple[str, ...] = ()
    """The racks that requests on this connection have named, two at most: a second one shows that they differ."""
    racks: Container[str] = frozenset()
    """The brokers' racks, which a client.id can name."""
    client_racks: RackRules | None = None
    """The racks file, for clients that name no rack."""
    observed: Any = None
    """The client's entry in ``core/journal/records.py``; None after a change of its id or rack."""

    def __post_init__(self) -> None:
        self.identify(self.client_id)

    def identify(self, client_id: str | None) -> None:
        """Set the client id of a request; a new id resets the rack."""
        self.client_id = client_id
        self.observed = None
        filed = None if self.client_racks is None else self.client_racks.of_client(client_id, self.address)
        found = {
            RackSource.CLIENT_ID: known_rack_in_client_id(client_id, self.racks, ZONE_KEYS),
            RackSource.LISTENER: self.listener_rack,
            RackSource.RACKS_FILE: filed,
        }
        self.rack_source = next((source for source, rack in found.items() if rack), None)
        self.rack = None if self.rack_source is None else found[self.rack_source]

    def authenticated(self, principal: str) -> None:
        """Set the client's principal."""
        self.principal, self.observed = principal, None

    def learn_rack(self, rack: str) -> None:
        """Set the rack that a request names."""
        if rack == self.rack and self.rack_source is RackSource.REQUEST:
            return  # as nearly every fetch
        self.rack, self.rack_source = rack, RackSource.REQUEST
        self.observed = None
        self.note_named_rack(rack)

    def note_named_rack(self, rack: str) -> None:
        """Remember a rack that this connection named; observers use it for all requests of the connection."""
        if rack not in self.named_racks and len(self.named_racks) < 2:
            self.named_racks = (*self.named_racks, rack)
            self.observed = None
