"""The cheapest maximum flow through a network, and the arcs that any cheapest flow may use.

Costs are small whole numbers from 0 up. Flow is sent along the cheapest ways first, all ways of one price at once, so
that the work grows with the number of prices and not with the size of the flow.

Sources: the primal-dual method of Ford and Fulkerson; the layers of Dinic.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

UNLIMITED = 1 << 60
"""The capacity of an unlimited arc."""


class FlowNetwork:
    """Nodes are numbers from 0 on; an arc is an even number, and the next one up is its way back.

    Attributes:
        arcs: the arcs that leave each node, ways back among them.
        heads: where an arc leads. room: what it can still take. costs: of one unit over it.

    >>> network = FlowNetwork(4)
    >>> ways = [network.arc(0, 1, 2), network.arc(1, 3, 1, cost=1), network.arc(1, 2, 5), network.arc(2, 3, 1)]
    >>> network.send(0, 3), [network.flow(way) for way in ways]
    (2, [2, 1, 1, 1])
    """

    __slots__ = ("arcs", "costs", "heads", "room")

    def __init__(self, nodes: int) -> None:
        self.arcs: list[list[int]] = [[] for _ in range(nodes)]
        self.heads: list[int] = []
        self.room: list[int] = []
        self.costs: list[int] = []

    def node(self) -> int:
        """Add a node."""
        self.arcs.append([])
        return len(self.arcs) - 1

    def arc(self, tail: int, head: int, room: int, cost: int = 0) -> int:
        """Add an arc; returns its number."""
        number = len(self.heads)
        self.arcs[tail].append(number)
        self.arcs[head].append(number + 1)
        self.heads += (head, tail)
        self.room += (room, 0)
        self.costs += (cost, -cost)
        return number

    def flow(self, arc: int) -> int:
        """The flow over an arc."""
        return self.room[arc + 1]

    def send(self, source: int, sink: int) -> int:
        """Send the maximum flow at the least cost; returns its size."""
        prices = [0] * len(self.arcs)
        sent = 0
        while True:
            distances = self._distances(source, prices)
            limit = distances[sink]
            if limit >= UNLIMITED:
                return sent
            for node, distance in enumerate(distances):
                prices[node] += min(distance, limit)
            sent += self._send_at(source, sink, prices)

    def final_prices(self) -> list[int]:
        """The price of a unit at each node once the flow is cheapest.

        An arc whose cost is above the difference of its ends' prices is used by no cheapest flow, and one whose cost
        is below it is used up by all of them.
        """
        prices = [0] * len(self.arcs)
        waiting = deque(range(len(self.arcs)))
        queued = [True] * len(self.arcs)
        room, heads, costs = self.room, self.heads, self.costs
        while waiting:
            tail = waiting.popleft()
            queued[tail] = False
            price = prices[tail]
            for arc in self.arcs[tail]:
                head = heads[arc]
                if room[arc] and price + costs[arc] < prices[head]:
                    prices[head] = price + costs[arc]
                    if not queued[head]:
                        queued[head] = True
                        waiting.append(head)
        return prices

    def _distances(self, source: int, prices: list[int]) -> list[int]:
        """The cheapest way from ``source`` to each node, beyond what prices say."""
        distances = [UNLIMITED] * len(self.arcs)
        distances[source] = 0
        heap = [(0, source)]
        room, heads, costs = self.room, self.heads, self.costs
        while heap:
            distance, tail = heappop(heap)
            if distance > distances[tail]:
                continue
            base = distance + prices[tail]
            for arc in self.arcs[tail]:
                if room[arc]:
                    head = heads[arc]
                    further = base + costs[arc] - prices[head]
                    if further < distances[head]:
                        distances[head] = further
                        heappush(heap, (further, head))
        return distances

    def _send_at(self, source: int, sink: int, prices: list[int]) -> int:
        """Send what goes over arcs that cost exactly what prices say."""
        sent = 0
        while True:
            layers = self._layers(source, sink, prices)
            if layers[sink] < 0:
                return sent
            sent += self._send_down(source, sink, prices, layers)

    def _layers(self, source: int, sink: int, prices: list[int]) -> list[int]:
        layers = [-1] * len(self.arcs)
        layers[source] = 0
        waiting = deque([source])
        room, heads, costs = self.room, self.heads, self.costs
        while waiting and layers[sink] < 0:
            tail = waiting.popleft()
            price = prices[tail]
            for arc in self.arcs[tail]:
                head = heads[arc]
                if layers[head] < 0 and room[arc] and price + costs[arc] == prices[head]:
                    layers[head] = layers[tail] + 1
                    waiting.append(head)
        return layers

    def _send_down(self, source: int, sink: int, prices: list[int], layers: list[int]) -> int:
        """Fill the ways that go one layer down at each step."""
        room, heads, costs, arcs = self.room, self.heads, self.costs, self.arcs
        tried = [0] * len(arcs)  # arcs of each node that lead nowhere any more
        way: list[int] = []
        tail, sent = source, 0
        while True:
            if tail == sink:
                amount = min([room[arc] for arc in way])
                sent += amount
                for place in range(len(way) - 1, -1, -1):
                    arc = way[place]
                    room[arc] -= amount
                    room[arc ^ 1] += amount
                    if not room[arc]:
                        first_full = place
                tail = heads[way[first_full] ^ 1]
                del way[first_full:]
            layer, price, mine = layers[tail] + 1, prices[tail], arcs[tail]
            for place in range(tried[tail], len(mine)):
                arc = mine[place]
                if room[arc]:
                    head = heads[arc]
                    if layers[head] == layer and price + costs[arc] == prices[head]:
                        tried[tail] = place
                        way.append(arc)
                        tail = head
                        break
            else:
                if not way:
                    return sent
                layers[tail] = -1
                tail = heads[way.pop() ^ 1]
