"""What the journal says of each call."""

from __future__ import annotations

import pytest

from mockbroker.core.journal import Journal
from mockbroker.core.simulation import Simulation
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request


def test_every_answered_call_is_in_the_journal(sim):
    journal = Journal()
    sim.engine.path.observers.append(journal)
    client = Client(sim, connection=7, broker=0)
    sent = batch(b"a")
    sim.advance(ms=30)
    for _ in range(2):
        client.ask(METADATA, 12, client_id="app,diskless_az=b")
    client.ask(produce_request(sent), 12)
    produced = list(journal)[-1]
    kept = [(one.api_key, one.version, one.client_id, one.client_rack, one.request_bytes) for one in journal]
    assert kept[0] == kept[1]
    assert kept[0][:4] == (3, 12, "app,diskless_az=b", "b")
    assert (produced.at_ms, produced.broker_id, produced.rack, produced.connection) == (30, 0, "a", 7)
    assert (produced.api_key, produced.traffic) == (0, {TOPIC: len(sent)})
    assert produced.request_bytes > len(sent)
    assert produced.response_bytes > 0


@pytest.mark.parametrize(
    ("rack_id", "client_id", "listener_rack", "found"),
    [("a", "diskless_az=b", "c", "a"), ("", "diskless_az=b", "c", "b"), ("", "app", "c", "c"), ("", "app", None, None)],
)
def test_the_journal_knows_a_consumers_rack_by_its_fetch_its_client_id_or_its_listener(
    sim, rack_id, client_id, listener_rack, found
):
    journal = Journal()
    sim.engine.path.observers.append(journal)
    client = Client(sim, listener_rack=listener_rack)
    client.ask(fetch_request(rack_id=rack_id), 12, client_id=client_id)
    assert [one.client_rack for one in journal] == [found]


def test_the_journal_knows_a_producers_rack_by_its_client_id(sim):
    journal = Journal()
    sim.engine.path.observers.append(journal)
    client = Client(sim)
    client.ask(produce_request(batch(b"a")), 12, client_id="app,diskless_az=b")
    client.ask(produce_request(batch(b"b")), 12, client_id="app")
    assert [one.client_rack for one in journal] == ["b", None]


def test_the_journal_keeps_the_last_calls_and_finds_what_came_after_a_mark():
    journal = Journal(3)
    sim = Simulation()
    sim.engine.path.observers.append(journal)
    client = Client(sim)
    client.ask(METADATA, 12)
    mark = journal.mark()
    for version in (1, 2, 3):
        client.ask(METADATA, version)
    assert [one.version for one in journal.since(mark)] == [1, 2, 3]
    assert (len(journal), journal.dropped) == (3, 1)


def test_a_reader_that_is_sent_on_was_not_served_here():
    sim = Simulation(racks="a,b,c", settings={"replica.selector.class": "rack-aware"})
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    journal = Journal()
    sim.engine.path.observers.append(journal)
    client = Client(sim)
    sent = batch(b"a")
    client.ask(produce_request(sent), 12)
    client.ask(fetch_request(rack_id="b"), 12)
    Client(sim, broker=1).ask(fetch_request(rack_id="b"), 12)
    assert [(one.broker_id, one.traffic, one.redirects) for one in journal] == [
        (0, {TOPIC: len(sent)}, None),
        (0, {}, {TOPIC: [1]}),
        (1, {TOPIC: len(sent)}, None),
    ]


def test_the_journal_says_how_a_client_was_refused(sim):
    journal = Journal()
    sim.engine.path.observers.append(journal)
    client = Client(sim)
    client.write(bytes([0, 0, 0, 8, 3, 231, 0, 0, 0, 0, 0, 1]))
    (entry,) = journal
    assert (entry.ending, entry.reason, entry.api_key) == ("closed", "API key 999 is not served", 999)


def test_the_journal_says_where_a_rack_was_learned(sim):
    journal = Journal()
    sim.engine.path.observers.append(journal)
    client = Client(sim, listener_rack="c")
    client.ask(METADATA, 12)
    client.ask(METADATA, 12, client_id="app,diskless_az=b")
    client.ask(fetch_request(rack_id="a"), 12, client_id="app,diskless_az=b")
    client.ask(METADATA, 12, client_id="app,diskless_az=b")
    client.ask(METADATA, 12, client_id="another")
    assert [(one.client_rack, one.client_rack_source) for one in journal] == [
        ("c", "listener"),
        ("b", "client.id"),
        ("a", "request"),
        ("a", "request"),
        ("c", "listener"),
    ]
