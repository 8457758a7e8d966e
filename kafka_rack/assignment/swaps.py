"""Swaps of two partitions between two members that put more of them into their racks, with unchanged loads."""

from __future__ import annotations

from collections.abc import Sequence

MAX_STEPS = 2_000_000
"""The limit of examined members and topics; bounds the time with tens of thousands of partitions."""


class MemberHoldings:
    """The partitions of each member, by topic and by the racks of the replicas."""

    def __init__(self, owner: list[int], topic_of: Sequence[str], masks: Sequence[int], members: int) -> None:
        self.owner = owner
        self.topic_of = topic_of
        self.masks = masks
        self.held: list[dict[str, dict[int, list[int]]]] = [{} for _ in range(members)]
        for partition, member in enumerate(owner):
            if member >= 0:
                self._put(partition, member)

    def move(self, partition: int, member: int) -> None:
        by_mask = self.held[self.owner[partition]][self.topic_of[partition]]
        mask = self.masks[partition]
        by_mask[mask].remove(partition)
        if not by_mask[mask]:
            del by_mask[mask]
        self.owner[partition] = member
        self._put(partition, member)

    def _put(self, partition: int, member: int) -> None:
        topics = self.held[member]
        topics.setdefault(self.topic_of[partition], {}).setdefault(self.masks[partition], []).append(partition)


def swap_into_racks(
    owner: list[int],
    topic_of: Sequence[str],
    masks: Sequence[int],
    topics: Sequence[frozenset[str]],
    bits: Sequence[int],
) -> None:
    """Swap until no swap of two partitions puts more of them into their owners' racks.

    Args:
        owner: partition -> its member, or -1; changed in place.
        topic_of, masks: partition -> its topic, and the racks of its replicas.
        topics, bits: member -> its subscription, and its rack, 0 for none.
    """
    holdings = MemberHoldings(owner, topic_of, masks, len(topics))
    subscribers: dict[str, list[int]] = {}
    for member, subscribed in enumerate(topics):
        for topic in subscribed:
            subscribers.setdefault(topic, []).append(member)
    steps, swapped = 0, True
    while swapped:
        swapped = False
        # Partitions with the same topic, racks and owner have the same swaps: if one has none, none has.
        hopeless: set[tuple[str, int, int]] = set()
        for partition, member in enumerate(owner):
            if member < 0 or not bits[member] or bits[member] & masks[partition]:
                continue
            kind = topic_of[partition], masks[partition], member
            if kind in hopeless:
                continue
            found = None
            for other in subscribers[topic_of[partition]]:
                if bits[other] and not bits[other] & masks[partition]:
                    continue
                steps += 1
                found = _return_gift(holdings.held[other], topics[member], bits[other], bits[member])
                if found is not None:
                    holdings.move(partition, other)
                    holdings.move(found, member)
                    swapped = True
                    hopeless.clear()
                    break
            if found is None:
                hopeless.add(kind)
            if steps > MAX_STEPS:
                return


def _return_gift(
    held: dict[str, dict[int, list[int]]], wanted: frozenset[str], giver_bit: int, taker_bit: int
) -> int | None:
    """A partition that the taker may have, and that is not less local with the taker than with the giver."""
    for topic, by_mask in held.items():
        if topic not in wanted:
            continue
        for mask, partitions in by_mask.items():
            if not taker_bit or taker_bit & mask or (giver_bit and not giver_bit & mask):
                return partitions[0]
    return None
