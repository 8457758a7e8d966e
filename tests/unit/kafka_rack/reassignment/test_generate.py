"""Kafka's own proposal: what it refuses; that it is Kafka's is held by the recorded answers."""

from __future__ import annotations

import pytest

from kafka_rack.errors import InputError, InvalidReplicationFactorError, MissingRackError
from kafka_rack.placement import DISABLED, UsableBroker
from kafka_rack.reassignment import propose

BROKERS = [UsableBroker(0, "a"), UsableBroker(1, "b"), UsableBroker(2)]


def test_brokers_partly_without_a_rack_are_refused_unless_racks_are_ignored():
    with pytest.raises(MissingRackError, match="broker 2 without a rack"):
        propose({"t": [[0]]}, BROKERS, seed=1)
    assert set(propose({"t": [[0], [0], [0]]}, BROKERS, seed=1, rack_mode=DISABLED)) == {"t"}


def test_a_topic_that_does_not_fit_is_named():
    with pytest.raises(InvalidReplicationFactorError, match="topic t: replication factor 3, but 2 brokers"):
        propose({"t": [[0, 1, 2]]}, BROKERS[:2], seed=1)


def test_no_topics_are_refused():
    with pytest.raises(InputError, match="no topics to move"):
        propose({}, BROKERS, seed=1)


def test_each_topic_keeps_its_partitions_and_replicas():
    current = {"t": [[0], [1]], "u": [[0, 1], [1, 0], [0, 1]]}
    said = propose(current, BROKERS[:2], seed=9)
    assert {name: [len(row) for row in rows] for name, rows in said.items()} == {"t": [1, 1], "u": [2, 2, 2]}
