"""KIP-881's subscriptions with and without racks: topics of 6, 7 and 2 partitions, three consumers.

The expected assignments are those of Kafka's own tests of the proposal.
"""

from __future__ import annotations

import pytest

from kafka_rack.assignment import assign
from tests.unit.kafka_rack.assignment.groups import cluster, consumers, mismatches, short

A, B, C = "a", "b", "c"
ALL = ["t1", "t2", "t3"]
EQUAL = [ALL, ALL, ALL]
UNEQUAL = [ALL, ALL, ["t1", "t3"]]

PLAIN_EQUAL = ["t1-0 t1-1 t2-0 t2-1 t2-2 t3-0", "t1-2 t1-3 t2-3 t2-4 t3-1", "t1-4 t1-5 t2-5 t2-6"]
PLAIN_UNEQUAL = ["t1-0 t1-1 t2-0 t2-1 t2-2 t2-3 t3-0", "t1-2 t1-3 t2-4 t2-5 t2-6 t3-1", "t1-4 t1-5"]


def range_over(broker_racks, replication_factor, member_racks, subscriptions, **topics):
    layout = cluster(broker_racks, replication_factor, **(topics or {"t1": 6, "t2": 7, "t3": 2}))
    members = consumers(subscriptions, member_racks)
    answer = assign("range", layout, members)
    return short(answer), mismatches(layout, members, answer)


@pytest.mark.parametrize(
    ("broker_racks", "replication_factor", "member_racks"),
    [
        pytest.param([None, None, None], 3, [A, B, C], id="brokers-without-racks"),
        pytest.param([A, B, C], 3, [None, None, None], id="consumers-without-racks"),
        pytest.param([A, B, C], 3, [A, B, C], id="every-partition-in-every-rack"),
        pytest.param([A, B, C, "d"], 4, [A, B, C], id="every-partition-in-every-rack-of-four"),
        pytest.param([A, B, C], 3, ["d", "e", "f"], id="consumers-in-other-racks"),
        pytest.param([A, B, C], 3, [None, "e", "f"], id="one-consumer-without-rack-others-elsewhere"),
    ],
)
@pytest.mark.parametrize(
    ("subscriptions", "plain"), [(EQUAL, PLAIN_EQUAL), (UNEQUAL, PLAIN_UNEQUAL)], ids=["equal", "unequal"]
)
def test_kip_881_range_without_usable_racks_is_plain_range(
    broker_racks, replication_factor, member_racks, subscriptions, plain
):
    assert range_over(broker_racks, replication_factor, member_racks, subscriptions)[0] == plain


def test_kip_881_range_with_racks_and_one_replica_keeps_every_partition_in_its_rack():
    assert range_over([A, B, C], 1, [A, B, C], EQUAL) == (
        ["t1-0 t1-3 t2-0 t2-3 t2-6", "t1-1 t1-4 t2-1 t2-4 t3-0", "t1-2 t1-5 t2-2 t2-5 t3-1"],
        0,
    )


def test_kip_881_range_with_racks_and_two_replicas_puts_balance_before_locality():
    assert range_over([A, B, C], 2, [A, B, C], EQUAL) == (
        ["t1-0 t1-2 t2-0 t2-2 t2-3 t3-1", "t1-1 t1-3 t2-1 t2-4 t3-0", "t1-4 t1-5 t2-5 t2-6"],
        1,
    )


def test_kip_881_range_with_one_consumer_in_a_rack_without_replicas_stays_plain():
    assert range_over([A, B], 2, [A, B, C], EQUAL) == (PLAIN_EQUAL, 4)


def test_kip_881_range_with_racks_and_unequal_subscriptions():
    assert range_over([A, B, C], 1, [A, B, C], UNEQUAL) == (
        ["t1-0 t1-3 t2-0 t2-2 t2-3 t2-6", "t1-1 t1-4 t2-1 t2-4 t2-5 t3-0", "t1-2 t1-5 t3-1"],
        2,
    )
    assert range_over([A, B, C], 2, [A, B, C], UNEQUAL) == (
        ["t1-0 t1-2 t2-0 t2-2 t2-3 t2-5 t3-1", "t1-1 t1-3 t2-1 t2-4 t2-6 t3-0", "t1-4 t1-5"],
        0,
    )


def test_kip_881_range_prefers_co_partitioning_to_racks():
    plain = ["t1-0 t1-1 t2-0 t2-1 t3-0 t3-1", "t1-2 t1-3 t2-2 t2-3 t3-2 t3-3", "t1-4 t2-4 t3-4"]
    topics = {"t1": 5, "t2": 5, "t3": 5}
    assert range_over([A, B, C], 1, [A, B, C], EQUAL, **topics) == (plain, 10)
    assert range_over([A, B, C], 2, [A, B, C], EQUAL, **topics) == (plain, 5)


def test_kip_881_range_moves_co_partitioned_topics_together_into_racks():
    pairs = [["t1", "t2"], ["t1", "t2"], ["t3", "t4"], ["t3", "t4"]]
    topics = {"t1": 6, "t2": 6, "t3": 2, "t4": 2}
    assert range_over([A, B], 1, [A, B, B, A], pairs, **topics) == (
        ["t1-0 t1-2 t1-4 t2-0 t2-2 t2-4", "t1-1 t1-3 t1-5 t2-1 t2-3 t2-5", "t3-1 t4-1", "t3-0 t4-0"],
        0,
    )


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_kip_881_sticky_with_racks_and_one_replica_keeps_every_partition_in_its_rack(assignor):
    layout = cluster([A, B, C], 1, t1=6, t2=7, t3=2)
    members = consumers(EQUAL, [A, B, C])
    answer = assign(assignor, layout, members)
    assert mismatches(layout, members, answer) == 0
    assert sorted(map(len, answer.values())) == [5, 5, 5]


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_kip_881_sticky_without_racks_deals_partitions_round(assignor):
    layout = cluster([A, B, C], 1, t1=6, t2=7, t3=2)
    assert short(assign(assignor, layout, consumers(EQUAL, [None] * 3))) == [
        "t1-0 t1-3 t2-0 t2-3 t2-6",
        "t1-1 t1-4 t2-1 t2-4 t3-0",
        "t1-2 t1-5 t2-2 t2-5 t3-1",
    ]


@pytest.mark.parametrize("assignor", ["range", "sticky", "cooperative-sticky"])
def test_kip_881_replicas_that_are_offline_still_count(assignor):
    layout = cluster([A, B, C], 1, t1=6, t2=7, t3=2)
    members = consumers(EQUAL, [A, B, C])
    down = {**layout, "offline": {"t1": {"0": [0], "3": [0]}}}
    assert assign(assignor, down, members) == assign(assignor, layout, members)


def test_kip_881_cooperative_members_first_give_up_what_is_out_of_their_rack():
    layout = cluster([A, B], 1, t1=4)
    members = consumers([["t1"], ["t1"]], [A, B])
    members["consumer0"] |= {"owned": [["t1", [0, 1]]], "generation": 3}
    members["consumer1"] |= {"owned": [["t1", [2, 3]]], "generation": 3}
    assert short(assign("cooperative-sticky", layout, members)) == ["t1-0", "t1-3"]
    members["consumer0"] |= {"owned": [["t1", [0]]], "generation": 4}
    members["consumer1"] |= {"owned": [["t1", [3]]], "generation": 4}
    assert short(assign("cooperative-sticky", layout, members)) == ["t1-0 t1-2", "t1-1 t1-3"]
