"""The simple assignor of share groups: partitions are shared only as far as needed for all members to have work.

With more members than partitions, several members share a partition. The members' numbers of partitions differ by one
at most, and members retain their partitions as far as possible. If members subscribe to different topics, each topic
is assigned in turn.

Source: SimpleHomogeneousAssignmentBuilder and SimpleHeterogeneousAssignmentBuilder, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mockbroker.groups.modern.members import Partitions

TopicPartition = tuple[bytes, int]


def assign(
    subscriptions: Mapping[str, frozenset[bytes]],
    assignable: Partitions,
    before: Mapping[str, Partitions],
) -> dict[str, Partitions]:
    """The target assignment of each member.

    Args:
        subscriptions: the topic ids of each member, in the order in which members are served.
        assignable: the partitions that may be assigned.
        before: the current target assignment of each member.

    >>> assign({"one": frozenset({b"t"}), "two": frozenset({b"t"})}, frozenset({(b"t", 0), (b"t", 1)}), {})
    {'one': frozenset({(b't', 0)}), 'two': frozenset({(b't', 1)})}
    """
    topics = sorted(frozenset[bytes]().union(*subscriptions.values()))
    targets: dict[str, Partitions] = dict.fromkeys(subscriptions, frozenset())
    for some in [topics] if len(set(subscriptions.values())) == 1 else [[topic_id] for topic_id in topics]:
        held = {
            member: {one for one in before.get(member, ()) if one[0] in some}
            for member, subscribed in subscriptions.items()
            if not subscribed.isdisjoint(some)
        }
        share_out(held, sorted(one for one in assignable if one[0] in some))
        for member, found in held.items():
            targets[member] |= found
    return targets


def share_out(held: dict[str, set[TopicPartition]], partitions: Sequence[TopicPartition]) -> None:
    """Move partitions between members until each has its share."""
    members = list(held)
    sharing = -(-len(members) // len(partitions)) if partitions else 0
    total = sharing * len(partitions)
    quotas = {
        member: -(-total * (index + 1) // len(members)) - -(-total * index // len(members))
        for index, member in enumerate(members)
    }
    holders: dict[TopicPartition, list[str]] = {}
    for member in members:
        for one in sorted(held[member])[: max(0, len(held[member]) - quotas[member])]:
            held[member].remove(one)
        for one in sorted(held[member]):
            holders.setdefault(one, []).append(member)
    for one, readers in holders.items():
        while len(readers) > sharing:
            held[readers.pop(0)].remove(one)
    waiting = [member for member in members if len(held[member]) < quotas[member]]
    at, was_assigned = 0, False
    for one in partitions:
        readers = holders.setdefault(one, [])
        while waiting and len(readers) < sharing:
            if at >= len(waiting):
                if not was_assigned:
                    break
                at, was_assigned = 0, False
            member = waiting[at]
            if member in readers:
                at += 1
                continue
            readers.append(member)
            held[member].add(one)
            was_assigned = True
            if len(held[member]) >= quotas[member]:
                waiting.pop(at)
            else:
                at += 1
