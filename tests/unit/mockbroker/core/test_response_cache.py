"""Metadata answers that are kept are those that would be made."""

from __future__ import annotations

from typing import Any

from mockbroker.core.simulation import Simulation
from tests.unit.mockbroker.core.client import METADATA, Client


def test_a_cached_answer_is_the_one_that_would_be_made(sim):
    def ask_twice(**fields: Any) -> tuple[Any, Any]:
        client = Client(sim)
        return client.ask(METADATA, 12, **fields), client.ask(METADATA, 12, **fields)

    first, second = ask_twice(client_id="diskless_az=b")
    assert first == second, "one broker in that rack, so the turn changes nothing"
    assert len(sim.engine.path.response_cache._by_request) == 1


def test_cached_answers_end_with_any_change_of_the_cluster(sim, client):
    client.ask(METADATA, 12)
    sim.cluster.cluster_control.stop(2, 0)
    assert [broker.node_id for broker in client.ask(METADATA, 12).brokers] == [0, 1]
    sim.cluster.replication_control.create("new")
    assert "new" in [topic.name for topic in client.ask(METADATA, 12).topics]
    sim.cluster.replication_control.widen("new", 5)
    assert [len(topic.partitions) for topic in client.ask(METADATA, 12).topics if topic.name == "new"] == [5]


def test_cached_answers_take_turns_evenly():
    sim = Simulation(racks="a,a,a,a,b")
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    client = Client(sim)
    leaders = [
        client.ask(METADATA, 12, client_id="diskless_az=a").topics[0].partitions[0].leader_id for _ in range(3000)
    ]
    assert [leaders.count(broker) for broker in range(5)] == [750, 750, 750, 750, 0]
    assert leaders[:8] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_cached_answers_tell_client_ids_and_listeners_apart(sim):
    def leader(**fields: Any) -> int:
        listener = {key: fields.pop(key) for key in ("listener", "listener_rack") if key in fields}
        return Client(sim, **listener).ask(METADATA, 12, **fields).topics[0].partitions[0].leader_id

    for _ in range(3):
        assert leader(client_id="diskless_az=a") == 0
        assert leader(client_id="diskless_az=c") == 2
        assert leader(client_id="plain", listener="RACK_b", listener_rack="b") == 1
