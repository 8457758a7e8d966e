"""The assertions of a journal, and the text of their failures.

``check`` is the one entry point: the methods ``Journal.assert_...`` and ``POST /assertions`` call it. Each claim
is about the calls that its filters select. It fails if they select none, or if some of these calls are no longer
stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from kafka_rack.locality.amounts import bytes_text
from kafka_rack.locality.reasons import REASONS
from kafka_rack.plurals import counted as number_of
from mockbroker.core.journal.consistency import anomalies
from mockbroker.core.journal.entry import JournalEntry, Share
from mockbroker.core.journal.filters import FilterError, FilterPattern, JournalFilters, pattern_of, values_of
from mockbroker.parts import parts
from mockbroker.state.patterns import hint
from mockbroker.state.security.protocols import ANONYMOUS

if TYPE_CHECKING:
    from mockbroker.core.journal.journal import Journal

APIS_WITH_RECORDS = ("Produce", "Fetch", *(name for part in parts() for name in part.apis_with_records))
STEPS_OF_THE_PROTOCOL = frozenset({"MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS"})
"""Errors that instruct a member of a group what to do next (KIP-394; a rebalance that begins)."""
API_VERSIONS, UNSUPPORTED_VERSION = "ApiVersions", "UNSUPPORTED_VERSION"
MAX_LINE = 120
MAX_GROUPS = 5
"""The number of kinds of calls, and of nearest misses, that a failure lists."""
Check = Callable[["Journal", dict[str, Any]], None]


class Selected(NamedTuple):
    """The calls that a claim is about, and the words for them."""

    filters: JournalFilters
    entries: list[JournalEntry]
    subject: str


def check(name: str, arguments: Mapping[str, Any], journal: Journal) -> None:
    """Check a claim by its name.

    Args:
        name: rack_local, served_by, cross_rack_bytes, no_errors or consistent; the prefix ``assert_`` is optional.
        arguments: the claim's own, and filters of ``Journal.find``, as keywords or members of a JSON object.

    Raises AssertionError: it does not hold; the text says why. FilterError: unknown claim, argument or filter.
    """
    found = CLAIMS.get(str(name).removeprefix("assert_"))
    if found is None:
        raise FilterError(f"expected one of {', '.join(CLAIMS)}, got {name!r}{hint(str(name), CLAIMS)}")
    found(journal, dict(arguments))


# the claims


def rack_local(journal: Journal, arguments: dict[str, Any]) -> None:
    claim = "to be served in its own rack"
    selected, served = select_served(journal, arguments, f"{claim}, not redirected alone")
    for locality, what in (("cross", "crossed racks"), ("unknown", "came from an unknown rack")):
        others = [(entry, shares) for entry, shares in served if entry.locality == locality]
        if others:
            fail(f"{len(others):,} of {calls(served)} {what}: expected every {selected.subject} {claim}", others)
    check_all_stored(journal, selected, f"{claim}, as were all {calls(served)} that are stored")


def served_by(journal: Journal, arguments: dict[str, Any]) -> None:
    rack, broker = arguments.pop("rack", None), arguments.pop("broker", None)
    if rack is None and broker is None:
        raise FilterError("served_by: expected a rack or a broker, got neither")
    servers = {"rack": rack, "broker": broker}
    patterns = {name: pattern_of(name, value) for name, value in servers.items() if value is not None}
    claim = f"to be served by {' and '.join(f'{name} {bare(pattern)}' for name, pattern in patterns.items())}"
    selected, served = select_served(journal, arguments, claim)
    others = [
        (entry, parts)
        for entry, parts in served
        if not all(any(map(pattern.match, values_of(entry, name))) for name, pattern in patterns.items())
    ]
    if others:
        fail(
            f"{len(others):,} of {calls(served)} went elsewhere: expected every {selected.subject} {claim}",
            others,
            reasons=False,
        )
    check_all_stored(journal, selected, f"{claim}, as were all {calls(served)} that are stored")


def cross_rack_bytes(journal: Journal, arguments: dict[str, Any]) -> None:
    at_most = arguments.pop("at_most", None)
    if isinstance(at_most, bool) or not isinstance(at_most, int) or at_most < 0:
        raise FilterError(f"at_most: expected a number of bytes from 0, got {at_most!r}")
    claim = f"to cross racks with at most {bytes_text(at_most)}"
    selected, served = select_served(journal, arguments, claim)
    known = [(entry, parts) for entry, parts in served if entry.locality != "unknown"]
    crossing = [(entry, parts) for entry, parts in known if entry.locality == "cross"]
    crossed = sum(share.bytes for _, shares in crossing for share in shares)
    if crossed > at_most:
        fail(
            f"{bytes_text(crossed)} in {len(crossing):,} of {calls(served)} crossed racks: expected at most "
            f"{bytes_text(at_most)} of {selected.subject}",
            crossing,
        )
    if not known:
        fail(f"all {calls(served)} came from an unknown rack: expected {selected.subject} {claim}", served)
    check_all_stored(journal, selected, f"{claim}; {bytes_text(crossed)} are stored")


def no_errors(journal: Journal, arguments: dict[str, Any]) -> None:
    selected = select(journal, arguments)
    failed = [(entry, names) for entry in selected.entries if (names := errors_of(entry))]
    if failed:
        kinds = frequent((f"{', '.join(names)} from {call_kind(entry)}" for entry, names in failed), "; ")
        raise AssertionError(
            f"expected no errors in {selected.subject}, got them in {len(failed):,} of {calls(selected.entries)}: "
            f"{kinds}. First: {call_line(failed[0][0])}."
        )
    check_all_stored(journal, selected, f"without errors, as were all {calls(selected.entries)} that are stored")


def consistent(journal: Journal, arguments: dict[str, Any]) -> None:
    selected = select(journal, arguments, with_records=True)
    found = anomalies(journal, selected.filters)
    if found:
        more = f"; and {len(found) - MAX_GROUPS} more" if len(found) > MAX_GROUPS else ""
        raise AssertionError(
            f"expected the histories of {selected.subject} to fit together, got {len(found)} that "
            f"{'does' if len(found) == 1 else 'do'} not: {'; '.join(found[:MAX_GROUPS])}{more}."
        )
    check_all_stored(journal, selected, f"to fit together, as do the {calls(selected.entries)} that are stored")


CLAIMS: dict[str, Check] = {
    "rack_local": rack_local,
    "served_by": served_by,
    "cross_rack_bytes": cross_rack_bytes,
    "no_errors": no_errors,
    "consistent": consistent,
}


# what a claim is about


def select(journal: Journal, arguments: Mapping[str, Any], *, with_records: bool = False) -> Selected:
    """The calls that the filters select; ``with_records`` selects APIs with records by default. Raises FilterError."""
    if "limit" in arguments:
        raise FilterError("expected filters without limit: a claim is about all calls that they select")
    given = dict(arguments)
    if with_records and given.get("api") is None:
        given["api"] = list(APIS_WITH_RECORDS)
    filters = JournalFilters.of(given)
    entries = journal.find(**given)
    subject = subject_of(filters, arguments.get("api") is not None, with_records)
    if not entries:
        raise AssertionError(f"expected {subject}, got none of {calls(len(journal))}{there_are(journal, filters)}")
    return Selected(filters, entries, subject)


def select_served(journal: Journal, arguments: Mapping[str, Any], claim: str) -> tuple[Selected, Counted]:
    """The selected calls, and those that have shares, with these. Raises AssertionError: none has any."""
    selected = select(journal, arguments, with_records=True)
    served = [(entry, shares) for entry in selected.entries if (shares := served_shares(selected, entry))]
    if not served:
        raise AssertionError(
            f"expected {selected.subject} {claim}, but none of {calls(selected.entries)} was served: "
            f"{endings(selected.entries)}"
        )
    return selected, served


def subject_of(filters: JournalFilters, names_api: bool, with_records: bool) -> str:
    """The subject of a claim, in words: ``Fetch with topic 'orders', client_id 'billing-2'``."""
    api = filters.patterns.get("api")
    what = "call" if api is None else "Produce or Fetch" if with_records and not names_api else bare(api)
    others = [f"{name} {pattern}" for name, pattern in filters.patterns.items() if name != "api"]
    return f"{what} with {', '.join(others)}" if others else what


def bare(pattern: FilterPattern) -> str:
    """A pattern's values without quotes."""
    return " or ".join(pattern.texts)


def there_are(journal: Journal, filters: JournalFilters) -> str:
    """The calls that the journal has instead of the selected ones."""
    entries = journal.since(filters.since or 0)
    if not entries:
        return dropped_words(journal, filters)
    return f"; there are {frequent(f'{entry.api} by {quoted(entry.client_id)}' for entry in entries)}"


def served_shares(selected: Selected, entry: JournalEntry) -> Sequence[Share]:
    """The shares of the selected topics that a broker wrote, returned or answered itself; of other APIs, the call."""
    if entry.traffic is None:
        return entry.shares if entry.response_bytes and entry.api not in APIS_WITH_RECORDS else ()
    return [
        share
        for share in entry.shares
        if share.topic in entry.traffic
        and share.reason != "redirect"
        and selected.filters.meets(share.topic, share.partition)
    ]


def errors_of(entry: JournalEntry) -> list[str]:
    """The errors of a call that are not steps of the protocol, and why its connection was closed."""
    names = [name for name in entry.errors if name not in STEPS_OF_THE_PROTOCOL]
    if entry.api == API_VERSIONS:
        names = [name for name in names if name != UNSUPPORTED_VERSION]  # a newer client learns the versions by it
    if entry.ending == "closed":
        names.append(f"a closed connection ({entry.reason})")
    return names


def check_all_stored(journal: Journal, selected: Selected, claim: str) -> None:
    """Raise AssertionError for a claim that holds of the stored calls if other calls are no longer stored."""
    lost = dropped_words(journal, selected.filters)
    if lost:
        raise AssertionError(f"expected every {selected.subject} {claim}, but this is not known of all calls{lost}")


def dropped_words(journal: Journal, filters: JournalFilters) -> str:
    lost = journal.dropped_since(filters.since)
    if not lost:
        return ""
    return (
        f": the {calls(lost)} before #{journal.first_sequence} are no longer stored "
        f"(since={journal.first_sequence - 1} leaves them out, Journal(max_bytes=...) stores more)"
    )


# words

Counted = Sequence[tuple[JournalEntry, Sequence[Any]]]


def calls(entries: Sequence[Any] | int) -> str:
    number = entries if isinstance(entries, int) else len(entries)
    return f"{number:,} call{'' if number == 1 else 's'}"


def quoted(text: str | None) -> str:
    return "a client without id" if text is None else repr(text)


def fail(text: str, counted: Counted, *, reasons: bool = True) -> NoReturn:
    """Raise AssertionError: the line that a failing test shows, then a table of the calls."""
    first = text if len(text) <= MAX_LINE else f"{text[: MAX_LINE - 1]}…"
    raise AssertionError(first + listed(counted, reasons=reasons))


def listed(counted: Counted, *, reasons: bool = True) -> str:
    """By reason, the most bytes first: the action for a test, why, and a table of the calls; then the first call."""
    groups: dict[str, dict[tuple[str, ...], list[int]]] = {}
    details: dict[str, str | None] = {}
    for entry, shares in counted:
        for share in shares:
            name = (share.reason or "") if reasons else ""
            key = (
                *(entry.client_id or "-", entry.client_rack or "-", entry.rack or "-", str(entry.broker_id)),
                share.topic or "-",
            )
            sums = groups.setdefault(name, {}).setdefault(key, [0, 0, -1])
            sums[0] += share.bytes
            if sums[2] != entry.sequence:
                sums[1], sums[2] = sums[1] + 1, entry.sequence
            details.setdefault(name, share.detail)
    lines = [""]
    for name, rows in sorted(groups.items(), key=lambda one: (-sum(sums[0] for sums in one[1].values()), one[0])):
        lines += [*explained(name, details[name]), *rows_of(rows)]
    return "\n".join([*lines, f"First: {call_line(counted[0][0])}."])


def explained(name: str, detail: str | None) -> list[str]:
    """The lines that explain a reason: the action for a test, and its meaning."""
    reason = REASONS.get(name)
    if reason is None:
        return []
    return [reason.in_test or reason.action, f"  {reason.what}{f' ({detail})' if detail else ''}"]


def rows_of(rows: Mapping[tuple[str, ...], list[int]]) -> list[str]:
    """A table of calls by client, broker and topic, the most bytes first."""
    ordered = sorted(rows.items(), key=lambda one: (-one[1][0], -one[1][1], one[0]))
    head = ("calls", "bytes", "client", "client rack", "broker rack", "broker", "topic")
    cells = [head, *((str(sums[1]), bytes_text(sums[0]), *key) for key, sums in ordered[:MAX_GROUPS])]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    if len(ordered) > MAX_GROUPS:
        lines.append(f"and {number_of(len(ordered) - MAX_GROUPS, 'more row')}")
    return lines


def call_kind(entry: JournalEntry) -> str:
    topics = f" of {', '.join(map(repr, entry.topics))}" if entry.topics else ""
    return f"{entry.api or 'no request'}{topics} by {quoted(entry.client_id)} to broker {entry.broker_id}"


def call_line(entry: JournalEntry) -> str:
    """One call in words."""
    topics = ", ".join(
        f"{name}-{','.join(map(str, indexes[:5]))}{',...' if len(indexes) > 5 else ''}" if indexes else name
        for name, indexes in list(entry.topics.items())[:3]
    )
    what = f"#{entry.sequence} {entry.api or 'no request'} v{entry.version}{f' of {topics}' if topics else ''}"
    rack = f" in rack {entry.client_rack} (by {entry.client_rack_source})" if entry.client_rack else ""
    to = f"broker {entry.broker_id}" + (f" in rack {entry.rack}" if entry.rack is not None else "")
    sizes = f"{entry.request_bytes} and {entry.response_bytes} bytes, {entry.latency_ms} ms"
    errors = f", {', '.join(entry.errors)}" if entry.errors else ""
    faults = f", faults {', '.join(entry.faults)}" if entry.faults else ""
    closed = f", closed: {entry.reason}" if entry.reason else ""
    principal = f" as {entry.principal}" if entry.principal != ANONYMOUS else ""
    who = f"by {quoted(entry.client_id)}{principal} from {entry.client_address}{rack}"
    return f"{what} {who} to {to}: {entry.ending}, {sizes}{errors}{faults}{closed}"


def endings(entries: Sequence[JournalEntry]) -> str:
    return frequent(f"{entry.ending}{' with ' + ', '.join(entry.errors) if entry.errors else ''}" for entry in entries)


def frequent(values: Iterable[str], between: str = ", ") -> str:
    """Values with their numbers, the most frequent first."""
    ranked = sorted(Counter(values).items(), key=lambda one: (-one[1], one[0]))
    shown = between.join(f"{value or 'none'} ({number:,})" for value, number in ranked[:MAX_GROUPS])
    more = len(ranked) - MAX_GROUPS
    return f"{shown} and {number_of(more, 'other')}" if more > 0 else shown
