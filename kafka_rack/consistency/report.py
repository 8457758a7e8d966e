"""The anomalies that a checker found, for programs and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from reprlib import Repr
from typing import Any, Literal, NamedTuple, get_args

from kafka_rack.consistency.history import TopicPartition
from kafka_rack.printable import printable

Kind = Literal["lost-write", "duplicate", "aborted-read", "internal-nonmonotonic-poll", "nonmonotonic-send"]
KINDS: dict[Kind, str] = {
    "lost-write": "a record was acknowledged, and a reader that passed its offset did not get it",
    "duplicate": "one record is at several offsets",
    "aborted-read": "a record was read whose transaction was aborted or whose send failed",
    "internal-nonmonotonic-poll": "one poll returned a lower offset after a higher one",
    "nonmonotonic-send": "a producer's later send has the lower offset",
}
"""Their names are those of Jepsen's public analyses of Kafka-like systems."""
assert tuple(KINDS) == get_args(Kind)

MAX_SHOWN_CHARACTERS = 60
shortened = Repr()
shortened.maxstring = shortened.maxother = MAX_SHOWN_CHARACTERS


class Anomaly(NamedTuple):
    """One anomaly: where, who, and the operations that show it, in a sentence."""

    kind: Kind
    topic: str
    partition: int
    offsets: tuple[int, ...]
    clients: tuple[str, ...]
    evidence: str

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "offsets": list(self.offsets), "clients": list(self.clients)}


class Findings:
    """The anomalies so far: all are counted, ``max_examples`` of each kind are stored with their evidence."""

    def __init__(self, max_examples: int) -> None:
        self.max_examples = max_examples
        self.counts: Counter[Kind] = Counter()
        self.examples: list[Anomaly] = []

    def copy(self) -> Findings:
        other = Findings(self.max_examples)
        other.counts, other.examples = self.counts.copy(), self.examples.copy()
        return other

    def add(
        self,
        kind: Kind,
        place: TopicPartition,
        offsets: Sequence[int],
        clients: Sequence[str],
        evidence: Callable[[], str],
    ) -> None:
        """Add one more. ``evidence`` is called only for an example."""
        self.counts[kind] += 1
        if self.counts[kind] <= self.max_examples:
            topic, partition = place
            sentence = f"{shown_name(topic)}-{partition}: {evidence()}"
            clients = tuple(dict.fromkeys(map(shown_name, clients)))
            self.examples.append(Anomaly(kind, topic, partition, tuple(offsets), clients, sentence))


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found. ``anomalies`` has the first few of each kind, ``counts`` the number of all.

    ``sends``, ``polls`` and ``reads`` say how much was checked, ``forgotten`` how many batches left a bounded checker
    before its end.
    """

    anomalies: tuple[Anomaly, ...] = ()
    counts: Mapping[Kind, int] = field(default_factory=Counter)
    sends: int = 0
    polls: int = 0
    reads: int = 0
    forgotten: int = 0

    @property
    def is_consistent(self) -> bool:
        return not self.counts

    def to_json(self) -> dict[str, Any]:
        return {
            "is_consistent": self.is_consistent,
            "sends": self.sends,
            "polls": self.polls,
            "reads": self.reads,
            "forgotten": self.forgotten,
            "anomalies": [
                {
                    "kind": kind,
                    "meaning": KINDS[kind],
                    "count": self.counts[kind],
                    "examples": [found.to_json() for found in self.anomalies if found.kind == kind],
                }
                for kind in KINDS
                if self.counts.get(kind)
            ],
        }

    def __str__(self) -> str:
        checked = f"{plural(self.sends, 'send')}, {plural(self.polls, 'poll')}, {plural(self.reads, 'read')}"
        if self.forgotten:
            checked += f"; the first {plural(self.forgotten, 'batch', 'batches')} left the window"
        lines = [f"{'consistent' if self.is_consistent else 'not consistent'}: {checked}"]
        for kind, meaning in KINDS.items():
            if count := self.counts.get(kind, 0):
                examples = [found for found in self.anomalies if found.kind == kind]
                lines.append(f"  {kind} ({count}): {meaning}")
                lines += [f"    {printable(found.evidence)}" for found in examples]
                if count > len(examples):
                    lines.append(f"    and {count - len(examples)} more")
        return "\n".join(lines)


def plural(count: int, noun: str, many: str | None = None) -> str:
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def shown(value: Hashable) -> str:
    """A value in evidence, cut if it is long.

    >>> shown("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
    """
    return shortened.repr(value)


def shown_name(name: str) -> str:
    return name if len(name) <= MAX_SHOWN_CHARACTERS else f"{name[: MAX_SHOWN_CHARACTERS - 3]}..."


def shown_time(ms: float | None) -> str:
    """A time in evidence.

    >>> shown_time(12.0), shown_time(1.25)
    ('12 ms', '1.25 ms')
    """
    return "an unknown time" if ms is None else f"{ms:.15g} ms"
