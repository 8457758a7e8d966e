"""``rack-uniform``: the rack-aware assignor that the group coordinator lacks. Proposed (KAFKA-19909), in no release.

Three goals by priority, each reached as far as possible:

1. balance: equal subscribers differ by one partition at most, others are as even as their subscriptions permit;
2. racks: as many partitions as possible have a replica in their owner's rack;
3. stickiness: as few partitions as possible leave the member that has them.

``even_loads`` solves the first. The others are flows of least cost from kinds of partitions to members: first from
kinds to classes of members for the racks, then, over the arcs that any cheapest flow may use, from kinds to single
members for the moves. A class is the members of one rack with the same topics; a kind, the partitions with the same
subscribers and the same racks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kafka_rack.assignment.cheapest_flow import UNLIMITED, FlowNetwork
from kafka_rack.assignment.even_loads import even_bases
from kafka_rack.assignment.members import Assignment, Member, TopicPartition, by_member_id, subscribed_topics
from kafka_rack.assignment.topology import Topology
from kafka_rack.errors import PartitionAssignorError

SOURCE, SINK, SPARE = 0, 1, 2
"""Nodes of every network: the source of partitions, their sink, and the counter of those above the base."""


@dataclass(slots=True)
class _Class:
    """Members, by place, of one rack with the same topics; ``pools`` are those of their base."""

    bit: int
    base: int
    pools: list[int]
    members: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Kind:
    """Partitions of one pool with the same racks, and how many of them each member has now."""

    pool: int
    mask: int
    partitions: list[TopicPartition] = field(default_factory=list)
    kept: dict[int, list[TopicPartition]] = field(default_factory=dict)


def assign_rack_uniform(topology: Topology, members: Sequence[Member]) -> Assignment:
    """The target assignment that is best in balance, then racks, then stickiness.

    Args:
        topology: the brokers' racks and the replicas; a replica that is down counts.
        members: in any order; ``owned`` of each is its present target.

    Returns: {member id: [(topic, partition), ...]} in the order of ``members``, the same for any order of them.

    Raises: PartitionAssignorError: a subscribed topic does not exist.

    >>> topology = Topology({0: "a", 1: "b"}, {"orders": [[0], [1], [0], [1]]})
    >>> assign_rack_uniform(topology, [Member("one", ["orders"], rack="b"), Member("two", ["orders"], rack="a")])
    {'one': [('orders', 1), ('orders', 3)], 'two': [('orders', 0), ('orders', 2)]}
    """
    ordered = by_member_id(members)
    topics = subscribed_topics(members)
    for topic in topics:
        if topic not in topology.replicas:
            raise PartitionAssignorError(f"members subscribe to topic {topic}, which does not exist")
    pools, classes = _pools_and_classes(topology, ordered, topics)
    kinds = _kinds(topology, ordered, pools, classes)
    assigned: list[list[TopicPartition]] = [[] for _ in ordered]
    for base in sorted({one.base for one in classes}):
        # Members of different bases share no partitions.
        here = [one for one in classes if one.base == base]
        their_pools = {pool for one in here for pool in one.pools}
        _Deal(here, [kind for kind in kinds if kind.pool in their_pools]).run(assigned)
    rank = {topic: place for place, topic in enumerate(topics)}
    flat = {
        member.member_id: sorted(pairs, key=lambda pair: (rank[pair[0]], pair[1]))
        for member, pairs in zip(ordered, assigned, strict=True)
    }
    return {member.member_id: flat[member.member_id] for member in members}


def _pools_and_classes(
    topology: Topology, members: Sequence[Member], topics: Sequence[str]
) -> tuple[list[list[str]], list[_Class]]:
    """The topics of each pool, and the classes with their bases."""
    subscriptions: dict[frozenset[str], int] = {}
    for member in members:
        subscriptions.setdefault(member.topic_set, len(subscriptions))
    takers: dict[str, list[int]] = {topic: [] for topic in topics if topology.partition_count(topic)}
    for topic_set, number in subscriptions.items():
        for topic in topic_set:
            if topic in takers:
                takers[topic].append(number)
    by_takers: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for topic, numbers in takers.items():
        by_takers[tuple(numbers)].append(topic)
    pools = list(by_takers.values())
    sizes = [0] * len(subscriptions)
    for member in members:
        sizes[subscriptions[member.topic_set]] += 1
    counts = [sum(map(topology.partition_count, names)) for names in pools]
    bases, pool_bases = even_bases(sizes, list(by_takers), counts)
    found: dict[tuple[int, int], _Class] = {}
    pools_of: list[list[int]] = [[] for _ in subscriptions]
    for pool, subscribers in enumerate(by_takers):
        for number in subscribers:
            if pool_bases[pool] == bases[number]:
                pools_of[number].append(pool)
    for place, member in enumerate(members):
        number, bit = subscriptions[member.topic_set], topology.bit(member.rack)
        if (number, bit) not in found:
            found[number, bit] = _Class(bit, bases[number], pools_of[number])
        found[number, bit].members.append(place)
    return pools, list(found.values())


def _kinds(
    topology: Topology, members: Sequence[Member], pools: Sequence[Sequence[str]], classes: Sequence[_Class]
) -> list[_Kind]:
    """All partitions by kind. One that several members claim is a kind of its own: only one of them can keep it."""
    claims: dict[TopicPartition, list[int]] = {}
    for place, member in enumerate(members):
        for topic, partition in member.owned_partitions():
            if topic in member.topic_set and 0 <= partition < topology.partition_count(topic):
                owners = claims.setdefault((topic, partition), [])
                if place not in owners:
                    owners.append(place)
    bits = [0] * len(pools)
    for one in classes:
        for pool in one.pools:
            bits[pool] |= one.bit
    kinds: list[_Kind] = []
    for pool, topics in enumerate(pools):
        by_mask: dict[int, _Kind] = {}
        for topic in topics:
            for partition, racks in enumerate(topology.racks_of(topic)):
                mask, pair = racks & bits[pool], (topic, partition)
                owners = claims.get(pair, [])
                if len(owners) > 1:
                    kinds.append(_Kind(pool, mask, [pair], {place: [pair] for place in owners}))
                    continue
                kind = by_mask.get(mask)
                if kind is None:
                    kind = by_mask[mask] = _Kind(pool, mask)
                    kinds.append(kind)
                kind.partitions.append(pair)
                if owners:
                    kind.kept.setdefault(owners[0], []).append(pair)
    return kinds


class _Deal:
    """The partitions and members of one base."""

    def __init__(self, classes: Sequence[_Class], kinds: Sequence[_Kind]) -> None:
        self.classes, self.kinds = classes, kinds
        self.base = classes[0].base
        count = sum(len(kind.partitions) for kind in kinds)
        self.spare = count - self.base * sum(len(one.members) for one in classes)
        self.takers: dict[int, list[int]] = {}
        for number, one in enumerate(classes):
            for pool in one.pools:
                self.takers.setdefault(pool, []).append(number)

    def run(self, assigned: list[list[TopicPartition]]) -> None:
        """Give every partition to a member."""
        network, near, far, shared, spares = self._by_class()
        network.send(SOURCE, SINK)
        prices = network.final_prices()

        def may_carry(arc: int) -> bool:
            return prices[network.heads[arc ^ 1]] + network.costs[arc] == prices[network.heads[arc]]

        self.near = {ends for ends, arc in near.items() if may_carry(arc)}
        self.far = {kind for kind, arc in far.items() if may_carry(arc)}
        self.shared = {ends for ends, arc in shared.items() if may_carry(arc)}
        self.fixed = {one: self.base for one, arc in spares.items() if not may_carry(arc)}
        for one in self.fixed:
            if network.flow(spares[one]):
                self.fixed[one] += 1
        self._by_member(assigned)

    def _frame(self) -> tuple[FlowNetwork, list[int], list[int], dict[int, int]]:
        """A network with the kinds, the classes and, for each pool, where partitions go that are out of rack."""
        network = FlowNetwork(3)
        kinds = [network.node() for _ in self.kinds]
        classes = [network.node() for _ in self.classes]
        hubs = {pool: network.node() for pool in self.takers}
        for node, kind in zip(kinds, self.kinds, strict=True):
            network.arc(SOURCE, node, len(kind.partitions))
        return network, kinds, classes, hubs

    def _by_class(
        self,
    ) -> tuple[FlowNetwork, dict[tuple[int, int], int], dict[int, int], dict[tuple[int, int], int], dict[int, int]]:
        """Kinds to classes: what is out of rack costs."""
        network, kinds, classes, hubs = self._frame()
        near: dict[tuple[int, int], int] = {}
        far: dict[int, int] = {}
        for number, kind in enumerate(self.kinds):
            for taker in self.takers[kind.pool]:
                if self.classes[taker].bit & kind.mask:
                    near[number, taker] = network.arc(kinds[number], classes[taker], UNLIMITED)
            far[number] = network.arc(kinds[number], hubs[kind.pool], UNLIMITED, cost=1)
        shared = {
            (pool, taker): network.arc(hubs[pool], classes[taker], UNLIMITED)
            for pool, takers in self.takers.items()
            for taker in takers
        }
        spares: dict[int, int] = {}
        for number, one in enumerate(self.classes):
            network.arc(classes[number], SINK, len(one.members) * self.base)
            spares[number] = network.arc(classes[number], SPARE, len(one.members))
        network.arc(SPARE, SINK, self.spare)
        return network, near, far, shared, spares

    def _by_member(self, assigned: list[list[TopicPartition]]) -> None:
        """Kinds to members, over what the cheapest flows to classes use: what moves costs."""
        network, kinds, classes, hubs = self._frame()
        member_nodes: dict[int, int] = {}
        given: list[tuple[int, int, int]] = []
        spare = self.spare
        for number, one in enumerate(self.classes):
            load = self.fixed.get(number)
            for place in one.members:
                node = member_nodes[place] = network.node()
                given.append((number, place, network.arc(classes[number], node, UNLIMITED)))
                network.arc(node, SINK, self.base if load is None else load)
                if load is None:
                    network.arc(node, SPARE, 1)
                else:
                    spare -= load - self.base
        network.arc(SPARE, SINK, spare)
        class_of = {place: number for number, one in enumerate(self.classes) for place in one.members}
        keeping: list[tuple[int, int, int]] = []
        moving: list[tuple[int, int, int]] = []
        leaving: list[tuple[int, int]] = []
        for number, kind in enumerate(self.kinds):
            for place, pairs in kind.kept.items():
                holder = class_of.get(place)
                if holder is not None and self._may_keep(number, holder):
                    keeping.append((number, place, network.arc(kinds[number], member_nodes[place], len(pairs))))
            moving += [
                (number, taker, network.arc(kinds[number], classes[taker], UNLIMITED, cost=1))
                for taker in self.takers[kind.pool]
                if (number, taker) in self.near
            ]
            if number in self.far:
                leaving.append((number, network.arc(kinds[number], hubs[kind.pool], UNLIMITED, cost=1)))
        sharing = [(*ends, network.arc(hubs[ends[0]], classes[ends[1]], UNLIMITED)) for ends in sorted(self.shared)]
        network.send(SOURCE, SINK)
        self._hand_out(network, assigned, keeping, moving, leaving, sharing, given)

    def _may_keep(self, kind: int, one: int) -> bool:
        if self.classes[one].bit & self.kinds[kind].mask:
            return (kind, one) in self.near
        return kind in self.far and (self.kinds[kind].pool, one) in self.shared

    def _hand_out(
        self,
        network: FlowNetwork,
        assigned: list[list[TopicPartition]],
        keeping: Iterable[tuple[int, int, int]],
        moving: Iterable[tuple[int, int, int]],
        leaving: Iterable[tuple[int, int]],
        sharing: Iterable[tuple[int, int, int]],
        given: Iterable[tuple[int, int, int]],
    ) -> None:
        """Partitions in the place of numbers."""
        kept: set[TopicPartition] = set()
        for number, place, arc in keeping:
            pairs = self.kinds[number].kept[place][: network.flow(arc)]
            assigned[place] += pairs
            kept.update(pairs)
        rest = [[pair for pair in reversed(kind.partitions) if pair not in kept] for kind in self.kinds]
        at_hub: dict[int, list[TopicPartition]] = {pool: [] for pool in self.takers}
        at_class: list[list[TopicPartition]] = [[] for _ in self.classes]
        for number, one, arc in moving:
            at_class[one] += [rest[number].pop() for _ in range(network.flow(arc))]
        for number, arc in leaving:
            at_hub[self.kinds[number].pool] += [rest[number].pop() for _ in range(network.flow(arc))]
        for pool, one, arc in sharing:
            at_class[one] += [at_hub[pool].pop() for _ in range(network.flow(arc))]
        for pairs in at_class:
            pairs.reverse()
        for one, place, arc in given:
            assigned[place] += [at_class[one].pop() for _ in range(network.flow(arc))]
