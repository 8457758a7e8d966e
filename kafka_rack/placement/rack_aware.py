"""KIP-36's placement over racks, and the classic one without.

Leaders rotate over a list of brokers in which racks alternate; the followers of a partition start at a distance after
their leader, one shift further with each round, and skip racks that already have a replica while others have none.

Source: KIP-36; AdminUtils.assignReplicasToBrokers, Apache Kafka 3.9.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_rack.errors import MissingRackError, ReplicaPlacementError
from kafka_rack.java import utf16_key
from kafka_rack.placement.placer import (
    RotatingPlacer,
    UsableBroker,
    fenced_last,
    missing_racks,
    unfenced_where_possible,
)


class RackAwarePlacer(RotatingPlacer):
    """``rack-aware``: each partition over as many racks as possible; ``unaware`` if no broker has a rack."""

    needs_all_racks = True

    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        bare = missing_racks(usable_brokers)
        if bare:
            raise MissingRackError(bare)
        brokers = unfenced_where_possible(usable_brokers, num_replicas)
        start, shift = self.rotation(len(brokers))
        racks = {broker.id: broker.rack for broker in brokers if broker.rack is not None}
        if not racks:
            ids = [broker.id for broker in brokers]
            rows = place_round_robin(ids, start_partition, num_partitions, num_replicas, start, shift)
        else:
            rows = place_over_racks(racks, start_partition, num_partitions, num_replicas, start, shift)
        return fenced_last(rows, brokers)


class UnawarePlacer(RotatingPlacer):
    """``unaware``: round robin over the brokers in their order, without racks."""

    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        brokers = unfenced_where_possible(usable_brokers, num_replicas)
        start, shift = self.rotation(len(brokers))
        ids = [broker.id for broker in brokers]
        rows = place_round_robin(ids, start_partition, num_partitions, num_replicas, start, shift)
        return fenced_last(rows, brokers)


def rack_alternated(racks: Mapping[int, str]) -> list[int]:
    """Brokers with neighbours in different racks: one of each rack, in the order of rack names, repeatedly.

    Args:
        racks: broker id -> rack.

    >>> rack_alternated({0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"})
    [0, 3, 1, 5, 4, 2]
    """
    members: dict[str, list[int]] = {}
    for broker in sorted(racks):
        members.setdefault(racks[broker], []).append(broker)
    columns = [members[rack] for rack in sorted(members, key=utf16_key)]
    return [
        column[turn] for turn in range(max(map(len, columns), default=0)) for column in columns if turn < len(column)
    ]


def place_round_robin(
    brokers: Sequence[int], start_partition: int, num_partitions: int, num_replicas: int, start: int, shift: int
) -> list[list[int]]:
    """Leaders in turn, with followers from ``shift`` brokers after each leader on; one more with each round.

    All partitions of a round share their shift, so a round is a zip of rotated lists.

    >>> place_round_robin([1, 2, 3, 4], 0, 5, 2, start=0, shift=0)
    [[1, 2], [2, 3], [3, 4], [4, 1], [1, 3]]
    """
    count = len(brokers)
    twice = [*brokers, *brokers]
    rows: list[list[int]] = []
    for first, length, round_shift in rounds(start_partition, num_partitions, count, start, shift):
        offsets = [0, *(1 + (round_shift + follower) % (count - 1) for follower in range(num_replicas - 1))]
        columns = [rotated(twice, first + offset, length, count) for offset in offsets]
        rows.extend(map(list, zip(*columns, strict=True)))
    return rows


def place_over_racks(
    racks: Mapping[int, str], start_partition: int, num_partitions: int, num_replicas: int, start: int, shift: int
) -> list[list[int]]:
    """KIP-36's algorithm.

    Args:
        racks: broker id -> rack, for every broker.
        start, shift: the first leader's index in the alternated list, and the first shift of followers.

    >>> racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    >>> place_over_racks(racks, 0, 3, 3, start=0, shift=0)
    [[0, 3, 1], [3, 1, 5], [1, 5, 4]]
    """
    arranged = rack_alternated(racks)
    number_of_rack = {rack: number for number, rack in enumerate(dict.fromkeys(racks[broker] for broker in arranged))}
    rack_at = [number_of_rack[racks[broker]] for broker in arranged]
    num_racks = len(number_of_rack)
    if num_replicas > num_racks or num_replicas == 1 or num_partitions < num_racks * len(arranged):
        walk = RackWalk(arranged, rack_at, num_racks, num_replicas)
        return [
            walk.row((first + step) % len(arranged), round_shift * num_racks)
            for first, length, round_shift in rounds(start_partition, num_partitions, len(arranged), start, shift)
            for step in range(length)
        ]
    return place_by_table(arranged, rack_at, num_racks, start_partition, num_partitions, num_replicas, start, shift)


class RackWalk:
    """One row at a time: from the leader's position and the shift of its first follower."""

    def __init__(self, arranged: Sequence[int], rack_at: Sequence[int], num_racks: int, num_replicas: int) -> None:
        self.arranged = arranged
        self.rack_at = rack_at
        self.num_racks = num_racks
        self.num_replicas = num_replicas

    def row(self, first: int, second_shift: int) -> list[int]:
        arranged, rack_at, num_racks, count = self.arranged, self.rack_at, self.num_racks, len(self.arranged)
        row = [arranged[first]]
        racks = {rack_at[first]}
        taken = {first}
        probe = second_shift
        while len(row) < self.num_replicas:
            position = (first + 1 + probe % (count - 1)) % count
            probe += 1
            rack = rack_at[position]
            if (rack in racks and len(racks) < num_racks) or position in taken:
                continue
            row.append(arranged[position])
            racks.add(rack)
            taken.add(position)
        return row


def place_by_table(
    arranged: list[int],
    rack_at: list[int],
    num_racks: int,
    start_partition: int,
    num_partitions: int,
    num_replicas: int,
    start: int,
    shift: int,
) -> list[list[int]]:
    """KIP-36's algorithm with at least as many racks as replicas, for many partitions.

    Then the followers depend only on the leader's rack and on the start of their walk, which skips the leader because
    it skips its whole rack. So they come from a table of racks x positions.
    """
    count = len(arranged)
    tables = [followers_by_position(arranged, rack_at, rack, num_replicas - 1) for rack in range(num_racks)]
    leaders = [*arranged, *arranged]
    table_of = [tables[rack] for rack in rack_at]
    table_of += table_of
    rows: list[list[int]] = []
    for first, length, round_shift in rounds(start_partition, num_partitions, count, start, shift):
        begin = first + 1 + round_shift * num_racks % (count - 1)
        positions = (position % count for position in range(begin, begin + length))
        window = zip(leaders[first : first + length], table_of[first : first + length], positions, strict=True)
        rows += [[leader, *followers[position]] for leader, followers, position in window]
    return rows


def followers_by_position(
    arranged: list[int], rack_at: list[int], leader_rack: int, num_followers: int
) -> list[tuple[int, ...]]:
    """For each position: the first brokers from there on, cyclically, in distinct racks other than the leader's."""
    count = len(arranged)
    table = []
    for begin in range(count):
        used = {leader_rack}
        followers: list[int] = []
        position = begin
        while len(followers) < num_followers:
            if rack_at[position] not in used:
                used.add(rack_at[position])
                followers.append(arranged[position])
            position = position + 1 if position + 1 < count else 0
        table.append(tuple(followers))
    return table


def rounds(start_partition: int, num_partitions: int, count: int, start: int, shift: int) -> list[tuple[int, int, int]]:
    """Split partitions where the shift grows: (position of the first leader, number of partitions, shift) each.

    The shift grows before each partition whose number is a positive multiple of the number of brokers.
    """
    partition = max(0, start_partition)
    end = partition + num_partitions
    cut = []
    if partition > 0 and partition % count == 0:
        shift += 1
    while partition < end:
        length = min(count - partition % count, end - partition)
        cut.append(((partition + start) % count, length, shift))
        partition += length
        shift += 1
    return cut


def rotated(twice: Sequence[int], begin: int, length: int, count: int) -> Sequence[int]:
    """``length`` brokers from index ``begin`` on, of ``count`` brokers listed twice in a row."""
    begin %= count
    return twice[begin : begin + length]


def start_index_of_growth(brokers: Sequence[UsableBroker], first_leader: int) -> int:
    """The start index and shift by which Kafka in ZooKeeper mode adds partitions to a topic.

    It is the index, among the brokers in id order, of the first one whose id is not below the preferred leader of
    partition 0 (AdminManager and AdminZkClient.addPartitions, Apache Kafka 3.9.1); 0 if there is none.
    """
    if not brokers:
        raise ReplicaPlacementError("no brokers to place on")
    ids = sorted(broker.id for broker in brokers)
    return next((index for index, broker in enumerate(ids) if broker >= first_leader), 0)
