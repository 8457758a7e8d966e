"""What the cluster was asked, by whom, and how many bytes went each way: the last so many calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

MAX_ENTRIES = 100_000


class Entry(NamedTuple):
    """One answered call. Times in ms, sizes in bytes of the whole frame without its length field.

    ``rack`` is the broker's; ``client_rack`` the client's as far as it is known: from the request, its client.id or its
    listener. ``traffic`` has the record bytes of each topic of a Produce or a Fetch, None for all else.
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


class Journal:
    """The last calls, oldest first. ``dropped`` counts those that no longer fitted."""

    def __init__(self, most: int = MAX_ENTRIES) -> None:
        self._entries: deque[Entry] = deque(maxlen=most)
        self._most = most
        self._added = 0

    def add(self, entry: Entry) -> None:
        self._added += 1
        self._entries.append(entry)

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
