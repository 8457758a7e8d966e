"""Who called: what observers keep of a session's client, made once and shared by all that was observed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.session import Session

CLIENT_BYTES = 700
"""What one of these takes with its session but for its id, measured."""


@dataclass(slots=True, eq=False)
class ObservedClient:
    """A client as it was known while its id, its rack and its principal stayed the same.

    ``rack`` and ``rack_source`` are those of its session then.
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
        """About what it takes with its id, which the session has in its last header too."""
        return CLIENT_BYTES + 2 * len(self.client_id or "")


def observed_client(session: Session) -> ObservedClient:
    """What is kept of a session's client as it is now."""
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
