"""The forecast counts reads as brokers would serve them, and the findings name what is wrong."""

from __future__ import annotations

import pytest

from kafka_rack.assignment import assign, explain
from kafka_rack.assignment.forecast import ReplicaMap, forecast
from kafka_rack.assignment.members import members_from_plain
from kafka_rack.assignment.user_data import write_sticky
from tests.unit.kafka_rack.assignment.groups import cluster, consumers


def kinds(explanation):
    return {finding.kind for finding in explanation.findings}


def test_rack_awareness_on_reads_everything_at_home_where_racks_are_even():
    explanation = explain("range", cluster(["a", "b", "c"], 1, t1=12), consumers([["t1"]] * 3, ["a", "b", "c"]))
    assert explanation.now.name == "without racks"
    assert (explanation.now.forecast.share, explanation.with_racks.forecast.share) == (0.5, 1.0)
    assert [broker.reads for broker in explanation.with_racks.forecast.brokers] == [4, 4, 4]


def test_what_members_own_is_the_present():
    members = consumers([["t1"], ["t1"]], ["a", "b"])
    members["consumer0"]["owned"] = [["t1", [1, 3]]]
    members["consumer1"]["owned"] = [["t1", [0, 2]]]
    explanation = explain("cooperative-sticky", cluster(["a", "b"], 1, t1=4), members)
    assert explanation.now.name == "present"
    assert explanation.now.forecast.share == 0.0
    assert {finding.kind: finding.partitions for finding in explanation.findings} == {
        "handed-over-later": (("t1", 0), ("t1", 1), ("t1", 2), ("t1", 3))
    }


def test_a_sticky_members_present_is_in_its_user_data():
    members = consumers([["t1"], ["t1"]], ["a", "b"])
    members["consumer0"]["user_data"] = write_sticky([("t1", 1)], 4).hex()
    explanation = explain("sticky", cluster(["a", "b"], 1, t1=4), members)
    assert explanation.now.assignment == {"consumer0": [("t1", 1)], "consumer1": []}


def test_members_are_served_by_the_leader_in_their_rack_else_by_the_highest_id_there():
    layout = {
        "nodes": [[0, "a"], [1, "b"], [2, "b"], [3, "b"]],
        "topics": {"t": [[0, 1, 2], [1, 0, 3], [0, 1, 2, 3]]},
        "offline": {"t": {"2": [3]}},
    }
    members = members_from_plain({"m": {"topics": ["t"], "rack": "b"}})
    seen = forecast(layout, members, {"m": [("t", 0), ("t", 1), ("t", 2)]})
    assert [(row.broker, row.reads, row.reads_as_leader) for row in seen.brokers] == [
        (0, 0, 2),
        (1, 1, 1),
        (2, 2, 0),
        (3, 0, 0),
    ]
    assert (seen.share, seen.share_from_leader) == (1.0, 1 / 3)


def test_leaders_can_be_given():
    layout = {"nodes": [[0, "a"], [1, "b"]], "topics": {"t": [[0, 1]]}, "leaders": {"t": [1]}}
    assert ReplicaMap(layout).online("t", 0) == [1, 0]


def test_partitions_without_a_live_replica_are_unread():
    layout = {"nodes": [[0, "a"]], "topics": {"t": [[0], [1]]}}
    members = members_from_plain({"m": {"topics": ["t"], "rack": "a"}})
    assert forecast(layout, members, {"m": [("t", 0), ("t", 1)]}).unread == (("t", 1),)


@pytest.mark.parametrize(
    ("assignor", "broker_racks", "replicas", "member_racks", "kind"),
    [
        ("roundrobin", ["a", "b"], 1, ["a", "b"], "no-rack-awareness"),
        ("uniform", ["a", "b"], 1, ["a", "b"], "no-rack-awareness"),
        ("range", ["a", "b"], 1, [None, None], "no-member-rack"),
        ("range", ["a", "b"], 1, ["a", None], "members-without-rack"),
        ("range", ["a", None], 1, ["a", "a"], "brokers-without-rack"),
        ("range", ["a", "b"], 1, ["a", "elsewhere"], "unknown-rack"),
        ("sticky", ["a", "b"], 2, ["a", "b"], "racks-everywhere"),
    ],
)
def test_a_finding_says_why_racks_do_not_help(assignor, broker_racks, replicas, member_racks, kind):
    explanation = explain(assignor, cluster(broker_racks, replicas, t1=4), consumers([["t1"]] * 2, member_racks))
    assert kind in kinds(explanation)


def test_a_sound_group_has_no_findings():
    layout = cluster(["a", "b"], 1, t1=4)
    assert explain("range", layout, consumers([["t1"]] * 2, ["a", "b"])).findings == ()


def test_a_rack_name_that_almost_matches_gets_a_hint():
    explanation = explain("range", cluster(["us-east-1a"], 1, t1=2), consumers([["t1"]], ["US-East-1a"]))
    (finding,) = (finding for finding in explanation.findings if finding.kind == "unknown-rack")
    assert "they differ in capitals only" in finding.text


def test_co_partitioned_topics_that_share_no_rack_are_pointed_out():
    layout = {"nodes": [[0, "a"], [1, "b"]], "topics": {"t1": [[0], [1]], "t2": [[1], [1]]}}
    explanation = explain("range", layout, consumers([["t1", "t2"]] * 2, ["a", "b"]))
    (finding,) = (finding for finding in explanation.findings if finding.kind == "co-partitioned-apart")
    assert finding.partitions == (("t1", 0), ("t2", 0))


def test_a_member_without_topics_that_gets_partitions_is_pointed_out():
    members = {"a": {"topics": []}, "b": {"topics": ["t1"]}}
    layout = cluster([None], 1, t1=4)
    answer = assign("sticky", layout, members)
    assert answer["a"], "Kafka gives it some"
    assert {"taken-for-equal", "unsubscribed-owner"} <= kinds(explain("sticky", layout, members))


def test_claims_on_which_kafkas_code_fails_are_pointed_out():
    members = consumers([["t1", "t2"]] * 2, [None, None])
    members["consumer0"]["owned"] = [["t1", [99]]]
    members["consumer0"]["generation"] = members["consumer1"]["generation"] = 1
    members["consumer1"]["owned"] = [["t2", [0, 1]]]
    layout = cluster([None], 1, t1=2, t2=2)
    explanation = explain("cooperative-sticky", layout, members)
    assert "kafka-fails" in kinds(explanation)
    assert sorted(pair for pairs in explanation.with_racks.assignment.values() for pair in pairs) == [
        ("t1", 0),
        ("t1", 1),
        ("t2", 0),
        ("t2", 1),
    ]


def test_the_coordinators_assignors_get_racks_only_from_us():
    layout, members = cluster(["a", "b"], 1, t1=8), consumers([["t1"]] * 2, ["a", "b"])
    for assignor in ("uniform", "server-range"):
        assert [view.name for view in explain(assignor, layout, members).views] == ["without racks"]
        ours = explain(assignor, layout, members, our_rack_awareness=True)
        assert ours.with_racks.name == "with racks (ours, not Kafka's)"
        assert ours.with_racks.forecast.share == 1.0


def test_a_member_with_two_more_than_another_that_could_take_one_is_pointed_out():
    topics = {f"t{number}": 1 for number in range(3)}
    explanation = explain("range", cluster([None], 1, **topics), consumers([list(topics)] * 2, [None, None]))
    (finding,) = (finding for finding in explanation.findings if finding.kind == "uneven")
    assert finding.text == "consumer0 has 3 partitions, consumer1 only 0, though it could take some"


def test_a_load_that_is_still_being_handed_over_is_not_called_uneven():
    members = consumers([["t1"]] * 2, [None, None])
    members["consumer0"] |= {"owned": [["t1", [0, 1, 2, 3]]], "generation": 1}
    assert "uneven" not in kinds(explain("cooperative-sticky", cluster([None], 1, t1=4), members))


def test_a_claim_to_a_partition_that_does_not_exist_and_stays_is_pointed_out():
    members = consumers([["t1"]] * 2, [None, None])
    members["consumer0"] |= {"owned": [["t1", [99]]], "generation": 1}
    explanation = explain("cooperative-sticky", cluster([None], 1, t1=2), members)
    (finding,) = (finding for finding in explanation.findings if finding.kind == "missing-partition")
    assert finding.partitions == (("t1", 99),)
