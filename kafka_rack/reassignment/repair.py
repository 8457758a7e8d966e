"""The fewest moves after which no partition has two replicas in a rack while another rack has none.

A partition's replicas that share a rack must move to free racks as far as there are any, one move each: that is the
minimum. The choice is which of them moves and to which broker. A replica alone in its rack stays, even if the rack is
down: moving it would leave the others together, and violate the rule again once the rack is back. The preferred leader
never moves, and the current leader only if no other replica can. Within that, the replicas are spread over the brokers
as evenly as that number of moves allows (with the least sum of squares of the brokers' replica counts).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kafka_rack.cluster_layout import ClusterLayout, LayoutPartition
from kafka_rack.errors import InputError, MissingRackError
from kafka_rack.placement import missing_racks
from kafka_rack.rack_spread import Spread, spread_of, usable_racks
from kafka_rack.reassignment.balance import Choice, balance, first_choices
from kafka_rack.reassignment.plan import Entry


@dataclass(frozen=True, slots=True)
class ReplicaMove:
    """One replica that moves from one broker to another, and why."""

    topic: str
    partition: int
    source: int
    target: int
    source_rack: str
    target_rack: str
    takes_leader: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Repair:
    """The moves, the partitions that cannot be repaired, and the replicas of each broker before and after."""

    moves: tuple[ReplicaMove, ...]
    entries: tuple[Entry, ...]
    """The partitions that change, with all their replicas."""
    left_alone: tuple[tuple[str, int, str], ...]
    """(topic, partition, reason) of partitions that cannot be judged."""
    before: dict[int, int]
    after: dict[int, int]


def repair(layout: ClusterLayout, topics: Iterable[str] | None = None) -> Repair:
    """Repair the rack violations of a layout.

    Args:
        topics: the topics to repair; the others only count for balance. None: all.

    Raises:
        MissingRackError: some brokers have a rack and some have none.
        InputError: no broker has a rack, or a topic is unknown.

    >>> from kafka_rack.cluster_layout import layout_of_json
    >>> said = {"brokers": [[0, "a"], [1, "a"], [2, "b"]], "topics": {"orders": [[0, 1], [1, 2]]}}
    >>> repair(layout_of_json(said)).entries
    (Entry(topic='orders', partition=0, replicas=(0, 2)),)
    """
    bare = missing_racks(layout.brokers)
    if bare:
        raise MissingRackError(bare)
    racks = usable_racks(layout)
    if not racks:
        raise InputError("no broker has a rack, so there is nothing to restore: set broker.rack first")
    rack_of = layout.rack_of
    wanted = set(layout.topics if topics is None else layout.only(topics).topics)
    choices: list[Choice] = []
    partitions: list[tuple[str, int, LayoutPartition, Spread]] = []
    left_alone = []
    for name, number, partition in layout.each_partition():
        if name not in wanted:
            continue
        spread = spread_of(partition.replicas, rack_of, racks)
        if not spread.complete:
            strangers = [broker for broker in partition.replicas if rack_of.get(broker) is None]
            left_alone.append((name, number, f"broker {strangers[0]} is not up, and its rack is not known"))
        elif spread.misplaced:
            partitions.append((name, number, partition, spread))
            choices.append(choice_of(partition, spread))
    load = Counter({broker.id: 0 for broker in layout.brokers})
    load.update(broker for _, _, partition in layout.each_partition() for broker in partition.replicas)
    before = dict(load)
    targets = {
        rack: [broker.id for broker in layout.brokers if broker.rack == rack and not broker.fenced] for rack in racks
    }
    first_choices(choices, load, targets)
    balance(choices, load, targets)
    moves: list[ReplicaMove] = []
    entries = []
    for (name, number, partition, spread), choice in zip(partitions, choices, strict=True):
        made = moves_of(name, number, partition, spread, choice)
        place = {move.source: move.target for move in made}
        entries.append(Entry(name, number, tuple(place.get(broker, broker) for broker in partition.replicas)))
        moves += made
    return Repair(tuple(moves), tuple(entries), tuple(left_alone), before, dict(load))


def choice_of(partition: LayoutPartition, spread: Spread) -> Choice:
    """The replicas that may move: never the preferred leader; the current leader only if the others are too few."""
    preferred = partition.replicas[0]
    without_leader = {
        rack: [broker for broker in brokers if broker not in (preferred, partition.leader)]
        for rack, brokers in spread.shared.items()
    }
    with_leader = {
        rack: [broker for broker in brokers if broker != preferred] for rack, brokers in spread.shared.items()
    }
    limits = {rack: len(brokers) - 1 for rack, brokers in spread.shared.items()}
    enough = sum(min(limits[rack], len(brokers)) for rack, brokers in without_leader.items()) >= spread.misplaced
    return Choice(spread.misplaced, without_leader if enough else with_leader, limits, spread.free)


def moves_of(topic: str, number: int, partition: LayoutPartition, spread: Spread, choice: Choice) -> list[ReplicaMove]:
    """The moves of one partition, each with its reason."""
    rack_of_source = {broker: rack for rack, brokers in spread.shared.items() for broker in brokers}
    sources = [broker for broker in partition.replicas if broker in choice.sources]
    made = []
    for source, (rack, target) in zip(sources, sorted(choice.targets.items()), strict=True):
        shared = rack_of_source[source]
        mates = listed(sorted(spread.shared[shared]))
        reason = f"brokers {mates} share rack {shared}, while rack {rack} has no replica"
        made.append(ReplicaMove(topic, number, source, target, shared, rack, source == partition.leader, reason))
    return made


def listed(brokers: Sequence[int]) -> str:
    """Numbers as a list in text.

    >>> listed([1, 2, 3])
    '1, 2 and 3'
    """
    return " and ".join([", ".join(map(str, brokers[:-1])), str(brokers[-1])]) if len(brokers) > 1 else str(brokers[0])
