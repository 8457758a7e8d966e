"""Checks of a program, judged by the wire's facts: each passes, fails or was not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from kafka_rack.locality.amounts import bytes_text
from kafka_rack.locality.reasons import REASONS, near_match
from kafka_rack.rack_names import shown
from mockbroker.testing.certify.facts import (
    FIRST_FETCH_HINT,
    FIRST_FETCH_RACK,
    FIRST_PRODUCE_HINT,
    ClientFacts,
    WireFacts,
)

Verdict = Literal["pass", "fail", "not seen", "not offered", "not tried"]
PASS: Verdict = "pass"  # noqa: S105 - no password
FAIL: Verdict = "fail"
NOT_SEEN: Verdict = "not seen"
STRAY_SHARE = 0.25
"""A follower is a lease: a client may look in at the leader now and then, but not each second fetch; and some, such as
librdkafka, do not change replicas more than once a minute."""
FAR_SHARE = 0.1
"""Of what is assigned: clients' own rack-aware assignors deal greedily and miss one now and then; chance gives 1/3."""
AVOIDABLE_SHARE = 0.05
"""Of what is consumed: the first fetches, and those around an outage, cannot all be near."""


@dataclass(frozen=True, slots=True)
class CertifyCheck:
    """One answer. ``evidence`` says which calls and how many; ``weight`` what it counts in the grade.

    ``remedy`` is the setting or change to make if it fails, or the proposal that promises it.
    """

    id: str
    question: str
    weight: int
    verdict: Verdict
    evidence: str
    remedy: str = ""

    def to_json(self) -> dict[str, object]:
        found = asdict(self)
        return {"check": found.pop("id"), **found, "remedy": self.remedy if self.verdict == FAIL else None}


Judgement = tuple[Verdict, str]


def fetch_rack(facts: WireFacts) -> Judgement:
    """Fetch names a rack, and it is that of the process."""
    consumers = facts.consumers
    if not consumers:
        return NOT_SEEN, "no Fetch"
    versions = spoken(consumers)
    calls = sum(client.fetch_racks.total() for client in consumers)
    named = sum(client.fetch_racks[client.rack] for client in consumers)
    text = f"{named or 'none'} of {calls} Fetch requests ({versions}) name the rack that the process runs in"
    if named == calls:
        return PASS, text
    runs, told = min((client.rack, told) for client in consumers for told in client.fetch_racks if told != client.rack)
    old = max(version for client in consumers for version in client.fetch_versions) < FIRST_FETCH_RACK
    why = f"; there is no place for it before v{FIRST_FETCH_RACK}" if old else ""
    return FAIL, f"{text}; some name {shown(told) if told else 'no rack'} in rack {runs}{why}"


def rack_name(facts: WireFacts) -> Judgement:
    """The racks that clients name are racks of brokers, letter by letter."""
    clients = facts.clients.values()
    told = {rack for client in clients for rack in client.fetch_racks if rack}
    told |= {rack for client in clients if client.subscription and (rack := client.subscription.rack)}
    if not told:
        return NOT_SEEN, "no rack is named"
    unknown = sorted(told - set(facts.racks))
    if not unknown:
        return PASS, f"{', '.join(sorted(told))}: brokers name the same"
    near = [near_match(rack, frozenset(facts.racks)) or f"no broker is in {shown(rack)}" for rack in unknown]
    return FAIL, f"{near[0]}" + (f"; and {len(near) - 1} more" if len(near) > 1 else "")


def preferred_replica(facts: WireFacts) -> Judgement:
    """After an answer that names a replica the next fetch goes there."""
    tally = facts.tallies["preferred_replica"]
    if not tally.seen:
        return NOT_SEEN, "the leader named no other replica"
    text = f"{tally.right} of {tally.seen} redirects were followed"
    if facts.ignored_redirects > tally.wrong:
        text += f", the others came {facts.ignored_redirects:,} times in vain"
    if tally.wrong / tally.seen <= STRAY_SHARE:
        return PASS, text
    return FAIL, f"{text}; {tally.first_wrong}"


def assignor_rack(facts: WireFacts) -> Judgement:
    """Members name their rack on joining."""
    members = [client for client in facts.clients.values() if client.subscription is not None]
    if not members:
        return NOT_SEEN, "no member of a group"
    named = [member for member in members if member.subscription and member.subscription.rack == member.rack]
    how = sorted({form(member) for member in members})
    text = f"{len(named)} of {len(members)} members name their rack ({', '.join(how)})"
    return PASS if len(named) == len(members) else FAIL, text


def leader_hints(facts: WireFacts) -> Judgement:
    """A new leader named in an error is gone to without Metadata in between (KIP-951)."""
    tally = facts.tallies["leader_hints"]
    if tally.seen:
        text = f"{tally.right} of {tally.seen} new leaders were gone to by the hint alone"
        if 2 * tally.right >= tally.seen:  # metadata that is asked for anyway may come first
            return PASS, text
        return FAIL, f"{text}; {tally.first_wrong}"
    fetch = max((version for one in facts.consumers for version in one.fetch_versions), default=0)
    produce = max((version for one in facts.producers for version in one.produce_versions), default=0)
    if fetch and not produce and fetch < FIRST_FETCH_HINT:
        return FAIL, f"Fetch v{fetch} carries no hints, v{FIRST_FETCH_HINT} is the first"
    if produce and not fetch and produce < FIRST_PRODUCE_HINT:
        return FAIL, f"Produce v{produce} carries no hints, v{FIRST_PRODUCE_HINT} is the first"
    return NOT_SEEN, "no error named a new leader"


def no_loss(facts: WireFacts) -> Judgement:
    """Passes if every record fed was read, and every acknowledged one is in the log."""
    rack = f", rack {facts.outage_rack} stopped and back in between" if facts.outage_rack else ""
    wrong = [*facts.missing, *facts.lost]
    if wrong:
        more = f"; and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return FAIL, f"{wrong[0]}{more}{rack}"
    texts = []
    if facts.delivered:
        again = facts.delivered_again.total()
        in_part = facts.unread or facts.cut_short
        what = "what was fetched has no gap" if in_part else f"all of {facts.fed:,} records fed were fetched"
        texts.append(f"{what} ({again:,} records came again)")
    if facts.acknowledged_records:
        texts.append(f"all of {facts.acknowledged_records:,} acknowledged records are in the logs")
    if not texts:
        return NOT_SEEN, "no record was moved"
    return PASS, " and ".join(texts) + rack


def goes_on(facts: WireFacts) -> Judgement:
    """Work goes on while a rack is down, and once it is back; processes live on."""
    if facts.failures:
        return FAIL, facts.failures[0]
    stalled = [facts.unfinished[step] for step in ("outage", "back") if step in facts.unfinished]
    if stalled or facts.unread:
        return FAIL, "; ".join([*stalled, *facts.unread[:1]])
    if not facts.outage_rack:
        return NOT_SEEN, "no rack was stopped"
    if facts.cut_short is not None:
        return NOT_SEEN, "time was over, or every process had ended, before all was seen"
    return PASS, f"every partition went on while rack {facts.outage_rack} was down, and once it was back"


def no_duplicates(facts: WireFacts) -> Judgement:
    """Idempotent producers write nothing twice."""
    if not any("InitProducerId" in client.calls for client in facts.producers):
        kind = "no producer is idempotent" if facts.producers else "nothing was produced"
        more = f"; {len(facts.duplicates)} batches were written twice" if facts.duplicates else ""
        return NOT_SEEN, kind + more
    if facts.duplicates:
        return FAIL, f"{len(facts.duplicates)} batches are in the logs twice; {facts.duplicates[0]}"
    batches = sum(map(len, facts.acknowledged.values()))
    return PASS, f"{batches} batches of idempotent producers, none of them twice"


def near_reads(facts: WireFacts) -> Judgement:
    """Records that are consumed do not cross racks where they need not."""
    consumed, avoidable, crossed = 0, Counter[str](), 0
    for key, size in facts.traffic.items():
        if key.category == "consume":
            consumed += size
            crossed += size if key.locality == "cross" else 0
            if key.saves:
                avoidable[key.reason or ""] += size
    if not consumed or not facts.consumers:
        return NOT_SEEN, "nothing was consumed"
    if fetch_rack(facts)[0] == PASS and not facts.tallies["preferred_replica"].seen:
        return preferred_replica(facts)  # so the brokers have no rack-aware replica.selector.class
    share = avoidable.total() / consumed
    saved = bytes_text(avoidable.total())
    text = f"{bytes_text(crossed)} of {bytes_text(consumed)} of records consumed crossed racks, {saved} of it avoidable"
    if share <= AVOIDABLE_SHARE:
        return PASS, text
    return FAIL, f"{text}: {REASONS[avoidable.most_common(1)[0][0]].action}"


def near_writes(facts: WireFacts) -> Judgement:
    """Partitions for records without keys are led in the writer's rack; it counts for clients that can choose so."""
    seen = [client for client in facts.producers if client.choices.seen]
    able = [client for client in seen if client.has_partitioner]
    right, wrong = (sum(getattr(client.choices, name) for client in able or seen) for name in ("right", "wrong"))
    if not seen:
        return NOT_SEEN, "no record without a key while the topic had leaders in the writer's rack"
    text = f"{right} of {right + wrong} partitions for records without keys were led in the writer's rack"
    if not able:
        return NOT_SEEN, f"{text}; only Java clients of 4.4 and newer can choose them so (KIP-1123)"
    if wrong / (right + wrong) <= STRAY_SHARE:
        return PASS, text
    return FAIL, f"{text}; {next(client.choices.first_wrong for client in able if client.choices.wrong)}"


def tallied(check: str) -> Callable[[WireFacts], Judgement]:
    """A judge of ``TALLIED``: passes if at most the allowed share went wrong; else the first wrong call is quoted."""

    def judge(facts: WireFacts) -> Judgement:
        tally, (what, not_seen, allowed) = facts.tallies[check], TALLIED[check]
        if not tally.seen:
            return NOT_SEEN, not_seen
        text = f"{tally.right} of {tally.seen} {what}"
        if tally.wrong / tally.seen > allowed:
            return FAIL, f"{text}; {tally.first_wrong}"
        return PASS, text

    return judge


TALLIED: dict[str, tuple[str, str, float]] = {
    "stays": ("fetches behind a follower's answer stayed there", "no second fetch at a follower", STRAY_SHARE),
    "leader_on_minus_one": ("readers stayed at the leader that named nobody", "no such answer of a leader", 0.0),
    "out_of_range": ("asked the leader for the same offset", "no offset was out of range at a follower", 0.0),
    "follower_gone": ("went elsewhere", "no follower went while it was read from", 0.0),
    "local_assignments": (
        "assigned partitions have a replica in the member's rack",
        "no assignment that could be far: no group, or a replica in every rack",
        FAR_SHARE,
    ),
}
"""The words for right ones, the reason if none was seen, and the share that may go wrong, by check."""
CHECKS: tuple[tuple[str, str, int, Callable[[WireFacts], Judgement]], ...] = (
    ("fetch_rack", "does Fetch carry its rack", 3, fetch_rack),
    ("rack_name", "is that rack one of the brokers'", 2, rack_name),
    ("preferred_replica", "does it follow the preferred replica", 3, preferred_replica),
    ("stays", "does it stay there", 2, tallied("stays")),
    (
        "leader_on_minus_one",
        "does it stay with a leader that names no replica (-1)",
        1,
        tallied("leader_on_minus_one"),
    ),
    ("out_of_range", "does it return to the leader on out of range", 2, tallied("out_of_range")),
    ("follower_gone", "does it leave a follower that goes", 2, tallied("follower_gone")),
    ("assignor_rack", "does its assignor send racks", 2, assignor_rack),
    ("local_assignments", "are its assignments local", 1, tallied("local_assignments")),
    ("leader_hints", "does it use leader hints (KIP-951)", 1, leader_hints),
    ("no_loss", "does it survive the outage without loss", 4, no_loss),
    ("goes_on", "does it continue over the outage", 3, goes_on),
    ("no_duplicates", "does it write nothing twice", 2, no_duplicates),
    ("near_reads", "does it read near", 2, near_reads),
    ("near_writes", "does it write unkeyed records to leaders in its rack", 2, near_writes),
)
REMEDIES = {
    "fetch_rack": "set client.rack to the rack that the process runs in",
    "rack_name": "set client.rack to the exact broker.rack of the brokers in that rack",
    "preferred_replica": "use a client that supports KIP-392, and set client.rack",
    "stays": "use a client that keeps reading from the preferred replica (KIP-392)",
    "leader_on_minus_one": "use a client that reads from the leader if it names no preferred replica (KIP-392)",
    "out_of_range": "use a client that returns to the leader on OFFSET_OUT_OF_RANGE (KIP-392)",
    "follower_gone": "lower metadata.max.age.ms, or use a client that returns to the leader on errors",
    "assignor_rack": "set client.rack, and use a rack-aware assignor (KIP-881) or group.protocol=consumer",
    "local_assignments": "set client.rack in every member, and use a rack-aware assignor (KIP-881)",
    "leader_hints": "use a client that supports KIP-951",
    "no_loss": "set acks=all and enable.idempotence=true, and commit offsets only after processing",
    "goes_on": "raise delivery.timeout.ms and retries, and keep polling after errors",
    "no_duplicates": "set enable.idempotence=true",
    "near_reads": "set client.rack to the rack that the process runs in, and use a client that supports KIP-392",
    "near_writes": "set partitioner.rack.aware=true and client.rack in the producer (KIP-1123)",
}
"""The setting or change to make, by check."""
ESSENTIAL = ("fetch_rack", "preferred_replica")
"""Without these a program is not rack-aware, whatever else it does well."""


def checks_of(facts: WireFacts) -> list[CertifyCheck]:
    """Every check, in the order of ``CHECKS``."""
    return [
        CertifyCheck(name, question, weight, *judge(facts), REMEDIES[name]) for name, question, weight, judge in CHECKS
    ]


def spoken(clients: list[ClientFacts]) -> str:
    """The Fetch versions, as ``v11`` or ``v11, v12``."""
    versions = sorted({version for client in clients for version in client.fetch_versions})
    return ", ".join(f"v{version}" for version in versions)


def form(client: ClientFacts) -> str:
    """How a member said what it said."""
    assert client.subscription is not None
    version = client.subscription.version
    return "ConsumerGroupHeartbeat" if version < 0 else f"subscription v{version}"
