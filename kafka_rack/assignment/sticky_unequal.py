"""Sticky assignment where members subscribe to different topics.

Members keep their owned partitions (within their racks, if racks matter), the others go to the least loaded subscriber,
in-rack first; then partitions move, one at a time, until no move would balance two members better, or the old state was
no worse.

This reproduces Kafka's code with its faults: a partition may return to a stale owner that no longer subscribes to its
topic, a move may undo another one instead, and partitions may leave racks without need for balance.

Source: AbstractStickyAssignor.GeneralAssignmentBuilder, Apache Kafka 4.1.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence

from kafka_rack.assignment.claims import Claims, JavaWouldFailError, StickyGroup
from kafka_rack.assignment.movements import Movements

MOVES_PER_PARTITION = 64
"""The limit of moves, for a balancing that never ends; a useful one moves a partition a few times."""


class UnequalShares:
    """The builder of one assignment; ``owned`` is the result, by index in ``group.names``."""

    def __init__(self, group: StickyGroup, claims: Claims) -> None:
        self.group = group
        self.stale = claims.stale
        self.owned: list[list[int]] = [list(numbers) for numbers in claims.owned]
        self._owner: dict[int, int] = {}
        for place in group.map_order:
            for partition in self.owned[place]:
                self._owner[partition] = place
        # With repetitions, as the members sent them.
        self._topics_of: list[list[str]] = [[] for _ in group.names]
        self._subscribers: dict[str, list[int]] = {topic: [] for topic in group.topics}
        for place, member in zip(group.map_order, group.members, strict=True):
            for topic in member.topics:
                if topic in self._subscribers:
                    self._topics_of[place].append(topic)
                    self._subscribers[topic].append(place)
        self._topic_sets = [frozenset(topics) for topics in self._topics_of]
        self._most = [self._most_partitions(topics) for topics in self._topics_of]
        self._by_load: list[tuple[int, int]] = []
        self._revoked_some = False
        self._doubled = False
        self._fixed: set[int] = set()
        self._balanced: bool | None = None
        # The number of a member's partitions by topic, while partitions move.
        self._held: list[Counter[str]] = []
        self._moves_left = MOVES_PER_PARTITION * (group.total + len(group.names))
        self._movements = Movements(group)

    def build(self) -> None:
        """Fill ``owned``.

        Raises: JavaWouldFailError: Kafka's code would stop with an exception or never stop.
        """
        group = self.group
        topics = sorted(group.topics, key=lambda topic: len(self._subscribers[topic]))  # names break ties already
        every = [
            number for topic in topics for number in range(group.first[topic], group.first[topic] + group.counts[topic])
        ]
        kept = self._keep_owned()
        unassigned = self._without(every, kept, topics)
        self._doubled = bool(kept) and len(unassigned) != len(every) - len(kept)
        self._by_load = sorted((len(self.owned[member]), member) for member in range(len(group.names)))
        self._balance(every, unassigned)

    def _most_partitions(self, topics: Sequence[str]) -> int:
        """The most partitions that a member with these topics could own."""
        if len(topics) == len(self.group.topics):
            return self.group.total
        return sum(self.group.counts[topic] for topic in topics)

    def _keep_owned(self) -> list[int]:
        group = self.group
        kept: list[int] = []
        for place, member in zip(group.map_order, group.members, strict=True):
            mine = []
            for partition in self.owned[place]:
                if group.topic_of[partition] not in member.topic_set or group.mismatch(place, partition):
                    self._revoked_some = True
                else:
                    mine.append(partition)
            self.owned[place] = mine
            kept += mine
        return kept

    def _without(self, every: list[int], kept: list[int], topics: Sequence[str]) -> list[int]:
        """``every`` without ``kept``; Kafka stops matching at the first kept partition that does not exist."""
        if not kept:
            return every
        group = self.group
        rank = {topic: place for place, topic in enumerate(topics)}
        missing = [number for number in kept if number >= group.total]
        if not missing:
            taken = set(kept)
            return [number for number in every if number not in taken]
        first = min(missing, key=lambda number: (rank[group.topic_of[number]], group.number_of[number]))
        end = self._end_of(topics, first)
        taken = set(kept)
        return [number for index, number in enumerate(every) if index >= end or number not in taken]

    def _end_of(self, topics: Sequence[str], missing: int) -> int:
        """The number of partitions of all ``topics``, in order, before a missing one."""
        topic = self.group.topic_of[missing]
        index = 0
        for other in topics:
            if other == topic and self.group.number_of[missing] < 0:
                break
            index += self.group.counts[other]
            if other == topic:
                break
        return index

    def _balance(self, every: list[int], unassigned: list[int]) -> None:
        group = self.group
        started_empty = not self._by_load[-1][0]
        to_assign = unassigned
        if group.rack_aware:
            to_assign = self._assign_least_loaded(unassigned, in_rack=True)
        self._assign_least_loaded(to_assign, in_rack=False)

        movable = {topic for topic, subscribers in self._subscribers.items() if len(subscribers) >= 2}
        every = [number for number in every if group.topic_of[number] in movable]
        unassigned = [number for number in unassigned if group.topic_of[number] in movable]
        for member in range(len(group.names)):
            if not self._can_take_part(member, movable):
                self._by_load.remove((len(self.owned[member]), member))
                self._fixed.add(member)

        self._held = [Counter(group.topic_of[number] for number in numbers) for numbers in self.owned]
        before = [list(numbers) for numbers in self.owned]
        if not self._revoked_some:
            self._move(unassigned)
        moved = self._move(every)
        if moved and not started_empty and self._imbalance(self.owned) >= self._imbalance(before):
            self.owned = before

    def _assign_least_loaded(self, partitions: Sequence[int], *, in_rack: bool) -> list[int]:
        """Assign each partition to the least loaded subscriber (of its racks); returns those without one."""
        group, topic_sets, by_load, bits = self.group, self._topic_sets, self._by_load, self.group.member_bits
        left = []
        for partition in partitions:
            topic, mask = group.topic_of[partition], group.masks[partition]
            for index, (load, member) in enumerate(by_load):
                if topic in topic_sets[member] and (not in_rack or not bits[member] or bits[member] & mask):
                    del by_load[index]
                    insort(by_load, (load + 1, member), index)
                    self.owned[member].append(partition)
                    self._owner[partition] = member
                    break
            else:
                left.append(partition)
        return left

    def _can_take_part(self, member: int, movable: set[str]) -> bool:
        if len(self.owned[member]) < self._most[member]:
            return True
        return any(self.group.topic_of[partition] in movable for partition in self.owned[member])

    def _imbalance(self, owned: Sequence[list[int]]) -> int:
        """The sum over all pairs of members of the difference of their loads."""
        loads = sorted(len(numbers) for member, numbers in enumerate(owned) if member not in self._fixed)
        return sum(load * (2 * place - len(loads) + 1) for place, load in enumerate(loads))

    def _move(self, partitions: Sequence[int]) -> bool:
        """Move partitions from loaded to less loaded members until a round moves none; True if any moved."""
        moved_any = False
        moved = True
        while moved:
            moved = False
            for partition in partitions:
                if self._is_balanced():
                    break
                if self._move_one(partition):
                    moved = moved_any = True
        return moved_any

    def _move_one(self, partition: int) -> bool:
        group = self.group
        owner = self._owner[partition]
        load = self._load(owner)
        stale = self.stale.get(partition)
        if stale is not None and load > self._load(stale[0]) + 1:
            self._reassign(partition, stale[0])
            return True
        # Kafka looks for a lighter subscriber in the same racks first, but then moves to the lightest anywhere, so
        # its racks decide nothing here.
        topic = group.topic_of[partition]
        if not self._fixed.isdisjoint(self._subscribers[topic]):
            lighter = any(load > self._load(other) + 1 for other in self._subscribers[topic])
        else:
            lighter = load > len(self.owned[self._lightest(topic)]) + 1
        if lighter:
            self._reassign(partition, self._lightest(topic))
        return lighter

    def _load(self, member: int) -> int:
        if member in self._fixed:
            raise JavaWouldFailError("a member that takes no part any more is asked for its load")
        return len(self.owned[member])

    def _lightest(self, topic: str) -> int:
        return next(member for _, member in self._by_load if topic in self._topic_sets[member])

    def _reassign(self, wanted: int, target: int) -> None:
        self._moves_left -= 1
        if not self._moves_left:
            raise JavaWouldFailError("balancing does not come to an end")
        partition = self._movements.instead_of(wanted, self._owner[wanted], target)
        source = self._owner[partition]
        self._movements.record(partition, source, target)
        if source != target:
            self._change_load(source, -1)
            self._change_load(target, +1)
        self.owned[source].remove(partition)
        self.owned[target].append(partition)
        self._owner[partition] = target
        topic = self.group.topic_of[partition]
        self._held[source][topic] -= 1
        self._held[target][topic] += 1
        self._balanced = None

    def _change_load(self, member: int, change: int) -> None:
        load = self._load(member)
        del self._by_load[bisect_left(self._by_load, (load, member))]
        insort(self._by_load, (load + change, member))

    def _is_balanced(self) -> bool:
        if self._balanced is None:
            if not self._by_load:
                raise JavaWouldFailError("nobody is left to balance")
            lowest, highest = self._by_load[0][0], self._by_load[-1][0]
            self._balanced = lowest >= highest - 1 or not (
                self._doubled_imbalance() if self._doubled else self._can_improve()
            )
        return self._balanced

    def _can_improve(self) -> bool:
        """True if a member could get a partition from one that has at least two more."""
        heaviest: dict[str, int] = {}
        for load, member in reversed(self._by_load):
            if len(heaviest) == len(self._subscribers):
                break
            for topic, held in self._held[member].items():
                if held:
                    heaviest.setdefault(topic, load)
        return any(most > self._lightest_with_room(topic) + 1 for topic, most in heaviest.items())

    def _lightest_with_room(self, topic: str) -> int:
        """The load of the lightest subscriber that could get more; very high without one."""
        for load, member in self._by_load:
            if load != self._most[member] and topic in self._topic_sets[member]:
                return load
        return self.group.total

    def _doubled_imbalance(self) -> bool:
        """As ``_can_improve``, exactly as Kafka does it, for partitions with two owners."""
        owner_of: dict[int, int] = {}
        for member in self.group.map_order:
            if member not in self._fixed:
                owner_of.update(dict.fromkeys(self.owned[member], member))
        for load, member in self._by_load:
            if load == self._most[member]:
                continue
            mine = set(self.owned[member])
            for topic in self._topics_of[member]:
                first = self.group.first[topic]
                for partition in range(first, first + self.group.counts[topic]):
                    if partition in mine:
                        continue
                    if partition not in owner_of:
                        raise JavaWouldFailError("a partition has no owner")
                    if load + 1 < len(self.owned[owner_of[partition]]):
                        return True
        return False
