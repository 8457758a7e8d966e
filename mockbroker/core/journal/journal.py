"""The last calls, bounded in bytes: recorded in few steps as they end, expanded to entries when they are read."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from mockbroker.call import Outcome
from mockbroker.core.journal.entry import JournalEntry
from mockbroker.core.journal.records import (
    ITEM_BYTES,
    RECORD_BYTES,
    SHARED_BYTES,
    CallRecord,
    Observed,
    observed,
    observed_client,
    record_of,
)
from mockbroker.core.own_thread import InOwnThread, in_own_thread
from mockbroker.handlers.transferred import parts_of

if TYPE_CHECKING:
    from mockbroker.core.journal.filters import JournalFilters
    from mockbroker.core.journal.history import ObservedHistory
    from mockbroker.core.journal.verdicts import Verdicts
    from mockbroker.state.cluster import Cluster

DEFAULT_MAX_BYTES = 64 << 20
"""Enough for some 100,000 calls of Produce or Fetch."""


class Journal(InOwnThread):
    """The last calls, in the order in which they ended.

    ``dropped`` counts those that no longer fitted since the last ``clear``.

    Args:
        max_entries: how many calls are stored at most; default: as many as fit.
        max_bytes: the most memory that they use, estimated by calls, partitions and names.
    """

    def __init__(self, max_entries: int | None = None, *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.max_entries, self.max_bytes = max_entries, max_bytes
        self.dropped = 0
        self.history: ObservedHistory | None = None
        """The checker of records, batch by batch, after ``watch_history``."""
        self._records: deque[CallRecord] = deque()
        self._gone = 0  # the number of calls dropped or cleared
        self.size_bytes = 0
        """The estimated memory of the entries."""
        self.cluster: Cluster | None = None
        """The state of the cluster whose calls these are; None before the first."""
        self._known: Verdicts | None = None

    def call_ended(self, outcome: Outcome) -> None:
        """Record a call that ended, in few steps, since every call pays for them."""
        if self.history is not None:
            self.history.call_ended(outcome)
        call = outcome.call
        self.cluster = call.cluster
        size = RECORD_BYTES
        parts = parts_of(outcome)
        found: Observed | None = None
        if parts is None:
            found = observed(outcome)
            size += found.size_bytes
        else:
            fresh = 0 if call.in_session else len(call.wanted)
            size += ITEM_BYTES * (len(parts) + fresh) + SHARED_BYTES * len(call.wanted)
        client = call.session.observed
        if client is None:
            client = observed_client(call.session)
            size += client.size_bytes
        self._records.append(record_of(outcome, client, size, found, parts or (), call.wanted))
        self.size_bytes += size
        if self.size_bytes > self.max_bytes or (self.max_entries is not None and len(self) > self.max_entries):
            self._shrink()

    @in_own_thread
    def watch_history(self) -> None:
        """From now on read each batch that is written or read, for ``assert_consistent``, in bounded memory.

        That costs time with each Produce and Fetch; without it ``assert_consistent`` uses the present logs.
        """
        from mockbroker.core.journal.history import ObservedHistory

        self.history = ObservedHistory()

    def _shrink(self) -> None:
        """Drop the oldest calls until the rest fits."""
        records = self._records
        max_entries = len(records) if self.max_entries is None else self.max_entries
        while records and (self.size_bytes > self.max_bytes or len(records) > max_entries):
            self.size_bytes -= records.popleft().size_bytes
            self.dropped += 1
            self._gone += 1

    # reading

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[JournalEntry]:
        return iter(self.since(0))

    def since(self, mark: int) -> list[JournalEntry]:
        """The entries after a mark that ``mark()`` returned, as far as they are still stored."""
        return self.find(since=max(0, mark))

    @in_own_thread
    def mark(self) -> int:
        """The sequence of the last entry so far, for ``since``; ``clear`` does not reset it."""
        return self._gone + len(self._records)

    @in_own_thread
    def clear(self) -> None:
        """Forget all entries and what was learned of their clients."""
        self._gone += len(self._records)
        self._records.clear()
        self.size_bytes = self.dropped = 0
        self._known = None
        if self.history is not None:
            self.watch_history()

    def find(self, /, *, limit: int | None = None, **filters: Any) -> list[JournalEntry]:
        """The entries that match every filter, in the order in which they ended.

        Args:
            limit: how many at most: the last ones, with ``since`` the first ones after it.
            filters: values or lists of them; ``*`` in names matches anything, ``""`` none. ``api``,
                ``client_id``, ``client_rack``, ``client_address`` (an address or a range as 10.0.0.0/8), ``principal``
                (as User:alice), ``topic``, ``partition``, ``group``, ``broker``, ``rack`` (the broker's),
                ``locality``, ``locality_reason``, ``avoidable``, ``category``, ``error``, ``fault``, and ``since``: a
                mark that ``mark()`` returned, or the ``sequence`` of an entry.

        Raises FilterError: an unknown filter, or an invalid value.

        >>> Journal().find(api="Fetch", locality="cross")
        []
        """
        from mockbroker.core.journal.filters import JournalFilters

        return self._matching(JournalFilters.of({**filters, "limit": limit}))

    def count(self, /, *, limit: int | None = None, **filters: Any) -> int:
        """The number of entries that match, with the filters of ``find``."""
        return len(self.find(limit=limit, **filters))

    def counts(self, /, by: str, **filters: Any) -> dict[str, int]:
        """The number of matching entries by value of a field, the most frequent first; "" means none.

        Args:
            by: the name of a filter, or ``ending``; an entry with several topics, groups, errors or faults counts for
                each of them.

        Raises FilterError.
        """
        from mockbroker.core.journal.filters import COUNTED, FilterError, values_of
        from mockbroker.state.patterns import hint

        if by not in COUNTED:
            raise FilterError(f"by: expected one of {', '.join(COUNTED)}, got {by!r}{hint(by, COUNTED)}")
        found = Counter(value for entry in self.find(**filters) for value in values_of(entry, by))
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    @in_own_thread
    def _matching(self, wanted: JournalFilters) -> list[JournalEntry]:
        """The matching entries up to the limit: the last ones, or with a mark the first ones after it."""
        cluster = self.cluster
        if cluster is None:
            return []  # no call has ended
        if self._known is None:
            from mockbroker.core.journal.verdicts import Verdicts

            self._known = Verdicts()
        known = self._known
        last = None
        for record in islice(self._records, max(0, known.learned - self._gone), None):
            if record.client is not last:  # a client that may have named its rack
                last = record.client
                known.learn(last)
        known.learned = self.mark()
        is_from_end = wanted.limit is not None and wanted.since is None
        records = self.records(wanted, is_from_end=is_from_end)
        entries = (known.entry(record, sequence, cluster) for sequence, record in records)
        found = list(islice((entry for entry in entries if wanted.match(entry)), wanted.limit))
        return found[::-1] if is_from_end else found

    @property
    def first_sequence(self) -> int:
        """The sequence of the oldest entry, or of the next one."""
        return self._gone + 1

    def dropped_since(self, mark: int | None) -> int:
        """The number of calls after a mark, or of all, that are no longer stored."""
        return min(self.dropped, max(0, self._gone - (mark or 0)))

    def records(self, wanted: JournalFilters, *, is_from_end: bool = False) -> Iterator[tuple[int, CallRecord]]:
        """The stored calls after the filters' mark that may match them, with their sequences."""
        start = max(0, (wanted.since or 0) - self._gone)
        numbered: Iterable[tuple[int, CallRecord]]
        if is_from_end:
            numbered = zip(range(self.mark(), self._gone + start, -1), reversed(self._records), strict=False)
        else:
            numbered = enumerate(islice(self._records, start, None), self._gone + start + 1)
        return ((sequence, record) for sequence, record in numbered if wanted.may_match(record))

    # assertions: each raises AssertionError with a sentence if it does not hold. Filters are those of ``find``. An
    # assertion fails if they select no calls, or if some of these calls are no longer stored.

    def assert_rack_local(self, **filters: Any) -> None:
        """Every call that wrote or read records did so in its client's own rack.

        Responses that only redirect a reader, and fetches without records, do not count. With ``api`` it is about the
        calls of that API.
        """
        self._check("rack_local", filters)

    def assert_served_by(self, *, rack: Any = None, broker: Any = None, **filters: Any) -> None:
        """Every call was served by a broker of this rack, or by this broker; lists and ``*`` as in filters."""
        self._check("served_by", {"rack": rack, "broker": broker, **filters})

    def assert_cross_rack_bytes(self, *, at_most: int, **filters: Any) -> None:
        """At most ``n`` bytes of records are known to have crossed racks."""
        self._check("cross_rack_bytes", {"at_most": at_most, **filters})

    def assert_no_errors(self, **filters: Any) -> None:
        """No response had an error and no connection was closed because of a request."""
        self._check("no_errors", filters)

    def assert_consistent(self, **filters: Any) -> None:
        """The records and offsets on the wire are consistent; docs/journal.md lists what is checked."""
        self._check("consistent", filters)

    @in_own_thread
    def _check(self, name: str, arguments: Mapping[str, Any]) -> None:
        from mockbroker.core.journal.assertions import check

        check(name, arguments, self)
