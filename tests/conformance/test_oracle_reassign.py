"""Whole proposals of Kafka's reassignment tool, of one topic or several, as the tool's own class makes them."""

from __future__ import annotations

from kafka_rack.placement import UsableBroker
from kafka_rack.reassignment import entries_of, plan_json, propose
from tests.cases import for_each
from tests.fixture_data import oracle


def lines():
    return [("+".join(line["input"]["current"]), (line,)) for line in oracle("placement") if line["kind"] == "reassign"]


def test_there_are_proposals_for_one_topic_and_for_several():
    assert {len(line["input"]["current"]) > 1 for _, (line,) in lines()} == {True, False}


@for_each(lines)
def test_each_proposal_is_kafkas_byte_for_byte_whatever_the_number_of_topics(line):
    said = line["input"]
    brokers = [UsableBroker(broker, rack) for broker, rack in said["brokers"]]
    proposed = propose(said["current"], brokers, seed=said["seed"])
    assert plan_json(entries_of(said["current"])) == line["expect"]["current_json"]
    assert plan_json(entries_of(proposed)) == line["expect"]["proposed_json"]
