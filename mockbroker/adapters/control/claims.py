"""Claims about the journal, checked while clients are served.

The calls are told in pieces on the event loop, whose state they are read from. What is then made of them is plain
values, and is judged in a thread beside it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from kafka_rack.collector import collector_paused
from mockbroker.core.journal import Journal, JournalEntry
from mockbroker.core.journal.assertions import CLAIMS, check, given_filters
from mockbroker.core.journal.filters import JournalFilters
from mockbroker.core.journal.records import CallRecord

ENTRIES_A_PIECE = 100
CONSISTENT = "consistent"
"""The claim that is about what logs hold now, besides calls."""
Done = TypeVar("Done")


class ToldCalls(Journal):
    """Calls that were told already, for claims: what ``Journal`` gives of them, without the journal."""

    def __init__(self, journal: Journal, entries: Sequence[JournalEntry]) -> None:
        super().__init__()
        self.entries, self._journal_calls = entries, len(journal)
        self._first, self.dropped, self._gone = journal.first_sequence, journal.dropped, journal.first_sequence - 1
        self.misfits: Callable[[], list[str]] = list

    def __len__(self) -> int:
        return self._journal_calls

    def since(self, mark: int) -> list[JournalEntry]:
        """Those after a mark."""
        return [entry for entry in self.entries if entry.sequence > mark]

    def find(self, *, limit: int | None = None, **filters: Any) -> list[JournalEntry]:
        """Those that match."""
        wanted = JournalFilters.of({**filters, "limit": limit})
        return wanted.limited([one for one in self.since(wanted.since) if wanted.match(one)])

    def anomalies(self, wanted: JournalFilters) -> list[str]:
        """What does not fit together in them."""
        del wanted  # those of the claim, for which they were looked at
        return self.misfits()


async def check_beside(name: str, arguments: Mapping[str, Any], journal: Journal) -> None:
    """Check a claim by its name, as ``assertions.check`` does. Raises AssertionError, FilterError."""
    claim = str(name).removeprefix("assert_")
    if claim not in CLAIMS:
        check(name, arguments, journal)
        return
    with collector_paused(len(journal)):  # what is told has gone when it comes back
        sentence = await judged(claim, arguments, journal)
    if sentence is not None:
        raise AssertionError(sentence)


async def judged(claim: str, arguments: Mapping[str, Any], journal: Journal) -> str | None:
    """Why a claim does not hold, None where it does. Raises FilterError."""
    entries = await matching(journal, JournalFilters.of({"since": arguments.get("since")}), None)
    told = ToldCalls(journal, entries)
    if claim == CONSISTENT:
        told.misfits = await misfits(journal, JournalFilters.of(given_filters(arguments, with_records=True)))
    return await beside_the_loop(lambda: what_is_wrong(claim, arguments, told))


def what_is_wrong(name: str, arguments: Mapping[str, Any], told: ToldCalls) -> str | None:
    """Why a claim does not hold, None where it does. Raises FilterError."""
    try:
        check(name, arguments, told)
    except AssertionError as error:
        return str(error)
    return None


async def misfits(journal: Journal, wanted: JournalFilters) -> Callable[[], list[str]]:
    """What gives ``Journal.anomalies``: beside logs calls are held in pieces now, their history is judged later."""
    from mockbroker.core.journal import consistency, history

    cluster = journal.cluster
    if cluster is None:
        return list
    found: list[str] = []
    records: list[CallRecord] = []
    end = journal.mark()
    for start in range(max(journal.first_sequence, wanted.since + 1), end + 1, ENTRIES_A_PIECE):
        piece = list(journal.records(wanted, start, min(ENTRIES_A_PIECE, end + 1 - start)))
        if len(found) < consistency.MAX_ANOMALIES:
            found += consistency.of_calls(cluster, piece, wanted)
        records += [record for _, record in piece]
        await asyncio.sleep(0)
    if journal.history is not None:
        report = journal.history.report()
        return lambda: found + consistency.of_history(report, wanted)
    starts = history.log_starts(cluster, await beside_the_loop(lambda: history.partitions_of(records)))
    return lambda: found + consistency.of_history(history.check_records(records, starts), wanted)


async def matching(journal: Journal, wanted: JournalFilters, limit: int | None) -> list[JournalEntry]:
    """The entries that match, looked for in pieces: the first behind ``since``, or without it the last ones."""
    end = journal.mark()
    first = max(journal.first_sequence, wanted.since + 1)
    starts = range(first, end + 1, ENTRIES_A_PIECE)
    found: list[list[JournalEntry]] = []
    count = 0
    for start in starts if wanted.has_since else reversed(starts):
        piece = journal.scan(wanted, start, min(ENTRIES_A_PIECE, end + 1 - start))
        found.append(piece)
        count += len(piece)
        if limit is not None and count >= limit:
            break
        await asyncio.sleep(0)
    if not wanted.has_since:
        found.reverse()
    entries = [entry for piece in found for entry in piece]
    if limit is None:
        return entries
    return entries[:limit] if wanted.has_since else entries[-limit:]


async def count_matching(journal: Journal, wanted: JournalFilters) -> int:
    """How many entries match, of which none is kept."""
    end, count = journal.mark(), 0
    for start in range(max(journal.first_sequence, wanted.since + 1), end + 1, ENTRIES_A_PIECE):
        count += len(journal.scan(wanted, start, min(ENTRIES_A_PIECE, end + 1 - start)))
        await asyncio.sleep(0)
    return count if wanted.limit is None else min(count, wanted.limit)


async def beside_the_loop(work: Callable[[], Done]) -> Done:
    """What a function gives or raises that runs in a thread, which does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Done] = loop.create_future()
    works = [work]  # taken out by the thread, so that nothing of it is left when it tells the loop
    del work

    def settle(done: Done | None, error: BaseException | None) -> None:
        if future.done():  # whoever asked has gone
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(done)  # type: ignore[arg-type]  # what the work gave

    def run() -> None:
        done, error = None, None
        try:
            done = works.pop()()
        except Exception as raised:  # noqa: BLE001 - raised where it is waited for
            error = raised
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, done, error)

    threading.Thread(target=run, name="kafka-rack claim", daemon=True).start()
    return await future
