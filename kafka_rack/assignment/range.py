"""Range (consumer side): each topic in runs of adjacent partitions, within racks where balance allows (KIP-881).

Topics with the same number of partitions and the same subscribers are handled together, so that one member has the same
partition numbers of these topics, even if racks decide.

Source: RangeAssignor, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_rack.assignment.members import Assignment, Member, static_first, subscribed_topics
from kafka_rack.assignment.topology import Topology, racks_matter


class TopicShares:
    """The assignment of one topic's partitions to its subscribers, and the unassigned ones.

    Attributes:
        owners: for each partition the index of its subscriber, or -1.
        taken: for each subscriber the number of its partitions.
        base: the partitions of every subscriber; ``extras`` subscribers may still get one more.
    """

    __slots__ = (
        "base",
        "extras",
        "masks",
        "member_racks",
        "owners",
        "rack_aware",
        "racks",
        "subscribers",
        "taken",
        "topic",
    )

    def __init__(self, topic: str, masks: list[int], subscribers: tuple[str, ...], racks: list[int]) -> None:
        self.topic = topic
        self.masks = masks
        self.subscribers = subscribers
        self.racks = racks
        self.owners = [-1] * len(masks)
        self.taken = [0] * len(subscribers)
        self.base, self.extras = divmod(len(masks), len(subscribers))
        self.member_racks = 0
        for rack in racks:
            self.member_racks |= rack
        self.rack_aware = racks_matter(self.member_racks, masks)

    def room(self, subscriber: int) -> int:
        """The number of partitions that a subscriber may still get."""
        return max(0, self.base + (self.extras > 0) - self.taken[subscriber])

    def give(self, subscriber: int, partitions: Sequence[int]) -> None:
        owners = self.owners
        for partition in partitions:
            owners[partition] = subscriber
        self.taken[subscriber] += len(partitions)
        if self.taken[subscriber] > self.base:
            self.extras -= 1


def assign_range(topology: Topology, members: Sequence[Member]) -> Assignment:
    """Assign every subscriber of a topic its run of partitions, those in its rack first if racks matter.

    A topic whose racks cannot matter (no subscriber has a rack, no replica is in one of theirs, or every partition
    is in every rack) is assigned without them, unless it is handled together with one whose racks matter.

    Args:
        members: in Java's map order, which decides only between members with the same instance id.
    """
    assignment: Assignment = {member.member_id: [] for member in members}
    shares = _all_shares(topology, members)
    if any(share.rack_aware for share in shares):
        groups: dict[tuple[tuple[str, ...], int], list[TopicShares]] = {}
        for share in shares:
            groups.setdefault((share.subscribers, len(share.masks)), []).append(share)
        for group in groups.values():
            if len(group) > 1:
                if group[0].member_racks:
                    _give_together(group)
            elif group[0].rack_aware:
                _give_runs_in_rack(group[0])
    for share in shares:
        _give_runs(share)
        topic, names = share.topic, share.subscribers
        for partition, owner in enumerate(share.owners):
            assignment[names[owner]].append((topic, partition))
    return assignment


def _all_shares(topology: Topology, members: Sequence[Member]) -> list[TopicShares]:
    ordered = static_first(members)
    bits = [topology.bit(member.rack) for member in ordered]
    shares = []
    found: dict[tuple[int, ...], tuple[tuple[str, ...], list[int]]] = {}
    for topic in subscribed_topics(members):
        if not topology.partition_count(topic):
            continue
        places = tuple(place for place, member in enumerate(ordered) if topic in member.topic_set)
        if places not in found:
            found[places] = tuple(ordered[place].member_id for place in places), [bits[place] for place in places]
        shares.append(TopicShares(topic, topology.racks_of(topic), *found[places]))
    return shares


def _give_together(group: list[TopicShares]) -> None:
    """Assign a partition number of all topics at once to the first subscriber whose rack all of them have.

    The remaining share is equal in every topic of the group, as only this step has assigned any, so the first topic
    represents all. A subscriber without a remaining share is skipped from then on.
    """
    share = group[0]
    queues: dict[int, list[int]] = {}
    for subscriber in reversed(range(len(share.subscribers))):
        queues.setdefault(share.racks[subscriber], []).append(subscriber)
    masks = share.masks
    for other in group[1:]:
        masks = [mine & theirs for mine, theirs in zip(masks, other.masks, strict=True)]
    rack_lists = {mask: [queue for rack, queue in queues.items() if not rack or rack & mask] for mask in set(masks)}
    nobody = len(share.subscribers)
    for partition, mask in enumerate(masks):
        chosen = nobody
        for queue in rack_lists[mask]:
            while queue and not share.room(queue[-1]):
                queue.pop()
            if queue and queue[-1] < chosen:
                chosen = queue[-1]
        if chosen != nobody:
            share.give(chosen, (partition,))
    for other in group[1:]:
        other.owners = share.owners.copy()
        other.taken = share.taken.copy()
        other.extras = share.extras


def _give_runs_in_rack(share: TopicShares) -> None:
    """Assign each subscriber in turn the first free partitions in its rack; one without a rack gets any."""
    free: dict[int, list[int]] = {}
    for rack in set(share.racks):
        free[rack] = [
            partition for partition in range(len(share.masks) - 1, -1, -1) if not rack or rack & share.masks[partition]
        ]
    for subscriber, rack in enumerate(share.racks):
        _take(share, subscriber, free[rack])


def _give_runs(share: TopicShares) -> None:
    """Assign each subscriber in turn the first free partitions."""
    free = [partition for partition in range(len(share.masks) - 1, -1, -1) if share.owners[partition] < 0]
    for subscriber in range(len(share.subscribers)):
        _take(share, subscriber, free)


def _take(share: TopicShares, subscriber: int, free: list[int]) -> None:
    """Assign the subscriber its remaining share from the end of ``free``, which is in descending order."""
    room = share.room(subscriber)
    taken: list[int] = []
    while free and len(taken) < room:
        partition = free.pop()
        if share.owners[partition] < 0:
            taken.append(partition)
    if taken:
        share.give(subscriber, taken)
