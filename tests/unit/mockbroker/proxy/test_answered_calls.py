"""Calls that the real broker has answered, as the client and the observers get them."""

from __future__ import annotations

import pytest

from mockbroker.core.journal import Journal
from mockbroker.proxy.frames import VIEWED_BYTES
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request, values
from tests.unit.mockbroker.proxy.played_connection import PlayedConnection
from tests.unit.mockbroker.proxy.proxied_simulation import ProxiedSimulation


@pytest.fixture
def proxied() -> PlayedConnection:
    return PlayedConnection()


def test_answers_of_one_read_are_given_together(proxied):
    proxied.ask()
    proxied.ask()
    proxied.answer((1, 0), (2, 0))
    assert proxied.order == [("answered", 1), ("answered", 2), ("answers", 2 * 14)]


def test_calls_are_told_of_in_the_order_of_their_ends_also_where_the_next_one_ends_the_connection(proxied):
    for _ in range(3):
        proxied.ask()
    proxied.answer((1, 0), (3, 0))
    assert [one for one in proxied.order if one[0] != "answers"][:2] == [("answered", 1), ("closed", 2)]


def test_heartbeats_are_recorded_with_their_group_and_error(proxied):
    for number, (group, code) in enumerate([("billing", 0), ("billing", 0), ("stock", 0), ("billing", 27)], 1):
        proxied.ask(group)
        proxied.answer((number, code))
    proxied.ask("billing")
    proxied.answer((5, 0))
    assert [(entry.groups, entry.errors) for entry in proxied.journal] == [
        (("billing",), ()),
        (("billing",), ()),
        (("stock",), ()),
        (("billing",), ("REBALANCE_IN_PROGRESS",)),
        (("billing",), ()),
    ]


def test_large_records_go_both_ways_as_they_are_and_are_put_down_with_their_size():
    sim = ProxiedSimulation()
    sim.cluster.replication_control.create(TOPIC, 1, assignment=[[0, 1, 2]])
    journal = Journal()
    sim.proxy.path.observers.append(journal)
    large = bytes(range(256)) * (4 * VIEWED_BYTES // 256)
    produced = sim.ask(produce_request(batch(large)), version=9)
    assert produced.responses[0].partition_responses[0].error_code == 0
    for _ in range(3):
        fetched = sim.ask(fetch_request(max_bytes=1 << 20), version=12)
        assert values(fetched.responses[0].partitions[0].records) == [large]
    sizes = [entry.response_bytes for entry in journal.find(api="Fetch")]
    assert sizes == [entry.response_bytes for entry in sim.journal.find(api="Fetch")]
    assert min(sizes) > len(large)
