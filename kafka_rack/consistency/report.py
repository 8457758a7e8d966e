"""What a checker found, for programs and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_rack.consistency.kinds import KINDS, Kind
from kafka_rack.printable import printable


class Anomaly(NamedTuple):
    """One anomaly: where, who, and the operations that show it, in a sentence. ``reason`` is Kafka's."""

    kind: Kind
    topic: str
    partition: int
    offsets: tuple[int, ...]
    clients: tuple[str, ...]
    evidence: str
    is_permitted: bool
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "offsets": list(self.offsets), "clients": list(self.clients)}


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found. ``anomalies`` keeps the first few of each kind, ``counts`` how many there were.

    ``permitted_counts`` counts those that Kafka permits. ``sends``, ``polls`` and ``reads`` say how much was looked at,
    ``forgotten`` how many records left a bounded checker before its end.
    """

    anomalies: tuple[Anomaly, ...] = ()
    counts: Mapping[Kind, int] = field(default_factory=Counter)
    permitted_counts: Mapping[Kind, int] = field(default_factory=Counter)
    sends: int = 0
    polls: int = 0
    reads: int = 0
    forgotten: int = 0

    @property
    def permitted(self) -> tuple[Anomaly, ...]:
        """Those of ``anomalies`` that Kafka permits."""
        return tuple(anomaly for anomaly in self.anomalies if anomaly.is_permitted)

    @property
    def forbidden(self) -> tuple[Anomaly, ...]:
        """Those of ``anomalies`` that Kafka does not permit."""
        return tuple(anomaly for anomaly in self.anomalies if not anomaly.is_permitted)

    @property
    def is_consistent(self) -> bool:
        """Whether nothing was found that Kafka does not permit."""
        return not self.forbidden

    def forbidden_count(self, kind: Kind) -> int:
        return self.counts.get(kind, 0) - self.permitted_counts.get(kind, 0)

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
                    "permitted": self.permitted_counts.get(kind, 0),
                    "examples": [found.to_json() for found in self.anomalies if found.kind == kind],
                }
                for kind in KINDS
                if self.counts.get(kind)
            ],
        }

    def __str__(self) -> str:
        """The report as text: what Kafka does not permit first."""
        looked_at = f"{plural(self.sends, 'send')}, {plural(self.polls, 'poll')}, {plural(self.reads, 'read')}"
        if self.forgotten:
            looked_at += f"; the first {plural(self.forgotten, 'record')} left the window"
        lines = [f"{'consistent' if self.is_consistent else 'not consistent'}: {looked_at}"]
        for is_permitted, heading in ((False, "Kafka does not permit:"), (True, "Kafka permits:")):
            part: list[str] = []
            for kind, meaning in KINDS.items():
                permitted = self.permitted_counts.get(kind, 0)
                count = permitted if is_permitted else self.counts.get(kind, 0) - permitted
                if count:
                    part.append(f"  {kind} ({count}): {meaning}")
                    shown = [x for x in self.anomalies if x.kind == kind and x.is_permitted is is_permitted]
                    for anomaly in shown:
                        part += [f"    {printable(anomaly.evidence)}", f"      {anomaly.reason}"]
                    if count > len(shown):
                        part.append(f"    and {count - len(shown)} more")
            lines += [heading, *part] if part else []
        return "\n".join(lines)


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
