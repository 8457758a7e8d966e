"""The repair of rack violations, example by example; its properties are in tests/property."""

from __future__ import annotations

import pytest

from kafka_rack.cluster_layout import ClusterLayout, layout_of_json
from kafka_rack.errors import InputError, MissingRackError
from kafka_rack.reassignment import current_plan_of, entries_of, plan_json, repair
from kafka_rack.reassignment.plan import Entry

BROKERS = [[0, "a"], [1, "a"], [2, "b"], [3, "c"]]


def restored(brokers, topics, wanted=None):
    return repair(layout_of_json({"brokers": brokers, "topics": topics}), wanted)


def test_a_copy_moves_to_the_free_rack_in_its_place_and_the_reason_is_told():
    said = restored(BROKERS, {"t": [[0, 1, 2]]})
    assert said.entries == (Entry("t", 0, (0, 3, 2)),)
    (move,) = said.moves
    assert (move.source, move.source_rack, move.target, move.target_rack) == (1, "a", 3, "c")
    assert move.reason == "brokers 0 and 1 share rack a, while rack c has no replica"


def test_nothing_moves_where_every_rack_has_a_copy():
    said = restored(BROKERS, {"t": [[0, 1, 2, 3]]})
    assert (said.moves, said.entries, said.before) == ((), (), said.after)


def test_the_broker_that_leads_now_stays_where_another_copy_can_go():
    topics = {"t": [{"replicas": [2, 0, 1], "leader": 0}]}
    (move,) = restored(BROKERS, topics).moves
    assert (move.source, move.takes_leader) == (1, False)


def test_the_preferred_leader_stays_even_where_the_leader_of_now_must_go():
    (move,) = restored(BROKERS, {"t": [{"replicas": [0, 1], "leader": 1}]}).moves
    assert (move.source, move.takes_leader) == (1, True)


def test_moves_go_to_the_brokers_that_hold_least():
    topics = {"full": [[2]] * 5, "t": [[0, 1]] * 4}
    assert [move.target for move in restored(BROKERS, topics).moves] == [3, 3, 3, 3]


def test_other_topics_stay_but_count_for_balance():
    said = restored(BROKERS, {"t": [[0, 1]], "u": [[0, 1]], "v": [[2]] * 9}, ["t"])
    assert [(move.topic, move.target) for move in said.moves] == [("t", 3)]


def test_a_broker_that_is_down_is_no_target():
    said = restored([[0, "a"], [1, "a"], [2, "b", True]], {"t": [[0, 1]]})
    assert said.moves == ()


@pytest.mark.parametrize("down", [False, True])
def test_a_replica_alone_in_its_rack_stays_whether_its_broker_is_up_or_down(down):
    brokers = [[0, "a"], [1, "a"], [2, "b", down], [3, "c"]]
    (move,) = restored(brokers, {"t": [{"replicas": [0, 2, 1], "leader": 1}]}).moves
    assert (move.source, move.target) == (1, 3)


def test_a_partition_with_a_broker_of_unknown_rack_is_left_alone():
    layout = layout_of_json({"brokers": [*BROKERS, [4, "b"]], "topics": {"t": [[0, 1, 4]]}})
    said = repair(ClusterLayout(layout.brokers[:4], layout.topics))
    assert said.left_alone == (("t", 0, "broker 4 is not up, and its rack is not known"),)
    assert said.moves == ()


def test_brokers_without_racks_cannot_be_restored():
    with pytest.raises(MissingRackError, match="broker 1 without a rack"):
        restored([[0, "a"], [1]], {"t": [[0, 1]]})
    with pytest.raises(InputError, match="no broker has a rack"):
        restored([[0], [1]], {"t": [[0, 1]]})


def test_a_topic_that_is_not_there_is_named():
    with pytest.raises(InputError, match="topic x: there is no such topic"):
        restored(BROKERS, {"t": [[0]]}, ["x"])


def test_the_plan_of_now_takes_a_repair_back():
    layout = layout_of_json({"brokers": BROKERS, "topics": {"t": [[0, 2], [0, 1, 2]]}})
    now = current_plan_of(layout, repair(layout).entries)
    assert plan_json(now) == (
        '{"version":1,"partitions":[{"topic":"t","partition":1,"replicas":[0,1,2],"log_dirs":["any","any","any"]}]}'
    )
    assert set(now) <= set(entries_of(layout.replicas_by_topic()))


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Entry("x", 0, (0,)), "x-0: there is no topic x"),
        (Entry("t", 1, (0,)), "t-1: topic t has partitions 0 to 0"),
        (Entry("t", 0, (9,)), "t-0: broker 9 is not among the brokers"),
    ],
)
def test_a_plan_for_what_is_not_there_is_refused(entry, text):
    with pytest.raises(InputError, match=text):
        current_plan_of(layout_of_json({"brokers": BROKERS, "topics": {"t": [[0]]}}), [entry])
