"""The history checker: what was acknowledged is there, and what was read was asked for, visible, and stays."""

from __future__ import annotations

import pytest

from mockbroker.core.journal import FilterError
from mockbroker.core.simulation import Simulation
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.core.journal.traffic_of import cluster_of, fetch, produce
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request

LAG_TIME_MS = 30_000


def refusal(sim, **filters):
    with pytest.raises(AssertionError) as raised:
        sim.journal.assert_consistent(**filters)
    return str(raised.value)


def log_of(sim: Simulation, topic: str = TOPIC):
    return sim.cluster.topics[topic].partitions[0].log


def test_records_that_are_where_they_were_acknowledged_fit():
    sim = cluster_of(near=True)
    produce(sim, b"one", b"two")
    produce(sim, b"three")
    for broker, offset in ((0, 0), (1, 1), (1, 3)):
        fetch(sim, "b", broker=broker, offset=offset)
    sim.journal.assert_consistent()
    sim.journal.assert_consistent(topic=TOPIC)


def test_an_acknowledged_batch_that_an_unclean_leader_lacks_is_found():
    sim = Simulation("a,b,c")
    configs = {"unclean.leader.election.enable": "true"}
    sim.cluster.replication_control.create(TOPIC, 1, assignment=[[0, 1]], configs=configs)
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    sim.advance(ms=LAG_TIME_MS)
    client = Client(sim, connection=1)
    client.write(client.frame(produce_request(batch(b"lost", b"too")), 12, client_id="writer"))
    sim.advance(ms=LAG_TIME_MS)
    Client(sim, connection=2).ask(fetch_request(), 12, client_id="reader")
    sim.journal.assert_consistent()
    sim.stop_broker(0)
    sentence = refusal(sim)
    assert "got 2 that do not" in sentence
    assert "offsets 0 to 1 of orders-0, acknowledged to 'writer' by broker 0 (#1), are not in its log" in sentence
    assert "offsets 0 to 1 of orders-0, returned to 'reader' by broker 0 (#2), are no longer in its log" in sentence


def test_other_records_at_the_offsets_that_were_acknowledged_are_found():
    sim = cluster_of()
    produce(sim, b"one")
    log_of(sim).truncate(0)
    log_of(sim).append(batch(b"two"), 0, 1000, 0)
    assert "offsets 0 to 0 of orders-0, acknowledged to 'writer' by broker 0 (#1), are other records now" in refusal(
        sim
    )


def test_what_only_the_leader_acknowledged_may_go():
    sim = cluster_of()
    produce(sim, b"one", acks=1)
    log_of(sim).truncate(0)
    sim.journal.assert_consistent()


def test_what_retention_drops_is_not_missed():
    sim = cluster_of()
    for _ in range(3):
        produce(sim, b"one")
    log_of(sim).advance_start(2)
    sim.journal.assert_consistent()


def test_a_time_that_the_broker_gives_does_not_make_other_records():
    sim = Simulation("a")
    sim.cluster.replication_control.create(TOPIC, 1, 1, configs={"message.timestamp.type": "LogAppendTime"})
    produce(sim, b"one")
    sim.journal.assert_consistent()


def test_a_broker_that_gives_what_was_not_asked_for_is_found(monkeypatch):
    sim = cluster_of()
    produce(sim, b"one")
    produce(sim, b"two")
    log = log_of(sim)
    second = log.read(1, 10**6)
    with monkeypatch.context() as patched:
        patched.setattr(type(log), "read", lambda *_, **__: second)
        fetch(sim, "a")
    sentence = refusal(sim, api="Fetch")
    assert (
        "offset 0 of orders-0 was requested, but offsets 1 to 1 were returned to 'reader' by broker 0 (#3)" in sentence
    )


def test_a_broker_that_shows_what_is_not_replicated_is_found(monkeypatch):
    sim = cluster_of()
    produce(sim, b"one")
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    produce(sim, b"two", acks=1)
    log = log_of(sim)
    whole = log.read(0, 10**6)
    with monkeypatch.context() as patched:
        patched.setattr(type(log), "read", lambda *_, **__: whole)
        fetch(sim, "a")
    assert (
        "offsets 0 to 1 of orders-0, returned to 'reader' by broker 0 (#3), reach over the high watermark 1"
        in refusal(sim)
    )


def test_a_history_without_records_proves_nothing():
    sim = cluster_of()
    with pytest.raises(AssertionError, match="got none of 0 calls"):
        sim.journal.assert_consistent()
    with pytest.raises(FilterError):
        sim.journal.assert_consistent(topics=TOPIC)
