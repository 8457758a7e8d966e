"""The other end of a connection: who it is, as far as it has said, and which rack it is in.

One session a connection, made when it is accepted. The session stage of ``core/path.py`` keeps it up to date with each
request's header; handlers read it as ``call.session``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from kafka_rack import diskless
from mockbroker.state.brokers.broker import DEFAULT_LISTENER

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker

ANONYMOUS = "User:ANONYMOUS"
"""The principal of a listener that asks for no authentication. Source: KafkaPrincipal, Apache Kafka."""


class RackSource(Enum):
    """Where a client's rack was learned."""

    REQUEST = "request"  # RackId of Fetch, Metadata or DescribeTopicPartitions
    CLIENT_ID = "client.id"
    LISTENER = "listener"


@dataclass(slots=True, eq=False)
class Session:
    """A client's session at one broker.

    ``address`` is the peer's host, ``connection`` a number that no other connection of the cluster has.
    ``listener_rack`` is the rack of the listener it came in by, None unless there is one listener per rack.
    ``served_versions`` has API key -> lowest and highest version, where the broker emulates a release; else None.
    ``rack`` is what is known of the client's rack by now, and ``rack_source`` where that was learned.
    """

    broker: Broker
    address: str = ""
    connection: int = 0
    listener: str = DEFAULT_LISTENER
    listener_rack: str | None = None
    served_versions: Mapping[int, tuple[int, int]] | None = None
    is_authenticated: bool = True
    principal: str = ANONYMOUS
    client_id: str | None = None
    rack: str | None = None
    rack_source: RackSource | None = None
    last_header: tuple[int, bytes] = (0, b"")
    """Version and bytes, from the client id on, of the header that was read last: most requests repeat it."""

    def __post_init__(self) -> None:
        self.identify(self.client_id)

    def identify(self, client_id: str | None) -> None:
        """Take the client id of a request; with another one the rack is learned anew."""
        self.client_id = client_id
        self.rack = diskless.client_rack(None, client_id, self.listener_rack)
        if self.rack is None:
            self.rack_source = None
        else:
            by_listener = diskless.rack_in_client_id(client_id) is None
            self.rack_source = RackSource.LISTENER if by_listener else RackSource.CLIENT_ID

    def learn_rack(self, rack: str) -> None:
        """Take the rack that a request names."""
        self.rack, self.rack_source = rack, RackSource.REQUEST
