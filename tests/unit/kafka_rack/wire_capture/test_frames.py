"""The facts that a capture's cluster has reported."""

from __future__ import annotations

from kafka_rack.wire_capture.frames import ObservedCluster


def report(known: ObservedCluster, leader: int) -> int:
    known.name_rack(1, "az-a")
    known.name_endpoint("host", 9092, 1)
    known.name_topic(b"\1" * 16, "orders")
    known.name_leaders("orders", [(0, leader), (1, 2)])
    known.name_in_sync("orders", 0, (1, 2))
    return known.changes


def test_facts_that_are_reported_again_are_no_change():
    known = ObservedCluster()
    first = report(known, leader=1)
    assert first > 0
    assert report(known, leader=1) == first
    assert report(known, leader=2) == first + 1
    assert report(known, leader=1) == first + 2


def test_a_missing_rack_is_a_change_for_a_new_broker_only():
    known = ObservedCluster()
    known.name_rack(1, None)
    assert known.changes == 1
    known.name_rack(1, "az-a")
    known.name_rack(1, None)
    assert known.changes == 2
    assert known.racks == {1: "az-a"}
