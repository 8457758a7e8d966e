"""Filters of the journal: they select calls by values or lists of values, with ``*`` in names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from mockbroker.core.journal.entry import JournalEntry
from mockbroker.core.journal.records import CallRecord
from mockbroker.state.patterns import hint, is_within, name_test
from protocol.error_codes import ErrorCode
from protocol.registry import APIS

KNOWN: dict[str, tuple[str, ...]] = {
    "api": tuple(name for _, name in APIS.values()),
    "locality": ("local", "cross", "unknown"),
    "avoidable": ("yes", "perhaps", "no"),
    "category": ("produce", "consume", "replication", "other"),
    "error": tuple(code.name for code in ErrorCode),
}
"""The allowed values of each filter that has a fixed list."""
NUMBERS = ("partition", "broker")
MOST_DIGITS = 20
NONE = ""
"""Matches entries without a value, such as clients of unknown rack."""


class FilterError(TypeError, ValueError):
    """An unknown filter, or a value that it cannot have; the text lists what exists."""


def text_of(value: object) -> str:
    return NONE if value is None else str(value)


FIELDS = (
    *("api", "client_id", "client_rack", "client_address", "principal", "topic", "partition", "group"),
    *("broker", "rack", "locality", "locality_reason", "avoidable", "category", "error", "fault"),
)
"""The filters by a field of entries; ``values_of`` has the values that they compare: one match is enough."""
COUNTED = (*FIELDS, "client_rack_source", "ending")
LISTS = {"topic": "topics", "group": "groups", "error": "errors", "fault": "faults"}
"""The field of the filters that an entry may have several values for."""
OF_RECORD: dict[str, Callable[[CallRecord], str]] = {
    "broker": lambda record: str(record.client.session.broker.id),
    "rack": lambda record: text_of(record.client.session.broker.rack),
    "client_id": lambda record: text_of(record.client.client_id),
    "client_address": lambda record: record.client.session.address,
    "principal": lambda record: record.client.principal,
    "api": lambda record: APIS.get(record.api_key, ("", NONE))[1],
}
"""The filters whose value is known without a verdict."""
OTHERS = ("since", "limit")


@dataclass(frozen=True, slots=True)
class FilterPattern:
    """The values that one filter accepts."""

    texts: tuple[str, ...]
    match: Callable[[str], bool]

    def __str__(self) -> str:
        shown = [repr(text) if text else "none" for text in self.texts]
        return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


@dataclass(frozen=True, slots=True)
class JournalFilters:
    """The filters of a ``Journal.find``."""

    patterns: Mapping[str, FilterPattern]
    since: int | None = None
    limit: int | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Parse filters from keywords, or from the members of a JSON object; None is no filter. Raises FilterError."""
        patterns: dict[str, FilterPattern] = {}
        since = whole_number(given, "since", 0)
        limit = whole_number(given, "limit", 1)
        for name, value in given.items():
            if name in FIELDS:
                if value is not None:
                    patterns[name] = pattern_of(name, value)
            elif name not in OTHERS:
                there = (*FIELDS, *OTHERS)
                raise FilterError(f"expected filters out of {', '.join(there)}, got {name!r}{hint(name, there)}")
        return cls(patterns, since, limit)

    def may_match(self, record: CallRecord) -> bool:
        """True if a call can match, by the fields that are known without a verdict."""
        patterns = self.patterns
        return all(patterns[name].match(value(record)) for name, value in OF_RECORD.items() if name in patterns)

    def match(self, entry: JournalEntry) -> bool:
        """True if an entry matches every filter."""
        for name, wanted in self.patterns.items():
            if name == "partition" and "topic" in self.patterns:
                if not any(wanted.match(str(index)) for index in self.partitions_of_topic(entry)):
                    return False
            elif not any(map(wanted.match, values_of(entry, name))):
                return False
        return True

    def partitions_of_topic(self, entry: JournalEntry) -> list[int]:
        """The partitions that an entry names of the matching topics."""
        topic = self.patterns["topic"]
        return [index for name, indexes in entry.topics.items() if topic.match(name) for index in indexes]

    def meets(self, topic: str | None, partition: int | None) -> bool:
        """True if the filters match a share of a call, of this topic and partition."""
        wanted, index = self.patterns.get("topic"), self.patterns.get("partition")
        if wanted is not None and (topic is None or not wanted.match(topic)):
            return False
        return index is None or (partition is not None and index.match(str(partition)))


def values_of(entry: JournalEntry, name: str) -> Iterable[str]:
    """The values of an entry in a field of ``COUNTED``; ``NONE`` if it has none."""
    if name == "partition":
        return sorted({str(one) for some in entry.topics.values() for one in some}) or (NONE,)
    found = getattr(entry, LISTS.get(name, name))
    return (tuple(found) or (NONE,)) if name in LISTS else (text_of(found),)


def pattern_of(name: str, value: object) -> FilterPattern:
    """The pattern of a filter's values. Raises FilterError."""
    given = value if isinstance(value, list | tuple | set | frozenset) else [value]
    if not given:
        raise FilterError(f"{name}: expected a value or a list of some, got an empty list")
    texts = tuple(value_text(name, one) for one in (sorted(given, key=str) if isinstance(given, set) else given))
    for text in texts:
        check_value(name, text)
    matches = name_test(texts)
    if name != "client_address":
        return FilterPattern(texts, matches)
    ranges = [address_range(text) for text in texts if "/" in text]
    return FilterPattern(texts, lambda address: matches(address) or is_within(address, ranges))


def value_text(name: str, value: object) -> str:
    """A filter's value as text. Raises FilterError."""
    if name in NUMBERS:
        text = str(value) if not isinstance(value, bool) else ""
        if not text.removeprefix("-").isdecimal() or len(text) > MOST_DIGITS:
            raise FilterError(f"{name}: expected a number or a list of numbers, got {value!r}")
        return str(int(text))
    if name == "api" and isinstance(value, int) and value in APIS:
        return APIS[value][1]
    if isinstance(value, ErrorCode):
        return value.name
    if not isinstance(value, str):
        raise FilterError(f"{name}: expected text or a list of texts, got {value!r}")
    return value


def check_value(name: str, text: str) -> None:
    """Reject a value that no call can have. Raises FilterError."""
    if "*" in text or not text or (name == "error" and text.startswith("error ")):
        return
    if name == "locality_reason":
        from kafka_rack.locality.reasons import REASONS

        known = tuple(REASONS)
    else:
        known = KNOWN.get(name, (text,))
    if text not in known:
        listed = f"a name that Kafka knows of {name}s" if name in ("api", "error") else f"one of {', '.join(known)}"
        raise FilterError(f"{name}: expected {listed}, got {text!r}{hint(text, known)}")


def whole_number(given: Mapping[str, Any], name: str, least: int) -> int | None:
    """A filter that is a number. Raises FilterError."""
    value = given.get(name)
    if value is None:
        return None
    text = "" if isinstance(value, bool | float) else str(value)
    if not text.isdecimal() or len(text) > MOST_DIGITS or int(text) < least:
        raise FilterError(f"{name}: expected a number from {least}, got {value!r}")
    return int(text)


def address_range(text: str) -> Any:
    """A range of addresses, as 10.0.0.0/8. Raises FilterError."""
    from ipaddress import ip_network

    try:
        return ip_network(text, strict=False)
    except ValueError as error:
        raise FilterError(f"client_address: expected an address or a range as 10.0.0.0/8, got {text!r}") from error
