"""A workload out of captures: the ledger's flows, where partitions and brokers are, and what groups did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_rack.locality.evidence import Conclusions, host
from kafka_rack.locality.ledger import RECORD_BYTES, Ledger
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.reasons import CONSUME, OTHER, PRODUCE
from kafka_rack.locality.tables import SUMS
from kafka_rack.locality.traffic import TrafficKey
from kafka_rack.what_if.workload import (
    Client,
    ClientPosition,
    MemberSeen,
    ObservedGeneration,
    ObservedGroup,
    ObservedPartition,
    TopicPartition,
    Workload,
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
    """What captures of one cluster say of its partitions, brokers and groups, in any order."""

    layouts: dict[TopicPartition, tuple[int, ObservedPartition]] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    events: list[Row] = field(default_factory=list)

    def add(self, rows: Rows) -> None:
        """Take what some frames say."""
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
        """Take what another capture of the same cluster says."""
        for key, told in other.layouts.items():
            known = self.layouts.get(key)
            if known is None or known[0] <= told[0]:
                self.layouts[key] = told
        self.topics |= other.topics
        self.events += other.events


@dataclass(slots=True)
class ObservedClusters:
    """Captures put together by cluster: those whose brokers' racks do not contradict each other are of one."""

    rules: RackRules | None = None
    clusters: list[tuple[Workload, Gathering]] = field(default_factory=list)

    def add(self, ledger: Ledger, gathering: Gathering, known: Conclusions, last: int) -> None:
        """Add a capture: its flows, what it says, and what its evidence comes to."""
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
            workload = Workload()
            self.clusters.append((workload, gathering))
        workload.brokers |= {one: rack or workload.brokers.get(one) for one, rack in brokers.items()}
        workload.last = max(workload.last, last)
        workload.diskless |= known.diskless
        for key, amounts in ledger.flows.items():
            add_flow(workload, key, amounts, known)

    def finish(self) -> list[Workload]:
        """A workload of each cluster."""
        for workload, gathering in self.clusters:
            for (topic, partition), (_, layout) in sorted(gathering.layouts.items()):
                workload.topics.setdefault(topic, {})[partition] = layout
            for text, topic in gathering.topics.items():
                try:
                    workload.topic_ids[topic] = uuid_from_text(text)
                except (ProtocolError, ValueError):
                    continue
            workload.groups = groups_of(gathering.events, gathering.topics)
        return [workload for workload, _ in self.clusters]


def add_flow(workload: Workload, key: TrafficKey, amounts: Sequence[int], known: Conclusions) -> None:
    """Add a flow of the ledger."""
    if key.category == OTHER:
        return
    key = key._replace(window=0, capture="")
    before = workload.flows.get(key)
    workload.flows[key] = tuple(amounts) if before is None else tuple(map(int.__add__, before, amounts))
    size = amounts[RECORD_BYTES]
    client = (key.client_id or "", key.client_host or "")
    if key.category == PRODUCE:
        add(workload.produced, (client, key.topic, key.partition, key.broker), size)
    elif key.category == CONSUME:
        add(workload.consumed, (client, key.group_id, key.topic, key.partition, key.broker), size)
        workload.reads_from_followers |= amounts[REDIRECTS] > 0
    else:
        follower = known.follower(-1, client)
        if follower is not None:
            add(workload.replicated, (follower, key.topic, key.partition, key.broker), size)
        return
    position = workload.position(client)
    is_named = key.client_rack_from == "request" or (key.client_rack_from == "racks_file" and key.told_rack is not None)
    is_zone = key.client_rack_from in ("client_id", "listener")
    workload.positions[client] = ClientPosition(
        key.client_rack or position.rack,
        key.told_rack if is_named else position.named,
        key.told_rack if is_zone else position.zone,
    )


def add(sizes: dict[Any, int], key: Any, size: int) -> None:
    sizes[key] = sizes.get(key, 0) + size


def says_nothing_new(row: Row) -> bool:
    """Whether this is a heartbeat of a member that goes on as before, or an answer without an assignment."""
    return (row["event"] == "heartbeat" and row["topics"] is None) or (
        row["event"] == "answered" and row["assignment"] is None
    )


def client_of(row: Row) -> Client:
    return row["client_id"] or "", row["client_host"] or ""


def groups_of(events: Iterable[Row], topics: Mapping[str, str]) -> dict[str, ObservedGroup]:
    """Every group's generations, out of ``memberships``."""
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
    """What each generation's leader was told of its members, and what each of these got."""
    clients: dict[str, Client] = {}
    found: dict[int, ObservedGeneration] = {}
    alone: dict[int, dict[str, Row]] = {}
    for row in rows:
        event, member, number = row["event"], row["member_id"], row["generation"]
        if event in {"joined", "assigned"} and member:
            clients[member] = client_of(row)
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
            if member not in generation.members:  # its leader was not heard
                subscribed = tuple(sorted({topic for topic, _ in owned}))
                generation.members[member] = MemberSeen(("", ""), subscribed, None, row["instance_id"])
        for member, seen in generation.members.items():
            generation.members[member] = seen._replace(client=clients.get(member, ("", "")))
    return [found[number] for number in sorted(found, key=lambda number: found[number].since)]


def modern_generations(rows: list[Row], topics: Mapping[str, str]) -> Iterator[ObservedGeneration]:
    """A generation for each member that comes or goes, or subscribes to something else."""
    current: ObservedGeneration | None = None
    for row in rows:
        event, member = row["event"], row["member_id"]
        if not member:
            continue
        members = current.members if current is not None else {}
        if event == "heartbeat" and row["topics"] is not None:
            seen = MemberSeen(client_of(row), tuple(row["topics"]), row["rack_id"] or None, row["instance_id"])
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
        kept = {} if current is None else {one: owned for one, owned in current.assignment.items() if one in changed}
        if current is not None:
            yield current
        current = ObservedGeneration(row["ts"], changed, kept)
    if current is not None:
        yield current


def pairs_of(parts: Iterable[Mapping[str, Any]] | None, topics: Mapping[str, str]) -> list[TopicPartition]:
    found = []
    for part in parts or ():
        topic = part["topic"] or topics.get(part["topic_id"] or "", part["topic_id"])
        found += [(topic, partition) for partition in part["partitions"] or ()]
    return sorted(found)
