"""The leader rebalances when racks have changed, and not when a broker is merely down."""

from __future__ import annotations

import pytest

from kafka_rack.assignment.leader import LeaderWatch

RACKS = {0: "a", 1: "b", 2: "c", 3: "b", 4: None}


def metadata(*partitions, down=(), racks=RACKS):
    return {
        "nodes": [[broker, rack] for broker, rack in racks.items() if broker not in down],
        "topics": {"orders": [list(replicas) for replicas in partitions], "other": [[0]]},
    }


def watching(*partitions, rack="a", down=(), **options):
    watch = LeaderWatch(rack, **options)
    watch.assigned(metadata(*partitions, down=down), ["orders"])
    return watch


def test_a_replica_moved_to_another_rack_is_a_reason():
    assert watching([0, 1]).reason_to_rebalance(metadata([0, 2])) == "orders-0 has replicas in a, c, had a, b"


def test_a_replica_moved_within_its_rack_is_none():
    assert watching([0, 1]).reason_to_rebalance(metadata([3, 0])) is None


def test_a_leader_without_a_rack_does_not_care_for_racks():
    assert watching([0, 1], rack=None).reason_to_rebalance(metadata([0, 2])) is None
    assert watching([0, 1], rack="").reason_to_rebalance(metadata([0, 2])) is None


def test_more_partitions_are_a_reason_for_any_leader():
    assert watching([0, 1], rack=None).reason_to_rebalance(metadata([0, 1], [1, 2])) == "orders has 2 partitions, had 1"


def test_a_topic_that_nobody_subscribes_to_may_change():
    assert (
        watching([0, 1]).reason_to_rebalance({**metadata([0, 1]), "topics": {"orders": [[0, 1]], "other": [[2]]}})
        is None
    )


def test_a_broker_that_goes_down_and_comes_back_is_no_reason():
    watch = watching([0, 1])
    assert watch.reason_to_rebalance(metadata([0, 1], down=[1])) is None
    assert watch.reason_to_rebalance(metadata([0, 1])) is None
    assert watching([0, 1], down=[1]).reason_to_rebalance(metadata([0, 1])) is None


def test_a_move_while_another_broker_is_down_is_a_reason():
    assert watching([0, 1]).reason_to_rebalance(metadata([0, 2], down=[0])) is not None


def test_a_broker_that_comes_back_in_another_rack_is_a_reason():
    assert watching([0, 1]).reason_to_rebalance(metadata([0, 1], racks={0: "a", 1: "z"})) is not None


def test_a_broker_that_comes_back_without_its_rack_is_a_reason():
    assert watching([0, 1]).reason_to_rebalance(metadata([0, 1], racks={0: "a", 1: None})) is not None


@pytest.mark.parametrize(("before", "after"), [((), (1,)), ((1,), ())], ids=["going", "coming"])
def test_the_older_rule_takes_a_broker_down_for_a_change(before, after):
    watch = watching([0, 1], down=before, broker_down_is_change=True)
    assert watch.reason_to_rebalance(metadata([0, 1], down=after)) is not None


def test_the_older_rule_sees_no_change_while_another_replica_shares_the_rack_and_one_was_down():
    watch = watching([0, 1, 3, 4], down=[4], broker_down_is_change=True)
    assert watch.reason_to_rebalance(metadata([0, 1, 3, 4], down=[4, 3])) is None
