"""The choice of copies to move and of their targets, so that replicas are as even as the number of moves allows.

It is a flow: a move takes a replica from its source broker, passes through its partition, and adds it to its target.
The sum of squares of the brokers' replicas is minimal if no path of the residual network leads from a broker to one
with at least two fewer replicas; while such a path exists, the choices along it are changed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Node = tuple[str, int, str]
"""("broker", id, ""), ("from" or "to", index, rack), ("sources" or "targets", index, "") of one choice."""


@dataclass(slots=True)
class Choice:
    """The possible and the chosen moves of one partition.

    ``wanted`` is the number of moves; ``candidates`` are the brokers that may lose a replica, by rack, of which at most
    ``limits[rack]`` do; ``free`` are the racks that may get one each.
    """

    wanted: int
    candidates: Mapping[str, Sequence[int]]
    limits: Mapping[str, int]
    free: Sequence[str]
    sources: dict[int, str] = field(default_factory=dict)
    """Broker -> its rack."""
    targets: dict[str, int] = field(default_factory=dict)
    """Rack -> broker."""

    def open_sources(self) -> Iterator[tuple[int, str]]:
        """Brokers that may still lose a replica, with their racks."""
        given = Counter(self.sources.values())
        for rack, brokers in self.candidates.items():
            if given[rack] < self.limits[rack]:
                for broker in brokers:
                    if broker not in self.sources:
                        yield broker, rack


def first_choices(choices: Sequence[Choice], load: Counter[int], targets: Mapping[str, Sequence[int]]) -> None:
    """Choose for each partition in turn: from the fullest broker to the emptiest. Updates ``load``."""
    for choice in choices:
        for _ in range(choice.wanted):
            source, rack = min(choice.open_sources(), key=lambda pair: (-load[pair[0]], pair[0]))
            choice.sources[source] = rack
            load[source] -= 1
            target, rack = min(
                ((broker, rack) for rack in choice.free if rack not in choice.targets for broker in targets[rack]),
                key=lambda pair: (load[pair[0]], pair[0]),
            )
            choice.targets[rack] = target
            load[target] += 1


def balance(choices: Sequence[Choice], load: Counter[int], targets: Mapping[str, Sequence[int]]) -> None:
    """Change choices until no change makes the replicas more even. Updates ``load``."""
    network = ChoiceNetwork(choices, targets)
    improved = bool(choices)
    while improved:
        improved = False
        for level in sorted(set(load.values()), reverse=True):
            while path := network.path(sorted(broker for broker in load if load[broker] == level), load, level - 2):
                network.change(path)
                load[path[0][1]] -= 1
                load[path[-1][1]] += 1
                improved = True


class ChoiceNetwork:
    """The residual network of the choices: the possible changes between them."""

    def __init__(self, choices: Sequence[Choice], targets: Mapping[str, Sequence[int]]) -> None:
        self.choices, self.targets = choices, targets
        self.may_give: dict[int, list[tuple[int, str]]] = {}
        for index, choice in enumerate(choices):
            for rack, brokers in choice.candidates.items():
                for broker in brokers:
                    self.may_give.setdefault(broker, []).append((index, rack))
        self.takes: dict[int, set[tuple[int, str]]] = {}
        for index, choice in enumerate(choices):
            for rack, broker in choice.targets.items():
                self.takes.setdefault(broker, set()).add((index, rack))

    def path(self, starts: Sequence[int], load: Mapping[int, int], most: int) -> list[Node]:
        """The shortest path from one of ``starts`` to a broker with at most ``most`` replicas; empty without one."""
        if most < min(load.values()):
            return []
        came_from: dict[Node, Node | None] = {("broker", broker, ""): None for broker in starts}
        unseen = {
            rack: [broker for broker in brokers if broker not in starts] for rack, brokers in self.targets.items()
        }
        queue = deque(came_from)
        while queue:
            node = queue.popleft()
            for near in self.neighbours(node, unseen):
                if near in came_from:
                    continue
                came_from[near] = node
                if near[0] == "broker" and load[near[1]] <= most:
                    return way(came_from, near)
                queue.append(near)
        return []

    def neighbours(self, node: Node, unseen: Mapping[str, list[int]]) -> Iterator[Node]:
        """The nodes that a changed choice can reach; each of the ``unseen`` brokers of a rack is returned once."""
        kind, number, rack = node
        if kind == "broker":
            for index, own_rack in self.may_give.get(number, ()):
                if number not in self.choices[index].sources:
                    yield "from", index, own_rack
            for index, taken_rack in sorted(self.takes.get(number, ())):
                yield "to", index, taken_rack
            return
        choice = self.choices[number]
        if kind == "from":
            yield from (("broker", broker, "") for broker, own in choice.sources.items() if own == rack)
            if list(choice.sources.values()).count(rack) < choice.limits[rack]:
                yield "sources", number, ""
        elif kind == "to":
            while unseen[rack]:
                yield "broker", unseen[rack].pop(0), ""
            if rack in choice.targets:
                yield "targets", number, ""
        elif kind == "sources":
            yield from (("from", number, own) for own in sorted(set(choice.sources.values())))
        else:
            yield from (("to", number, free) for free in choice.free if free not in choice.targets)

    def change(self, path: Sequence[Node]) -> None:
        """Change the choices along a path: undo them where it leaves a node, add them where it enters one."""
        for one, other in pairwise(path):
            if one[0] == "broker":
                self.leave(one[1], other)
        for one, other in pairwise(path):
            if other[0] == "broker":
                self.enter(one, other[1])

    def leave(self, broker: int, place: Node) -> None:
        """The broker has one replica less: it loses one, or gets one less."""
        kind, index, rack = place
        if kind == "from":
            self.choices[index].sources[broker] = rack
        else:
            if self.choices[index].targets.get(rack) == broker:
                del self.choices[index].targets[rack]
            self.takes[broker].discard((index, rack))

    def enter(self, place: Node, broker: int) -> None:
        """The broker has one replica more: it loses none, or gets one."""
        kind, index, rack = place
        if kind == "from":
            del self.choices[index].sources[broker]
        else:
            self.choices[index].targets[rack] = broker
            self.takes.setdefault(broker, set()).add((index, rack))


def way(came_from: Mapping[Node, Node | None], end: Node) -> list[Node]:
    """The path that led to ``end``."""
    path: list[Node] = []
    node: Node | None = end
    while node is not None:
        path.append(node)
        node = came_from[node]
    return path[::-1]
