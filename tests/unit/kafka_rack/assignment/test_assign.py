"""assign's edges: empty groups, wrong input, members without topics."""

from __future__ import annotations

import pytest

from kafka_rack import InputError, PartitionAssignorError
from kafka_rack.assignment import ASSIGNORS, assign
from tests.unit.kafka_rack.assignment.groups import cluster, consumers

LAYOUT = cluster(["a", "b"], 1, t1=4)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_group_without_members_gets_nothing(assignor):
    assert assign(assignor, LAYOUT, {}) == {}


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_members_without_topics_get_nothing(assignor):
    assert assign(assignor, LAYOUT, consumers([[], []], ["a", "b"])) == {"consumer0": [], "consumer1": []}


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_a_consumers_assignor_passes_over_topics_that_do_not_exist(assignor):
    answer = assign(assignor, LAYOUT, consumers([["t1", "gone"]], ["a"]))
    assert answer == {"consumer0": [("t1", 0), ("t1", 1), ("t1", 2), ("t1", 3)]}


@pytest.mark.parametrize("assignor", ["uniform", "server-range", "rack-uniform"])
def test_a_coordinators_assignor_refuses_topics_that_do_not_exist(assignor):
    with pytest.raises(PartitionAssignorError, match="subscribe to topic gone, which does not exist"):
        assign(assignor, LAYOUT, consumers([["gone"]], ["a"]))


def test_static_members_come_first_in_the_order_of_their_instances():
    members = consumers([["t1"]] * 3, [None] * 3)
    members["consumer2"]["instance_id"] = "i1"
    members["consumer1"]["instance_id"] = "i2"
    answer = assign("range", LAYOUT, members)
    assert answer == {"consumer2": [("t1", 0), ("t1", 1)], "consumer1": [("t1", 2)], "consumer0": [("t1", 3)]}


def test_round_robin_passes_over_members_that_do_not_subscribe():
    layout = cluster([None], 1, t1=3, t2=3)
    answer = assign("roundrobin", layout, consumers([["t1"], ["t1", "t2"]], [None, None]))
    assert answer == {
        "consumer0": [("t1", 0), ("t1", 2)],
        "consumer1": [("t1", 1), ("t2", 0), ("t2", 1), ("t2", 2)],
    }


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"assignor": "fair"}, "assignor: expected one of range, roundrobin"),
        ({"cluster": []}, r"cluster: expected an object with nodes and topics, got \[\]"),
        ({"cluster": {"nodes": [[0, "a"]]}}, "cluster.topics: expected an object, got None"),
        ({"cluster": {"nodes": [[0, "a"], [0, "b"]], "topics": {}}}, r"cluster.nodes\[1\]: broker 0 is listed twice"),
        ({"cluster": {"nodes": [[0]], "topics": {}}}, r"cluster.nodes\[0\]: expected \[broker id, rack\], got \[0\]"),
        ({"cluster": {"nodes": [["0", "a"]], "topics": {}}}, r"cluster.nodes\[0\]"),
        ({"cluster": {"nodes": [[0, 7]], "topics": {}}}, r"cluster.nodes\[0\]: rack 7 is no string"),
        ({"cluster": {"nodes": [], "topics": {"t": 3}}}, "cluster.topics.t: expected a list of replica lists, got 3"),
        ({"cluster": {"nodes": [], "topics": {"t": [3]}}}, r"cluster.topics.t\[0\]: 3 is no list of broker ids"),
        (
            {"cluster": {**LAYOUT, "topic_ids": {"t1": "short"}}},
            "t1: expected a topic id of 22 base64 characters, got 'short'",
        ),
        ({"members": []}, r"members: expected an object of member ids, got \[\]"),
        ({"members": {"m": None}}, "members.m: expected an object with topics, got None"),
        ({"members": {"m": {}}}, "members.m.topics: expected a list of topic names, got None"),
        ({"members": {"m": {"topics": "t1"}}}, "members.m.topics: expected a list of topic names, got 't1'"),
        ({"members": {"m": {"topics": [], "rack": 1}}}, "members.m.rack: 1 is no string"),
        ({"members": {"m": {"topics": [], "generation": "1"}}}, "members.m.generation: '1' is no number"),
        *(
            (
                {"members": {"m": {"topics": [], "owned": owned}}},
                r"members.m.owned: expected a list of \[topic, .*, got ",
            )
            for owned in (0, 7, "", "t1", {}, {"t1": [0]}, False, 1.5)
        ),
        (
            {"members": {"m": {"topics": [], "owned": [["t1", "0"]]}}},
            r"members.m.owned: expected \[topic, .*, got \['t1', '0'\]",
        ),
        (
            {"members": {"m": {"topics": [], "user_data": "xyz"}}},
            "members.m.user_data: expected bytes in hex, got 'xyz'",
        ),
    ],
)
def test_wrong_input_is_named_in_one_line(changed, message):
    given = {"assignor": "range", "cluster": LAYOUT, "members": {}} | changed
    with pytest.raises(InputError, match=message) as error:
        assign(**given)
    assert "\n" not in str(error.value)
