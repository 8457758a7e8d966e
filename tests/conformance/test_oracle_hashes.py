"""Kafka's hashes, and the broker that they choose for a diskless partition, compared with Kafka's own class."""

from __future__ import annotations

import base64
from typing import Any

from kafka_rack.diskless import choose_by_hash
from kafka_rack.java import murmur2, to_positive
from tests.fixture_data import oracle


def lines(kind: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(line["input"], line["expect"]) for line in oracle("hashes") if line["kind"] == kind]


def test_each_text_has_kafkas_hash():
    found = [murmur2(said["text"].encode()) for said, _ in lines("text")]
    assert found == [expected["murmur2"] for _, expected in lines("text")]


def test_a_number_becomes_positive_as_in_kafka():
    found = [to_positive(said["number"]) for said, _ in lines("positive")]
    assert found == [expected["positive"] for _, expected in lines("positive")]


def test_each_diskless_partition_has_the_broker_that_inkless_chooses():
    for said, expected in lines("diskless-partition"):
        topic_id = base64.urlsafe_b64decode(said["topic_id"] + "==")
        # Their ids count down, so that a place is not mistaken for an id.
        chosen = [choose_by_hash(list(range(count, 0, -1)), topic_id, said["partition"]) for count in range(1, 13)]
        assert chosen == [count - place for count, place in enumerate(expected["places"], 1)], said


def test_half_of_the_hashes_are_negative_so_that_their_sign_matters():
    negative = [expected["murmur2"] < 0 for _, expected in lines("diskless-partition")]
    assert 0.4 < sum(negative) / len(negative) < 0.6
