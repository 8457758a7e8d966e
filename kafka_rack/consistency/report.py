"""The anomalies that a checker found, as values and as text."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from reprlib import Repr
from typing import Any, Literal, NamedTuple, get_args

from kafka_rack.plurals import counted
from kafka_rack.printable import printable

Kind = Literal["lost-write", "duplicate", "aborted-read", "internal-nonmonotonic-poll", "nonmonotonic-send"]
KINDS: dict[Kind, str] = {
    "lost-write": "a record was acknowledged, and a reader that passed its offset did not get it",
    "duplicate": "one record is at several offsets",
    "aborted-read": "a record was read whose transaction was aborted or whose send failed",
    "internal-nonmonotonic-poll": "one poll returned a lower offset after a higher one",
    "nonmonotonic-send": "a producer's later send has the lower offset",
}
"""The kinds have the names of Jepsen's public analyses of Kafka-like systems."""
assert tuple(KINDS) == get_args(Kind)

MAX_SHOWN_CHARACTERS = 60
shortened = Repr()
shortened.maxstring = shortened.maxother = MAX_SHOWN_CHARACTERS


class Anomaly(NamedTuple):
    """One anomaly: its place, the clients, and the operations that show it, in a sentence."""

    kind: Kind
    topic: str
    partition: int
    offsets: tuple[int, ...]
    clients: tuple[str, ...]
    evidence: str

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "offsets": list(self.offsets), "clients": list(self.clients)}


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check. ``anomalies`` has the first few of each kind, ``counts`` the number of all.

    ``sends``, ``polls`` and ``reads`` say how much was checked.
    """

    anomalies: Sequence[Anomaly] = ()
    counts: Mapping[Kind, int] = field(default_factory=dict)
    sends: int = 0
    polls: int = 0
    reads: int = 0

    @property
    def is_consistent(self) -> bool:
        return not self.counts

    def to_json(self) -> dict[str, Any]:
        return {
            "is_consistent": self.is_consistent,
            "sends": self.sends,
            "polls": self.polls,
            "reads": self.reads,
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
        checked = ", ".join(
            counted(number, noun) for number, noun in ((self.sends, "send"), (self.polls, "poll"), (self.reads, "read"))
        )
        lines = [f"{'consistent' if self.is_consistent else 'not consistent'}: {checked}"]
        for kind, meaning in KINDS.items():
            if count := self.counts.get(kind, 0):
                examples = [found for found in self.anomalies if found.kind == kind]
                lines.append(f"  {kind} ({count}): {meaning}")
                lines += [f"    {printable(found.evidence)}" for found in examples]
                if count > len(examples):
                    lines.append(f"    and {count - len(examples)} more")
        return "\n".join(lines)


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
