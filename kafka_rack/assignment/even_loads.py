"""The numbers of partitions of members in the most even assignment, for any subscriptions.

Topics with the same subscribers are one pool, members with the same pools one class. The most even assignment has the
fewest members with many partitions: no chain of moves leads from a member to one with two fewer. In all most even
assignments each member has its base or one more, and the base is a property of its class.

Source: A. Frank and K. Murota, Decreasing minimization on M-convex sets (2022), which shows that the last two hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heapify, heapreplace


def even_bases(
    sizes: Sequence[int], pools: Sequence[Sequence[int]], pool_sizes: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The base of each class, and of each pool that of the classes of its partitions' owners.

    In every most even assignment a member has its class's base or one partition more, and a pool's partitions go only
    to members of classes with the pool's base.

    Args:
        sizes: the number of members of each class.
        pools: the classes that subscribe to each pool; none is empty.
        pool_sizes: the number of partitions of each pool.

    >>> even_bases([1, 2], [[0], [0, 1]], [5, 4])
    ([5, 2], [5, 2])
    """
    dealt = _dealt_lowest_first(sizes, pools, pool_sizes)
    loads = [0] * len(sizes)
    for shares in dealt:
        for one, amount in shares.items():
            loads[one] += amount
    _shift_down(sizes, pools, dealt, loads)
    return _bases(sizes, pools, dealt, loads)


def _dealt_lowest_first(
    sizes: Sequence[int], pools: Sequence[Sequence[int]], pool_sizes: Sequence[int]
) -> list[dict[int, int]]:
    """Assign each pool to its least loaded members, the pools with the fewest members first."""
    dealt: list[dict[int, int]] = [{} for _ in pools]
    loads = [0] * len(sizes)
    for pool in sorted(range(len(pools)), key=lambda pool: sum(sizes[one] for one in pools[pool])):
        left, shares = pool_sizes[pool], dealt[pool]
        heap = [(loads[one] // sizes[one], one) for one in pools[pool]]
        heapify(heap)
        while left:
            low, one = heap[0]
            amount = min(left, (low + 1) * sizes[one] - loads[one])
            if len(heap) == 1:
                amount = left
            loads[one] += amount
            left -= amount
            shares[one] = shares.get(one, 0) + amount
            heapreplace(heap, (loads[one] // sizes[one], one))
    return dealt


def _shift_down(
    sizes: Sequence[int], pools: Sequence[Sequence[int]], dealt: Sequence[dict[int, int]], loads: list[int]
) -> None:
    """Shift partitions along chains of pools from loaded classes to classes with two fewer, while any exists."""
    pools_of: list[list[int]] = [[] for _ in sizes]
    for pool, classes in enumerate(pools):
        for one in classes:
            pools_of[one].append(pool)
    shifted = True
    while shifted:
        shifted = False
        for source in sorted(range(len(sizes)), key=lambda one: (-_top(loads[one], sizes[one]), one)):
            while chain := _chain(source, pools, pools_of, dealt, loads, sizes):
                shifted = True
                target = chain[-1][2]
                amount = min(dealt[pool][giver] for giver, pool, _ in chain)
                amount = min(amount, _evening(loads[source], sizes[source], loads[target], sizes[target]))
                for giver, pool, taker in chain:
                    dealt[pool][giver] -= amount
                    dealt[pool][taker] = dealt[pool].get(taker, 0) + amount
                loads[source] -= amount
                loads[target] += amount


def _top(load: int, size: int) -> int:
    return -(-load // size)


def _evening(high: int, high_size: int, low: int, low_size: int) -> int:
    """The number of partitions to shift until the two classes are even, by this step alone; at least 1."""
    amount = (high * low_size - low * high_size) // (high_size + low_size)
    while amount > 1 and _top(high - amount + 1, high_size) < (low + amount - 1) // low_size + 2:
        amount -= 1
    return max(amount, 1)


def _chain(
    source: int,
    pools: Sequence[Sequence[int]],
    pools_of: Sequence[Sequence[int]],
    dealt: Sequence[dict[int, int]],
    loads: Sequence[int],
    sizes: Sequence[int],
) -> list[tuple[int, int, int]]:
    """The shortest chain (giver, pool, taker) from ``source`` to a class with a member two below; empty without one."""
    low_enough = _top(loads[source], sizes[source]) - 2
    came_by: dict[int, tuple[int, int]] = {}
    seen_pools: set[int] = set()
    waiting = deque([source])
    while waiting:
        giver = waiting.popleft()
        for pool in pools_of[giver]:
            if pool in seen_pools or not dealt[pool].get(giver):
                continue
            seen_pools.add(pool)
            for taker in pools[pool]:
                if taker == source or taker in came_by:
                    continue
                came_by[taker] = giver, pool
                if loads[taker] // sizes[taker] <= low_enough:
                    return _traced(came_by, source, taker)
                waiting.append(taker)
    return []


def _traced(came_by: dict[int, tuple[int, int]], source: int, taker: int) -> list[tuple[int, int, int]]:
    chain = []
    while taker != source:
        giver, pool = came_by[taker]
        chain.append((giver, pool, taker))
        taker = giver
    return chain[::-1]


def _bases(
    sizes: Sequence[int], pools: Sequence[Sequence[int]], dealt: Sequence[dict[int, int]], loads: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The least load at which a move from each class could end, over any chain."""
    givers: list[list[int]] = [[] for _ in pools]
    pools_of: list[list[int]] = [[] for _ in sizes]
    for pool, classes in enumerate(pools):
        givers[pool] = [one for one, amount in dealt[pool].items() if amount]
        for one in classes:
            pools_of[one].append(pool)
    bases, pool_bases = [-1] * len(sizes), [-1] * len(pools)
    for lowest in sorted(range(len(sizes)), key=lambda one: (loads[one] // sizes[one], one)):
        if bases[lowest] >= 0:
            continue
        base = bases[lowest] = loads[lowest] // sizes[lowest]
        waiting = [lowest]
        while waiting:
            taker = waiting.pop()
            for pool in pools_of[taker]:
                if pool_bases[pool] < 0:
                    pool_bases[pool] = base
                    for giver in givers[pool]:
                        if bases[giver] < 0:
                            bases[giver] = base
                            waiting.append(giver)
    return bases, pool_bases
