"""A workload out of rows of the decoded tables, added up before they come here: docs/tables.md has their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafka_rack.locality.client_location import locate_client
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.what_if.workload import (
    Amount,
    Client,
    ClientPosition,
    MemberSeen,
    ObservedGeneration,
    ObservedGroup,
    ObservedPartition,
    TopicPartition,
    Workload,
)
from protocol.errors import ProtocolError
from protocol.uuids import uuid_from_text

Row = Mapping[str, Any]
SUMS = ("request_bytes", "response_bytes", "record_bytes")
WHO = ("client_id", "client_host", "client_rack", "broker", "broker_rack")
PRODUCED = (*WHO, "topic", "topic_id", "partition")
FETCHED = (*PRODUCED, "who", "replica_id", "replica_rack", "group_id", "leader", "redirected")
"""What rows of ``produces`` and ``fetches`` are added up by; ``client_host`` is the address without port."""
PARTITIONS = (
    *("topic", "topic_id", "partition", "leader", "leader_rack", "leader_epoch", "replicas", "replica_racks", "isr"),
)
"""The columns that differ between what was told of partitions; with ``ts``, when it was told last."""
BROKERS = ("broker_id", "rack")
MEMBERSHIPS = (
    *("ts", "frame", "client_id", "client_host", "event", "protocol", "group_id", "member_id", "instance_id"),
    *("assignor", "generation", "rack_id", "topics", "assignment", "error_code"),
)
"""All rows of it, but heartbeats that say nothing new."""
CLASSIC, MODERN = "classic", ("consumer",)


class Gathering:
    """Takes rows in any order; ``workload`` makes of them what they come to."""

    def __init__(self, rules: RackRules | None = None) -> None:
        self.rules = rules
        self.workload = Workload(first=1 << 62)
        self._named: dict[Client, set[str]] = {}
        self._told: dict[tuple[str, int], tuple[int, ObservedPartition]] = {}
        self._led_by: dict[tuple[str, int, int], set[int]] = {}
        self._topics: dict[str, str] = {}
        self._events: list[Row] = []
        self._clients_groups: dict[Client, set[str]] = {}
        self._consumed: dict[tuple[Client, str | None, str | None, str | None, int | None, int | None], Amount] = {}

    def span(self, first: int, last: int) -> None:
        """From when to when something was captured, microseconds since 1970."""
        self.workload.first = min(self.workload.first, first)
        self.workload.last = max(self.workload.last, last)

    def produced(self, rows: Iterable[Row]) -> None:
        for row in rows:
            client = self._client(row)
            key = (client, row["topic"] or row["topic_id"], row["partition"], row["broker"])
            add(self.workload.produced, key, row)

    def fetched(self, rows: Iterable[Row]) -> None:
        for row in rows:
            topic = row["topic"] or row["topic_id"]
            if row["who"] == "follower":
                self._broker(row["replica_id"], row["replica_rack"])
                self._broker(row["broker"], row["broker_rack"])
                add(self.workload.replicated, (row["replica_id"], topic, row["partition"], row["broker"]), row)
                continue
            client = self._client(row)
            add(self._consumed, (client, row["group_id"], topic, row["topic_id"], row["partition"], row["broker"]), row)
            away = row["leader"] is not None and row["broker"] is not None and row["leader"] != row["broker"]
            if row["redirected"] or (away and row["record_bytes"]):
                self.workload.reads_from_followers = True

    def partitions(self, rows: Iterable[Row]) -> None:
        for row in rows:
            topic, partition = row["topic"], row["partition"]
            if topic is None or partition is None:
                continue
            if row["topic_id"]:
                self._topics[row["topic_id"]] = topic
            replicas = tuple(row["replicas"] or ())
            for broker, rack in zip(replicas, row["replica_racks"] or (), strict=False):
                self._broker(broker, rack)
            leader = row["leader"] if row["leader"] is not None else -1
            if leader >= 0:
                self._broker(leader, row["leader_rack"])
                if len(replicas) == 1 and (row["leader_epoch"] or 0) >= 0:
                    self._led_by.setdefault((topic, partition, row["leader_epoch"] or 0), set()).add(leader)
            known = self._told.get((topic, partition))
            if known is None or known[0] <= row["ts"]:
                layout = ObservedPartition(replicas, leader, frozenset(row["isr"] or ()))
                self._told[topic, partition] = (row["ts"], layout)

    def brokers(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._broker(row["broker_id"], row["rack"])

    def memberships(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if row["error_code"] or not row["group_id"]:
                continue
            self._events.append(row)
            if row["event"] not in {"member", "assign"}:  # in which a leader is told, or speaks, of others
                client = client_of(row)
                self._clients_groups.setdefault(client, set()).add(row["group_id"])
                if row["rack_id"]:
                    self._named.setdefault(client, set()).add(row["rack_id"])

    def finish(self) -> Workload:
        """All that was taken, put together."""
        found = self.workload
        found.first = min(found.first, found.last)
        for broker, rack in found.brokers.items():
            if rack is None and self.rules is not None:
                found.brokers[broker] = self.rules.brokers.get(broker)
        for (topic, partition), (_, layout) in sorted(self._told.items()):
            found.topics.setdefault(topic, {})[partition] = layout
        found.diskless = frozenset(topic for (topic, _, _), leaders in self._led_by.items() if len(leaders) > 1)
        for text, topic in self._topics.items():
            try:
                found.topic_ids[topic] = uuid_from_text(text)
            except (ProtocolError, ValueError):
                continue
        found.produced = self._with_names(found.produced)
        for (client, group, told, topic_id, number, served_by), amount in self._consumed.items():
            name = self._topics.get(topic_id or "", told)
            groups = self._clients_groups.get(client, set())
            own = group or (next(iter(groups)) if len(groups) == 1 else None)
            key = (client, own, name, number, served_by)
            known = found.consumed.get(key)
            found.consumed[key] = amount if known is None else known.plus(amount)
        self._place_clients()
        found.groups = groups_of(self._events, self._topics)
        return found

    def _with_names(self, amounts: Mapping[Any, Amount]) -> dict[Any, Amount]:
        named: dict[Any, Amount] = {}
        for (client, topic, partition, broker), amount in amounts.items():
            key = (client, self._topics.get(topic or "", topic), partition, broker)
            named[key] = amount if key not in named else named[key].plus(amount)
        return named

    def _client(self, row: Row) -> Client:
        client = client_of(row)
        named = self._named.setdefault(client, set())
        if row["client_rack"]:
            named.add(row["client_rack"])
        self._broker(row["broker"], row["broker_rack"])
        return client

    def _broker(self, broker: int | None, rack: str | None) -> None:
        if broker is not None and broker >= 0 and (rack or broker not in self.workload.brokers):
            self.workload.brokers[broker] = rack or None

    def _place_clients(self) -> None:
        cluster = frozenset(rack for rack in self.workload.brokers.values() if rack)
        for client, racks in self._named.items():
            named = next(iter(racks)) if len(racks) == 1 else None
            where = locate_client(
                named, "request" if named else None, self.rules, client[0], client[1] or None, cluster
            )
            self.workload.positions[client] = ClientPosition(where.rack, named)


def client_of(row: Row) -> Client:
    return row["client_id"] or "", row["client_host"] or ""


def add(amounts: dict[Any, Amount], key: Any, row: Row) -> None:
    amount = Amount(*(row[name] or 0 for name in SUMS))
    known = amounts.get(key)
    amounts[key] = amount if known is None else known.plus(amount)


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
