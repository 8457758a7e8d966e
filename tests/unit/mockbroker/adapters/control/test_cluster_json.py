"""What GET /cluster says of brokers that are not well and of followers that are behind."""

from __future__ import annotations

import json

import msgspec
import pytest

from mockbroker.adapters.control.cluster_json import cluster_of
from mockbroker.core.simulation import Simulation
from tests.unit.mockbroker.handlers.records import TOPIC, batch, produce_request


@pytest.fixture
def sim() -> Simulation:
    """Partition 0 of orders is led by broker 0, with followers 1 and 2 in sync."""
    sim = Simulation(racks="a,b,c")
    sim.cluster.replication_control.create(TOPIC, 1, assignment=[[0, 1, 2]])
    return sim


def seen(sim):
    return json.loads(msgspec.json.encode(cluster_of(sim.cluster)))


def test_a_follower_that_is_behind_has_its_own_lag_and_the_others_have_none(sim):
    sim.cluster.cluster_control.set_follower_lag(1, records=2)
    for _ in range(3):
        sim.send(produce_request(batch(b"a"), acks=1), version=12)
    assert (seen(sim))["topics"][0]["partitions"][0]["follower_lag"] == {"1": 2}
    sim.cluster.cluster_control.set_follower_lag(1, records=0)
    assert (seen(sim))["topics"][0]["partitions"][0]["follower_lag"] == {}


def test_a_fenced_broker_runs_and_a_stopped_one_does_not(sim):
    sim.cluster.cluster_control.fence_broker(1, sim.now_ms)
    sim.cluster.cluster_control.stop(2, sim.now_ms)
    brokers = (seen(sim))["brokers"]
    assert [(one["online"], one["running"]) for one in brokers] == [(True, True), (False, True), (False, False)]


def test_a_full_disk_shows(sim):
    sim.cluster.cluster_control.set_disk(1, sim.now_ms, full=True)
    assert [one["disk_full"] for one in (seen(sim))["brokers"]] == [False, True, False]


def test_the_settings_that_differ_from_kafkas_are_there():
    sim = Simulation(racks="a,b,c", settings={"num.partitions": "6", "min.insync.replicas": "1"})
    assert (seen(sim))["settings"] == {"num.partitions": 6}
