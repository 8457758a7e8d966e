"""The client of a session as observers record it: one object, shared by all its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.session import Session

CLIENT_BYTES = 700
"""The measured size of an ``ObservedClient`` with its session, without the client id."""


@dataclass(slots=True, eq=False)
class ObservedClient:
    """A client while its id, its rack and its principal stay the same.

    ``rack`` and ``rack_source`` are those of its session at that time.
    """

    session: Session
    broker_id: int
    broker_rack: str | None
    client_id: str | None
    rack: str | None
    rack_source: str | None
    address: str
    connection: int
    principal: str

    @property
    def size_bytes(self) -> int:
        """The estimated size with the client id, which the session's last header also has."""
        return CLIENT_BYTES + 2 * len(self.client_id or "")


def observed_client(session: Session) -> ObservedClient:
    """The record of a session's client as it is now."""
    found: ObservedClient | None = session.observed
    if found is None:
        broker, source = session.broker, session.rack_source
        found = session.observed = ObservedClient(
            session,
            broker.id,
            broker.rack,
            session.client_id,
            session.rack,
            None if source is None else source.value,
            session.address,
            session.connection,
            session.principal,
        )
    return found
