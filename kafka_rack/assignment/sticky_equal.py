"""Sticky assignment where all members subscribe to the same topics.

Every member gets the smaller share, some one partition more. First each keeps its owned partitions, within its share
and its rack; then partitions are dealt to the unfilled members of their racks, those with the fewest candidates first;
the rest is dealt to all unfilled members.

Source: AbstractStickyAssignor.ConstrainedAssignmentBuilder, Apache Kafka 4.1.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from kafka_rack.assignment.claims import Claims, JavaWouldFailError, StickyGroup


class EqualShares:
    """The builder of one assignment.

    Attributes:
        owned: the result: partition numbers of each member, by index in ``group.names``.
        transferring: partition -> its new owner, if another member owned it before. Only newly assigned partitions
            count.
    """

    def __init__(self, group: StickyGroup, claims: Claims) -> None:
        self.group = group
        self.claims = claims
        self.owned: list[list[int]] = [[] for _ in group.names]
        self.transferring: dict[int, int] = {}
        self._small, self._large_members = divmod(group.total, len(group.names))
        self._large = self._small + (self._large_members > 0)
        self._large_so_far = 0
        # Members below the smaller share, and members exactly at it that may get one more, in that order.
        self._below: list[int] = []
        self._at: list[int] = []
        self._given_up: dict[int, int] = {}
        self._given: dict[int, int] = {}

    def build(self) -> None:
        """Fill ``owned`` and ``transferring``.

        Raises: JavaWouldFailError: claims to partitions that do not exist have upset Kafka's count.
        """
        kept = self._keep_owned()
        unassigned = self._in_order_of_candidates(_without(self.group, kept))
        self._below.sort()
        self._at.sort()
        if self.group.rack_aware:
            unassigned = self._deal_within_racks(unassigned)
        self._deal(unassigned)
        self._check_filled()
        for partition, previous in self._given_up.items():
            owner = self._given.get(partition, previous)
            if owner != previous:
                self.transferring[partition] = owner
        for partition in self.claims.contested:
            if partition in self._given:
                self.transferring[partition] = self._given[partition]

    def _keep_owned(self) -> list[int]:
        """Keep members' owned partitions, up to their share; returns the kept partitions."""
        group = self.group
        topics = {topic: rank for rank, topic in enumerate(group.topics)}
        kept: list[int] = []
        for member in group.map_order:
            own = self.claims.owned[member]
            bit = group.member_bits[member] if group.rack_aware else 0
            if bit:
                masks = group.masks
                for partition in own:
                    if not bit & masks[partition]:
                        self._given_up[partition] = member
                own = [partition for partition in own if bit & masks[partition]]
            if self.claims.contested:
                own = [partition for partition in own if partition not in self.claims.contested]
            if len(own) > 1:
                own = sorted(own, key=lambda number: (group.number_of[number], topics[group.topic_of[number]]))
            if len(own) < self._small:
                share = len(own)
                self._below.append(member)
            elif len(own) >= self._large and self._large_so_far < self._large_members:
                share = self._large
                self._large_so_far += 1
                if self._large_so_far == self._large_members:
                    self._at.clear()
            else:
                share = self._small
                if self._large_so_far < self._large_members:
                    self._at.append(member)
            self.owned[member] += own[:share]
            kept += own[:share]
            for partition in own[share:]:
                self._given_up[partition] = member
        return kept

    def _in_order_of_candidates(self, partitions: list[int]) -> list[int]:
        """Partitions by the number of members in their racks, fewest first; unchanged if no member has a rack."""
        rack_members = self.group.rack_members
        if not rack_members:
            return partitions
        candidates = {
            mask: sum(count for bit, count in rack_members.items() if bit & mask) for mask in set(self.group.masks)
        }
        if len(set(candidates.values())) == 1:
            return partitions
        keys = [candidates[mask] for mask in self.group.masks]
        return sorted(partitions, key=keys.__getitem__)

    def _deal_within_racks(self, partitions: list[int]) -> list[int]:
        """Deal partitions to unfilled members of their racks in rotation; returns those without such a member."""
        group, owned, masks, given = self.group, self.owned, self.group.masks, self._given
        bits = group.member_bits
        # For each set of racks, the indexes of the unfilled members in them, in order: the next one is a bisection.
        below = {mask: [place for place in self._below if bits[place] & mask] for mask in set(masks)}
        waiting = _Waiting(bits, self._at, below)
        left: list[int] = []
        turn = 0
        for partition in partitions:
            mask = masks[partition]
            candidates = below[mask]
            if candidates:
                index = bisect_left(candidates, turn)
                member = candidates[index if index < len(candidates) else 0]
                turn = member + 1
                mine = owned[member]
                mine.append(partition)
                given[partition] = member
                if len(mine) >= self._small:
                    bit = bits[member]
                    for racks, places in below.items():
                        if racks & bit:
                            places.remove(member)
                    self._below.remove(member)
                    if len(mine) < self._large and self._large_so_far < self._large_members:
                        waiting.add(member)
                continue
            one_more = waiting.take_in(mask)
            if one_more is None:
                left.append(partition)
                continue
            owned[one_more].append(partition)
            given[partition] = one_more
            self._large_so_far += 1
            if self._large_so_far == self._large_members:
                waiting.clear()
        self._at = waiting.remaining()
        return left

    def _deal(self, partitions: Sequence[int]) -> None:
        """Deal partitions to unfilled members in turn, then one more each to those at the smaller share."""
        below, waiting = self._below, self._at
        index = next_waiting = 0
        for partition in partitions:
            if below:
                if index >= len(below):
                    index = 0
                member = below[index]
            elif next_waiting < len(waiting):
                member = waiting[next_waiting]
                next_waiting += 1
            else:
                raise JavaWouldFailError("no unfilled member is left, but partitions are")
            mine = self.owned[member]
            mine.append(partition)
            self._given[partition] = member
            if len(mine) == self._small:
                if not below:
                    raise JavaWouldFailError("a filled member was filled again")
                del below[index]
                waiting.append(member)
            else:
                index += 1
                if len(mine) == self._large:
                    self._large_so_far += 1

    def _check_filled(self) -> None:
        if not self._below:
            return
        if self._large_so_far != self._large_members or any(
            len(self.owned[member]) != self._small for member in self._below
        ):
            raise JavaWouldFailError("no partition is left, but unfilled members are")


class _Waiting:
    """Members at the smaller share that may get one more, first come first served, also by rack.

    A member in several racks' queues does not exist: a member has one rack or none.
    """

    __slots__ = ("_bits", "_gone", "_order", "_queues", "_racks")

    def __init__(
        self, bits: Sequence[int], members: Sequence[int], masks: Sequence[int] | dict[int, list[int]]
    ) -> None:
        self._bits = bits
        self._order: list[int] = []
        self._gone: set[int] = set()
        self._queues: dict[int, list[int]] = {bit: [] for bit in set(bits) if bit}
        self._racks = {mask: [queue for bit, queue in self._queues.items() if bit & mask] for mask in masks}
        for member in members:
            self.add(member)

    def add(self, member: int) -> None:
        bit = self._bits[member]
        if bit:
            self._queues[bit].append(len(self._order))
        self._order.append(member)

    def take_in(self, mask: int) -> int | None:
        """Remove and return the first member whose rack is in ``mask``; None without one."""
        first: list[int] | None = None
        for queue in self._racks[mask]:
            if queue and (first is None or queue[0] < first[0]):
                first = queue
        if first is None:
            return None
        place = first.pop(0)
        self._gone.add(place)
        return self._order[place]

    def clear(self) -> None:
        self._order.clear()
        self._gone.clear()
        for queue in self._queues.values():
            queue.clear()

    def remaining(self) -> list[int]:
        return [member for place, member in enumerate(self._order) if place not in self._gone]


def _without(group: StickyGroup, kept: list[int]) -> list[int]:
    """All partitions, in order, without the kept ones.

    Kafka iterates over both lists in parallel, and so stops matching at the first kept partition that does not exist:
    all later ones count as not kept.
    """
    if not kept:
        return list(range(group.total))
    missing = [number for number in kept if number >= group.total]
    end = group.total
    if missing:
        end = min(
            group.first[group.topic_of[n]] + (group.number_of[n] >= 0) * group.counts[group.topic_of[n]]
            for n in missing
        )
    taken = {number for number in kept if number < end}
    return [number for number in range(group.total) if number not in taken]
