"""Layouts out of files: the forms that are read, and what is said of those that contradict themselves."""

from __future__ import annotations

import pytest

from kafka_rack.cluster_layout import Partition, layout_of_json, reassignment_entries
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
    assert topic.partitions == (Partition((0, 1)), Partition((1, 0), 0, (0,)))
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
        ([], "an object with brokers and topics is due"),
        ({"brokers": BROKERS}, "topics are due"),
        ({"brokers": True, "topics": {"t": [[0]]}}, "brokers are true, but a list is due"),
        ({"brokers": [], "topics": {"t": [[0]]}}, "names no brokers"),
        ({"brokers": BROKERS, "topics": {"t": [[0]]}, "partitions": []}, "topics and partitions are both there"),
        ({"brokers": [[0, "a"], [0, "b"]], "topics": {"t": [[0]]}}, "broker 0 is given twice, in rack a and in rack b"),
        ({"brokers": [[0, "a"], [0, "a"]], "topics": {"t": [[0]]}}, "broker 0 is given twice$"),
        ({"brokers": [{"rack": "a"}], "topics": {"t": [[0]]}}, "broker at place 0: id is null"),
        ({"brokers": [[True, "a"]], "topics": {"t": [[0]]}}, "id is true, but a number"),
        ({"brokers": [[0, 7]], "topics": {"t": [[0]]}}, "broker 0: rack is 7, but a text or null"),
        ({"brokers": [[0, "a", "no"]], "topics": {"t": [[0]]}}, 'fenced is "no", but true or false'),
        ({"brokers": ["0"], "topics": {"t": [[0]]}}, "an object with id and rack is due"),
        ({"brokers": BROKERS, "topics": {"t": []}}, r"t: partitions are \[\], but a list of at least one"),
        ({"brokers": BROKERS, "topics": {"t": [[]]}}, "t-0: no replicas"),
        ({"brokers": BROKERS, "topics": {"t": [[0, 0]]}}, r"t-0: broker 0 is given twice in replicas \[0, 0\]"),
        ({"brokers": BROKERS, "topics": {"t": [["0"]]}}, "t-0: replicas are .*a list of broker ids"),
        ({"brokers": BROKERS, "topics": {"t": [[0], [9]]}}, "t-1 is on broker 9, which is not among the brokers"),
        ({"brokers": BROKERS, "topics": {"t": [{"replicas": [0], "leader": 1}]}}, "leader is 1, which is not among"),
        ({"brokers": BROKERS, "topics": {"t": [{"replicas": [0], "isr": [1]}]}}, "1 is in its isr, but not among"),
        ({"brokers": BROKERS, "topics": {"t": [{"partition": 1, "replicas": [0]}]}}, "partition 0 is missing"),
        ({"brokers": BROKERS, "topics": {"t": [{"partition": -1, "replicas": [0]}]}}, "partition is -1"),
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
        ({"topics": []}, "a reassignment is due"),
        ({"version": 2, "partitions": []}, "version is 2, but 1 is due"),
        ({"partitions": [{"topic": "t"}]}, "partition at place 0: topic, partition and replicas are due"),
        ({"partitions": [{"topic": "t", "partition": 0, "replicas": [0]}] * 2}, "t-0 is given twice"),
        ({"partitions": [{"topic": "t", "partition": 0, "replicas": []}]}, "t-0: no replicas"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(said, text):
    with pytest.raises(InputError, match=text):
        reassignment_entries(said)
