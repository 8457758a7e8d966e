"""Replays a group's history with the same members, under another protocol or assignor, or with other racks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from kafka_rack.assignment import CONSUMER_SIDE, SERVER_ASSIGNORS, Topology, assign_members, in_hash_order
from kafka_rack.assignment.members import Assignment, Member
from kafka_rack.assignment.user_data import write_cooperative, write_sticky
from kafka_rack.errors import PartitionAssignorError
from kafka_rack.what_if.workload import Client, MemberSeen, ObservedGeneration, ObservedGroup, TopicPartition

CLASSIC, CONSUMER = "classic", "consumer"
COOPERATIVE = "cooperative-sticky"
RackOf = Callable[[MemberSeen], str | None]
"""The rack that a member names."""


@dataclass(slots=True)
class GroupHistory:
    """The history of a group.

    Attributes:
        members: the largest number of members.
        rebalances: the number of assignments after the first.
        stopped: revoked partitions, added up over the rebalances: with eager
            assignors all of them, else those that moved.
        moved: the revoked partitions that had another owner afterwards.
        readers: the clients that read a partition, each with its start and end; empty if unknown.
        note: why the group could not be replayed, None if it was.
    """

    protocol: str
    assignor: str | None
    members: int = 0
    rebalances: int = 0
    stopped: int = 0
    moved: int = 0
    readers: dict[TopicPartition, list[tuple[int, int, Client]]] = field(default_factory=dict)
    note: str | None = None

    def take(
        self, generation: ObservedGeneration, assignment: Mapping[str, Sequence[TopicPartition]], until: int
    ) -> None:
        """Record the assignment of a generation that ends at ``until``."""
        self.members = max(self.members, len(generation.members))
        for member, owned in assignment.items():
            seen = generation.members.get(member)
            if seen is None:
                continue
            for place in owned:
                self.readers.setdefault(place, []).append((generation.since, until, seen.client))

    def readers_between(self, place: TopicPartition, first: int, last: int) -> dict[Client, int]:
        """The time for which each client read a partition between two times; the last reader if none did."""
        found: dict[Client, int] = {}
        spans = self.readers.get(place, [])
        for since, until, client in spans:
            shared = min(until, last) - max(since, first)
            if shared > 0:
                found[client] = found.get(client, 0) + shared
        return found or {client: 1 for _, _, client in spans[-1:]}

    def change(
        self, before: Mapping[str, Sequence[TopicPartition]], after: Mapping[str, Sequence[TopicPartition]]
    ) -> None:
        """Count one rebalance."""
        self.rebalances += 1
        owner = {place: member for member, owned in after.items() for place in owned}
        had_owner = [(place, member) for member, owned in before.items() for place in owned]
        moved = sum(owner.get(place) != member for place, member in had_owner)
        self.moved += moved
        is_eager = self.protocol == CLASSIC and self.assignor != COOPERATIVE
        self.stopped += len(had_owner) if is_eager else moved


def as_captured(group: ObservedGroup, end: int) -> GroupHistory:
    """A group's history in the capture."""
    found = GroupHistory(group.protocol, group.assignor)
    for generation, until in ended(group.generations, end):
        found.take(generation, generation.assignment, until)
    for before, after in pairwise(group.generations):
        found.change(before.assignment, after.assignment)
    return found


def replayed(
    group: ObservedGroup,
    topology: Topology,
    end: int,
    rack_of: RackOf,
    protocol: str | None = None,
    assignor: str | None = None,
    default: str = "uniform",
) -> GroupHistory:
    """The same members in the same order, assigned again.

    Args:
        protocol, assignor: the group's own if None; an assignor alone implies its protocol.
        default: the coordinator's assignor for groups of the consumer protocol.
    """
    defaults = {CLASSIC: "range", CONSUMER: default}
    if group.protocol not in defaults:
        return noted(group, end, f"groups of the {group.protocol} protocol are left as they are")
    protocol = protocol or protocol_of(assignor, group.protocol)
    name = assignor or (group.assignor if protocol == group.protocol else None) or defaults[protocol]
    known = CONSUMER_SIDE if protocol == CLASSIC else tuple(SERVER_ASSIGNORS)
    if name not in known:
        return noted(group, end, f"its assignor {name} is not one of Kafka's, so it is left as it is")
    found = GroupHistory(protocol, name)
    owned: Assignment = {}
    try:
        for number, (generation, until) in enumerate(ended(causes(group.generations), end)):
            before = owned
            owned, steps = assigned(found, topology, generation, before, rack_of, number)
            for step_before, step_after in pairwise([before, *steps]):
                if number:
                    found.change(step_before, step_after)
            found.take(generation, owned, until)
    except PartitionAssignorError as error:
        return noted(group, end, f"left as it is: {error}")
    return found


def assigned(
    found: GroupHistory,
    topology: Topology,
    generation: ObservedGeneration,
    before: Assignment,
    rack_of: RackOf,
    number: int,
) -> tuple[Assignment, list[Assignment]]:
    """The final assignment of a generation, and those before it: cooperative members first revoke partitions."""
    assert found.assignor is not None
    owned = {member: before.get(member, []) for member in generation.members}
    steps: list[Assignment] = []
    for _ in range(3):
        members = in_hash_order(
            [member_of(found, name, seen, owned[name], rack_of, number) for name, seen in generation.members.items()]
        )
        if found.protocol == CONSUMER:
            after = SERVER_ASSIGNORS[found.assignor](topology, members)
        else:
            after = assign_members(found.assignor, topology, members)
        steps.append(after)
        has_settled = found.assignor != COOPERATIVE or after == owned
        owned = {member: after.get(member, []) for member in generation.members}
        if has_settled or all_given(topology, generation, owned):
            break
    return owned, steps


def all_given(topology: Topology, generation: ObservedGeneration, owned: Assignment) -> bool:
    topics = {topic for seen in generation.members.values() for topic in seen.topics}
    return sum(map(len, owned.values())) >= sum(map(topology.partition_count, topics))


def member_of(
    found: GroupHistory, name: str, seen: MemberSeen, owned: Sequence[TopicPartition], rack_of: RackOf, number: int
) -> Member:
    user_data = None
    if found.assignor == "sticky" and number:
        user_data = write_sticky(owned, number)
    elif found.assignor == COOPERATIVE and number:
        user_data = write_cooperative(number)
    reports_owned = found.protocol == CONSUMER or found.assignor == COOPERATIVE
    by_topic = [(topic, [one for _, one in run]) for topic, run in groupby(sorted(owned), key=lambda one: one[0])]
    return Member(
        name,
        list(seen.topics),
        rack_of(seen),
        seen.instance_id,
        by_topic if reports_owned else (),
        number or None,
        user_data,
    )


def protocol_of(assignor: str | None, otherwise: str) -> str:
    """The protocol of an assignor; ``range``, which both have, keeps the group's own."""
    if assignor in CONSUMER_SIDE and assignor not in SERVER_ASSIGNORS:
        return CLASSIC
    if assignor in SERVER_ASSIGNORS and assignor not in CONSUMER_SIDE:
        return CONSUMER
    return otherwise


def noted(group: ObservedGroup, end: int, note: str) -> GroupHistory:
    found = as_captured(group, end)
    found.note = note
    return found


def causes(generations: Sequence[ObservedGeneration]) -> list[ObservedGeneration]:
    """Generations caused by members that joined, left or changed their subscription.

    The assignor caused the others: in a second rebalance cooperative members get the revoked partitions.
    """
    found: list[ObservedGeneration] = []
    for generation in generations:
        if not found or what_members_want(generation) != what_members_want(found[-1]):
            found.append(generation)
    return found


def what_members_want(generation: ObservedGeneration) -> dict[str, tuple[tuple[str, ...], str | None]]:
    return {name: (seen.topics, seen.rack) for name, seen in generation.members.items()}


def ended(generations: Sequence[ObservedGeneration], end: int) -> list[tuple[ObservedGeneration, int]]:
    """Each generation and its end, at least a microsecond after its start."""
    ends = [*(generation.since for generation in generations), end][1:]
    return [(one, max(until, one.since + 1)) for one, until in zip(generations, ends, strict=True)]
