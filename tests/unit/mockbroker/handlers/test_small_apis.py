"""ApiVersions and DescribeCluster; and that every answer fits its version."""

from __future__ import annotations

import pytest
from msgspec import structs

import protocol
from mockbroker.api import SERVED, api_of
from mockbroker.handlers.api_versions import TELEMETRY_KEYS
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.cluster import DescribeClusterRequest
from protocol.apis.configs import DescribeConfigsRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.leader_epochs import OffsetForLeaderEpochRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.apis.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from protocol.error_codes import ErrorCode
from protocol.registry import message_class
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request

NAMED = ApiVersionsRequest(client_software_name="apache-kafka-java", client_software_version="4.4.0")

ADVERTISED = sorted(set(SERVED).difference(TELEMETRY_KEYS))
"""Nothing receives client metrics."""
ONCE_PREVIEWED = (76, 77, 78, 79)
"""Kafka 4.0 had these in a version 0 that it called unstable, and that 4.1 dropped."""


def test_every_version_of_every_api_with_a_handler_is_advertised(sim):
    shown = {one.api_key: (one.min_version, one.max_version) for one in sim.ask(NAMED).api_keys}
    assert sorted(shown) == sorted(ADVERTISED)
    assert (shown[0], shown[1], shown[3], shown[75]) == ((0, 13), (0, 18), (0, 14), (0, 1))
    assert all(api_of(api_key) is not None for api_key in shown)
    assert api_of(4) is None


@pytest.mark.share_groups
def test_the_advertised_versions_are_the_declared_ones():
    for api_key, (lowest, highest) in SERVED.items():
        declared = message_class(api_key, "request").stable_versions
        assert (lowest, highest) == (declared.lowest + (api_key in ONCE_PREVIEWED), declared.highest), api_key


def meaning(cluster_id, node_id):
    """An ApiVersionsRequest for this broker of this cluster."""
    return structs.replace(NAMED, cluster_id=cluster_id, node_id=node_id)


@pytest.mark.parametrize("node_id", [0, 1, 2])
def test_a_client_that_means_this_broker_of_this_cluster_is_told_its_versions(sim, node_id):
    response = sim.ask(meaning(sim.cluster.id, node_id), version=5, broker=node_id)
    assert (response.error_code, len(response.api_keys)) == (ErrorCode.NONE, len(ADVERTISED))


@pytest.mark.parametrize(
    ("cluster_id", "node_id"), [(None, 1), (None, 7), (None, -2), ("other", 0), ("", 0), ("other", 7)]
)
@pytest.mark.parametrize("listener", ["PLAINTEXT", "CLIENT-a"])
def test_a_client_that_means_another_broker_or_cluster_must_bootstrap_anew_on_every_listener(
    sim, cluster_id, node_id, listener
):
    asked = meaning(sim.cluster.id if cluster_id is None else cluster_id, node_id)
    response = sim.ask(asked, version=5, broker=0, listener=listener)
    assert protocol.encode(response, 5).hex() == "0081010000000000"  # as Kafka 4.4.0 writes it: no versions beside it


@pytest.mark.parametrize(("cluster_id", "node_id"), [(None, 0), (None, -2), ("other", -1), ("", -1)])
def test_cluster_and_node_are_given_together_or_not_at_all(sim, cluster_id, node_id):
    response = sim.ask(meaning(cluster_id, node_id), version=5)
    assert protocol.encode(response, 5).hex() == "002a010000000000"


def test_versions_before_5_cannot_say_which_broker_is_meant(sim):
    for version in range(5):
        assert sim.ask(meaning("other", 7), version=version).error_code == ErrorCode.NONE


@pytest.mark.parametrize("name", ["", "a b", "-kgo", "kgo.", "naïve"])
def test_a_clients_name_or_version_of_odd_characters_is_an_invalid_request_since_version_3(sim, name):
    for odd in ({"client_software_name": name}, {"client_software_version": name}):
        request = structs.replace(NAMED, **odd, cluster_id="other", node_id=7)
        codes = [sim.ask(request, version=version).error_code for version in range(6)]
        assert codes == [ErrorCode.NONE] * 3 + [ErrorCode.INVALID_REQUEST] * 3


def test_a_stopped_broker_is_described_only_where_fenced_ones_are_asked_for(sim):
    sim.cluster.cluster_control.stop(1, 0)
    response = sim.ask(DescribeClusterRequest())
    assert [one.broker_id for one in response.brokers] == [0, 2]
    assert (response.cluster_id, response.controller_id) == (sim.cluster.id, 0)
    response = sim.ask(DescribeClusterRequest(include_fenced_brokers=True))
    assert [(one.broker_id, one.rack, one.is_fenced) for one in response.brokers] == [
        (0, "a", False),
        (1, "b", True),
        (2, "c", False),
    ]


def test_controllers_have_no_endpoints_here(sim):
    assert sim.ask(DescribeClusterRequest(endpoint_type=2)).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert sim.ask(DescribeClusterRequest(endpoint_type=3)).error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


REQUESTS = [
    ApiVersionsRequest(),
    NAMED,
    CreatePartitionsRequest(
        timeout_ms=1000, topics=[CreatePartitionsRequest.Topic(name=TOPIC, count=1, assignments=None)]
    ),
    CreateTopicsRequest(topics=[CreateTopicsRequest.Topic(name="new", num_partitions=1, replication_factor=1)]),
    DeleteTopicsRequest(timeout_ms=1000, topic_names=["none"]),
    DeleteTopicsRequest(timeout_ms=1000, topics=[DeleteTopicsRequest.Topic(name="none")]),
    DescribeClusterRequest(),
    DescribeConfigsRequest(resources=[DescribeConfigsRequest.Resource(resource_type=2, resource_name=TOPIC)]),
    DescribeTopicPartitionsRequest(),
    FetchRequest(),
    InitProducerIdRequest(),
    ListOffsetsRequest(
        topics=[ListOffsetsRequest.Topic(name=TOPIC, partitions=[ListOffsetsRequest.Topic.Partition(timestamp=-1)])]
    ),
    MetadataRequest(topics=[MetadataRequest.Topic(name=name) for name in (TOPIC, "a b")]),
    OffsetForLeaderEpochRequest(
        topics=[
            OffsetForLeaderEpochRequest.Topic(topic=TOPIC, partitions=[OffsetForLeaderEpochRequest.Topic.Partition()])
        ]
    ),
    ProduceRequest(acks=-1),
    fetch_request(),
    fetch_request(index=1),
    fetch_request(topic="none"),
    produce_request(batch(b"a")),
    produce_request(batch(b"a"), index=1),
    produce_request(batch(b"a"), topic="none"),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_every_answer_can_be_written_in_every_version(sim, request_):
    sim.cluster.replication_control.create(TOPIC, 2, 2)
    message = type(request_)
    asked = 0
    for version in message.stable_versions:
        try:
            protocol.encode(request_, version)
        except protocol.EncodeError:
            continue
        asked += 1
        response = sim.ask(request_, version=version)
        written = protocol.encode(response, version)
        assert protocol.decode(message.api_key, "response", version, written) is not None
    assert asked
