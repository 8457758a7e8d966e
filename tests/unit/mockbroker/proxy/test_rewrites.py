"""Rewrites of a proxy: a rack comes where none is named, what a client names stays, and nothing else changes."""

from __future__ import annotations

from copy import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import protocol
from kafka_rack import diskless
from kafka_rack.diskless import ZONE_KEYS
from kafka_rack.zones import zone_in_client_id
from mockbroker.proxy.rewrites import (
    APIS_REWRITTEN,
    Rewrites,
)
from protocol.apis.classic_group import JoinGroupRequest
from protocol.apis.consumer_group import ConsumerGroupHeartbeatRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import (
    DescribeTopicPartitionsResponse,
    MetadataResponse,
)
from protocol.apis.produce import ProduceRequest
from protocol.apis.share_fetch import ShareFetchRequest
from protocol.apis.share_group import ShareGroupHeartbeatRequest
from protocol.apis.streams_group import StreamsGroupHeartbeatRequest
from protocol.declare import declaration_of
from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, write_versioned
from protocol.fuzz import messages
from protocol.registry import message_class
from protocol.registry import messages as messages_declared
from tests.unit.mockbroker.proxy.rewritten import call_of
from tests.unit.mockbroker.proxy.rewritten import rewrite as rewrite_message

RACKS = Rewrites(racks=True)
DISKLESS = Rewrites(diskless_config=("diskless.enable", None))
REWRITTEN = [
    (message_class(api_key, "request"), version)
    for api_key in sorted(APIS_REWRITTEN)
    for version in message_class(api_key, "request").valid_versions
]
HEARTBEATS = [ConsumerGroupHeartbeatRequest, ShareGroupHeartbeatRequest, StreamsGroupHeartbeatRequest]
FEW = settings(
    max_examples=max(3, settings.default.max_examples // 10),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


def key_of(request_class: Any) -> int:
    return int(request_class.api_key)


def rewrite(request: Any, version: int, rack: str | None = "az-a", rewrites: Rewrites = RACKS) -> bool:
    return rewrite_message(rewrites, request, version, rack)


def takes(rewrites: Rewrites, api_key: int, version: int) -> bool:
    return rewrites.takes_request(call_of(api_key, version, "az-a"))


# requests


@pytest.mark.parametrize(("request_class", "version"), REWRITTEN, ids=lambda one: getattr(one, "name", one))
@given(data=st.data())
@FEW
def test_a_rewritten_request_differs_in_its_rack_alone_and_can_be_written(request_class, version, data):
    request = data.draw(messages(request_class, version))
    sent = protocol.encode(request, version)
    rewritten = protocol.decode(request_class.api_key, "request", version, sent)
    named = getattr(request, "rack_id", "")
    has_changed = rewrite(rewritten, version)
    again = protocol.encode(rewritten, version)
    assert has_changed == (again != sent)
    assert protocol.decode(request_class.api_key, "request", version, again) == rewritten
    if request_class is JoinGroupRequest:
        for one, was in zip(rewritten.protocols, request.protocols, strict=True):
            one.metadata = was.metadata
    elif has_changed:
        assert not named
        rewritten.rack_id = named
    assert rewritten == request


@given(st.data(), st.sampled_from(REWRITTEN))
def test_a_client_that_names_its_rack_is_untouched(data, rewritten):
    request_class, version = rewritten
    request = data.draw(messages(request_class, version))
    if request_class is JoinGroupRequest:
        subscription = ConsumerProtocolSubscription(topics=["events"], rack_id="az-9")
        request.protocol_type = "consumer"
        request.protocols = [JoinGroupRequest.Protocol(name="range", metadata=write_versioned(subscription, 3))]
    elif version >= APIS_REWRITTEN[request_class.api_key]:
        request.rack_id = "az-9"
    sent = protocol.encode(request, version)
    assert not rewrite(request, version)
    assert protocol.encode(request, version) == sent


@pytest.mark.parametrize("rack", [None, ""])
@pytest.mark.parametrize("rewrites", [RACKS, Rewrites(client_id_racks="ws_az"), Rewrites()], ids=str)
def test_a_rack_that_is_not_known_or_not_asked_for_comes_nowhere(rewrites, rack):
    for request_class, version in REWRITTEN:
        assert not rewrite(request_class(), version, rack if rewrites is RACKS else "az-a", rewrites)


def test_what_is_not_rewritten_need_not_be_read():
    assert not takes(Rewrites(), 1, 11)
    assert [version for version in range(19) if takes(RACKS, 1, version)] == list(range(11, 19))
    assert [version for version in range(15) if takes(RACKS, 3, version)] == [14]
    assert not takes(RACKS, key_of(ProduceRequest), 12)
    assert not takes(RACKS, key_of(ShareFetchRequest), 2)
    assert not RACKS.takes_answer(3)
    assert [key for key in range(100) if DISKLESS.takes_answer(key)] == [3, 75]


def test_every_request_that_has_a_rack_is_rewritten():
    declared = {
        message.api_key: max(one.versions.lowest, message.valid_versions.lowest)
        for message in messages_declared()
        for one in declaration_of(message).fields
        if message.kind == "request" and one.name == "rack_id"
    }
    assert declared == {key: lowest for key, lowest in APIS_REWRITTEN.items() if key != JoinGroupRequest.api_key}


@pytest.mark.parametrize("version", range(11, 19))
def test_a_follower_fetches_as_it_says(version):
    state = FetchRequest.ReplicaState(replica_id=2)
    request = FetchRequest(replica_state=state) if version >= 15 else FetchRequest(replica_id=2)
    assert not rewrite(request, version)
    assert rewrite(FetchRequest(), version)


@pytest.mark.parametrize("request_class", HEARTBEATS, ids=lambda one: one.name)
@pytest.mark.parametrize(("epoch", "rack"), [(0, "az-a"), (1, None), (-1, None), (-2, None)])
def test_a_member_names_its_rack_when_it_joins(request_class, epoch, rack):
    request = request_class(member_epoch=epoch)
    assert rewrite(request, 0) == (rack is not None)
    assert request.rack_id == rack


@pytest.mark.parametrize("request_class", HEARTBEATS, ids=lambda one: one.name)
def test_an_empty_rack_in_a_heartbeat_is_for_the_broker_to_refuse(request_class):
    assert not rewrite(request_class(member_epoch=0, rack_id=""), 0)


def join(protocol_type: str, **subscriptions: bytes) -> JoinGroupRequest:
    protocols = [JoinGroupRequest.Protocol(name=name, metadata=one) for name, one in subscriptions.items()]
    return JoinGroupRequest(protocol_type=protocol_type, protocols=protocols)


def test_each_assignor_of_a_consumer_that_can_be_read_hears_the_rack():
    sent = write_versioned(ConsumerProtocolSubscription(topics=["events"]), 3)
    request = join("consumer", range=sent, sticky=b"\0\1 not ours")
    assert rewrite(request, 9)
    assert read_versioned(ConsumerProtocolSubscription, request.protocols[0].metadata).rack_id == "az-a"
    assert request.protocols[1].metadata == b"\0\1 not ours"
    assert not rewrite(request, 9)


def test_members_that_are_no_consumers_are_left_alone():
    sent = write_versioned(ConsumerProtocolSubscription(topics=["events"]), 3)
    assert not rewrite(join("connect", range=sent), 9)
    assert not rewrite(join("sr", v0=sent), 9)


# client ids


@pytest.mark.parametrize(
    ("key", "client_id", "rewritten"),
    [
        ("diskless_az", "billing", "billing,diskless_az=eu-1a"),
        ("diskless_az", None, "diskless_az=eu-1a"),
        ("diskless_az", "", "diskless_az=eu-1a"),
        ("ws_az", "billing", "billing,ws_az=eu-1a"),
        ("automq_az", "billing", "billing&automq_az=eu-1a"),
        ("automq_az", "automq_type=producer", "automq_type=producer&automq_az=eu-1a"),
        ("diskless_az", "billing,diskless_az=b", "billing,diskless_az=b"),
        ("diskless_az", "billing,diskless_az=", "billing,diskless_az="),
        ("diskless_az", "billing,ws_az=b", "billing,ws_az=b"),
        ("ws_az", "diskless_az=b-StreamThread-1", "diskless_az=b-StreamThread-1"),
        ("diskless_az", "mydiskless_az=b", "mydiskless_az=b,diskless_az=eu-1a"),
    ],
)
def test_a_client_id_without_a_zone_gets_one(key, client_id, rewritten):
    assert Rewrites(client_id_racks=key).client_id(client_id, "eu-1a") == rewritten


@given(
    st.sampled_from([key.key for key in ZONE_KEYS]),
    st.one_of(st.none(), st.text(max_size=30)),
    st.text(min_size=1, max_size=12),
)
def test_a_client_id_keeps_all_it_says_and_is_read_with_the_rack_or_stays(key, client_id, rack):
    rewritten = Rewrites(client_id_racks=key).client_id(client_id, rack)
    if rewritten == client_id:
        return
    assert rewritten is not None
    assert rewritten.startswith(client_id or "")
    assert zone_in_client_id(rewritten, ZONE_KEYS) == rack
    assert Rewrites(client_id_racks=key).client_id(rewritten, "another") == rewritten


def test_a_client_id_stays_without_a_rack_or_room_for_it():
    rewrites = Rewrites(client_id_racks="diskless_az")
    assert rewrites.client_id("billing", None) == "billing"
    assert Rewrites().client_id("billing", "a") == "billing"
    assert rewrites.client_id("x" * 32760, "a") == "x" * 32760
    assert rewrites.client_id("billing", "eu,1") == "billing"  # its comma would end it


def test_a_key_that_no_system_reads_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"expected one of diskless_az, .*automq_az.*, got 'az'"):
        Rewrites(client_id_racks="az")


# answers


def metadata_answer(topic_id: bytes = bytes(16)) -> MetadataResponse:
    partition = MetadataResponse.Topic.Partition
    partitions = [
        partition(partition_index=number, leader_id=2, leader_epoch=4, replica_nodes=[2, 0], isr_nodes=[2, 0])
        for number in range(4)
    ]
    return MetadataResponse(
        brokers=[MetadataResponse.Broker(node_id=number, rack="aab"[number]) for number in range(3)],
        topics=[
            MetadataResponse.Topic(name="stored", topic_id=topic_id, partitions=partitions),
            MetadataResponse.Topic(name="classic", partitions=[copy(one) for one in partitions]),
        ],
    )


def answer(response: Any, rack: str | None, racks: Any = None, api_key: int = 3) -> bool:
    version = 13 if api_key == 3 else 0
    return DISKLESS.rewrite_answer(call_of(api_key, version, rack, racks, ["stored"]), response)


def leaders(response: Any, topic: int = 0) -> list[int]:
    return [one.leader_id for one in response.topics[topic].partitions]


def test_diskless_partitions_are_led_by_a_broker_of_the_clients_rack_as_the_mock_chooses_it():
    topic_id = b"a topic's own id"
    response = metadata_answer(topic_id)
    assert answer(response, "a")
    assert leaders(response) == [diskless.choose_by_hash([0, 1], topic_id, number) for number in range(4)]
    for one in response.topics[0].partitions:
        assert one.replica_nodes == one.isr_nodes == [one.leader_id]
    assert response.topics[1] == metadata_answer().topics[1]
    assert not answer(response, "a")  # it is as it should be


@pytest.mark.parametrize("rack", [None, "z"])
def test_an_answer_stays_where_no_broker_is_in_the_clients_rack_or_it_is_not_known(rack):
    response = metadata_answer()
    assert not answer(response, rack)
    assert response == metadata_answer()


def test_brokers_are_where_the_proxy_says_and_only_those_that_are_up_lead():
    response = metadata_answer()
    assert answer(response, "a", {0: "b", 1: "a", 2: "b", 7: "a"})
    assert leaders(response) == [1] * 4


def test_a_partition_that_is_only_without_a_leader_has_one_now():
    response = metadata_answer()
    first, second, *_ = response.topics[0].partitions
    first.error_code, first.leader_id, first.offline_replicas = 5, -1, [2]
    second.error_code = 29
    assert answer(response, "b")
    assert (first.error_code, first.leader_id, first.offline_replicas) == (0, 2, [])
    assert second.error_code == 29
    response.topics[0].error_code = 3
    assert not answer(response, "a")


def test_described_partitions_have_the_same_leaders():
    topic_id = b"a topic's own id"
    described = DescribeTopicPartitionsResponse.Topic.Partition
    partitions = [described(partition_index=number, leader_id=2) for number in range(4)]
    response = DescribeTopicPartitionsResponse(
        topics=[DescribeTopicPartitionsResponse.Topic(name="stored", topic_id=topic_id, partitions=partitions)]
    )
    shown = metadata_answer(topic_id)
    assert answer(shown, "a")
    assert answer(response, "a", racks={0: "a", 1: "a", 2: "b"}, api_key=75)
    assert leaders(response) == leaders(shown)


@given(
    st.data(), st.sampled_from([*((MetadataResponse, one) for one in range(14)), (DescribeTopicPartitionsResponse, 1)])
)
@FEW
def test_a_rewritten_answer_differs_in_who_leads_alone_and_can_be_written(data, kind):
    response_class, version = kind
    response = data.draw(messages(response_class, version))
    sent = protocol.encode(response, version)
    rewritten = protocol.decode(response_class.api_key, "response", version, sent)
    names = {topic.name for topic in response.topics[::2]}
    racks = {1: "a", **{one.node_id: "a" for one in getattr(response, "brokers", [])}}
    has_changed = DISKLESS.rewrite_answer(call_of(response_class.api_key, version, "a", racks, names), rewritten)
    again = protocol.encode(rewritten, version)
    assert has_changed == (again != sent)
    assert protocol.decode(response_class.api_key, "response", version, again) == rewritten
    for topic, was in zip(rewritten.topics, response.topics, strict=True):
        for one, before in zip(topic.partitions, was.partitions, strict=True):
            one.error_code, one.leader_id = before.error_code, before.leader_id
            one.replica_nodes, one.isr_nodes = before.replica_nodes, before.isr_nodes
            one.offline_replicas = before.offline_replicas
    assert rewritten == response


@pytest.mark.parametrize(
    ("config", "configs", "is_diskless"),
    [
        (("diskless.enable", None), {"diskless.enable": "true"}, True),
        (("diskless.enable", None), {"diskless.enable": "TRUE"}, True),
        (("diskless.enable", None), {"diskless.enable": "false"}, False),
        (("diskless.enable", None), {"diskless.enable": None}, False),
        (("diskless.enable", None), {}, False),
        (("storage.mode", "diskless"), {"storage.mode": "diskless"}, True),
        (("storage.mode", "diskless"), {"storage.mode": "classic"}, False),
        (None, {"diskless.enable": "true"}, False),
    ],
)
def test_a_topic_is_diskless_by_the_config_that_was_named(config, configs, is_diskless):
    assert Rewrites(diskless_config=config).shows_diskless(configs) == is_diskless
