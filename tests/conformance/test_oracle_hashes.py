"""Kafka's hashes, compared with its own class."""

from __future__ import annotations

from typing import Any

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
