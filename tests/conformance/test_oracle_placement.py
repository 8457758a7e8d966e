"""Placements, reassignment texts and replica choices as Apache Kafka's own classes make them."""

from __future__ import annotations

from collections import Counter

import pytest

import kafka_rack
from kafka_rack import placement, selection
from kafka_rack.placement import UsableBroker
from tests.cases import for_each
from tests.fixture_data import oracle

ERRORS = {
    "InvalidReplicationFactorException": kafka_rack.InvalidReplicationFactorError,
    "InvalidPartitionsException": kafka_rack.InvalidPartitionsError,
    "AdminOperationException": kafka_rack.MissingRackError,
    "ReplicaPlacementError": kafka_rack.ReplicaPlacementError,
}


def lines(kind):
    return [
        (f"line {number}, {line['input'].get('placer', 'reassign')}", (line,))
        for number, line in enumerate(oracle("placement"), start=1)
        if line["kind"] == kind
    ]


def place(said, with_racks=True):
    brokers = [UsableBroker(broker, rack if with_racks else None, fenced) for broker, rack, fenced in said["brokers"]]
    return placement.place(
        said["placer"],
        brokers,
        said["start_partition"],
        said["num_partitions"],
        said["num_replicas"],
        start_index=said.get("start_index"),
        next_replica_shift=said.get("next_replica_shift"),
        seed=said.get("seed"),
    )


@for_each(lambda: lines("placement"))
def test_each_placement_is_kafkas(line):
    if "error" in line:
        with pytest.raises(ERRORS[line["error"]["type"]]):
            place(line["input"])
    else:
        assert place(line["input"]) == line["expect"]["replicas"]


@for_each(lambda: [case for case in lines("placement") if "unaware" in case[0]])
def test_unaware_places_the_same_with_racks_and_without(line):
    said = line["input"]
    if "expect" in line:
        assert place(said) == place(said, with_racks=False)
    else:
        with pytest.raises(kafka_rack.InvalidReplicationFactorError):
            place(said, with_racks=False)


@for_each(lambda: lines("broker-replica"))
def test_each_broker_replica_placement_holds_what_the_issue_promises(line):
    said = line["input"]
    if "error" in line:
        with pytest.raises(ERRORS[line["error"]["type"]]):
            place(said)
        return
    rows, expect = place(said), line["expect"]
    sets = {frozenset(row) for row in rows}
    assert all(len(row) == len(set(row)) == said["num_replicas"] for row in rows)
    assert sum(map(len, sets)) == len(frozenset().union(*sets)), "two sets share a broker"
    if expect["even"]:
        leaders = Counter(row[0] for row in rows)
        assert len(sets) == expect["groups"]
        assert set(leaders) == {broker[0] for broker in said["brokers"]}
        assert len(set(leaders.values())) == 1
    if expect["distinct_racks"]:
        rack = {broker[0]: broker[1] for broker in said["brokers"]}
        assert all(len({rack[broker] for broker in members}) == len(members) for members in sets)
    if "sets" in expect:
        assert sorted(map(sorted, rows)) == sorted(map(sorted, expect["sets"]))


@for_each(lambda: lines("reassign"))
def test_each_current_assignment_prints_as_kafkas_tool_prints_it(line):
    assert placement.reassignment_json(line["input"]["current"]) == line["expect"]["current_json"]


@for_each(lambda: [case for case in lines("reassign") if len(case[1][0]["input"]["current"]) == 1])
def test_each_proposal_of_one_topic_is_kafkas_byte_for_byte(line):
    said = line["input"]
    ((topic, current),) = said["current"].items()
    brokers = [UsableBroker(broker, rack) for broker, rack in said["brokers"]]
    rows = placement.place("striped", brokers, 0, len(current), len(current[0]), seed=said["seed"])
    assert placement.reassignment_json({topic: rows}) == line["expect"]["proposed_json"]


@for_each(lambda: [(line["input"]["client_rack"] or "no rack", (line,)) for line in oracle("selector")])
def test_each_replica_choice_is_kafkas(line):
    said = line["input"]
    partition = {"leader": said["leader"], "replicas": said["replicas"]}
    assert selection.select_replica(said["selector"], said["client_rack"], partition) == line["expect"]["broker"]
