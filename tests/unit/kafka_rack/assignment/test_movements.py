"""Which partition goes back, of several that have moved the same way."""

from __future__ import annotations

import pytest

from kafka_rack.assignment.claims import StickyGroup
from kafka_rack.assignment.members import Member
from kafka_rack.assignment.movements import Movements
from kafka_rack.assignment.topology import Topology


@pytest.mark.parametrize(("moved", "first"), [([8, 0], 0), ([0, 8], 0), ([1, 0], 1), ([9, 5, 1], 1), ([3, 19, 35], 3)])
def test_the_first_in_the_order_of_javas_hash_set_goes_back(moved: list[int], first: int):
    """As PartitionMovements of Kafka 4.4's AbstractStickyAssignor chose."""
    members = [Member("one", ["a"]), Member("two", ["a"])]
    movements = Movements(StickyGroup(Topology({0: "r"}, {"a": [[0]] * 51}), members))
    for partition in moved:
        movements.record(partition, 0, 1)
    assert movements.instead_of(50, 1, 0) == first
