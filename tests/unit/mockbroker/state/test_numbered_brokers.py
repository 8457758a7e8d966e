"""Brokers by number: which ports their listeners have."""

from __future__ import annotations

from mockbroker.state.brokers.listeners import numbered_brokers


def test_the_listeners_of_each_rack_have_the_ports_after_those_of_all_brokers():
    ports = [[one.port for one in broker.listeners] for broker in numbered_brokers(3, "abc", "", 9092, True)]
    assert ports == [[9092, 9095, 9098, 9101], [9093, 9096, 9099, 9102], [9094, 9097, 9100, 9103]]
