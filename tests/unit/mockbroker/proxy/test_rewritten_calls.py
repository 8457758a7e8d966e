"""What a cluster makes of rewritten requests: the same as of a client that names its rack."""

from __future__ import annotations

from mockbroker.proxy.rewrites import Rewrites
from protocol import read_response
from protocol.apis.classic_group import JoinGroupRequest
from protocol.apis.consumer_group import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, write_versioned
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.core.journal.traffic_of import cluster_of
from tests.unit.mockbroker.handlers.records import TOPIC, fetch_request
from tests.unit.mockbroker.proxy.rewritten import rewrite

RACKS = Rewrites(racks=True)


def rewritten(request, version, rack="b"):
    assert rewrite(RACKS, request, version, rack)
    return request


def test_a_reader_is_sent_to_the_replica_of_its_rack():
    client = Client(cluster_of(near=True))
    plain = client.ask(fetch_request(), 12)
    sent_on = client.ask(rewritten(fetch_request(), 12), 12)
    preferred = [
        one.responses[0].partitions[0].preferred_read_replica if one.responses else -1 for one in (plain, sent_on)
    ]
    assert preferred == [-1, 1]


def test_the_leader_of_a_group_hears_the_rack_of_a_member_that_says_version_2():
    sim = cluster_of()
    sim.cluster.internal_topics.coordinator("readers")
    subscription = ConsumerProtocolSubscription(topics=[TOPIC], generation_id=4)
    request = JoinGroupRequest(
        group_id="readers",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequest.Protocol(name="range", metadata=write_versioned(subscription, 2))],
    )
    client = Client(sim)
    client.write(client.frame(rewritten(request, 3), 3))
    sim.advance(ms=10_000)
    (frame,) = client.frames()
    _, joined = read_response(frame, JoinGroupRequest.api_key, 3)
    heard = read_versioned(ConsumerProtocolSubscription, joined.members[0].metadata)
    assert (heard.topics, heard.generation_id, heard.rack_id) == ([TOPIC], 4, "b")


def test_a_coordinator_that_assigns_knows_the_rack_of_a_member_and_keeps_it():
    sim = cluster_of()
    sim.cluster.internal_topics.coordinator("readers")
    client = Client(sim)
    beat = {"group_id": "readers", "member_id": "a member of its own"}
    joining = ConsumerGroupHeartbeatRequest(
        **beat, member_epoch=0, rebalance_timeout_ms=10_000, subscribed_topic_names=[TOPIC], topic_partitions=[]
    )
    joined = client.ask(rewritten(joining, 1), 1)
    assert joined.error_code == 0
    later = ConsumerGroupHeartbeatRequest(**beat, member_epoch=joined.member_epoch)
    assert not rewrite(RACKS, later, 1, "b")
    assert client.ask(later, 1).error_code == 0
    described = client.ask(ConsumerGroupDescribeRequest(group_ids=["readers"]), 1)
    assert [member.rack_id for member in described.groups[0].members] == ["b"]


def test_diskless_topics_are_led_by_the_rack_of_a_rewritten_client_id():
    sim = cluster_of()
    sim.cluster.replication_control.create("events", 3, configs={"diskless.enable": "true"})
    client = Client(sim)
    client_id = Rewrites(client_id_racks="diskless_az").client_id("billing", "b")
    client.write(client.frame(METADATA, 12, client_id=client_id))
    (frame,) = client.frames()
    _, response = read_response(frame, 3, 12)
    events = next(topic for topic in response.topics if topic.name == "events")
    assert {one.leader_id for one in events.partitions} == {1}
    (entry,) = sim.journal
    assert (entry.client_id, entry.client_rack) == ("billing,diskless_az=b", "b")
