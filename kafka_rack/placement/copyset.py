"""Copysets with a chosen scatter width: a generalisation of broker-replica placement.

The brokers are divided into groups several times, each time so that brokers get new partners. The scatter width is the
number of other brokers with which a broker shares partitions: with a small one, few sets of failures lose data; with a
large one, many brokers take over the load of a failed one. With a scatter width of replication factor - 1 there is one
division, and this is the broker-replica placement.

Source: Cidon and others, Copysets: Reducing the Frequency of Data Loss in Cloud Storage, USENIX ATC 2013; KAFKA-1736.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_rack.errors import ReplicaPlacementError
from kafka_rack.java import JavaRandom
from kafka_rack.placement.broker_replica import UNEVEN_SETTING, broker_groups, check_multiple, rows_of_groups
from kafka_rack.placement.placer import (
    ReplicaPlacer,
    UsableBroker,
    fenced_last,
    optional_whole_number,
    seed_setting,
    yes_or_no,
)

SCATTER_WIDTH_SETTING = "replica.placer.scatter.width"
"""The number of other brokers that share partitions with each broker; default: twice the replication factor - 1."""
SPARE_CUTS = 50
"""Divisions beyond the theoretical minimum after which a scatter width counts as unreachable."""


class CopysetPlacer(ReplicaPlacer):
    """``copyset``: rounds of leaders over each division of the brokers in turn."""

    needs_all_racks = True

    def __init__(self, scatter_width: int | None = None, uneven_last_group: bool = False, seed: int = 0) -> None:
        self.scatter_width = scatter_width
        self.uneven_last_group = uneven_last_group
        self.seed = seed
        self.cuts_of: tuple[object, list[list[list[int]]]] = (None, [])
        """The last divisions, and their input."""

    def configure(self, settings: Mapping[str, str]) -> None:
        self.scatter_width = optional_whole_number(settings, SCATTER_WIDTH_SETTING)
        self.uneven_last_group = yes_or_no(settings, UNEVEN_SETTING)
        self.seed = seed_setting(settings)

    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        key = (tuple(usable_brokers), num_replicas, self.scatter_width, self.uneven_last_group, self.seed)
        if self.cuts_of[0] != key:
            width = self.scatter_width
            if width is None:
                width = min(2 * (num_replicas - 1), widest(usable_brokers, num_replicas))
            cuts = broker_cuts(usable_brokers, num_replicas, width, self.uneven_last_group, JavaRandom(self.seed))
            self.cuts_of = (key, cuts)
        rows = rows_of_groups(self.cuts_of[1], max(0, start_partition), num_partitions, num_replicas)
        return fenced_last(rows, usable_brokers)


def broker_cuts(
    brokers: Sequence[UsableBroker], num_replicas: int, scatter_width: int, uneven: bool, random: JavaRandom
) -> list[list[list[int]]]:
    """Divide the brokers into groups until each has been with ``scatter_width`` others.

    Raises: ReplicaPlacementError: not a multiple of ``num_replicas`` brokers, or an unreachable scatter width.
    """
    check_multiple(len(brokers), num_replicas, uneven)
    limit = widest(brokers, num_replicas)
    if not num_replicas - 1 <= scatter_width <= limit:
        raise ReplicaPlacementError(
            f"scatter width {scatter_width}, but {len(brokers)} brokers with these racks and replication factor "
            f"{num_replicas} allow {num_replicas - 1} to {limit}"
        )
    partners: dict[int, set[int]] = {broker.id: set() for broker in brokers}
    cuts = [broker_groups(brokers, num_replicas, uneven)]
    meet(cuts[0], partners)
    least = -(-scatter_width // max(1, num_replicas - 1))
    while min(map(len, partners.values())) < scatter_width:
        if len(cuts) >= least + SPARE_CUTS:
            reached = min(map(len, partners.values()))
            raise ReplicaPlacementError(f"scatter width {scatter_width} was not reached, only {reached}: ask for less")
        cuts.append(next_cut(brokers, num_replicas, partners, random))
        meet(cuts[-1], partners)
    return cuts


def widest(brokers: Sequence[UsableBroker], num_replicas: int) -> int:
    """The largest scatter width that every broker can reach if groups contain no two brokers of one rack."""
    group_count = len(brokers) // num_replicas
    largest = max(map(len, rack_columns(brokers, group_count)))
    named = any(broker.rack is not None for broker in brokers)
    return (len(brokers) - largest if named else len(brokers) - 1) if num_replicas > 1 else 0


def rack_columns(brokers: Sequence[UsableBroker], group_count: int) -> list[list[int]]:
    """Brokers by rack; racks larger than ``group_count`` are split into equal parts; without racks, single brokers."""
    racks: dict[object, list[int]] = {}
    for broker in sorted(brokers, key=lambda broker: broker.id):
        racks.setdefault((broker.rack,) if broker.rack is not None else broker.id, []).append(broker.id)
    columns = []
    for members in racks.values():
        parts = -(-len(members) // group_count)
        columns += [members[part::parts] for part in range(parts)]
    return columns


def meet(groups: Sequence[Sequence[int]], partners: dict[int, set[int]]) -> None:
    """Record the brokers that share a group."""
    for group in groups:
        for broker in group:
            partners[broker].update(other for other in group if other != broker)


def next_cut(
    brokers: Sequence[UsableBroker], num_replicas: int, partners: Mapping[int, set[int]], random: JavaRandom
) -> list[list[int]]:
    """Groups of brokers in different racks that have shared groups least; the last one contains the remaining ones.

    A rack with as many brokers left as groups must add one to each group, or two would share the last one.
    """
    group_count = len(brokers) // num_replicas
    columns = rack_columns(brokers, group_count)
    random.shuffle(columns)
    for column in columns:
        random.shuffle(column)
    groups: list[list[int]] = []
    for groups_left in range(group_count, 1, -1):
        group: list[int] = []
        used: set[int] = set()
        while len(group) < num_replicas:
            due = [at for at, column in enumerate(columns) if len(column) >= groups_left and at not in used]
            free = [at for at, column in enumerate(columns) if column and at not in used]
            choice = due if len(due) >= num_replicas - len(group) else free
            _, at, broker = min(
                ((sum(other in partners[one] for other in group), len(partners[one]), -len(columns[at])), at, one)
                for at in choice
                for one in columns[at]
            )
            group.append(broker)
            columns[at].remove(broker)
            used.add(at)
        groups.append(group)
    groups.append([broker for column in columns for broker in column])
    return groups
