"""The journal and the traffic of a cluster that runs in a thread of its own, for all other threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mockbroker.adapters.in_thread import ThreadView, in_thread
from mockbroker.core.journal import Journal, JournalEntry
from mockbroker.core.journal.journal import Assertions
from mockbroker.core.traffic import Traffic


class BlockingJournal(ThreadView[Journal], Assertions):
    """The last calls, oldest first, as ``Journal`` has them; no call is served during a look."""

    since = in_thread(Journal.since)
    mark = in_thread(Journal.mark)
    clear = in_thread(Journal.clear)
    watch_history = in_thread(Journal.watch_history)
    find = in_thread(Journal.find)
    count = in_thread(Journal.count)
    counts = in_thread(Journal.counts)
    __len__ = in_thread(Journal.__len__)

    @property
    def dropped(self) -> int:
        """The number of entries that no longer fitted."""
        return self._look(lambda journal: journal.dropped)

    @property
    def size_bytes(self) -> int:
        """About how much memory the entries take."""
        return self._look(lambda journal: journal.size_bytes)

    def __iter__(self) -> Iterator[JournalEntry]:
        return iter(self._look(list))

    def _check(self, name: str, arguments: Mapping[str, Any]) -> None:
        from mockbroker.core.journal.assertions import check

        self._look(lambda journal: check(name, arguments, journal))


class BlockingTraffic(ThreadView[Traffic]):
    """The traffic between racks, as ``Traffic`` has it."""

    snapshot = in_thread(Traffic.snapshot)
    clear = in_thread(Traffic.clear)
