"""The partitions of records without keys, compared with what Kafka's own class chooses (KIP-1123)."""

from __future__ import annotations

from typing import Any

from kafka_rack.writers import next_partition
from tests.fixture_data import oracle

ROWS: list[tuple[dict[str, Any], list[int]]] = [
    (line["input"], line["expect"]["partitions"]) for line in oracle("partitioner")
]


def found(given: dict[str, Any], **other: Any) -> list[int]:
    queues = None if given["queues"] is None else dict(given["queues"])
    rack = given["client_rack"] if given["rack_aware"] else None
    known = {"available": dict(given["available"]), "client_rack": rack, "queues": queues, **other}
    return [next_partition(draw, given["partitions"], **known) for draw in given["draws"]]


def test_each_draw_chooses_kafkas_partition():
    assert sum(len(chosen) for _, chosen in ROWS) >= 10_000
    for given, chosen in ROWS:
        assert found(given) == chosen, given


def test_racks_and_queues_each_change_a_fifth_of_the_choices():
    for blind in ({"client_rack": None}, {"queues": None}):
        others = sum(
            one != other for given, chosen in ROWS for one, other in zip(found(given, **blind), chosen, strict=True)
        )
        assert others > 0.2 * sum(len(chosen) for _, chosen in ROWS), blind
