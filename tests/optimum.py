"""The best assignment of a small group, found without any of the assignors' code.

One way tries every assignment there is; the other sends partitions one by one along the cheapest way through the plain
network of partitions and members, by Bellman and Ford. What is best is said by three numbers, each before the next: the
sum of the squares of the members' loads, partitions out of their owner's rack, partitions that left their owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

Pair = tuple[str, int]
Score = tuple[int, int, int]


def score(cluster: Mapping, members: Mapping[str, Mapping], assignment: Mapping[str, Sequence[Pair]]) -> Score:
    """What an assignment is worth: uneven, out of rack, moved; less is better."""
    owned = claims(members)
    pairs = [(name, pair) for name, given in assignment.items() for pair in given]
    return (
        sum(len(given) ** 2 for given in assignment.values()),
        sum(not is_near(cluster, members[name], pair) for name, pair in pairs),
        sum(pair in owned and name not in owned[pair] for name, pair in pairs),
    )


def claims(members: Mapping[str, Mapping]) -> dict[Pair, set[str]]:
    """Who has each partition now; a claim to what its member does not read does not count."""
    found: dict[Pair, set[str]] = {}
    for name, member in members.items():
        for topic, numbers in member.get("owned", ()):
            if topic in member["topics"]:
                for number in numbers:
                    found.setdefault((topic, number), set()).add(name)
    return found


def is_near(cluster: Mapping, member: Mapping, pair: Pair) -> bool:
    racks = dict(map(tuple, cluster["nodes"]))
    rack = member.get("rack")
    return bool(rack) and rack in {racks.get(broker) for broker in cluster["topics"][pair[0]][pair[1]]}


def choices(cluster: Mapping, members: Mapping[str, Mapping]) -> list[tuple[Pair, list[str]]]:
    """Each partition that is to have an owner, and who may be it."""
    return [
        ((topic, number), subscribers)
        for topic, partitions in cluster["topics"].items()
        if (subscribers := [name for name, member in members.items() if topic in member["topics"]])
        for number in range(len(partitions))
    ]


def best_by_trying(cluster: Mapping, members: Mapping[str, Mapping]) -> Score:
    """The best score of all assignments, every one of which is looked at."""
    pairs, subscribers = zip(*choices(cluster, members), strict=True)
    return min(
        score(
            cluster,
            members,
            {name: [pair for pair, owner in zip(pairs, owners, strict=True) if owner == name] for name in members},
        )
        for owners in product(*subscribers)
    )


def best_by_flow(cluster: Mapping, members: Mapping[str, Mapping]) -> Score:
    """The best score by the cheapest flow: the next partition goes where the whole stays cheapest."""
    wanted = choices(cluster, members)
    owned = claims(members)
    one_rack = len(wanted) + 1
    one_level = one_rack * one_rack
    price = {
        (place, name): one_rack * (not is_near(cluster, members[name], pair))
        + (pair in owned and name not in owned[pair])
        for place, (pair, subscribers) in enumerate(wanted)
        for name in subscribers
    }
    owner: dict[int, str] = {}
    loads = dict.fromkeys(members, 0)
    for place in range(len(wanted)):
        owner |= dict(cheapest_way(place, wanted, price, owner, loads, one_level))
        loads = {name: sum(one == name for one in owner.values()) for name in members}
    assignment: dict[str, list[Pair]] = {name: [] for name in members}
    for place, name in owner.items():
        assignment[name].append(wanted[place][0])
    return score(cluster, members, assignment)


def cheapest_way(place, wanted, price, owner, loads, one_level):
    """The moves that take in one more partition at the least cost: Bellman and Ford over members."""
    cost = {name: price[place, name] for name in wanted[place][1]}
    by = dict.fromkeys(cost, (place, None))
    changed = True
    while changed:
        changed = False
        for other, giver in owner.items():
            if giver not in cost:
                continue
            for taker in wanted[other][1]:
                through = cost[giver] - price[other, giver] + price[other, taker]
                if taker != giver and through < cost.get(taker, through + 1):
                    cost[taker], by[taker] = through, (other, giver)
                    changed = True
    end = min(cost, key=lambda name: (cost[name] + one_level * (2 * loads[name] + 1), name))
    moves = []
    while end is not None:
        moved, before = by[end]
        moves.append((moved, end))
        end = before
    return moves
