"""The tools' own client: versions with old and new brokers, and one clear line for whatever goes wrong."""

from __future__ import annotations

import asyncio
import socket

import pytest

import protocol
from kafka_rack.errors import InputError
from mockbroker import MockCluster
from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.adapters.real_cluster.cluster import LiveCluster, addresses_of
from mockbroker.adapters.real_cluster.connection import BrokerConnection, RealClusterError, Unreachable
from protocol.apis.api_versions import ApiVersionsResponse
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.apis.topics import CreateTopicsRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.adapters.real_cluster.scripted_broker import scripted_broker

METADATA, API_VERSIONS = 3, 18
BROKER = MetadataResponse.Broker(node_id=4, host="127.0.0.1", port=9, rack="a")
TOPIC = MetadataResponse.Topic(
    name="t", partitions=[MetadataResponse.Topic.Partition(leader_id=4, replica_nodes=[4], isr_nodes=[4])]
)


def address(text):
    return addresses_of(text)[0]


def served(*ranges):
    return [ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in ranges]


def metadata(version, correlation_id, controller=4):
    answer = MetadataResponse(brokers=[BROKER], topics=[TOPIC], controller_id=controller)
    return protocol.response_frame(answer, version, correlation_id=correlation_id)


def broker_of_0_9(key, version, correlation_id, _request):
    return metadata(version, correlation_id) if key == METADATA else None


def broker_of_0_10(key, version, correlation_id, _request):
    if key == METADATA:
        return metadata(version, correlation_id)
    if version == 0:
        answer = ApiVersionsResponse(api_keys=served((METADATA, 0, 1), (API_VERSIONS, 0, 0)))
    else:
        answer = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return protocol.response_frame(answer, 0, correlation_id=correlation_id)


def broker_of_2_4(key, version, correlation_id, _request):
    if key == METADATA:
        return metadata(version, correlation_id)
    code = ErrorCode.NONE if version <= 3 else ErrorCode.UNSUPPORTED_VERSION
    answer = ApiVersionsResponse(error_code=code, api_keys=served((METADATA, 0, 9), (API_VERSIONS, 0, 3)))
    return protocol.response_frame(answer, version if code == ErrorCode.NONE else 0, correlation_id=correlation_id)


@pytest.mark.parametrize(
    ("broker", "asked"),
    [
        (broker_of_0_9, [(API_VERSIONS, 5), (METADATA, 0)]),
        (broker_of_0_10, [(API_VERSIONS, 5), (API_VERSIONS, 0), (METADATA, 1)]),
        (broker_of_2_4, [(API_VERSIONS, 5), (API_VERSIONS, 3), (METADATA, 9)]),
    ],
)
def test_a_broker_is_asked_in_the_newest_version_it_knows(broker, asked):
    log = []
    with scripted_broker(broker, log) as where, LiveCluster(where) as cluster:
        said = cluster.snapshot(with_settings=False)
    assert log == asked
    assert list(said.topics) == ["t"]
    assert said.brokers[4].rack == (None if broker is broker_of_0_9 else "a")


def test_a_cluster_too_old_for_racks_is_told_as_such():
    with scripted_broker(broker_of_0_9) as where, LiveCluster(where) as cluster:
        assert cluster.snapshot(with_settings=False).notes == [
            "the cluster is older than 0.10: it reports neither racks nor the controller"
        ]


def test_looking_for_a_topic_never_creates_it_on_a_broker_that_would():
    asked = []

    def broker(key, version, correlation_id, request):
        if key == METADATA:
            asked.append(request.topics)
        return broker_of_0_10(key, version, correlation_id, request)

    with (
        scripted_broker(broker) as where,
        LiveCluster(where) as cluster,
        pytest.raises(RealClusterError, match="topic absent: there is no such topic"),
    ):
        cluster.snapshot(["absent"])
    assert asked == [None]


def test_what_a_broker_is_too_old_for_is_said_with_the_version_that_could():
    def broker(key, version, correlation_id, request):
        if key == METADATA:  # no controller, so the broker itself is asked
            return metadata(version, correlation_id, controller=-1)
        return broker_of_0_10(key, version, correlation_id, request)

    with (
        scripted_broker(broker) as where,
        LiveCluster(where) as cluster,
        pytest.raises(RealClusterError, match=r"does not serve CreateTopics .*Kafka 0\.10\.1 and newer do"),
    ):
        cluster.create_topic("t", [[4]], {})


def garbage(reply):
    def answer(_key, _version, _correlation_id, _request):
        return reply

    return answer


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks HTTP, not Kafka"),
        (b"\x15\x03\x03\x00\x02\x02\x50", "speaks TLS; give the address of a listener for plaintext"),
        (b"\xff\xff\xff\xff", "with a length of -1 bytes; it does not speak Kafka"),
        (b"\x00\x00\x00\x02\x00\x00", "answered ApiVersions with what is none"),
        (
            protocol.response_frame(ApiVersionsResponse(), 4, correlation_id=77),
            "another correlation id: expected 1, got 77",
        ),
    ],
)
def test_what_is_no_kafka_is_recognised(reply, text):
    with scripted_broker(garbage(reply)) as where, pytest.raises(RealClusterError) as caught:
        BrokerConnection(address(where)).open()
    assert text in str(caught.value)
    assert where in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_broker_that_never_answers_is_given_up_after_the_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(Unreachable, match=r"no answer to ApiVersions within 0\.05 s"):
            BrokerConnection(address(where), ClientSettings(timeout_s=0.05)).open()


def test_a_broker_that_hangs_up_whatever_is_asked_may_want_tls():
    with (
        scripted_broker(garbage(None)) as where,
        LiveCluster(where) as cluster,
        pytest.raises(RealClusterError, match="closed the connection at Metadata; is it a listener for plaintext"),
    ):
        cluster.snapshot()


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"127.0.0.1:{taken.getsockname()[1]}"


def test_the_first_address_that_answers_is_taken():
    with scripted_broker(broker_of_0_10) as where, LiveCluster(f"{closed_port()},{where}") as cluster:
        assert cluster.snapshot(with_settings=False).controller_id == 4


def test_where_no_address_answers_each_is_named():
    ports = [closed_port(), closed_port()]
    with pytest.raises(RealClusterError) as caught, LiveCluster(",".join(ports)):
        pass
    assert all(f"{port}: cannot be reached: Connection refused" in str(caught.value) for port in ports)


@pytest.mark.parametrize(
    "text", ["", "localhost", "localhost:", ":9092", "localhost:x", "h:70000", "::1:9092", "a:1,,"]
)
def test_an_address_that_is_none_is_wrong_usage(text):
    with pytest.raises(InputError, match="expected host:port"):
        addresses_of(text)


def test_an_advertised_address_that_does_not_answer_is_named_with_its_broker():
    with (
        scripted_broker(broker_of_0_10) as where,
        LiveCluster(where) as cluster,
        pytest.raises(RealClusterError, match=r"broker 4 at 127\.0\.0\.1:9: cannot be reached"),
    ):
        cluster.create_topic("t", [[4]], {})


def test_bounds_of_a_version_are_kept():
    connection = BrokerConnection(("localhost", 9092))
    connection.versions = {METADATA: (2, 5)}
    assert connection.version_for(MetadataRequest) == 5
    assert connection.version_for(MetadataRequest, most=1) is None
    assert connection.version_for(MetadataRequest, least=6) is None
    assert connection.version_for(CreateTopicsRequest) is None


async def test_a_broker_that_is_down_is_listed_with_its_rack():
    async with MockCluster(topics={"t": (1, 3)}) as mock:
        await mock.stop_broker(2)
        said = await asyncio.to_thread(snapshot_of, mock.bootstrap_servers)
    assert [(one.id, one.rack, one.fenced) for one in said.brokers.values()] == [
        (0, "a", False),
        (1, "b", False),
        (2, "c", True),
    ]


def snapshot_of(bootstrap_servers):
    with LiveCluster(bootstrap_servers) as cluster:
        return cluster.snapshot()
