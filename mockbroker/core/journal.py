"""What the cluster was asked, by whom, and how many bytes went each way: the last so many calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from mockbroker.core.outcome import Outcome

MAX_ENTRIES = 100_000


class Entry(NamedTuple):
    """One call. Times in ms, sizes in bytes of the whole frame without its length field.

    ``rack`` is the broker's; ``client_rack`` the client's as far as it is known, and ``client_rack_source`` where it
    was learned: ``request``, ``client.id`` or ``listener``. ``ending`` is a value of ``Ending``; ``reason`` says why
    the connection was closed, where it was. ``api_key`` is -1 for bytes that are no request.

    ``traffic`` has the record bytes of each topic that a Produce wrote or a Fetch read here, None for all else. A topic
    whose readers were only sent on is not among them: ``redirects`` has the brokers that they were sent to (KIP-392).
    """

    at_ms: int
    broker_id: int
    rack: str | None
    client_id: str | None
    client_rack: str | None
    client_address: str
    connection: int
    api_key: int
    version: int
    request_bytes: int
    response_bytes: int
    traffic: dict[str, int] | None
    redirects: dict[str, list[int]] | None = None
    client_rack_source: str | None = None
    ending: str = "answered"
    reason: str | None = None


class Journal:
    """The last calls, in the order of their ends. ``dropped`` counts those that no longer fitted."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._entries: deque[Entry] = deque(maxlen=max_entries)
        self._added = 0

    def call_ended(self, outcome: Outcome) -> None:
        """Put down how a call ended."""
        call = outcome.call
        session = call.session
        broker, source = session.broker, session.rack_source
        self._added += 1
        self._entries.append(
            Entry(
                outcome.at_ms,
                broker.id,
                broker.rack,
                session.client_id,
                session.rack,
                session.address,
                session.connection,
                call.api_key,
                call.version,
                len(call.frame),
                outcome.response_bytes,
                call.traffic,
                call.redirects,
                source.value if source is not None else None,
                outcome.ending.value,
                outcome.reason,
            )
        )

    @property
    def dropped(self) -> int:
        return self._added - len(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries))

    def since(self, mark: int) -> list[Entry]:
        """The entries after a mark that ``mark()`` gave earlier, as far as they are still kept."""
        first = max(0, mark - self.dropped)
        entries = list(self._entries)
        return entries[first:]

    def mark(self) -> int:
        """How many entries there were so far, for ``since``."""
        return self._added

    def clear(self) -> None:
        self._entries.clear()
        self._added = 0
