"""Claims about a journal: which hold, and the sentences that say why one does not."""

from __future__ import annotations

import re

import pytest

from kafka_rack.locality.reasons import REASONS
from mockbroker.core.journal import FilterError, Journal
from mockbroker.core.journal.assertions import check
from mockbroker.core.simulation import Simulation
from protocol.apis.find_coordinator import FindCoordinatorRequest
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.core.journal.traffic_of import cluster_of, fetch, produce
from tests.unit.mockbroker.handlers.records import TOPIC, fetch_request


def refusal(claim, *args, **arguments):
    with pytest.raises(AssertionError) as raised:
        claim(*args, **arguments)
    return str(raised.value)


# served in its own rack


def test_readers_that_are_sent_to_a_near_replica_are_rack_local():
    sim = cluster_of(near=True)
    produce(sim, b"value")
    fetch(sim, "b", client_id="billing-2")  # the leader sends it on, which crosses and is no fault
    fetch(sim, "b", broker=1, client_id="billing-2")
    sim.journal.assert_rack_local(topic=TOPIC, client_id="billing-2", api="Fetch")
    sim.journal.assert_rack_local(client_id="billing-*")
    sim.journal.assert_rack_local(client_rack="b")


def test_a_reader_that_is_served_elsewhere_is_named_with_its_rack_topic_numbers_reason_and_fix():
    sim = cluster_of()
    size = produce(sim, b"value")
    fetch(sim, "a", client_id="billing-2")
    for _ in range(2):
        fetch(sim, "b", client_id="billing-2")
    sentence = refusal(sim.journal.assert_rack_local, topic=TOPIC, client_id="billing-2", api="Fetch")
    line, action, why, head, row, _ = sentence.splitlines()
    assert line.startswith(
        "2 of 3 calls crossed racks: expected every Fetch with topic 'orders', client_id 'billing-2'"
    )
    assert len(line) <= 120
    assert head.split("  ")[0] == "calls"
    assert row.split() == ["2", *f"{2 * size} B".split(), "billing-2", "b", "a", "0", "orders"]
    assert action.startswith("Set settings={'replica.selector.class': 'rack-aware'} in MockCluster.")
    assert why.strip().startswith("An in-sync replica is in the client's rack")
    assert "First: #3 Fetch v12 of orders-0 by 'billing-2' from 127.0.0.1 in rack b (by request)" in sentence


def test_clients_of_several_racks_are_listed_the_largest_first():
    sim = cluster_of()
    produce(sim, b"v" * 500)
    for rack, client_id in (("b", "one"), ("c", "two"), ("c", "two")):
        fetch(sim, rack, client_id=client_id)
    sentence = refusal(sim.journal.assert_rack_local, topic=TOPIC, api="Fetch")
    assert sentence.startswith("3 of 3 calls crossed racks")
    _, _, _, _, first, second, *_ = sentence.splitlines()
    assert (first.split()[0], first.split()[3:5]) == ("2", ["two", "c"])
    assert (second.split()[0], second.split()[3:5]) == ("1", ["one", "b"])
    assert sentence.count("replica.selector.class") == 1


def test_calls_are_grouped_by_their_reason_with_what_a_test_can_do_and_no_options_of_commands():
    sim = cluster_of()
    produce(sim, b"value", client_id="writer,diskless_az=b", key=b"k")
    fetch(sim, "b", client_id="reader")
    fetch(sim, "B", client_id="misspelt")
    sentence = refusal(sim.journal.assert_rack_local)
    lines = sentence.splitlines()
    assert len(lines[0]) <= 120
    assert [line.split()[0] for line in lines if line.startswith("calls ")] == ["calls"] * 3
    assert "Set client.rack to one of MockCluster's racks." in lines
    assert "  The client sends a rack that no broker has. (B is almost b: they differ in capitals only)" in lines
    assert not re.search("--[a-z]", sentence)
    assert not any(name in sentence for name in REASONS if "_" in name)


@pytest.mark.parametrize("reason", REASONS.values(), ids=list(REASONS))
def test_what_a_test_can_do_names_no_option_of_a_command(reason):
    assert "--" not in (reason.in_test or reason.action)
    assert "kafka-rack" not in (reason.in_test or reason.action)


@pytest.mark.parametrize(("profile", "key"), [("kip-1163", "diskless_az"), ("lakestream", "zone_id")])
def test_a_reader_of_a_diskless_topic_learns_the_key_of_the_clusters_system(profile, key):
    sim = Simulation("a,b", settings={"diskless.profile": profile})
    sim.cluster.replication_control.create(TOPIC, 2, configs={"diskless.enable": "true"})
    for broker in (0, 1):
        produce(sim, b"value", client_id=f"writer,{key}=a", index=broker)
        fetch(sim, "a", broker=broker, client_id="billing")
    sentence = refusal(sim.journal.assert_rack_local, client_id="billing", api="Fetch")
    assert f"this cluster reads {key}=RACK" in sentence


def test_a_reader_whose_rack_is_not_known_is_neither_local_nor_crossing():
    sim = cluster_of()
    fetch(sim, client_id="nobody")
    sentence = refusal(sim.journal.assert_rack_local, api="Fetch")
    assert sentence.startswith(
        "1 of 1 call came from an unknown rack: expected every Fetch to be served in its own rack"
    )
    assert "nobody" in sentence
    assert "Set client.rack in the consumer" in sentence


def test_being_sent_on_alone_is_not_being_served():
    sim = cluster_of(near=True)
    fetch(sim, "b", client_id="billing-2")
    sentence = refusal(sim.journal.assert_rack_local, client_id="billing-2")
    assert "to be served in its own rack, not redirected alone, but none of 1 call was served" in sentence


def test_with_an_api_a_claim_is_about_that_api():
    sim = cluster_of()
    client = Client(sim, connection=1)
    client.ask(METADATA, 12, client_id="diskless_az=b")
    assert "coordinators and leaders are where they are" in refusal(sim.journal.assert_rack_local, api="Metadata")
    assert "got none of 1 call" in refusal(sim.journal.assert_rack_local)


# a claim about nothing


def test_a_claim_about_no_calls_names_those_that_there_are():
    sim = cluster_of()
    produce(sim, b"value")
    fetch(sim, "a", client_id="billing-1")
    sentence = refusal(sim.journal.assert_rack_local, topic=TOPIC, client_id="billing-2", api="Fetch")
    assert sentence == (
        "expected Fetch with topic 'orders', client_id 'billing-2', got none of 2 calls; "
        "there are Fetch by 'billing-1' (1), Produce by 'writer' (1)"
    )


def test_a_claim_about_an_empty_journal_does_not_hold():
    for claim in (Journal().assert_no_errors, Journal().assert_rack_local, Journal().assert_consistent):
        assert "got none of 0 calls" in refusal(claim)


# who served


def test_served_by_holds_for_the_rack_and_the_broker_that_served():
    sim = cluster_of(near=True)
    produce(sim, b"value")
    fetch(sim, "b")
    fetch(sim, "b", broker=1)
    sim.journal.assert_served_by(rack="b", topic=TOPIC, client_id="reader")
    sim.journal.assert_served_by(broker=1, client_id="reader")
    sim.journal.assert_served_by(rack=["a", "b"], api=["Produce", "Fetch"])


def test_served_by_another_rack_is_named():
    sim = cluster_of(near=True)
    produce(sim, b"value")
    fetch(sim, "b")
    fetch(sim, "b", broker=1)
    sentence = refusal(sim.journal.assert_served_by, rack="c", topic=TOPIC, client_id="reader")
    line, _, row, _ = sentence.splitlines()
    assert line.startswith("1 of 1 call went elsewhere: expected every Produce or Fetch with topic 'orders'")
    assert row.split()[3:] == ["reader", "b", "b", "1", "orders"]


def test_served_by_takes_a_rack_or_a_broker():
    sim = cluster_of()
    with pytest.raises(FilterError, match="expected a rack or a broker, got neither"):
        sim.journal.assert_served_by(topic=TOPIC)


# bytes


def test_bytes_that_cross_are_those_of_record_batches():
    sim = cluster_of()
    size = produce(sim, b"v" * 3000)
    fetch(sim, "b", client_id="reader")
    sim.journal.assert_cross_rack_bytes(at_most=size, client_id="reader")
    sentence = refusal(sim.journal.assert_cross_rack_bytes, at_most=size - 1, client_id="reader")
    assert sentence.startswith("3.00 KiB in 1 of 1 call crossed racks: expected at most 3.00 KiB of Produce or Fetch")


def test_bytes_of_another_topic_in_the_same_call_do_not_count():
    sim = cluster_of()
    sim.cluster.replication_control.create("other", assignment=[[0]])
    produce(sim, b"v" * 3000)
    request = fetch_request(rack_id="b")
    request.topics += fetch_request(topic="other").topics
    Client(sim, connection=5).ask(request, 12)
    sim.journal.assert_cross_rack_bytes(at_most=200, topic="other", api="Fetch")
    assert refusal(sim.journal.assert_cross_rack_bytes, at_most=200, topic=TOPIC, api="Fetch")


def test_unknown_bytes_are_no_crossing_ones_but_cannot_stand_alone():
    sim = cluster_of()
    produce(sim, b"value", client_id="somebody")
    sentence = refusal(sim.journal.assert_cross_rack_bytes, at_most=10**6)
    assert sentence.startswith("all 1 call came from an unknown rack")
    fetch(sim, "a")
    sim.journal.assert_cross_rack_bytes(at_most=0)


# errors


def test_errors_are_named_with_their_calls():
    sim = cluster_of()
    produce(sim, b"value")
    sim.journal.assert_no_errors()
    for _ in range(2):
        fetch(sim, broker=1, version=10, client_id="old")
    sentence = refusal(sim.journal.assert_no_errors)
    assert sentence.startswith(
        "expected no errors in call, got them in 2 of 3 calls: NOT_LEADER_OR_FOLLOWER from Fetch of 'orders' "
        "by 'old' to broker 1 (2). First: #2 Fetch v10"
    )
    sim.journal.assert_no_errors(api="Produce")


def test_a_connection_closed_over_a_request_is_an_error():
    sim = cluster_of()
    Client(sim).write(bytes([0, 0, 0, 8, 3, 231, 0, 0, 0, 0, 0, 1]))
    assert "a closed connection (API key 999 is not served)" in refusal(sim.journal.assert_no_errors)


# what is no longer kept


def test_what_holds_for_what_is_kept_is_not_said_of_all():
    sim = cluster_of()
    journal = Journal(2)
    sim.engine.path.observers.append(journal)
    for _ in range(3):
        produce(sim, b"value", client_id="diskless_az=a")
    sentence = refusal(journal.assert_rack_local, topic=TOPIC)
    assert "the 1 call before #2 are no longer stored (since=1 leaves them out" in sentence
    journal.assert_rack_local(topic=TOPIC, since=1)


# by name


def test_claims_are_checked_by_name_with_arguments_as_json_has_them():
    sim = cluster_of()
    produce(sim, b"value", client_id="diskless_az=a")
    check("rack_local", {"topic": TOPIC}, sim.journal)
    check("assert_served_by", {"rack": "a", "topic": [TOPIC]}, sim.journal)
    check("cross_rack_bytes", {"at_most": 0}, sim.journal)
    with pytest.raises(AssertionError):
        check("served_by", {"rack": "b"}, sim.journal)
    with pytest.raises(FilterError, match=r"expected one of rack_local, .*got 'rack_locl'; did you mean rack_local"):
        check("rack_locl", {}, sim.journal)
    with pytest.raises(FilterError, match="got 'topik'; did you mean topic"):
        check("rack_local", {"topik": "a"}, sim.journal)
    with pytest.raises(FilterError, match="at_most: expected a number of bytes from 0, got None"):
        check("cross_rack_bytes", {}, sim.journal)
    with pytest.raises(FilterError, match="without limit"):
        check("no_errors", {"limit": 3}, sim.journal)


def test_a_member_that_is_asked_for_its_id_has_met_no_error():
    sim = cluster_of()
    Client(sim).ask(FindCoordinatorRequest(key="group"), 3)
    from protocol.apis.classic_group import JoinGroupRequest

    protocols = [JoinGroupRequest.Protocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")]
    join = JoinGroupRequest(
        group_id="group",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=protocols,
    )
    coordinator = sim.cluster.internal_topics.coordinator("group").id
    assert Client(sim, broker=coordinator, connection=2).ask(join, 4).error_code != 0
    assert sim.journal.find(error="MEMBER_ID_REQUIRED")
    sim.journal.assert_no_errors()
