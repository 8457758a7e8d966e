"""Metadata answers that are kept are those that would be made."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.core.path import Stage
from mockbroker.core.simulation import Simulation
from tests.unit.mockbroker.core.client import METADATA, Client


@pytest.fixture
def sim() -> Simulation:
    """A cluster with a classic topic: answers with diskless ones are not cached."""
    sim = Simulation()
    sim.cluster.replication_control.create("orders", 3)
    return sim


def test_a_cached_answer_is_the_one_that_would_be_made(sim):
    def ask_twice(**fields: Any) -> tuple[Any, Any]:
        client = Client(sim)
        return client.ask(METADATA, 12, **fields), client.ask(METADATA, 12, **fields)

    first, second = ask_twice(client_id="diskless_az=b")
    assert first == second
    assert len(sim.engine.path.response_cache._by_request) == 1


def test_cached_answers_end_with_any_change_of_the_cluster(sim, client):
    client.ask(METADATA, 12)
    sim.cluster.cluster_control.stop(2, 0)
    assert [broker.node_id for broker in client.ask(METADATA, 12).brokers] == [0, 1]
    sim.cluster.replication_control.create("new")
    assert "new" in [topic.name for topic in client.ask(METADATA, 12).topics]
    sim.cluster.replication_control.widen("new", 5)
    assert [len(topic.partitions) for topic in client.ask(METADATA, 12).topics if topic.name == "new"] == [5]


def test_answers_with_diskless_topics_take_turns_evenly():
    sim = Simulation(racks="a,a,a,a,b")
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    client = Client(sim)
    leaders = [
        client.ask(METADATA, 12, client_id="diskless_az=a").topics[0].partitions[0].leader_id for _ in range(3000)
    ]
    assert [leaders.count(broker) for broker in range(5)] == [750, 750, 750, 750, 0]
    assert leaders[:8] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_answers_with_diskless_topics_tell_client_ids_and_listeners_apart():
    sim = Simulation()
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})

    def leader(**fields: Any) -> int:
        listener = {key: fields.pop(key) for key in ("listener", "listener_rack") if key in fields}
        return Client(sim, **listener).ask(METADATA, 12, **fields).topics[0].partitions[0].leader_id

    for _ in range(3):
        assert leader(client_id="diskless_az=a") == 0
        assert leader(client_id="diskless_az=c") == 2
        assert leader(client_id="plain", listener="RACK_b", listener_rack="b") == 1


def test_a_cached_answer_is_recorded_as_the_first_one(sim):
    first, second = Client(sim, connection=1), Client(sim, connection=2)
    first.ask(METADATA, 12, client_id="diskless_az=b")
    second.ask(METADATA, 12, client_id="other")
    second.ask(METADATA, 12, client_id="diskless_az=b")
    assert second.connection.session.client_id == "diskless_az=b"
    made, _, cached = list(sim.journal)
    assert cached._replace(sequence=made.sequence, connection=made.connection) == made
    calls = {key.client_id: amounts[0] for key, amounts in sim.traffic.ledger().flows.items()}
    assert calls == {"diskless_az=b": 2, "other": 1}


def test_an_answer_that_a_fault_changes_is_neither_cached_nor_kept(sim):
    client = Client(sim)
    sound = client.ask(METADATA, 12)
    sim.faults.add({"match": {"api": "Metadata"}, "effect": {"throttle_ms": 70}})
    assert client.ask(METADATA, 12).throttle_time_ms == 70
    other = Client(sim)
    assert other.ask(METADATA, 11).throttle_time_ms == 70
    sim.faults.clear()
    assert Client(sim).ask(METADATA, 12) == sound
    assert Client(sim).ask(METADATA, 11).throttle_time_ms == 0


def test_answers_that_no_fault_changes_are_cached(sim):
    sim.faults.add({"match": {"api": "Produce"}, "effect": {"throttle_ms": 70}})
    client = Client(sim)
    first = client.ask(METADATA, 12)
    del sim.engine.path.steps[Stage.HANDLER]
    assert client.ask(METADATA, 12) == first


@pytest.mark.access_control
def test_no_answer_is_cached_while_access_rules_may_act_on_it():
    guarded = Simulation(settings={"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"})
    guarded.cluster.replication_control.create("hidden", 1)
    client = Client(guarded)
    for _ in range(2):
        assert client.ask(METADATA, 12).topics == []
