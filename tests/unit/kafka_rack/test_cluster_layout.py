"""Layouts out of files: the forms that are read, and what is said of those that contradict themselves."""

from __future__ import annotations

import pytest

from kafka_rack.cluster_layout import LayoutPartition, layout_of_json, reassignment_entries
from kafka_rack.errors import InputError
from kafka_rack.placement import UsableBroker

BROKERS = [{"id": 1, "rack": "b"}, [0, "a"], [2]]


def test_brokers_are_objects_or_lists_and_come_out_by_id():
    layout = layout_of_json({"brokers": BROKERS, "topics": {"t": [[0]]}})
    assert layout.brokers == (UsableBroker(0, "a"), UsableBroker(1, "b"), UsableBroker(2))


def test_an_empty_rack_is_none_as_in_a_clients_settings():
    assert layout_of_json({"brokers": [[0, ""]], "topics": {"t": [[0]]}}).brokers == (UsableBroker(0),)


def test_a_topic_is_a_list_or_an_object_with_all_that_is_known():
    said = {"partitions": [{"partition": 1, "replicas": [1, 0], "leader": 0, "isr": [0]}, [0, 1]]}
    with pytest.raises(InputError, match="t-1 is given twice"):
        layout_of_json({"brokers": BROKERS, "topics": {"t": said}})
    said["partitions"][1] = {"partition": 0, "replicas": [0, 1]}
    topic = layout_of_json({"brokers": BROKERS, "topics": {"t": {**said, "min_insync_replicas": 2}}}).topics["t"]
    assert topic.partitions == (LayoutPartition((0, 1)), LayoutPartition((1, 0), 0, (0,)))
    assert (topic.min_insync_replicas, topic.internal) == (2, False)


def test_a_plan_of_kafkas_tool_is_a_layout_once_brokers_are_given_beside_it():
    plan = {
        "version": 1,
        "partitions": [{"topic": "t", "partition": 0, "replicas": [0, 1], "log_dirs": ["any", "any"]}],
    }
    layout = layout_of_json(plan, [UsableBroker(0), UsableBroker(1)])
    assert layout.replicas_by_topic() == {"t": [[0, 1]]}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ([], "expected an object with brokers and topics, got a list"),
        ({"brokers": BROKERS}, "expected topics, .*, got neither"),
        ({"brokers": True, "topics": {"t": [[0]]}}, "brokers: expected a list, got true"),
        ({"brokers": [], "topics": {"t": [[0]]}}, "names no brokers"),
        ({"brokers": BROKERS, "topics": {"t": [[0]]}, "partitions": []}, "topics and partitions are both there"),
        ({"brokers": [[0, "a"], [0, "b"]], "topics": {"t": [[0]]}}, "broker 0 is given twice, in rack a and in rack b"),
        ({"brokers": [[0, "a"], [0, "a"]], "topics": {"t": [[0]]}}, "broker 0 is given twice$"),
        ({"brokers": [{"rack": "a"}], "topics": {"t": [[0]]}}, "place 0: id: expected a number from 0, got null"),
        ({"brokers": [[True, "a"]], "topics": {"t": [[0]]}}, "id: expected a number from 0, got true"),
        ({"brokers": [[0, 7]], "topics": {"t": [[0]]}}, "broker 0: rack: expected a text or null, got 7"),
        ({"brokers": [[0, "a", "no"]], "topics": {"t": [[0]]}}, 'fenced: expected true or false, got "no"'),
        ({"brokers": ["0"], "topics": {"t": [[0]]}}, 'expected an object with id and rack, got "0"'),
        ({"brokers": BROKERS, "topics": {"t": []}}, r"t: partitions: expected a list of at least one, got \[\]"),
        ({"brokers": BROKERS, "topics": {"t": [[]]}}, "t-0: replicas: expected one or more, got none"),
        ({"brokers": BROKERS, "topics": {"t": [[0, 0]]}}, r"t-0: broker 0 is given twice in replicas \[0, 0\]"),
        ({"brokers": BROKERS, "topics": {"t": [["0"]]}}, r't-0: replicas: expected a list of .*, got \["0"\]'),
        ({"brokers": BROKERS, "topics": {"t": [[0], [9]]}}, "t-1 is on broker 9, which is not among the brokers"),
        ({"brokers": BROKERS, "topics": {"t": [{"replicas": [0], "leader": 1}]}}, "leader is 1, which is not among"),
        ({"brokers": BROKERS, "topics": {"t": [{"replicas": [0], "isr": [1]}]}}, "1 is in its isr, but not among"),
        ({"brokers": BROKERS, "topics": {"t": [{"partition": 1, "replicas": [0]}]}}, "partition 0 is missing"),
        (
            {"brokers": BROKERS, "topics": {"t": [{"partition": -1, "replicas": [0]}]}},
            "expected a number from 0, got -1",
        ),
        ({"brokers": BROKERS, "topics": {"t": {"partitions": [[0]], "min_insync_replicas": 0}}}, "a number from 1"),
    ],
)
def test_what_contradicts_itself_is_named_in_one_line(said, text):
    with pytest.raises(InputError, match=text) as caught:
        layout_of_json(said)
    assert "\n" not in str(caught.value)


def test_brokers_given_in_the_file_and_beside_it_are_refused():
    with pytest.raises(InputError, match="give them once"):
        layout_of_json({"brokers": BROKERS, "topics": {"t": [[0]]}}, [UsableBroker(0)])


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"topics": []}, "expected a reassignment, .*, got an object with topics"),
        ({"version": 2, "partitions": []}, "version: expected 1, got 2"),
        ({"partitions": [{"topic": "t"}]}, 'place 0: expected topic, partition and replicas, got {"topic": "t"}'),
        ({"partitions": [{"topic": "t", "partition": 0, "replicas": [0]}] * 2}, "t-0 is given twice"),
        ({"partitions": [{"topic": "t", "partition": 0, "replicas": []}]}, "t-0: replicas: expected one or more"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(said, text):
    with pytest.raises(InputError, match=text):
        reassignment_entries(said)
