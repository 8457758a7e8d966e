"""What is wrong, or less than it could be, with an assignment: findings that a person should know before production.

Some are Kafka's own faults, which the ports keep because production has them; some are the group's or the cluster's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kafka_rack.assignment.even import EvenShares
from kafka_rack.assignment.members import Assignment, Member
from kafka_rack.assignment.sticky import cooperative_data, solve, sticky_data
from kafka_rack.assignment.topology import Topology
from kafka_rack.rack_names import rack_hints

RACK_AWARE = ("range", "sticky", "cooperative-sticky", "rack-uniform")
"""Assignors that look at racks: Kafka's, and the one that is proposed."""
SHOWN = 5
"""Partitions or members that a finding names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class AssignmentFinding:
    """One thing to know.

    Attributes:
        kind: a word for programs, from those in this module.
        whose: "kafka" (a fault of Kafka's code), "group" (the consumers' settings) or "cluster".
        text: one line for people.
        partitions, members: what it is about, sorted; may be empty.
    """

    kind: str
    whose: str
    text: str
    partitions: tuple[tuple[str, int], ...] = ()
    members: tuple[str, ...] = ()


def find_faults(
    assignor: str, topology: Topology, members: Sequence[Member], assignment: Assignment, *, ours: bool = False
) -> list[AssignmentFinding]:
    """All findings about an assignment, those about racks first.

    Args:
        members: in Java's map order, as they were assigned.
        ours: the assignor has rack awareness of ours.
    """
    waiting = list(_about_waiting(assignor, topology, members, assignment))
    # What is handed over later is missing from somebody's load now.
    between = any(finding.kind == "handed-over-later" for finding in waiting)
    return [
        *_about_racks(assignor, topology, members, ours=ours),
        *_about_java(assignor, topology, members, ours=ours),
        *_about_owners(topology, members, assignment),
        *waiting,
        *([] if between else _about_balance(members, assignment)),
    ]


def _about_racks(
    assignor: str, topology: Topology, members: Sequence[Member], *, ours: bool
) -> Iterator[AssignmentFinding]:
    named = {member.rack for member in members if member.rack}
    without = tuple(sorted(member.member_id for member in members if not member.rack))
    brokers = topology.broker_racks
    if assignor not in RACK_AWARE and not ours:
        yield AssignmentFinding("no-rack-awareness", "kafka", f"{assignor} never looks at racks")
    if not named:
        yield AssignmentFinding(
            "no-member-rack", "group", "no consumer names its rack (client.rack), so racks decide nothing"
        )
        return
    if without:
        yield AssignmentFinding(
            "members-without-rack",
            "group",
            f"{_counted(without, 'consumer')} without a rack (client.rack) take partitions of any rack",
            members=without,
        )
    rackless = sorted(broker for broker, rack in brokers.items() if not rack)
    if rackless:
        text = f"brokers without a rack: {_listed(map(str, rackless))}; their replicas are in nobody's rack"
        yield AssignmentFinding("brokers-without-rack", "cluster", text)
    elsewhere = sorted(named - {rack for rack in brokers.values() if rack})
    if elsewhere:
        hints = rack_hints([*elsewhere, *brokers.values()])
        text = f"no broker is in {_listed(elsewhere)}; consumers there read everything across racks"
        yield AssignmentFinding("unknown-rack", "group", "; ".join([text, *hints]))
    if assignor not in RACK_AWARE and not ours:
        return
    everywhere = 0
    for topic in topology.replicas:
        for mask in topology.racks_of(topic):
            everywhere |= mask
    subscribed = {topic for member in members for topic in member.topic_set}
    masks = {mask for topic in subscribed for mask in topology.racks_of(topic)}
    if masks == {everywhere} and everywhere:
        text = "every partition has a replica in every rack: racks need not decide, and do not"
        yield AssignmentFinding("racks-everywhere", "cluster", text)
    if assignor == "range":
        yield from _about_co_partitioning(topology, members)


def _about_co_partitioning(topology: Topology, members: Sequence[Member]) -> Iterator[AssignmentFinding]:
    """Topics that range handles together although no rack holds all of their equally numbered partitions."""
    groups: dict[tuple[frozenset[str], int], list[str]] = {}
    for topic in sorted({topic for member in members for topic in member.topic_set}):
        if topology.partition_count(topic):
            subscribers = frozenset(member.member_id for member in members if topic in member.topic_set)
            groups.setdefault((subscribers, topology.partition_count(topic)), []).append(topic)
    for (_, count), topics in groups.items():
        if len(topics) < 2:
            continue
        apart = [number for number in range(count) if not _common_racks(topology, topics, number)]
        if apart:
            yield AssignmentFinding(
                "co-partitioned-apart",
                "kafka",
                f"range keeps equal numbers of {_listed(topics)} together, but {len(apart)} of {count} numbers"
                " share no rack over these topics and are dealt without looking at racks",
                partitions=tuple((topic, number) for topic in topics for number in apart),
            )


def _common_racks(topology: Topology, topics: Sequence[str], number: int) -> int:
    common = -1
    for topic in topics:
        common &= topology.racks_of(topic)[number]
    return common


def _about_java(
    assignor: str, topology: Topology, members: Sequence[Member], *, ours: bool
) -> Iterator[AssignmentFinding]:
    if assignor not in ("sticky", "cooperative-sticky") or ours or not members:
        return
    member_data = sticky_data if assignor == "sticky" else cooperative_data
    _, claims, shares = solve(topology, members, member_data)
    if isinstance(shares, EvenShares):
        text = "Kafka's own code fails or never ends on these claims; what is shown is ours"
        yield AssignmentFinding("kafka-fails", "kafka", text)
    idle = tuple(sorted(member.member_id for member in members if not member.topics))
    if claims.equal and idle and len(idle) < len(members):
        yield AssignmentFinding(
            "taken-for-equal",
            "kafka",
            f"{_counted(idle, 'consumer')} without topics, met first: Kafka takes all subscriptions for equal and"
            " gives partitions also to those who did not ask",
            members=idle,
        )


def _about_owners(topology: Topology, members: Sequence[Member], assignment: Assignment) -> Iterator[AssignmentFinding]:
    topics_of = {member.member_id: member.topic_set for member in members}
    strange, takers, missing = set(), set(), set()
    counts: Counter[tuple[str, int]] = Counter()
    for member, pairs in assignment.items():
        counts.update(pairs)
        for topic, partition in pairs:
            if topic not in topics_of[member]:
                strange.add((topic, partition))
                takers.add(member)
            if partition >= topology.partition_count(topic) or partition < 0:
                missing.add((topic, partition))
    doubled = sorted(pair for pair, count in counts.items() if count > 1)
    if strange:
        text = f"{_pairs(sorted(strange))} went to consumers that do not subscribe to the topic; nobody reads them"
        yield AssignmentFinding("unsubscribed-owner", "kafka", text, tuple(sorted(strange)), tuple(sorted(takers)))
    if doubled:
        yield AssignmentFinding(
            "two-owners", "kafka", f"{_pairs(doubled)} have two owners and are read twice", tuple(doubled)
        )
    if missing:
        text = f"{_pairs(sorted(missing))} were claimed and stay assigned, but do not exist"
        yield AssignmentFinding("missing-partition", "kafka", text, tuple(sorted(missing)))


def _about_waiting(
    assignor: str, topology: Topology, members: Sequence[Member], assignment: Assignment
) -> Iterator[AssignmentFinding]:
    assigned = {pair for pairs in assignment.values() for pair in pairs}
    subscribed = sorted({topic for member in members for topic in member.topic_set})
    waiting = [
        (topic, partition)
        for topic in subscribed
        for partition in range(topology.partition_count(topic))
        if (topic, partition) not in assigned
    ]
    if waiting and assignor == "cooperative-sticky":
        text = f"{_pairs(waiting)} must first be given up by their owners; the next rebalance hands them over"
        yield AssignmentFinding("handed-over-later", "group", text, tuple(waiting))
    unknown = [topic for topic in subscribed if not topology.partition_count(topic)]
    if unknown:
        yield AssignmentFinding(
            "topic-without-partitions", "group", f"no partitions of {_listed(unknown)}: nothing to assign"
        )


def _about_balance(members: Sequence[Member], assignment: Assignment) -> Iterator[AssignmentFinding]:
    """A member with two partitions more than another that could have taken one."""
    loads = {member.member_id: len(assignment.get(member.member_id, ())) for member in members}
    lightest: dict[str, tuple[int, str]] = {}
    for member in members:
        for topic in member.topic_set:
            mine = loads[member.member_id], member.member_id
            lightest[topic] = min(lightest.get(topic, mine), mine)
    worst: tuple[int, str, str] | None = None
    uneven = []
    for member in members:
        topics = {topic for topic, _ in assignment.get(member.member_id, ())} & lightest.keys()
        gap, other = max(
            ((loads[member.member_id] - lightest[topic][0], lightest[topic][1]) for topic in topics), default=(0, "")
        )
        if gap >= 2:
            uneven.append(member.member_id)
            worst = max(worst or (0, "", ""), (gap, member.member_id, other))
    if worst is not None:
        gap, heavy, light = worst
        yield AssignmentFinding(
            "uneven",
            "kafka",
            f"{heavy} has {loads[heavy]} partitions, {light} only {loads[light]}, though it could take some",
            members=tuple(sorted(uneven)),
        )


def _pairs(pairs: Sequence[tuple[str, int]]) -> str:
    return _listed([f"{topic}-{partition}" for topic, partition in pairs])


def _listed(names: object) -> str:
    all_names = [str(name) for name in names]  # type: ignore[attr-defined]
    more = len(all_names) - SHOWN
    return ", ".join(all_names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _counted(names: Sequence[str], noun: str) -> str:
    return f"1 {noun} ({names[0]})" if len(names) == 1 else f"{len(names)} {noun}s ({_listed(names)})"
