"""What each effect does to calls, in simulated time."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.call import Ending
from mockbroker.core.simulation import ConnectionClosedError, Simulation
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.classic_group import HeartbeatRequest
from protocol.apis.metadata import MetadataRequest
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request

METADATA = MetadataRequest(topics=None)
HEARTBEAT = HeartbeatRequest(group_id="billing", generation_id=1, member_id="m")


def correlation_ids(client: Client) -> list[int]:
    return [int.from_bytes(frame[:4], "big") for frame in client.frames()]


# no fault


def test_with_no_fault_set_the_path_asks_nobody(sim):
    assert sim.engine.path.faults == []
    handle = sim.faults.add(effect={"delay_ms": 1})
    assert len(sim.engine.path.faults) == 1
    handle.remove()
    assert sim.engine.path.faults == []


# delay


def test_a_delay_holds_a_call_for_its_time_and_no_longer(sim):
    sim.faults.add(match={"api": "Metadata"}, effect={"delay_ms": 200})
    ticket = sim.send(METADATA, version=12)
    sim.advance(ms=199)
    assert ticket not in sim.replies
    sim.advance(ms=1)
    assert [topic.name for topic in sim.replies[ticket].topics]


def test_a_delayed_request_is_handled_when_the_delay_is_over(sim):
    sim.faults.add(match={"api": "Produce"}, effect={"delay_ms": 200})
    sim.send(produce_request(batch(b"a")), version=12)
    log = sim.cluster.topics[TOPIC].partitions[0].log
    assert log.end_offset == 0
    sim.advance(ms=200)
    assert log.end_offset == 1


def test_delays_of_several_faults_add_up(sim):
    sim.faults.add(effect={"delay_ms": 200})
    sim.faults.add(effect={"delay_ms": 30})
    ticket = sim.send(METADATA, version=12)
    sim.advance(ms=229)
    assert ticket not in sim.replies
    sim.advance(ms=1)
    assert ticket in sim.replies


def test_jitter_adds_from_nothing_to_all_of_itself_by_the_seed(sim):
    def delays(seed: int) -> list[int]:
        sim = Simulation(seed=seed)
        sim.faults.add(effect={"delay_ms": 100, "jitter_ms": 50})
        tickets = [sim.send(METADATA, version=12) for _ in range(200)]
        found = {}
        while len(found) < len(tickets):
            sim.advance(ms=1)
            for ticket in tickets:
                if ticket in sim.replies:
                    found.setdefault(ticket, sim.now_ms)
        return [found[ticket] for ticket in tickets]

    first = delays(1)
    assert min(first) >= 100
    assert max(first) <= 150
    assert len(set(first)) > 30
    assert delays(1) == first
    assert delays(2) != first


def test_delayed_calls_of_one_connection_stay_in_order_and_hold_up_those_behind_them(sim):
    sim.faults.add(match={"api": "Metadata"}, effect={"delay_ms": 100, "jitter_ms": 100})
    client = Client(sim)
    requests = [METADATA, HEARTBEAT, METADATA, HEARTBEAT]
    client.write(b"".join(client.frame(one, 12 if one is METADATA else 4) for one in requests))
    assert correlation_ids(client) == []
    sim.advance(ms=1000)
    assert correlation_ids(client) == [1, 2, 3, 4]


def test_a_delay_of_one_connection_holds_up_no_other(sim):
    sim.faults.add(match={"client_id": "slow"}, effect={"delay_ms": 100})
    slow, quick = Client(sim), Client(sim)
    slow.write(slow.frame(METADATA, 12, client_id="slow"))
    quick.write(quick.frame(METADATA, 12, client_id="quick"))
    assert (correlation_ids(slow), correlation_ids(quick)) == ([], [1])


def test_a_delayed_call_is_dropped_when_its_client_goes(sim, outcomes):
    sim.faults.add(effect={"delay_ms": 100})
    client = Client(sim)
    client.write(client.frame(METADATA, 12))
    client.connection.stopped()
    sim.advance(ms=1000)
    assert [outcome.ending for outcome in outcomes] == [Ending.DROPPED]


# disconnect and silence


def test_disconnect_closes_the_connection_without_an_answer_and_without_handling(sim):
    sim.faults.add(match={"api": "Produce"}, effect={"disconnect": True})
    client = Client(sim)
    client.write(client.frame(produce_request(batch(b"a")), 12))
    assert client.frames() == []
    assert client.connection.closed == "fault fault-1: disconnect"
    assert sim.cluster.topics[TOPIC].partitions[0].log.end_offset == 0


def test_what_was_answered_before_a_disconnect_is_still_sent(sim):
    sim.faults.add(match={"api": "Produce"}, effect={"disconnect": True})
    client = Client(sim)
    client.write(client.frame(METADATA, 12) + client.frame(produce_request(batch(b"a")), 12))
    assert correlation_ids(client) == [1]
    assert client.connection.closed is not None


def test_a_connection_that_a_fault_closes_is_no_warning_in_the_log(sim, caplog):
    sim.faults.add(match={"api": "Metadata"}, effect={"disconnect": True})
    client, broken = Client(sim), Client(sim)
    client.write(client.frame(METADATA, 12))
    broken.write(bytes.fromhex("7fffffff"))
    assert [(record.levelname, "fault" in record.getMessage()) for record in caplog.records] == [("WARNING", False)]


def test_in_the_simulation_a_disconnect_is_a_closed_connection(sim):
    sim.faults.add(effect={"disconnect": True})
    with pytest.raises(ConnectionClosedError, match="fault fault-1: disconnect"):
        sim.send(METADATA, version=12)


def test_silence_never_answers_and_keeps_the_connection(sim, outcomes):
    handle = sim.faults.add(match={"api": "Metadata"}, effect={"silence": True})
    client = Client(sim)
    client.write(client.frame(METADATA, 12) + client.frame(HEARTBEAT, 4))
    handle.remove()
    sim.advance(ms=10**9)
    assert client.frames() == [], "answers keep their order, so nothing follows"
    assert client.connection.closed is None
    assert outcomes == []


def test_a_silenced_connection_takes_in_no_more_than_any_other_that_waits(sim):
    sim.faults.add(match={"api": "Metadata"}, effect={"silence": True})
    client = Client(sim)
    client.write(client.frame(METADATA, 12))
    assert not client.connection.is_full
    client.write(client.frame(produce_request(batch(b"x" * 2_000_000)), 12))
    assert client.connection.is_full


def test_a_silenced_call_is_dropped_when_its_client_goes(sim, outcomes):
    sim.faults.add(effect={"silence": True})
    client = Client(sim)
    client.write(client.frame(METADATA, 12))
    client.connection.stopped()
    assert [(outcome.ending, outcome.call.faults) for outcome in outcomes] == [(Ending.DROPPED, ("fault-1",))]
    assert sim.engine.parked_calls == 0


def test_a_call_is_delayed_before_it_is_ended(sim):
    sim.faults.add(effect={"delay_ms": 100})
    sim.faults.add(effect={"disconnect": True})
    client = Client(sim)
    client.write(client.frame(METADATA, 12))
    sim.advance(ms=99)
    assert client.connection.closed is None
    sim.advance(ms=1)
    assert client.connection.closed is not None


# throttle


def test_a_throttle_is_told_at_once_and_then_the_connection_is_not_heard(sim):
    sim.faults.add(match={"api": "Metadata"}, effect={"throttle_ms": 500})
    client = Client(sim)
    assert client.ask(METADATA, 12).throttle_time_ms == 500
    client.write(client.frame(HEARTBEAT, 4))
    sim.advance(ms=499)
    assert correlation_ids(client) == []
    sim.advance(ms=1)
    assert correlation_ids(client) == [2]


@pytest.mark.parametrize("version", [1, 2])
def test_a_version_without_a_field_for_it_is_muted_all_the_same(sim, version):
    handle = sim.faults.add(match={"api": "Metadata"}, effect={"throttle_ms": 500}, when={"times": 1})
    client = Client(sim)
    assert client.ask(METADATA, version).throttle_time_ms == 0
    client.write(client.frame(METADATA, version))
    assert correlation_ids(client) == []
    sim.advance(ms=500)
    assert correlation_ids(client) == [2]
    assert handle.fired == 1


def test_acks_0_has_no_answer_and_is_muted_all_the_same(sim):
    sim.faults.add(match={"api": "Produce"}, effect={"throttle_ms": 500}, when={"times": 1})
    client = Client(sim)
    produce = produce_request(batch(b"a"), acks=0)
    client.write(client.frame(produce, 12) + client.frame(produce, 12))
    log = sim.cluster.topics[TOPIC].partitions[0].log
    assert log.end_offset == 1
    sim.advance(ms=500)
    assert log.end_offset == 2


def test_of_two_throttles_the_longer_counts(sim):
    sim.faults.add(effect={"throttle_ms": 500})
    sim.faults.add(effect={"throttle_ms": 200})
    assert sim.ask(METADATA, version=12).throttle_time_ms == 500


def test_a_throttled_answer_is_nobody_elses(sim):
    client = Client(sim)
    sim.faults.add(match={"api": "Metadata"}, effect={"throttle_ms": 500}, when={"times": 1})
    assert client.ask(METADATA, 12).throttle_time_ms == 500
    assert Client(sim).ask(METADATA, 12).throttle_time_ms == 0
    sim.faults.add(match={"api": "Metadata"}, effect={"throttle_ms": 300})
    assert Client(sim).ask(METADATA, 12).throttle_time_ms == 300


def test_a_muted_connection_reads_no_more_than_any_other_that_waits(sim):
    sim.faults.add(match={"api": "Metadata"}, effect={"throttle_ms": 500})
    client = Client(sim)
    client.ask(METADATA, 12)
    client.write(client.frame(produce_request(batch(b"x" * 2_000_000)), 12))
    assert client.connection.is_full
    sim.advance(ms=500)
    assert not client.connection.is_full


def test_a_muted_connection_that_ends_is_forgotten(sim):
    sim.faults.add(effect={"throttle_ms": 500})
    client = Client(sim)
    client.ask(METADATA, 12)
    client.connection.stopped()
    assert client.connection not in sim.engine.path.connections
    assert sim.engine.next_deadline_ms() is None


# bandwidth


def test_bandwidth_lets_the_bytes_of_request_and_answer_through_at_its_rate(sim):
    sim.faults.add(match={"api": ["Produce", "Fetch"]}, effect={"bandwidth": 10_000})
    client = Client(sim)
    frame = client.frame(produce_request(batch(b"x" * 20_000)), 12)
    client.write(frame)
    takes_ms = -(-len(frame) * 1000 // 10_000)
    sim.advance(ms=takes_ms - 1)
    log = sim.cluster.topics[TOPIC].partitions[0].log
    assert log.end_offset == 0, "the request has not come yet"
    sim.advance(ms=1)
    assert log.end_offset == 1
    assert client.frames() == [], "the answer has not gone yet"
    sim.advance(ms=100)
    assert len(client.frames()) == 1
    started_ms = sim.now_ms
    client.write(client.frame(fetch_request(), 12))
    while not (frames := client.frames()):
        sim.advance(ms=1)
    size = len(frames[0]) + 4
    assert size > 20_000
    assert sim.now_ms - started_ms == pytest.approx((size + 100) / 10, abs=20)


def test_an_answer_over_a_narrow_link_is_let_out_with_what_it_answers_on_the_disk(sim, outcomes):
    sim.faults.add(match={"api": "Produce"}, effect={"bandwidth": 10_000})
    client = Client(sim)
    synced: list[tuple[int, int]] = []
    log = sim.cluster.topics[TOPIC].partitions[0].log
    sim.engine.path.sync = lambda: synced.append((log.end_offset, len(outcomes)))
    client.write(client.frame(produce_request(batch(b"x" * 20_000)), 12))
    sim.advance(ms=3000)
    assert len(client.frames()) == 1
    assert synced == [(1, 0)], "once, with the record, before anybody knows of the answer"
    assert [one.ending for one in outcomes] == [Ending.ANSWERED_LATER]


def test_an_answer_that_alone_is_slow_has_come_later(sim, outcomes):
    sim.engine.path.faults.append(lambda call: call.effects().pace.append(lambda size, now_ms: now_ms + 100))
    synced: list[int] = []
    sim.engine.path.sync = lambda: synced.append(sim.now_ms)
    client = Client(sim)
    client.write(client.frame(METADATA, 12))
    sim.advance(ms=100)
    assert len(client.frames()) == 1
    assert [(one.ending, one.at_ms) for one in outcomes] == [(Ending.ANSWERED_LATER, 100)]
    assert synced == [0], "what it answers is on the disk before it waits"


def test_all_matching_calls_share_one_bandwidth(sim):
    sim.faults.add(match={"api": "Produce"}, effect={"bandwidth": "100KB/s"})
    clients = [Client(sim) for _ in range(5)]
    total = 0
    for client in clients:
        frame = client.frame(produce_request(batch(b"x" * 20_000)), 12)
        total += len(frame)
        client.write(frame)
    sim.advance(ms=total // 100 - 1)
    log = sim.cluster.topics[TOPIC].partitions[0].log
    assert log.end_offset == 4
    sim.advance(ms=2)
    assert log.end_offset == 5


def test_a_call_whose_answer_is_on_its_way_is_dropped_when_its_client_goes(sim, outcomes):
    sim.faults.add(match={"api": "Metadata"}, effect={"bandwidth": "1KB/s"})
    client = Client(sim)
    client.write(client.frame(METADATA, 12))
    sim.advance(ms=40)
    assert outcomes == []
    client.connection.stopped()
    assert [outcome.ending for outcome in outcomes] == [Ending.DROPPED]


# when


def fired_on(sim: Simulation, calls: int, **fault: Any) -> list[int]:
    """The numbers of the calls, from 1, that a fault acts on."""
    assert sim.cluster.internal_topics.coordinator(HEARTBEAT.group_id).id == 0
    sim.faults.clear()
    sim.faults.add(match={"api": "Heartbeat"}, effect={"error": "NOT_COORDINATOR"}, **fault)
    return [number for number in range(1, calls + 1) if sim.ask(HEARTBEAT, version=4).error_code == 16]


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ({"times": 3}, [1, 2, 3]),
        ({"on_call": 4}, [4]),
        ({"every": 3}, [3, 6, 9]),
        ({"every": 2, "times": 3}, [2, 4, 6]),
        ({"on_call": 4, "times": 3}, [4]),
        ({"probability": 0}, []),
        ({"probability": 1}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ({"probability": 1, "times": 2}, [1, 2]),
    ],
)
def test_when_chooses_among_the_matching_calls(sim, when, expected):
    assert fired_on(sim, 9, when=when) == expected


def test_probability_goes_by_the_seed_and_by_no_other_fault():
    def fired(seed: int, *, beside: bool = False) -> list[int]:
        sim = Simulation(seed=seed)
        assert sim.cluster.internal_topics.coordinator(HEARTBEAT.group_id).id == 0
        if beside:
            sim.faults.add(match={"api": "Heartbeat"}, effect={"delay_ms": 0}, when={"probability": 0.5}, id="other")
        sim.faults.add(
            id="chance", match={"api": "Heartbeat"}, effect={"error": "NOT_COORDINATOR"}, when={"probability": 0.25}
        )
        return [number for number in range(400) if sim.ask(HEARTBEAT, version=4).error_code == 16]

    first = fired(1)
    assert 60 <= len(first) <= 140
    assert fired(1) == first
    assert fired(1, beside=True) == first
    assert fired(2) != first


# what is counted


def test_the_call_says_which_faults_hit_it_in_their_order(sim):
    sim.faults.add(id="slow", effect={"delay_ms": 1})
    sim.faults.add(id="other", match={"api": "Fetch"}, effect={"delay_ms": 1})
    sim.faults.add(id="wrong", effect={"error": "NOT_COORDINATOR"})
    sim.faults.add(id="late", effect={"disconnect": True})
    ticket = sim.send(HEARTBEAT, version=4)
    sim.advance(ms=1)
    assert sim.calls[ticket].faults == ("slow", "wrong")
    counts = {handle.id: (handle.matched, handle.fired) for handle in sim.faults}
    assert counts == {"slow": (1, 1), "other": (0, 0), "wrong": (1, 1), "late": (1, 0)}


def test_a_removed_handle_keeps_its_counts_and_acts_no_more(sim):
    assert sim.cluster.internal_topics.coordinator(HEARTBEAT.group_id).id == 0
    handle = sim.faults.add(effect={"error": "NOT_COORDINATOR"}, match={"api": "Heartbeat"})
    assert sim.ask(HEARTBEAT, version=4).error_code == 16
    handle.remove()
    handle.remove()
    assert sim.ask(HEARTBEAT, version=4).error_code != 16
    assert (handle.matched, handle.fired, handle.is_active) == (1, 1, False)


def test_faults_are_found_by_id_listed_in_order_and_removed(sim):
    first = sim.faults.add(effect={"delay_ms": 1})
    second = sim.faults.add({"id": "b", "effect": {"delay_ms": 1}})
    third = sim.faults.add(effect={"delay_ms": 1})
    assert [handle.id for handle in sim.faults] == ["fault-1", "b", "fault-2"]
    assert (sim.faults["b"], sim.faults["fault-2"]) == (second, third)
    sim.faults.remove("fault-1")
    assert not first.is_active
    assert [handle.id for handle in sim.faults] == ["b", "fault-2"]
    for missing in ("fault-1", "nothing"):
        with pytest.raises(KeyError, match=missing):
            sim.faults[missing]
        with pytest.raises(KeyError, match=missing):
            sim.faults.remove(missing)
    sim.faults.clear()
    assert len(sim.faults) == 0


def test_an_id_that_was_given_away_is_not_given_again(sim):
    sim.faults.add(effect={"delay_ms": 1}).remove()
    sim.faults.add(id="fault-2", effect={"delay_ms": 1})
    assert sim.faults.add(effect={"delay_ms": 1}).id == "fault-3"


def test_never_fired_has_removed_faults_too_and_begins_anew_with_clear(sim):
    fired = sim.faults.add(match={"api": "Heartbeat"}, effect={"delay_ms": 0})
    idle = sim.faults.add(match={"api": "Fetch"}, effect={"delay_ms": 0})
    gone = sim.faults.add(match={"api": "Produce"}, effect={"delay_ms": 0})
    sim.ask(HEARTBEAT, version=4)
    fired.remove()
    gone.remove()
    assert sim.faults.never_fired() == [idle, gone]
    sim.faults.clear()
    assert sim.faults.never_fired() == []


def test_the_json_form_comes_back_with_its_counts(sim):
    fault = {
        "id": "slow",
        "match": {"api": ["Fetch", "Heartbeat"], "broker": 0},
        "effect": {"delay_ms": 0, "jitter_ms": 5},
        "when": {"times": 3},
    }
    handle = sim.faults.add(fault)
    assert handle.fault.to_json() == fault
    assert {**handle.to_json(), "explanation": ""} == {**fault, "matched": 0, "fired": 0, "explanation": ""}
    assert "never fired" in handle.to_json()["explanation"]
    sim.send(HEARTBEAT, version=4)
    assert sim.faults.to_json() == [{**fault, "matched": 1, "fired": 1}]


@pytest.mark.zookeeper
def test_controllers_in_zookeeper_mode_are_met_only_where_their_api_is_named(sim):
    from mockbroker.core.simulation import Simulation

    sim = Simulation(settings={"inter.broker.protocol.version": "2.4"})
    everything = sim.faults.add(effect={"disconnect": True})
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    sim.tell()
    assert everything.matched == 0
    named = sim.faults.add(match={"api": "UpdateMetadata"}, effect={"disconnect": True})
    sim.cluster.replication_control.create("more", 1, 3)
    with pytest.raises(ConnectionClosedError):
        sim.tell(0)
    assert named.fired == 1


def test_a_request_that_cannot_be_read_is_refused_as_without_a_fault(sim):
    sim.faults.add(match={"topic": TOPIC, "client_rack": "a"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    sim.faults.add(match={"api": "Produce"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    client = Client(sim)
    frame = client.frame(produce_request(batch(b"a")), 12)
    cut = frame[4:-40]
    client.write(len(cut).to_bytes(4, "big") + cut)
    assert client.connection.closed is not None
    assert "fault" not in client.connection.closed


def test_api_versions_of_a_version_that_is_not_served_is_refused_as_without_a_fault(sim):
    sim.faults.add(effect={"disconnect": True})
    client = Client(sim)
    frame = bytearray(client.frame(ApiVersionsRequest(), 0))
    frame[6:8] = (99).to_bytes(2, "big")
    client.write(bytes(frame))
    assert len(client.frames()) == 1
