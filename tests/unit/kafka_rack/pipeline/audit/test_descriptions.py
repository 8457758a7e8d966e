"""What each description of a cluster gives, and why a bad one gives none."""

from __future__ import annotations

import json

import pytest

from kafka_rack.pipeline.audit.descriptions import Described, UnreadableCluster, cluster_of
from kafka_rack.placement import UsableBroker

GOOD = {"brokers": [[0, "a"], [1, "b"]], "topics": {"orders": [[0, 1]]}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "line 1 column 1: Expecting value"),
        (b'{"brokers": [[0, "a"]]\n "topics"}', "line 2 column 2: Expecting ',' delimiter"),
        (b'"\xff"', "is no UTF-8 text"),
        (b"[]", "expected an object with brokers and topics, got a list"),
        (b"[" * 200_000, "lists or objects nested far deeper than any description"),
        (b'{"brokers": [[' + b"9" * 5000 + b"]]}", "a number with more digits than any field has"),
        (b'{"topics": {"orders": [[0]]}}', "it names no brokers: add them, or give them beside it"),
        (b'{"brokers": [[0]], "topics": {"orders": [[7]]}}', "orders-0 is on broker 7, which is not among the brokers"),
        (b'{"brokers": [[2147483648]], "topics": {}}', "broker 2147483648: ids go up to 2147483647"),
        (b'{"brokers": [[0, "\\ud800"]], "topics": {}}', "?: half of a surrogate pair is no text"),
    ],
)
def test_what_is_no_description_says_why(content, reason):
    assert cluster_of(content, "x.json", None) == UnreadableCluster("x.json", None, reason)


def test_a_long_reason_is_cut():
    bad = json.dumps({"brokers": ["x" * 10_000], "topics": {}}).encode()
    found = cluster_of(bad, "x.json", None)
    assert isinstance(found, UnreadableCluster)
    assert len(found.reason) < 500


def test_brokers_given_beside_are_those_of_plans_that_name_none():
    plan = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [5]}]}
    found = [cluster_of(json.dumps(one).encode(), "x.json", None, [UsableBroker(5, "z")]) for one in (plan, GOOD)]
    assert all(isinstance(one, Described) for one in found)
    assert [one.layout.rack_of for one in found] == [{5: "z"}, {0: "a", 1: "b"}]
