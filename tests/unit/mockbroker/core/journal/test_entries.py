"""What an entry says of its call: what was asked, what failed, and whether it left its client's rack."""

from __future__ import annotations

import json

import pytest

from kafka_rack.locality import REASONS, RackRules
from mockbroker.core.simulation import Simulation
from protocol.apis.group_offsets import OffsetCommitRequest
from protocol.apis.metadata import MetadataRequest
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.core.journal.traffic_of import cluster_of, fetch, produce
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request


def last(sim):
    return list(sim.journal)[-1]


def verdict(entry):
    return (entry.category, entry.locality, entry.locality_reason, entry.avoidable)


def test_a_reader_in_the_leaders_rack_is_local():
    sim = cluster_of()
    produce(sim, b"value")
    fetch(sim, "a")
    assert verdict(last(sim)) == ("consume", "local", None, None)


def test_a_reader_whose_rack_has_a_replica_in_sync_that_it_was_not_sent_to_could_have_stayed():
    sim = cluster_of()
    fetch(sim, "b")
    assert verdict(last(sim)) == ("consume", "cross", "not_redirected", "yes")


def test_a_reader_that_is_sent_on_crosses_for_nothing_that_could_be_saved():
    sim = cluster_of(near=True)
    fetch(sim, "b")
    assert verdict(last(sim)) == ("consume", "cross", "redirect", "no")
    assert last(sim).redirects == {TOPIC: [1]}


def test_whether_a_replica_was_in_sync_is_judged_as_of_the_call():
    sim = cluster_of()
    fetch(sim, "b")
    sim.stop_broker(1)
    fetch(sim, "b")
    sim.cluster.cluster_control.start(1, sim.now_ms)
    assert [entry.locality_reason for entry in sim.journal] == ["not_redirected", "no_in_sync_replica"]


def test_a_rack_that_no_broker_has_is_named_with_the_one_that_was_probably_meant():
    sim = cluster_of("az-a,az-b,az-c")
    fetch(sim, "AZ-B")
    assert verdict(last(sim)) == ("consume", "cross", "rack_not_in_cluster", "perhaps")
    assert last(sim).detail == "AZ-B is almost az-b: they differ in capitals only"


@pytest.mark.parametrize(("version", "reason"), [(12, "no_client_rack"), (10, "version_too_old")])
def test_of_a_reader_without_a_rack_nothing_is_known(version, reason):
    sim = cluster_of()
    fetch(sim, version=version)
    assert verdict(last(sim)) == ("consume", "unknown", reason, "perhaps")


@pytest.mark.parametrize(
    ("software", "key", "leaders", "reason", "avoidable"),
    [
        (("apache-kafka-java", "4.4.0"), None, [[0, 1], [1, 0]], "unaware_partitioner", "yes"),
        (("apache-kafka-java", "4.3.1"), None, [[0, 1], [1, 0]], "unkeyed_produce", "no"),
        (("librdkafka", "2.16.0"), None, [[0, 1], [1, 0]], "unkeyed_produce", "no"),
        (None, None, [[0, 1], [1, 0]], "unaware_partitioner", "perhaps"),
        (("apache-kafka-java", "4.4.0"), None, [[0, 1]], "no_leader_in_rack", "perhaps"),
        (("apache-kafka-java", "4.4.0"), b"key", [[0, 1], [1, 0]], "keyed_produce", "no"),
    ],
)
def test_a_producer_elsewhere_is_judged_by_its_keys_its_software_and_where_leaders_are(
    software, key, leaders, reason, avoidable
):
    sim = Simulation("a,b")
    sim.cluster.replication_control.create(TOPIC, assignment=leaders)
    produce(sim, b"one", b"two", client_id="diskless_az=b", key=key, software=software)
    assert verdict(last(sim)) == ("produce", "cross", reason, avoidable)


def test_keys_that_are_no_longer_in_the_log_are_not_guessed():
    sim = Simulation("a,b")
    sim.cluster.replication_control.create(TOPIC, assignment=[[0, 1]])
    produce(sim, b"one", client_id="diskless_az=b")
    sim.cluster.replication_control.delete(sim.cluster.topics[TOPIC])
    assert verdict(last(sim)) == ("produce", "cross", "produce_not_read", "perhaps")


def test_a_diskless_topic_at_a_broker_elsewhere_is_judged_by_its_own_rules():
    sim = cluster_of()
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    Client(sim, connection=1).ask(produce_request(batch(b"a"), topic="events"), 12, client_id="diskless_az=b")
    assert verdict(last(sim)) == ("produce", "cross", "diskless_elsewhere", "perhaps")


def test_what_a_connection_says_of_its_rack_holds_for_all_its_calls():
    sim = cluster_of()
    client = Client(sim, connection=1)
    client.ask(METADATA, 12)
    client.ask(fetch_request(rack_id="b"), 12)
    said = [(entry.api, entry.client_rack, entry.client_rack_source, entry.locality) for entry in sim.journal]
    assert said == [("Metadata", "b", "connection", "cross"), ("Fetch", "b", "request", "cross")]
    assert next(iter(sim.journal)).locality_reason == "cluster_work"


def test_a_client_that_names_one_rack_elsewhere_is_there():
    sim = cluster_of()
    Client(sim, connection=1).ask(fetch_request(rack_id="a"), 12, client_id="app")
    Client(sim, connection=2).ask(METADATA, 12, client_id="app")
    assert (last(sim).client_rack, last(sim).client_rack_source, last(sim).locality) == ("a", "client", "local")
    Client(sim, connection=3).ask(fetch_request(rack_id="b"), 12, client_id="app")
    assert list(sim.journal)[1].client_rack is None  # of two racks it may be either


def filed(text, racks="a,b,c"):
    """A cluster with a racks file."""
    sim = cluster_of(racks)
    sim.engine.client_racks = RackRules.read(text, "racks")
    return sim


def whereabouts(entry):
    return (entry.client_rack, entry.client_rack_source, entry.locality, entry.locality_reason)


def test_the_racks_file_says_where_a_client_is_that_names_no_rack_and_could():
    sim = filed("b@127.0.0.0/8\na@client:etl-*")
    fetch(sim, version=12)
    assert whereabouts(last(sim)) == ("b", "racks_file", "cross", "no_client_rack")
    assert last(sim).avoidable == "yes"
    fetch(sim, version=10)
    assert whereabouts(last(sim)) == ("b", "racks_file", "cross", "version_too_old")
    fetch(sim, client_id="etl-7")
    assert whereabouts(last(sim)) == ("a", "racks_file", "local", None)


def test_what_a_client_says_on_this_connection_or_another_comes_before_the_racks_file():
    sim = filed("b@127.0.0.0/8")
    fetch(sim, "a")
    assert whereabouts(last(sim))[:2] == ("a", "request")
    client = Client(sim, connection=7)
    client.ask(METADATA, 12)
    client.ask(fetch_request(rack_id="c"), 12)
    assert whereabouts(list(sim.journal)[1])[:2] == ("c", "connection")
    Client(sim, connection=8).ask(METADATA, 12, client_id="app")
    assert whereabouts(last(sim))[:2] == ("b", "racks_file")
    Client(sim, connection=9).ask(fetch_request(rack_id="c"), 12, client_id="app")
    assert whereabouts(list(sim.journal)[-2])[:2] == ("c", "client")


def test_of_a_rack_that_no_broker_has_the_racks_file_knows_which_one_it_is():
    sim = filed("b@127.0.0.0/8")
    fetch(sim, "z")
    assert whereabouts(last(sim)) == ("b", "racks_file", "cross", "rack_not_in_cluster")
    assert (last(sim).avoidable, last(sim).detail) == ("yes", "z")


def test_brokers_are_where_they_are_whatever_the_racks_file_says():
    sim = filed("b@127.0.0.0/8")
    Client(sim, connection=1).ask(fetch_request(replica_id=2), 12)
    assert whereabouts(last(sim))[:2] == ("c", "replica")


def test_a_followers_fetch_is_replication_from_its_brokers_rack():
    sim = cluster_of()
    Client(sim, connection=1).ask(fetch_request(replica_id=2), 12)
    assert verdict(last(sim)) == ("replication", "cross", "replication", "no")
    assert (last(sim).client_rack, last(sim).client_rack_source) == ("c", "replica")


def test_a_brokers_rack_that_nobody_set_is_not_known():
    sim = Simulation(",b")
    sim.cluster.replication_control.create(TOPIC, assignment=[[0, 1]])
    fetch(sim, "b")
    assert verdict(last(sim)) == ("consume", "unknown", "broker_rack_unknown", "perhaps")


def test_every_reason_that_an_entry_gives_is_one_of_the_table():
    sim = cluster_of(near=True)
    produce(sim, b"value")
    for rack in ("a", "b", "nowhere", ""):
        fetch(sim, rack)
    reasons = {entry.locality_reason for entry in sim.journal} - {None}
    assert reasons <= set(REASONS)
    assert reasons == {"client_rack_unknown", "redirect", "rack_not_in_cluster", "no_client_rack"}


def test_an_entry_names_topics_partitions_and_groups():
    sim = cluster_of()
    sim.cluster.replication_control.create("payments", 3, 1)
    client = Client(sim, connection=1)
    client.ask(MetadataRequest(topics=[MetadataRequest.Topic(name="payments")]), 12)
    client.ask(fetch_request(), 12)
    commit = OffsetCommitRequest(
        group_id="billing",
        topics=[
            OffsetCommitRequest.Topic(
                name="payments",
                partitions=[
                    OffsetCommitRequest.Topic.Partition(partition_index=index, committed_offset=0) for index in (2, 0)
                ],
            )
        ],
    )
    client.ask(commit, 8)
    named = [(entry.api, dict(entry.topics), entry.groups) for entry in sim.journal]
    assert named == [
        ("Metadata", {"payments": ()}, ()),
        ("Fetch", {TOPIC: (0,)}, ()),
        ("OffsetCommit", {"payments": (2, 0)}, ("billing",)),
    ]


def test_a_cached_answer_has_the_topics_and_errors_of_the_first():
    sim = cluster_of()
    client = Client(sim, connection=1)
    request = MetadataRequest(topics=[MetadataRequest.Topic(name="nowhere")], allow_auto_topic_creation=False)
    for _ in range(3):
        client.ask(request, 12)
    said = [(dict(entry.topics), entry.errors) for entry in sim.journal]
    assert said == [({"nowhere": ()}, ("UNKNOWN_TOPIC_OR_PARTITION",))] * 3


def test_errors_within_partitions_are_found():
    sim = cluster_of()
    fetch(sim, broker=1, version=10)  # of a follower, by a client that cannot read from one
    produce(sim, b"value", index=9)
    assert [entry.errors for entry in sim.journal] == [("NOT_LEADER_OR_FOLLOWER",), ("UNKNOWN_TOPIC_OR_PARTITION",)]


def test_an_error_of_the_whole_answer_is_found():
    sim = cluster_of()
    Client(sim, connection=1).ask(fetch_request(session_id=77, session_epoch=3), 12)
    assert last(sim).errors == ("FETCH_SESSION_ID_NOT_FOUND",)


def test_a_fault_that_hit_a_call_stands_in_its_entry():
    sim = cluster_of()
    sim.faults.add(id="moved", match={"api": "Produce"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    produce(sim, b"value")
    assert (last(sim).faults, last(sim).errors) == (("moved",), ("NOT_LEADER_OR_FOLLOWER",))
    assert last(sim).topics == {TOPIC: (0,)}


def test_a_call_that_waited_has_its_latency():
    sim = cluster_of()
    client = Client(sim, connection=1)
    sim.advance(ms=1000)
    client.write(client.frame(fetch_request(max_wait_ms=70), 12))
    sim.advance(ms=70)
    assert [(entry.at_ms, entry.latency_ms, entry.ending) for entry in sim.journal] == [(1070, 70, "answered later")]


def test_an_entrys_record_batches_and_all_else_add_up_to_its_frames():
    sim = Simulation("a,b")
    sim.cluster.replication_control.create(TOPIC, assignment=[[0, 1], [1, 0]])
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    size = produce(sim, b"value")
    fetch(sim, "a")
    Client(sim, connection=7).ask(METADATA, 12)
    for entry in sim.journal:
        assert entry.bytes == entry.request_bytes + entry.response_bytes + 8
    written, read, metadata = sim.journal
    for entry in (written, read):
        assert [share.bytes for share in entry.shares] == [size]
        assert entry.other_bytes == entry.bytes - size
    assert metadata.other_bytes == metadata.bytes


def test_an_entry_becomes_json_with_every_field_of_the_table():
    sim = cluster_of(near=True)
    produce(sim, b"value")
    fetch(sim, "b")
    told = [json.loads(json.dumps(entry.to_json())) for entry in sim.journal]
    assert told[1]["topics"] == {TOPIC: [0]}
    assert (told[1]["broker"], told[1]["locality_reason"], told[1]["redirects"]) == (0, "redirect", {TOPIC: [1]})
    assert [one["sequence"] for one in told] == [1, 2]


def test_the_session_of_a_fetch_names_what_it_goes_on_reading():
    sim = Simulation("a")
    sim.cluster.replication_control.create(TOPIC, 2, 1)
    client = Client(sim, connection=1)
    opened = client.ask(fetch_request(session_epoch=0), 12)
    client.ask(fetch_request(index=1, session_id=opened.session_id, session_epoch=1), 12)
    assert [dict(entry.topics) for entry in sim.journal] == [{TOPIC: (0,)}, {TOPIC: (0, 1)}]


def test_a_topic_named_by_its_id_stands_under_its_name():
    sim = cluster_of()
    topic_id = sim.cluster.topics[TOPIC].id
    request = fetch_request()
    request.topics[0].topic_id = topic_id
    Client(sim, connection=1).ask(request, 13)
    assert last(sim).topics == {TOPIC: (0,)}
