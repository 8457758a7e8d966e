"""What a certified run leaves alone."""

from __future__ import annotations

from mockbroker.core.simulation import Simulation
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from mockbroker.testing.certify.clusters import coordinators


def test_no_topic_of_offsets_is_made_to_find_out_who_coordinates():
    cluster = Simulation(racks="a,b,c").cluster
    assert coordinators(cluster, ["certify"]) == coordinators(cluster, []) == set()
    assert OFFSETS_TOPIC not in cluster.topics


def test_the_coordinators_of_groups_are_those_that_clients_are_told():
    cluster = Simulation(racks="a,b,c").cluster
    told = {group: cluster.internal_topics.coordinator(group).id for group in ("orders", "billing", "audit")}
    assert coordinators(cluster, told) == set(told.values())


def test_a_group_whose_coordinator_is_down_has_none():
    sim = Simulation(racks="a,b,c", settings={"offsets.topic.replication.factor": "1"})
    told = sim.cluster.internal_topics.coordinator("orders").id
    sim.stop_broker(told)
    assert coordinators(sim.cluster, ["orders"]) == set()
