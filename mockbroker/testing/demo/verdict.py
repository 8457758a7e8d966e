"""The verdict of the demo, from the cluster's journal and the records that clients saw."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from mockbroker.core.journal import JournalEntry
from mockbroker.testing.demo.scenario import CLASSIC, DISKLESS, DemoOutcome

PHASES = ("before", "during", "after")
APIS = {0: "produce", 1: "fetch"}


@dataclass(slots=True)
class DemoVerdict:
    """The counts to show, and broken promises.

    ``served[library, rack, api, topic][phase]`` counts requests by (broker's rack, broker id).
    ``moved[topic][client's rack, broker's rack]`` counts record bytes, either way.
    ``crossings`` are diskless requests that left a rack which was up; ``missing`` and ``doubled`` name records and
    groups.
    """

    served: dict[tuple[str, str, str, str], dict[str, Counter[tuple[str, int]]]]
    moved: dict[str, Counter[tuple[str, str]]]
    crossings: list[str] = field(default_factory=list)
    returning: int = 0
    missing: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    acknowledged: int = 0
    failed: int = 0

    @property
    def holds(self) -> bool:
        """True if no promise is broken."""
        return not (self.crossings or self.missing or self.doubled)


def judge(outcome: DemoOutcome) -> DemoVerdict:
    """Read the outcome."""
    verdict = DemoVerdict(defaultdict(lambda: {phase: Counter() for phase in PHASES}), defaultdict(Counter))
    clients = {plan.client_id(role): plan for plan in outcome.plans for role in ("producer", "consumer")}
    for entry in outcome.journal:
        plan = clients.get(entry.client_id or "")
        if plan is None or entry.api_key not in APIS or entry.rack is None:
            continue
        phase = phase_of(entry, outcome)
        for topic, size in (entry.traffic or {}).items():
            verdict.moved[topic][plan.rack, entry.rack] += size
            if phase in PHASES:
                key = plan.library, plan.rack, APIS[entry.api_key], topic
                verdict.served[key][phase][entry.rack, entry.broker_id] += 1
            if topic == DISKLESS and entry.rack != plan.rack:
                note_crossing(verdict, outcome, entry, plan.rack, phase)
    follow_records(verdict, outcome)
    return verdict


def phase_of(entry: JournalEntry, outcome: DemoOutcome) -> str:
    """The phase in which a request came: where it went was decided then, however long it waited for records."""
    return next(phase for start_ms, phase in reversed(outcome.phases) if start_ms <= entry.at_ms - entry.latency_ms)


def note_crossing(verdict: DemoVerdict, outcome: DemoOutcome, entry: JournalEntry, rack: str, phase: str) -> None:
    """A diskless request left its client's rack: excused while that rack is down, or has just come back."""
    if rack == outcome.stopped_rack and phase == "during":
        return
    if rack == outcome.stopped_rack and phase == "changing":
        verdict.returning += 1
        return
    api = APIS[entry.api_key]
    verdict.crossings.append(f"{entry.client_id}: {api} at broker {entry.broker_id} in rack {entry.rack}, {phase}")


def follow_records(verdict: DemoVerdict, outcome: DemoOutcome) -> None:
    """Each acknowledged record was seen once by each group."""
    acknowledged = {name for result in outcome.results for name in result.acknowledged}
    verdict.acknowledged = len(acknowledged)
    verdict.failed = sum(len(result.failures) for result in outcome.results)
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for plan, result in zip(outcome.plans, outcome.results, strict=True):
        groups[plan.group].update(result.seen)
    for group, seen in sorted(groups.items()):
        verdict.missing += [f"{name} in {group}" for name in sorted(acknowledged - seen.keys())]
        verdict.doubled += [f"{name} in {group}" for name, times in sorted(seen.items()) if times > 1]


def crossed_share(moved: Counter[tuple[str, str]]) -> float:
    """The bytes whose client and broker are in different racks, as a share of all of them."""
    return sum(size for (client, broker), size in moved.items() if client != broker) / max(1, moved.total())


TITLES = {CLASSIC: "classic", DISKLESS: "diskless"}
