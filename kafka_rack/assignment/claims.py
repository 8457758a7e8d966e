"""The partitions that members of a sticky group claim to own, resolved as in Kafka's sticky assignors.

For speed partitions have consecutive numbers: topics in Java's string order, a topic's partitions in theirs. A claim to
a missing partition of an existing topic gets a number after all real ones, because Kafka keeps these claims.

Source: AbstractStickyAssignor.allSubscriptionsEqual and prepopulateCurrentAssignments, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_rack.assignment.members import Assignment, Member, TopicPartition, subscribed_topics
from kafka_rack.assignment.topology import Topology, racks_matter
from kafka_rack.assignment.user_data import NO_GENERATION
from kafka_rack.java import utf16_key

MemberData = Callable[[Member], tuple[list[TopicPartition], int | None]]
"""The function by which an assignor reads a member's owned partitions and their generation."""


class JavaWouldFailError(Exception):
    """Kafka's code raises an exception, or never ends, on this input."""


class StickyGroup:
    """A group in numbers, the input of both sticky builders.

    Attributes:
        members: in Java's map order. Elsewhere a member is its index in ``names``.
        names: member ids, sorted as Java sorts strings.
        map_order: the indexes of ``members``, in Java's map order.
        topics: subscribed topics that exist, sorted; ``first[topic]`` is the number of its partition 0.
        total: the number of real partitions; ``topic_of`` and ``number_of`` accept numbers from ``total`` on too.
        masks: replica racks of each partition number; 0 for claims to partitions that do not exist.
        member_bits: rack bit of each member, 0 for none.
        rack_aware: racks can matter.
        rack_members: rack bit -> the number of its members.
    """

    def __init__(self, topology: Topology, members: Sequence[Member]) -> None:
        self.members = members
        ordered = sorted(members, key=lambda member: utf16_key(member.member_id))
        self.names = [member.member_id for member in ordered]
        place_of = {name: place for place, name in enumerate(self.names)}
        self.map_order = [place_of[member.member_id] for member in members]
        self.topics = [topic for topic in subscribed_topics(members) if topology.partition_count(topic)]
        self.first: dict[str, int] = {}
        self.counts = {topic: topology.partition_count(topic) for topic in self.topics}
        self.masks: list[int] = []
        self.topic_of: list[str] = []
        self.number_of: list[int] = []
        for topic in self.topics:
            self.first[topic] = len(self.masks)
            self.masks += topology.racks_of(topic)
            self.topic_of += [topic] * self.counts[topic]
            self.number_of += range(self.counts[topic])
        self.total = len(self.masks)
        self._missing: dict[TopicPartition, int] = {}
        self.member_bits = [topology.bit(member.rack) for member in ordered]
        self.rack_members: dict[int, int] = {}
        member_racks = 0
        for bit in self.member_bits:
            if bit:
                self.rack_members[bit] = self.rack_members.get(bit, 0) + 1
                member_racks |= bit
        self.rack_aware = racks_matter(member_racks, self.masks)

    def number(self, topic: str, partition: int) -> int | None:
        """The number of a partition; None if no member subscribes to the topic, or it does not exist."""
        first = self.first.get(topic)
        if first is None:
            return None
        if 0 <= partition < self.counts[topic]:
            return first + partition
        return self._missing_number(topic, partition)

    def _missing_number(self, topic: str, partition: int) -> int:
        number = self._missing.get((topic, partition))
        if number is None:
            number = self._missing[topic, partition] = len(self.masks)
            self.masks.append(0)
            self.topic_of.append(topic)
            self.number_of.append(partition)
        return number

    def mismatch(self, member: int, partition: int) -> bool:
        """True if racks matter, the member has one, and no replica of the partition is in it."""
        bit = self.member_bits[member]
        return bool(bit) and self.rack_aware and not bit & self.masks[partition]

    def to_assignment(self, owned: Sequence[list[int]]) -> Assignment:
        """The assignment of partition numbers by index in ``names``, as pairs, in Java's map order."""
        if len(self.masks) == self.total:
            pairs = list(zip(self.topic_of, self.number_of, strict=True))
            return {self.names[place]: [pairs[number] for number in sorted(owned[place])] for place in self.map_order}
        return {
            self.names[place]: sorted(
                {(self.topic_of[number], self.number_of[number]) for number in owned[place]},
                key=lambda pair: (utf16_key(pair[0]), pair[1]),
            )
            for place in self.map_order
        }


class Claims:
    """The previous owners, after resolving contradictions.

    Attributes:
        owned: partition numbers of each member, by index in ``group.names``.
        contested: partitions that two members claim in one generation: no member keeps them.
        stale: partition -> (member, generation) of owners from before the newest generation.
        equal: Kafka treats all subscriptions as equal. A first member without topics misleads it: the next member's
            topics then count as the group's.
    """

    def __init__(self, group: StickyGroup, member_data: MemberData) -> None:
        self.equal = _subscriptions_equal(group.members)
        self.owned: list[list[int]] = [[] for _ in group.names]
        self.contested: dict[int, None] = {}
        self.stale: dict[int, tuple[int, int]] = {}
        data = [member_data(member) for member in group.members]
        self._settle(group, data)
        if not self.equal:
            self._find_stale(group, data)

    def _settle(self, group: StickyGroup, data: Sequence[tuple[list[TopicPartition], int | None]]) -> None:
        owner_of: dict[int, int] = {}
        # Kafka compares with the other's generation field, even if its claim came from user data.
        field_generation = [NO_GENERATION] * len(group.names)
        for place, member in zip(group.map_order, group.members, strict=True):
            field_generation[place] = NO_GENERATION if member.generation is None else member.generation
        for place, (partitions, sent_generation) in zip(group.map_order, data, strict=True):
            generation = NO_GENERATION if sent_generation is None else sent_generation
            own = self.owned[place]
            for topic, partition in partitions:
                number = group.number(topic, partition)
                if number is None:
                    continue
                other = owner_of.get(number)
                if other is None:
                    own.append(number)
                elif generation > field_generation[other]:
                    own.append(number)
                    _discard(self.owned[other], number)
                elif generation == field_generation[other]:
                    self.contested[number] = None
                    _discard(self.owned[other], number)
                else:
                    continue
                owner_of[number] = place

    def _find_stale(self, group: StickyGroup, data: Sequence[tuple[list[TopicPartition], int | None]]) -> None:
        newest = max((generation for _, generation in data if generation is not None), default=NO_GENERATION)
        newest = max(newest, NO_GENERATION)
        for place, (partitions, sent_generation) in zip(group.map_order, data, strict=True):
            generation = NO_GENERATION if sent_generation is None else sent_generation
            if generation >= newest:
                continue
            for topic, partition in partitions:
                number = group.number(topic, partition)
                if number is not None and (number not in self.stale or generation > self.stale[number][1]):
                    self.stale[number] = (place, generation)


def _subscriptions_equal(members: Sequence[Member]) -> bool:
    topics: frozenset[str] = frozenset()
    equal = True
    for member in members:
        if not topics:
            topics = member.topic_set
        elif member.topic_set is not topics and not (len(member.topics) == len(topics) and topics >= member.topic_set):
            equal = False
    return equal


def _discard(numbers: list[int], number: int) -> None:
    if number in numbers:
        numbers.remove(number)
