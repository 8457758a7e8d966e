"""Which calls a fault means, and what one that never fired says of the call that came nearest."""

from __future__ import annotations

import pytest

from mockbroker.call import Call
from mockbroker.core.path import Stage
from mockbroker.core.simulation import Simulation
from protocol.apis.classic_group import HeartbeatRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import MetadataRequest
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request

METADATA = MetadataRequest(topics=None)
HEARTBEAT = HeartbeatRequest(group_id="billing", generation_id=1, member_id="m")
NOTHING = {"delay_ms": 0}


def matched(sim: Simulation, match, request, version, **where) -> bool:
    handle = sim.faults.add(match=match, effect=NOTHING)
    sim.send(request, version=version, **where)
    handle.remove()
    return bool(handle.matched)


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ({}, True),
        ({"api": "Fetch"}, True),
        ({"api": "F*"}, True),
        ({"api": "*"}, True),
        ({"api": ["Produce", "Fetch"]}, True),
        ({"api": "Produce"}, False),
        ({"broker": 1}, True),
        ({"broker": [0, 2]}, False),
        ({"rack": "b"}, True),
        ({"rack": "*"}, True),
        ({"rack": ["a", "c"]}, False),
        ({"client_id": "reader-1"}, True),
        ({"client_id": "reader-*"}, True),
        ({"client_id": "*-1"}, True),
        ({"client_id": "r*1"}, True),
        ({"client_id": "reader"}, False),
        ({"client_id": "reader-1*1"}, False),
        ({"client_rack": "b"}, True),
        ({"client_rack": ["a", "c"]}, False),
        ({"client_address": "127.0.0.1"}, True),
        ({"client_address": "127.0.0.0/8"}, True),
        ({"client_address": ["10.0.0.0/8", "::1"]}, False),
        ({"client_address": "::/0"}, False),
        ({"listener": "PLAINTEXT"}, True),
        ({"listener": "RACK*"}, False),
        ({"topic": "orders"}, True),
        ({"topic": "o*s"}, True),
        ({"topic": ["payments", "ord*"]}, True),
        ({"topic": "payments"}, False),
        ({"partition": 0}, True),
        ({"partition": [1, 2]}, False),
        ({"topic": "orders", "partition": 0}, True),
        ({"topic": "orders", "partition": 1}, False),
        ({"group": "*"}, False),
        ({"api": "Fetch", "broker": 1, "client_id": "reader-*", "client_rack": "b", "topic": "orders"}, True),
    ],
)
def test_every_field_has_to_match(sim, match, expected):
    request = fetch_request(rack_id="b")
    assert matched(sim, match, request, 12, broker=1, client_id="reader-1") is expected


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ({"group": "billing"}, True),
        ({"group": ["x", "bill*"]}, True),
        ({"group": "audit"}, False),
        ({"topic": "*"}, False),
    ],
)
def test_groups_are_those_that_the_request_names(sim, match, expected):
    assert matched(sim, match, HEARTBEAT, 4) is expected


def test_a_client_without_an_id_has_none_that_could_match(sim):
    assert not matched(sim, {"client_id": "*"}, METADATA, 12, client_id=None)


def test_a_clients_rack_is_known_from_its_listener_and_its_client_id_too(sim):
    assert matched(sim, {"client_rack": "b"}, HEARTBEAT, 4, listener_rack="b")
    assert matched(sim, {"client_rack": "b"}, HEARTBEAT, 4, client_id="diskless_az=b")
    assert not matched(sim, {"client_rack": "*"}, HEARTBEAT, 4)


def test_a_clients_rack_is_known_from_the_first_request_that_names_it(sim):
    assert matched(sim, {"client_rack": "b"}, fetch_request(rack_id="b"), 11)
    assert not matched(sim, {"client_rack": "b"}, fetch_request(rack_id="b"), 10), "which has no field for it"


def test_an_address_mapped_into_ipv6_is_still_that_address(sim):
    handle = sim.faults.add(match={"client_address": "10.0.0.0/8"}, effect=NOTHING)
    for address in ("::ffff:10.1.2.3", "::ffff:11.1.2.3", "10.9.9.9", "not an address", ""):
        client = Client(sim)
        client.connection.session.address = address
        client.ask(METADATA, 12)
    assert handle.matched == 2


@pytest.mark.parametrize("match", [{"topic": TOPIC}, {"partition": 0}, {"group": "g"}, {"topic": "x", "group": "y"}])
def test_a_request_of_an_api_that_names_none_is_not_read(sim, match, monkeypatch):
    from protocol.apis.cluster import DescribeClusterRequest

    read: list[int] = []
    true_request = Call.request

    def spied(call: Call):
        read.append(call.api_key)
        return true_request.fget(call)

    monkeypatch.setattr(Call, "request", property(spied))
    sim.faults.add(match=match, effect={"disconnect": True})
    path = sim.engine.path
    path.steps = {stage: step for stage, step in path.steps.items() if stage not in (Stage.CACHE, Stage.HANDLER)}
    sim.send(DescribeClusterRequest(), version=0)
    assert read == []


def test_a_fault_that_has_matched_keeps_no_more_near_misses(sim):
    handle = sim.faults.add(match={"api": "Heartbeat"}, effect=NOTHING)
    sim.ask(HEARTBEAT, version=4)
    sim.ask(METADATA, version=12)
    assert handle.nearest == ""


# the sentences


def test_with_no_call_at_all_it_says_so(sim):
    handle = sim.faults.add(match={"api": "Fetch"}, effect=NOTHING)
    assert handle.explain() == "fault 'fault-1' never fired: no call came while it was set."


def test_the_nearest_call_is_named_with_the_field_in_which_it_missed_and_both_values(sim):
    handle = sim.faults.add(match={"api": "Fetch", "topic": "payments"}, effect=NOTHING)
    for _ in range(3):
        sim.ask(fetch_request(), version=12, client_id="reader")
    assert handle.explain() == (
        "fault 'fault-1' never fired: 3 calls came while it was set, none of which matched. "
        "Nearest: Fetch v12 of client 'reader' to broker 0: topic: expected 'payments', got 'orders'."
    )


def test_the_first_field_that_was_missed_is_named(sim):
    match = {"api": ["Fetch", "Produce"], "client_id": "writer", "broker": [1, 2], "client_rack": "a"}
    handle = sim.faults.add(match=match, effect=NOTHING)
    sim.ask(fetch_request(), version=12, client_id="reader")
    assert handle.explain().endswith("Nearest: Fetch v12 of client 'reader' to broker 0: broker: expected 1, 2, got 0.")


def test_only_the_nearest_call_is_remembered(sim):
    handle = sim.faults.add(
        match={"api": "Fetch", "client_id": "reader", "topic": "payments", "broker": 1}, effect=NOTHING
    )
    for _ in range(10):
        sim.ask(METADATA, version=12, client_id="admin")
    sim.ask(METADATA, version=12, client_id="admin", broker=1)
    sim.ask(HEARTBEAT, version=4, client_id="admin")
    sim.ask(produce_request(batch(b"a")), version=12, client_id="writer")
    sim.ask(fetch_request(), version=12, client_id="reader")
    sim.ask(fetch_request(), version=12, client_id="reader", broker=1)
    assert handle.missed == 15
    assert handle.nearest == "Fetch v12 of client 'reader' to broker 1: topic: expected 'payments', got 'orders'"


@pytest.mark.parametrize(
    ("match", "request_", "version", "missed"),
    [
        ({"partition": 7}, fetch_request(), 12, "partition: expected 7, got 0"),
        ({"topic": "orders", "partition": 7}, fetch_request(), 12, "partition: expected 7, got 0"),
        ({"topic": "x"}, HEARTBEAT, 4, "topic: expected 'x', got none"),
        ({"group": "x"}, HEARTBEAT, 4, "group: expected 'x', got 'billing'"),
        ({"group": "x"}, METADATA, 12, "group: expected 'x', got none"),
        ({"rack": "b"}, METADATA, 12, "rack: expected 'b', got 'a'"),
        ({"listener": "EXTERNAL"}, METADATA, 12, "listener: expected 'EXTERNAL', got 'PLAINTEXT'"),
        ({"client_address": "10.0.0.0/8"}, METADATA, 12, "client_address: expected '10.0.0.0/8', got '127.0.0.1'"),
        ({"api": "Fetch"}, METADATA, 12, "api: expected 'Fetch', got 'Metadata'"),
    ],
)
def test_each_field_says_what_it_met(sim, match, request_, version, missed):
    handle = sim.faults.add(match=match, effect=NOTHING)
    sim.ask(request_, version=version)
    assert handle.explain().endswith(f"to broker 0: {missed}.")


@pytest.mark.parametrize(("rack", "end"), [("c", "'c'"), ("", "None")])
def test_a_link_names_the_racks_of_client_and_broker(sim, rack, end):
    handle = sim.faults.add(link={"between": ["a", "b"]}, effect=NOTHING)
    sim.ask(fetch_request(rack_id=rack), version=12, broker=1)
    assert handle.explain().endswith(f"link: expected between a and b, got from {end} to 'b'.")


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ({"on_call": 4}, "it acts only with when: on_call 4"),
        ({"every": 10}, "it acts only with when: every 10"),
        ({"probability": 0}, "it acts only with when: probability 0"),
    ],
)
def test_matching_calls_whose_turn_it_was_not_are_explained(sim, when, reason):
    handle = sim.faults.add(match={"api": "Heartbeat"}, effect=NOTHING, when=when)
    sim.ask(HEARTBEAT, version=4)
    sim.ask(HEARTBEAT, version=4)
    assert handle.explain() == f"fault 'fault-1' never fired, though 2 calls matched: {reason}."


def test_a_fault_that_another_one_forestalls_says_so(sim):
    sim.faults.add(match={"api": "Heartbeat"}, effect={"error": "NOT_COORDINATOR"})
    late = sim.faults.add(match={"api": "Heartbeat"}, effect={"disconnect": True})
    sim.ask(HEARTBEAT, version=4)
    assert late.explain() == (
        "fault 'fault-2' never fired, though 1 call matched: a fault that was set before it ended them first."
    )


def test_one_that_fired_says_how_often(sim):
    handle = sim.faults.add(match={"api": "Heartbeat"}, effect=NOTHING, when={"times": 1})
    sim.ask(HEARTBEAT, version=4)
    sim.ask(HEARTBEAT, version=4)
    assert handle.explain() == "fault 'fault-1' fired on 1 of 2 matching calls."


def test_what_is_kept_for_the_explanation_stays_small_whatever_clients_send(sim):
    handle = sim.faults.add(match={"api": "Fetch", "topic": "x", "client_id": "c"}, effect=NOTHING)
    kind = ListOffsetsRequest.Topic
    for number in range(300):
        wanted = [kind(name=f"{number}-{index}" * 1000, partitions=[]) for index in range(20)]
        sim.ask(ListOffsetsRequest(replica_id=-1, topics=wanted), version=7, client_id=f"c{number}" * 3000)
        sim.ask(fetch_request(), version=12, client_id=f"c{number}" * 3000)
    assert len(handle.explain()) < 1000
