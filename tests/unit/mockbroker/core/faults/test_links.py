"""Faults of links: clients whose rack is known, and followers that fetch from leaders in another rack."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import ConnectionClosedError, Simulation
from protocol.apis.classic_group import HeartbeatRequest
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce, produce_request

LAG_TIME_MS = 30_000
METADATA = MetadataRequest(topics=None)
HEARTBEAT = HeartbeatRequest(group_id="billing", generation_id=1, member_id="m")
BETWEEN = {"between": ["a", "b"]}


@pytest.fixture
def sim() -> Simulation:
    """Partition 0 of orders is led by broker 0 in rack a, with followers 1 in b and 2 in c."""
    sim = Simulation(racks="a,b,c", settings={"replica.selector.class": "rack-aware"})
    sim.cluster.replication_control.create(TOPIC, 1, assignment=[[0, 1, 2]])
    return sim


@pytest.fixture
def partition(sim):
    return sim.cluster.topics[TOPIC].partitions[0]


def asked_by(sim, rack: str | None, broker: int, request=HEARTBEAT, version: int = 4):
    """What a client of a rack gets: its answer, or None where its connection was closed."""
    return sim.replies[sim.send(request, version=version, broker=broker, listener_rack=rack, may_close=True)]


# clients


@pytest.mark.parametrize(
    ("link", "closed"),
    [
        ({"between": ["a", "b"]}, {("a", 1), ("b", 0)}),
        ({"between": ["b", "a"]}, {("a", 1), ("b", 0)}),
        ({"from": "a", "to": "b"}, {("a", 1)}),
        ({"from": "a", "to": "*"}, {("a", 0), ("a", 1), ("a", 2)}),
        ({"between": ["a", "a"]}, {("a", 0)}),
        ({"from": "elsewhere", "to": "c"}, {("elsewhere", 2)}),
    ],
)
def test_a_cut_link_closes_the_connections_of_clients_at_its_ends(sim, link, closed):
    sim.faults.add(link=link, effect={"cut": True})
    racks = ("a", "b", "c", "elsewhere", None)
    found = {(rack, broker) for rack in racks for broker in range(3) if asked_by(sim, rack, broker) is None}
    assert found == closed


def test_the_link_may_stand_in_match(sim):
    sim.faults.add({"match": {"link": BETWEEN}, "effect": {"cut": True}})
    assert asked_by(sim, "a", 1) is None


def test_a_client_is_cut_off_as_soon_as_its_fetch_says_its_rack(sim):
    sim.faults.add(link=BETWEEN, effect={"cut": True})
    client = Client(sim, broker=1)
    assert client.ask(METADATA, 12).brokers
    client.write(client.frame(fetch_request(rack_id="a"), 12))
    assert client.connection.closed == "fault fault-1: the link between a and b is cut"


def test_live_connections_are_cut_when_the_fault_is_set_and_no_others(sim):
    def connection(rack: str | None, broker: int) -> Client:
        client = Client(sim, broker=broker)
        client.ask(fetch_request(rack_id=rack or ""), 12)
        return client

    across, within, unknown = connection("a", 1), connection("b", 1), connection(None, 1)
    waiting = Client(sim, broker=1)
    waiting.write(waiting.frame(fetch_request(rack_id="a", max_wait_ms=500, topic="events"), 12))
    handle = sim.faults.add(link=BETWEEN, effect={"cut": True})
    assert [client.connection.closed is not None for client in (across, within, unknown, waiting)] == [
        True,
        False,
        False,
        True,
    ]
    assert handle.fired == 2


def test_a_call_that_waits_in_the_simulation_is_ended_by_a_cut(sim, partition):
    ticket = sim.send(fetch_request(max_wait_ms=500, rack_id="b"), version=12, broker=1)
    elsewhere = sim.send(fetch_request(max_wait_ms=500, rack_id="c"), version=12, broker=2)
    handle = sim.faults.add(link={"from": "b", "to": "b"}, effect={"cut": True})
    assert sim.replies[ticket] is None
    assert sim.calls[ticket].faults == (handle.id,)
    sim.advance(ms=500)
    assert sim.replies[elsewhere] is not None


def test_clients_are_let_in_again_once_the_fault_is_removed(sim):
    handle = sim.faults.add(link=BETWEEN, effect={"cut": True})
    with pytest.raises(ConnectionClosedError, match="the link between a and b is cut"):
        sim.send(HEARTBEAT, version=4, broker=1, listener_rack="a")
    handle.remove()
    assert asked_by(sim, "a", 1) is not None


def test_other_effects_meet_clients_over_the_link_and_no_others(sim):
    sim.faults.add(link=BETWEEN, match={"api": "Heartbeat"}, effect={"error": "COORDINATOR_LOAD_IN_PROGRESS"})
    codes = {rack: asked_by(sim, rack, 1).error_code for rack in ("a", "b", "c")}
    assert codes["a"] == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert ErrorCode.COORDINATOR_LOAD_IN_PROGRESS not in (codes["b"], codes["c"])


# followers


def test_a_cut_follower_falls_out_of_the_isr_after_its_time_and_comes_back_with_the_link(sim, partition):
    handle = sim.faults.add(link=BETWEEN, effect={"cut": True})
    ticket = sim.send(produce_request(batch(b"a"), acks=-1), version=12)
    assert partition.high_watermark == 0
    sim.advance(ms=LAG_TIME_MS - 1)
    assert partition.isr == (0, 1, 2)
    sim.advance(ms=1)
    assert partition.isr == (0, 2)
    assert partition.high_watermark == 1
    assert ticket in sim.replies
    assert handle.fired == 1
    handle.remove()
    assert partition.isr == (0, 1, 2)


@pytest.mark.parametrize(
    ("link", "isr"),
    [
        ({"from": "b", "to": "a"}, (0, 2)),
        ({"from": "a", "to": "b"}, (0, 1, 2)),
        ({"from": "*", "to": "a"}, (0,)),
        ({"between": ["b", "c"]}, (0, 1, 2)),
    ],
)
def test_from_is_the_follower_that_fetches_and_to_its_leader(sim, partition, link, isr):
    sim.faults.add(link=link, effect={"cut": True})
    produce(sim, batch(b"a"), acks=1)
    sim.advance(ms=LAG_TIME_MS)
    assert partition.isr == isr


def test_a_silent_link_holds_followers_up_like_a_cut_and_leaves_connections_open(sim, partition):
    sim.faults.add(link=BETWEEN, effect={"silence": True})
    client = Client(sim, broker=1, listener_rack="a")
    client.write(client.frame(HEARTBEAT, 4))
    produce(sim, batch(b"a"), acks=1)
    sim.advance(ms=LAG_TIME_MS)
    assert partition.isr == (0, 2)
    assert (client.frames(), client.connection.closed) == ([], None)


def test_followers_over_a_slow_link_are_that_much_later(sim, partition):
    handle = sim.faults.add(link={"between": ["a", "*"]}, effect={"delay_ms": 200})
    ticket = sim.send(produce_request(batch(b"a"), acks=-1), version=12)
    sim.advance(ms=50)
    later = sim.send(produce_request(batch(b"b"), acks=-1), version=12)
    sim.advance(ms=149)
    assert (partition.high_watermark, ticket in sim.replies) == (0, False)
    sim.advance(ms=1)
    assert (partition.high_watermark, ticket in sim.replies) == (1, True)
    sim.advance(ms=49)
    assert (partition.high_watermark, later in sim.replies) == (1, False)
    sim.advance(ms=1)
    assert (partition.high_watermark, later in sim.replies) == (2, True)
    assert partition.isr == (0, 1, 2)
    assert handle.fired == 4, "two followers, two batches"


def test_a_reader_at_a_slow_follower_reads_late(sim, partition):
    sim.faults.add(link={"from": "b", "to": "a"}, effect={"delay_ms": 200})
    produce(sim, batch(b"a"), acks=1)
    waiting = sim.send(fetch_request(max_wait_ms=5000, rack_id="b"), version=12, broker=1)
    sim.advance(ms=199)
    assert waiting not in sim.replies
    sim.advance(ms=1)
    assert sim.replies[waiting].responses[0].partitions[0].records


def test_a_steady_stream_over_a_slow_link_keeps_its_followers_in_sync(sim, partition):
    sim.faults.add(link={"between": ["a", "*"]}, effect={"delay_ms": 200})
    for _ in range(700):
        produce(sim, batch(b"a"), acks=1)
        sim.advance(ms=100)
    assert partition.isr == (0, 1, 2)
    assert partition.high_watermark == 699, "all but what was sent less than 200 ms ago"


def test_a_link_slower_than_the_time_for_followers_takes_them_out_of_the_isr_and_in_again(sim, partition):
    sim.faults.add(link={"from": "b", "to": "a"}, effect={"delay_ms": LAG_TIME_MS + 5000})
    produce(sim, batch(b"a"), acks=1)
    sim.advance(ms=LAG_TIME_MS)
    assert partition.isr == (0, 2)
    sim.advance(ms=5000)
    assert partition.isr == (0, 1, 2), "it has caught up"


def test_followers_over_a_narrow_link_get_so_many_bytes_a_second(sim, partition):
    sim.faults.add(link={"from": "b", "to": "a"}, effect={"bandwidth": "1KB/s"})
    records = batch(b"x" * 1000)
    produce(sim, records, acks=1)
    produce(sim, records, acks=1)
    one_ms = len(records)  # at a byte a millisecond
    sim.advance(ms=one_ms - 1)
    assert partition.high_watermark == 0
    sim.advance(ms=1)
    assert partition.high_watermark == 1
    sim.advance(ms=one_ms - 1)
    assert partition.high_watermark == 1
    sim.advance(ms=1)
    assert partition.high_watermark == 2


def test_a_removed_delay_lets_everything_through_at_once(sim, partition):
    handle = sim.faults.add(link=BETWEEN, effect={"delay_ms": 5000})
    produce(sim, batch(b"a"), acks=1)
    assert partition.high_watermark == 0
    handle.remove()
    assert partition.high_watermark == 1
    assert partition.replica_states is None, "nothing is kept about replicas that have caught up"


def test_another_fault_does_not_begin_a_delay_anew(sim, partition):
    sim.faults.add(link={"from": "b", "to": "a"}, effect={"delay_ms": 200})
    produce(sim, batch(b"a"), acks=1)
    sim.advance(ms=150)
    sim.faults.add(link={"from": "c", "to": "a"}, effect={"delay_ms": 10})
    sim.cluster.replication_control.create("more", 1, 3)
    sim.stop_broker(2)
    sim.advance(ms=50)
    assert partition.high_watermark == 1


def test_a_follower_behind_a_slow_link_that_becomes_leader_has_only_what_arrived(sim, partition):
    sim.faults.add(link={"between": ["a", "*"]}, effect={"delay_ms": 200})
    produce(sim, batch(b"a"), acks=1)
    sim.advance(ms=200)
    produce(sim, batch(b"b"), acks=1)
    sim.stop_broker(0)
    assert partition.leader == 1
    assert partition.log.end_offset == 1, "acks=1 promises no more"


def test_what_a_fault_means_beside_the_link_leaves_followers_alone(sim, partition):
    sim.faults.add(link=BETWEEN, match={"api": "Fetch"}, effect={"delay_ms": 5000})
    sim.faults.add(link=BETWEEN, effect={"delay_ms": 5000}, when={"times": 3})
    sim.faults.add(link=BETWEEN, effect={"disconnect": True})
    produce(sim, batch(b"a"), acks=1)
    assert partition.high_watermark == 1


def test_a_cut_by_command_and_one_by_fault_do_not_restore_each_other(sim, partition):
    handle = sim.faults.add(link=BETWEEN, effect={"cut": True})
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    handle.remove()
    produce(sim, batch(b"a"), acks=1)
    assert partition.high_watermark == 0
    sim.faults.add(link=BETWEEN, effect={"cut": True})
    sim.cluster.cluster_control.restore_link(0, 1, sim.now_ms)
    assert partition.high_watermark == 0
    sim.faults.clear()
    assert partition.high_watermark == 1
