"""A workload from captures: the ledger's flows, the racks of partitions and brokers, and the histories of groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_rack.locality.evidence import Conclusions, Setting, host
from kafka_rack.locality.ledger import RECORD_BYTES, Ledger
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.reasons import CONSUME, OTHER, REPLICATION
from kafka_rack.locality.tables import SUMS, add_amounts
from kafka_rack.what_if.known_settings import set_known_settings
from kafka_rack.what_if.workload import (
    Client,
    MemberSeen,
    ObservedGeneration,
    ObservedGroup,
    ObservedPartition,
    TopicPartition,
    Workload,
    client_of,
)
from kafka_rack.wire_tables.rows import Rows
from protocol.errors import ProtocolError
from protocol.uuids import uuid_from_text

Row = Mapping[str, Any]
REDIRECTS = SUMS.index("redirects")
LAYOUT = ("ts", "topic", "topic_id", "partition", "leader", "replicas", "isr", "error_code")
MEMBERSHIPS = (
    *("ts", "frame", "client_id", "client_addr", "event", "protocol", "group_id", "member_id", "instance_id"),
    *("assignor", "generation", "rack_id", "topics", "assignment", "error_code"),
)
CLASSIC, MODERN = "classic", ("consumer",)


@dataclass(slots=True)
class Gathering:
    """The partitions, settings and groups in captures of one cluster, added in any order."""

    layouts: dict[TopicPartition, tuple[int, ObservedPartition]] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    events: list[Row] = field(default_factory=list)
    settings: dict[Setting, str] = field(default_factory=dict)
    anywhere: set[str] = field(default_factory=set)
    redirected: bool = False

    def add(self, rows: Rows) -> None:
        """Add the data of some frames."""
        for ts, topic, topic_id, partition, leader, replicas, isr, error in rows.rows("partitions", LAYOUT):
            if topic is None or partition is None or error:
                continue
            if topic_id:
                self.topics[topic_id] = topic
            layout = ObservedPartition(tuple(replicas or ()), -1 if leader is None else leader, frozenset(isr or ()))
            known = self.layouts.get((topic, partition))
            if known is None or known[0] <= ts:
                self.layouts[topic, partition] = ts, layout
        for values in rows.rows("memberships", MEMBERSHIPS):
            row = dict(zip(MEMBERSHIPS, values, strict=True))
            if not row["error_code"] and row["group_id"] and not says_nothing_new(row):
                row["client_host"] = host(row.pop("client_addr"))
                self.events.append(row)

    def merge(self, other: Gathering) -> None:
        """Add the data of another capture of the same cluster."""
        for key, reported in other.layouts.items():
            known = self.layouts.get(key)
            if known is None or known[0] <= reported[0]:
                self.layouts[key] = reported
        self.topics |= other.topics
        self.events += other.events


@dataclass(slots=True)
class ObservedClusters:
    """Captures by cluster: those whose brokers' racks do not contradict each other are of one cluster."""

    rules: RackRules | None = None
    clusters: list[tuple[Workload, Gathering]] = field(default_factory=list)

    def add(self, ledger: Ledger, gathering: Gathering, known: Conclusions, last: int, window_us: int) -> None:
        """Add a capture: its flows, its data, and the conclusions from its evidence."""
        brokers: dict[int, str | None] = {**known.filed_brokers, **known.broker_racks}
        for key in ledger.flows:
            if key.broker is not None:
                brokers.setdefault(key.broker, key.broker_rack)
        for _, layout in gathering.layouts.values():
            for broker in (*layout.replicas, layout.leader):
                if broker >= 0:
                    brokers.setdefault(broker, None)
        for workload, whole in self.clusters:
            if all(not rack or workload.brokers.get(one) in (None, rack) for one, rack in brokers.items()):
                whole.merge(gathering)
                break
        else:
            workload, whole = Workload(), gathering
            self.clusters.append((workload, whole))
        workload.brokers |= {one: rack or workload.brokers.get(one) for one, rack in brokers.items()}
        workload.last = max(workload.last, last)
        workload.window_us = max(workload.window_us, window_us)
        whole.settings |= known.settings
        whole.anywhere |= known.led_anywhere
        for own, amounts in ledger.flows.items():
            key = own._replace(capture="")
            if key.category != REPLICATION:
                workload.see(key)
            if key.category == OTHER:
                continue
            whole.redirected |= key.category == CONSUME and amounts[REDIRECTS] > 0
            workload.flows[key] = add_amounts(workload.flows.get(key), amounts)
            if key.category == REPLICATION and (follower := known.follower(-1, client_of(key))) is not None:
                copied = follower, key.topic, key.partition, key.broker
                workload.replicated[copied] = workload.replicated.get(copied, 0) + amounts[RECORD_BYTES]

    def finish(self, captured_with: bool | None = None) -> list[Workload]:
        """A workload of each cluster.

        Args:
            captured_with: the user's statement whether brokers had the rack-aware replica selector.
        """
        for workload, gathering in self.clusters:
            for (topic, partition), (_, layout) in sorted(gathering.layouts.items()):
                workload.topics.setdefault(topic, {})[partition] = layout
            for text, topic in gathering.topics.items():
                try:
                    workload.topic_ids[topic] = uuid_from_text(text)
                except (ProtocolError, ValueError):
                    continue
            workload.groups = groups_of(gathering.events, gathering.topics)
            known, redirected = (gathering.settings, gathering.anywhere), gathering.redirected
            set_known_settings(workload, *known, redirected=redirected, captured_with=captured_with)
        return [workload for workload, _ in self.clusters]


def says_nothing_new(row: Row) -> bool:
    """True for a heartbeat of a member that continues as before, and for an answer without an assignment."""
    return (row["event"] == "heartbeat" and row["topics"] is None) or (
        row["event"] == "answered" and row["assignment"] is None
    )


def sender_of(row: Row) -> Client:
    return row["client_id"] or "", row["client_host"] or ""


def groups_of(events: Iterable[Row], topics: Mapping[str, str]) -> dict[str, ObservedGroup]:
    """Every group's generations, from ``memberships``."""
    by_group: dict[str, list[Row]] = {}
    for row in sorted(events, key=lambda row: (row["ts"], row["frame"])):
        by_group.setdefault(row["group_id"], []).append(row)
    found = {}
    for name, rows in by_group.items():
        protocol = rows[-1]["protocol"]
        own = [row for row in rows if row["protocol"] == protocol]
        assignor = next((row["assignor"] for row in reversed(own) if row["assignor"]), None)
        if protocol == CLASSIC:
            generations = classic_generations(own, topics)
        else:
            generations = list(modern_generations(own, topics)) if protocol in MODERN else []
        found[name] = ObservedGroup(protocol, assignor, generations)
    return found


def classic_generations(rows: list[Row], topics: Mapping[str, str]) -> list[ObservedGeneration]:
    """The members of each generation as its leader received them, with their assignments."""
    clients: dict[str, Client] = {}
    found: dict[int, ObservedGeneration] = {}
    alone: dict[int, dict[str, Row]] = {}
    for row in rows:
        event, member, number = row["event"], row["member_id"], row["generation"]
        if event in {"joined", "assigned"} and member:
            clients[member] = sender_of(row)
        if number is None or number < 0 or event not in {"member", "assign", "assigned"}:
            continue
        generation = found.setdefault(number, ObservedGeneration(row["ts"], {}))
        if event == "member":
            generation.members[member] = MemberSeen(
                ("", ""), tuple(row["topics"] or ()), row["rack_id"] or None, row["instance_id"]
            )
        elif event == "assign":
            generation.assignment[member] = pairs_of(row["assignment"], topics)
        else:
            alone.setdefault(number, {})[member] = row
    for number, generation in found.items():
        for member, row in alone.get(number, {}).items():
            owned = generation.assignment.setdefault(member, pairs_of(row["assignment"], topics))
            if member not in generation.members:  # the capture lacks its leader
                subscribed = tuple(sorted({topic for topic, _ in owned}))
                generation.members[member] = MemberSeen(("", ""), subscribed, None, row["instance_id"])
        for member, seen in generation.members.items():
            generation.members[member] = seen._replace(client=clients.get(member, ("", "")))
    return [found[number] for number in sorted(found, key=lambda number: found[number].since)]


def modern_generations(rows: list[Row], topics: Mapping[str, str]) -> Iterator[ObservedGeneration]:
    """A generation for each member that joins, leaves or changes its subscription."""
    current: ObservedGeneration | None = None
    for row in rows:
        event, member = row["event"], row["member_id"]
        if not member:
            continue
        members = current.members if current is not None else {}
        if event == "heartbeat" and row["topics"] is not None:
            seen = MemberSeen(sender_of(row), tuple(row["topics"]), row["rack_id"] or None, row["instance_id"])
            known = members.get(member)
            if known is not None and known.topics == seen.topics:
                continue
            changed = {**members, member: seen}
        elif event == "leave" and member in members:
            changed = {name: seen for name, seen in members.items() if name != member}
        else:
            if event == "answered" and current is not None and row["assignment"] is not None and member in members:
                current.assignment[member] = pairs_of(row["assignment"], topics)
            continue
        owned = {} if current is None else {one: its for one, its in current.assignment.items() if one in changed}
        if current is not None:
            yield current
        current = ObservedGeneration(row["ts"], changed, owned)
    if current is not None:
        yield current


def pairs_of(parts: Iterable[Mapping[str, Any]] | None, topics: Mapping[str, str]) -> list[TopicPartition]:
    found = []
    for part in parts or ():
        topic = part["topic"] or topics.get(part["topic_id"] or "", part["topic_id"])
        found += [(topic, partition) for partition in part["partitions"] or ()]
    return sorted(found)
