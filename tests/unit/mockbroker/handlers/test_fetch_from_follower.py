"""KIP-392: the leader sends a reader to the replica in its rack, and that replica serves it up to what it has."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch, fetch_request, produce, values

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
STAY = -1


@pytest.fixture
def sim() -> Simulation:
    """Broker i in rack a, b, c; partition 0 of orders is led by broker 0, and has one record."""
    sim = Simulation(racks="a,b,c", settings={"replica.selector.class": RACK_AWARE})
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    produce(sim, batch(b"one"))
    return sim


@pytest.mark.parametrize(("rack", "broker"), [("a", STAY), ("b", 1), ("c", 2), ("d", STAY), ("", STAY)])
def test_the_leader_sends_each_reader_to_its_rack(sim, rack, broker):
    entry = fetch(sim, rack_id=rack)
    assert entry.preferred_read_replica == broker
    assert values(entry.records) == ([b"one"] if broker == STAY else [])
    assert entry.high_watermark == 1


def test_a_redirected_fetch_is_answered_at_once(sim):
    ticket = sim.send(fetch_request(1, rack_id="b", max_wait_ms=500), version=12)
    assert sim.replies[ticket].responses[0].partitions[0].preferred_read_replica == 1


def test_a_follower_serves_and_sends_nobody_on(sim):
    entry = fetch(sim, rack_id="c", broker=1)
    assert (entry.preferred_read_replica, values(entry.records)) == (STAY, [b"one"])


def test_without_a_selector_readers_stay_with_the_leader():
    sim = Simulation(racks="a,b,c")
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    assert fetch(sim, rack_id="b").preferred_read_replica == STAY


def test_versions_without_a_rack_are_served_by_the_leader(sim):
    assert values(fetch(sim, version=10).records) == [b"one"]


def test_a_replica_out_of_sync_is_not_chosen(sim):
    sim.cluster.cluster_control.stop(1, sim.now_ms)
    assert fetch(sim, rack_id="b").preferred_read_replica == STAY


def test_a_follower_that_lacks_the_offset_is_not_chosen(sim):
    sim.cluster.cluster_control.set_follower_lag(1, records=1)
    assert fetch(sim, 1, rack_id="b").preferred_read_replica == STAY
    assert fetch(sim, 0, rack_id="b").preferred_read_replica == 1


def test_a_reader_below_the_logs_start_hears_so_from_the_leader_and_is_not_sent_on(sim):
    produce(sim, batch(b"two"))
    sim.cluster.topics[TOPIC].partitions[0].log.advance_start(1)
    entry = fetch(sim, 0, rack_id="b")
    assert (entry.error_code, entry.preferred_read_replica) == (ErrorCode.OFFSET_OUT_OF_RANGE, STAY)
    assert fetch(sim, 1, rack_id="b").preferred_read_replica == 1


def test_racks_are_looked_up_once_until_a_broker_comes_or_goes(sim):
    racks = sim.cluster.liveness.rack_by_online_broker
    assert racks == {0: "a", 1: "b", 2: "c"}
    assert sim.cluster.liveness.rack_by_online_broker is racks
    sim.cluster.cluster_control.stop(1, sim.now_ms)
    assert sim.cluster.liveness.rack_by_online_broker == {0: "a", 2: "c"}


def test_a_follower_gives_nothing_beyond_its_own_high_watermark(sim):
    produce(sim, batch(b"two"))
    sim.cluster.cluster_control.set_follower_lag(1, records=1)
    entry = fetch(sim, rack_id="b", broker=1)
    assert (values(entry.records), entry.high_watermark) == ([b"one"], 1)
    assert values(fetch(sim, rack_id="b", broker=2).records) == [b"one", b"two"]


def test_an_offset_that_a_follower_does_not_have_yet_is_out_of_range_there(sim):
    produce(sim, batch(b"two"))
    sim.cluster.cluster_control.set_follower_lag(1, records=1)
    assert fetch(sim, 2, rack_id="b", broker=1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_reader_that_waits_at_a_follower_is_woken_when_the_follower_catches_up(sim):
    produce(sim, batch(b"two"))
    sim.cluster.cluster_control.set_follower_lag(1, records=1)
    ticket = sim.send(fetch_request(1, rack_id="b", max_wait_ms=500), version=12, broker=1)
    assert ticket not in sim.replies
    sim.cluster.cluster_control.set_follower_lag(1, records=0)
    sim.advance(ms=0)
    assert values(sim.replies[ticket].responses[0].partitions[0].records) == [b"two"]


def test_a_reader_that_waits_at_a_follower_out_of_sync_is_woken_when_the_record_arrives(sim):
    sim.faults.add({"link": {"from": "b", "to": "a"}, "effect": {"delay_ms": 300}})
    sim.shrink_isr(TOPIC, 0, [1])
    sim.advance(1000)
    ticket = sim.send(fetch_request(1, rack_id="b", max_wait_ms=5000), version=12, broker=1)
    produce(sim, batch(b"two"))
    sim.advance(299)
    assert ticket not in sim.replies
    sim.advance(1)
    assert values(sim.replies[ticket].responses[0].partitions[0].records) == [b"two"]


def test_a_lag_below_zero_is_refused(sim):
    with pytest.raises(ValueError, match="0 is the least"):
        sim.cluster.cluster_control.set_follower_lag(1, records=-1)


def test_a_diskless_partition_sends_nobody_on(sim):
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    assert fetch(sim, topic="events", rack_id="b").preferred_read_replica == STAY
