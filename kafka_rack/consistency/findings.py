"""Anomalies as they are found: all of them counted, the first few of each kind kept with their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from reprlib import Repr

from kafka_rack.consistency.kinds import Kind
from kafka_rack.consistency.permission import Permission
from kafka_rack.consistency.report import Anomaly

MAX_SHOWN_CHARACTERS = 60

shortened = Repr()
shortened.maxstring = shortened.maxother = MAX_SHOWN_CHARACTERS


class Findings:
    """The anomalies so far. ``max_examples`` of each kind are kept, permitted ones and others apart."""

    def __init__(self, max_examples: int) -> None:
        self.max_examples = max_examples
        self.counts: Counter[Kind] = Counter()
        self.permitted_counts: Counter[Kind] = Counter()
        self.examples: list[Anomaly] = []

    def copy(self) -> Findings:
        other = Findings(self.max_examples)
        other.counts, other.permitted_counts = self.counts.copy(), self.permitted_counts.copy()
        other.examples = self.examples.copy()
        return other

    def add(
        self,
        kind: Kind,
        permission: Permission,
        place: tuple[str, int],
        offsets: Sequence[int],
        clients: Sequence[str],
        evidence: Callable[[], str],
    ) -> None:
        """One more. ``evidence`` is asked only where it is kept."""
        self.counts[kind] += 1
        if permission.is_permitted:
            self.permitted_counts[kind] += 1
            number = self.permitted_counts[kind]
        else:
            number = self.counts[kind] - self.permitted_counts[kind]
        if number <= self.max_examples:
            topic, partition = place
            sentence = f"{shown_name(topic)}-{partition}: {evidence()}"
            clients = tuple(dict.fromkeys(map(shown_name, clients)))
            self.examples.append(Anomaly(kind, topic, partition, tuple(offsets), clients, sentence, *permission))


def shown(value: Hashable) -> str:
    """A value as evidence shows it, cut where it is long.

    >>> shown("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
    """
    return shortened.repr(value)


def shown_name(name: str) -> str:
    return name if len(name) <= MAX_SHOWN_CHARACTERS else f"{name[: MAX_SHOWN_CHARACTERS - 3]}..."


def shown_time(ms: float | None) -> str:
    """A time as evidence shows it.

    >>> shown_time(12.0), shown_time(1.25)
    ('12 ms', '1.25 ms')
    """
    return "an unknown time" if ms is None else f"{ms:.15g} ms"
