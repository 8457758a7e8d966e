"""What an outage does to one layout."""

from __future__ import annotations

from random import Random

import pytest

from kafka_rack.availability import Outage, layout, layout_availability, worst_leader_load
from kafka_rack.errors import InputError

RACKS = {0: "a", 1: "a", 2: "b", 3: "b", 4: "c", 5: "c"}
ROWS = [[0, 2, 4], [1, 3, 5], [2, 4, 0], [3, 5, 1], [4, 0, 2], [5, 1, 3]]


def judge(rows=ROWS, failures=2, rack_failures=0, in_sync=2):
    return layout_availability(
        rows, RACKS, Outage(failures, rack_failures), min_insync_replicas=in_sync, random=Random(0)
    )


def test_a_layout_is_judged_in_every_respect():
    judged = judge()
    assert judged.any_unwritable.value == pytest.approx(6 / 15)
    assert judged.share_unwritable == pytest.approx(3 / 15)
    assert (judged.any_lost.value, judged.share_lost) == (0, 0)
    assert (judged.copysets, judged.scatter_width) == (2, 2)


def test_one_rack_lost_leaves_partitions_over_three_racks_writable():
    judged = judge(failures=0, rack_failures=1)
    assert (judged.any_unwritable.value, judged.share_unwritable) == (0, 0)


def test_one_rack_and_one_broker_lost_leaves_some_partition_unwritable_for_sure():
    judged = judge(failures=1, rack_failures=1)
    assert (judged.any_unwritable.value, judged.share_unwritable) == (1, 0.5)


def test_leaders_move_to_the_next_replica_that_is_up():
    assert worst_leader_load(ROWS, RACKS, Outage(1), Random(0)) == 2
    assert worst_leader_load([[0, 1], [2, 3]], dict.fromkeys(range(4)), Outage(0), Random(0)) == 2


def test_partitions_that_nobody_can_lead_load_nobody():
    assert worst_leader_load([[0]] * 6, dict.fromkeys(range(2)), Outage(1), Random(0)) == 1


def test_leader_loads_of_too_many_outages_are_drawn(monkeypatch):
    exact = worst_leader_load(ROWS, RACKS, Outage(2), Random(0))
    monkeypatch.setattr(layout, "MAX_LEADER_STEPS", 1)
    assert worst_leader_load(ROWS, RACKS, Outage(2), Random(3)) == pytest.approx(exact, rel=0.15)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"rows": []}, "without partitions"),
        ({"rows": [[0, 9]]}, "partition 0 is on broker 9, which is not in the cluster"),
        ({"rows": [[0, 1], [2, 2]]}, r"replicas of partition 1: expected different brokers, got \[2, 2\]"),
        ({"rows": [[]]}, r"replicas of partition 0: expected different brokers, got \[\]"),
        ({"in_sync": 4}, "min.insync.replicas: expected 1 to the 3 replicas of partition 0, got 4"),
        ({"in_sync": 0}, "min.insync.replicas: expected 1 to the 3 replicas of partition 0, got 0"),
        ({"failures": 7}, "7 failed brokers, but 6 are left to fail"),
        ({"failures": 5, "rack_failures": 1}, "5 failed brokers, but 4 are left"),
        ({"rack_failures": 4}, "4 failed racks, but there are 3"),
        ({"failures": -1}, "neither can be below 0"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_the_reason(arguments, text):
    with pytest.raises(InputError, match=text):
        judge(**arguments)
