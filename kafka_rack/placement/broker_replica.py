"""Brokers that are replicas of each other (KAFKA-1736), so that few sets of failures lose all replicas of a partition.

The brokers are divided into groups of the size of the replication factor; every partition is in one group. Inside a
group the leaders rotate, so they are exactly even: the issue's own list has brokers 8, 7 and 6 first three times each,
against the condition in the same issue.

Source: KAFKA-1736.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_rack.errors import ReplicaPlacementError
from kafka_rack.java import utf16_key
from kafka_rack.placement.placer import (
    ReplicaPlacer,
    UsableBroker,
    fenced_last,
    yes_or_no,
)

UNEVEN_SETTING = "replica.placer.uneven.last.group"
"""``true``: brokers need not be a multiple of the replication factor; the last group has the remaining brokers."""


class BrokerReplicaPlacer(ReplicaPlacer):
    """``broker-replica``: partition p is led by broker p of the groups' order, followed by the rest of its group."""

    needs_all_racks = True

    def __init__(self, uneven_last_group: bool = False) -> None:
        self.uneven_last_group = uneven_last_group

    def configure(self, settings: Mapping[str, str]) -> None:
        self.uneven_last_group = yes_or_no(settings, UNEVEN_SETTING)

    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        groups = broker_groups(usable_brokers, num_replicas, self.uneven_last_group)
        start = max(0, start_partition)
        rows = rows_of_groups([groups], start, num_partitions, num_replicas)
        return fenced_last(rows, usable_brokers)


def broker_groups(brokers: Sequence[UsableBroker], num_replicas: int, uneven: bool = False) -> list[list[int]]:
    """Divide brokers into groups of ``num_replicas``, no two of a rack in one group if racks are small enough.

    In the order of racks, brokers are dealt to the groups in turn: a rack with at most as many brokers as groups adds
    at most one to each, a larger one as few as possible.

    Raises: ReplicaPlacementError: the brokers are not a multiple of ``num_replicas``, and ``uneven`` is False.

    >>> broker_groups([UsableBroker(id) for id in range(9)], 3)
    [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    """
    check_multiple(len(brokers), num_replicas, uneven)
    ordered = [broker.id for broker in sorted(brokers, key=by_rack)]
    count = len(ordered) // num_replicas
    groups = [ordered[number : count * num_replicas : count] for number in range(count)]
    groups[-1] += ordered[count * num_replicas :]
    return groups


def check_multiple(num_brokers: int, num_replicas: int, uneven: bool) -> None:
    """Refuse brokers that do not form complete groups, unless the last group may be uneven."""
    if num_brokers % num_replicas and not uneven:
        below = num_brokers - num_brokers % num_replicas
        raise ReplicaPlacementError(
            f"{num_brokers} brokers are no multiple of replication factor {num_replicas}: take {below} or "
            f"{below + num_replicas} brokers, or allow an uneven last group with {UNEVEN_SETTING}=true"
        )


def rows_of_groups(
    layers: Sequence[Sequence[Sequence[int]]], start_partition: int, num_partitions: int, num_replicas: int
) -> list[list[int]]:
    """Rows for partitions over layers of groups: each layer divides the brokers into groups, and is used for one round.

    A round has as many partitions as brokers, and each broker leads once in it: first one broker of each group, then
    the next. Followers are the rest of the leader's group, in rotation; each round over all layers starts with another
    follower, so that no broker takes over all partitions of a failed leader.
    """
    leads = [
        (group, turn)
        for layer in layers
        for turn in range(max(map(len, layer)))
        for group in layer
        if turn < len(group)
    ]
    period = len(leads)
    rows = []
    for partition in range(start_partition, start_partition + num_partitions):
        lap, place = divmod(partition, period)
        group, turn = leads[place]
        others = [*group[turn + 1 :], *group[:turn]]
        if others:
            begin = lap % len(others)
            others = others[begin:] + others[:begin]
        rows.append([group[turn], *others[: num_replicas - 1]])
    return rows


def by_rack(broker: UsableBroker) -> tuple[bytes, int]:
    """A sort key: racks by name, brokers by id."""
    return (utf16_key(broker.rack or ""), broker.id)
