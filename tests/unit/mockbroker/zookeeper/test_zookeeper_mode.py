"""The ZooKeeper mode over real sockets: the controller's connections, and what clients are told in between."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kafka_rack.wire_tables.reading import decode_paths
from mockbroker import MockCluster
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.controller import UpdateMetadataRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.topics import CreateTopicsRequest, DeleteTopicsRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.wire_client import WireClient

UPDATE_METADATA = 6
PROTOCOL = "inter.broker.protocol.version"


def cluster_of(protocol: str, *, emulate: str | None = None, **settings: str) -> MockCluster:
    """Brokers 0-2 on racks a, b, c."""
    return MockCluster(settings={PROTOCOL: protocol, **settings}, emulate=emulate, topics={"orders": (2, 3)})


def address(cluster: MockCluster, broker: int) -> str:
    return f"127.0.0.1:{cluster.state.brokers[broker].port}"


def updates_since(cluster: MockCluster, mark: int) -> Counter[tuple[int, int, str | None]]:
    """How many UpdateMetadata each broker took: by broker, version and who sent it."""
    calls = [call for call in cluster.journal.since(mark) if call.api_key == UPDATE_METADATA]
    return Counter((call.broker_id, call.version, call.client_id) for call in calls)


@pytest.mark.parametrize(
    ("protocol", "version"),
    [("0.8.2", 0), ("0.9.0", 1), ("0.10.0", 2), ("0.10.1", 2), ("0.10.2", 3), ("1.1", 4), ("2.4", 6), ("2.8", 7)],
)
async def test_each_broker_is_told_over_a_connection_the_controller_itself_too(protocol, version):
    async with cluster_of(protocol) as cluster:
        told = updates_since(cluster, 0)
        assert set(told) == {(broker, version, "0") for broker in range(3)}
        calls = [call for call in cluster.journal if call.api_key == UPDATE_METADATA]
        assert len({call.connection for call in calls}) == 3
        assert all(call.request_bytes > 0 and call.response_bytes > 0 for call in calls)


async def test_apache_kafka_3_9_in_zookeeper_mode_sends_version_8():
    async with MockCluster(settings={"zookeeper.connect": "here:2181"}) as cluster:
        assert set(updates_since(cluster, 0)) == {(broker, 8, "0") for broker in range(3)}


@pytest.mark.parametrize(("protocol", "racks"), [("0.9.0", [None] * 3), ("0.10.0", ["a", "b", "c"])])
async def test_metadata_version_1_has_the_rack_once_update_metadata_brings_it(protocol, racks):
    async with cluster_of(protocol, emulate="0.10.0") as cluster, WireClient(address(cluster, 1)) as client:
        answer = await client.ask(MetadataRequest(topics=None), 1)
        assert [one.rack for one in answer.brokers] == racks
        assert answer.controller_id == 0
        assert [one.node_id for one in answer.brokers] == [0, 1, 2]
        assert [one.port for one in answer.brokers] == [cluster.state.brokers[one].port for one in range(3)]
        assert [len(one.partitions) for one in answer.topics] == [2]


async def test_a_broker_answers_with_what_it_was_told_and_not_with_what_is_so():
    async with cluster_of("0.10.0") as cluster, WireClient(address(cluster, 1)) as client:
        assert cluster.state.other_mode is not None
        cluster.state.replication_control.create("unheard", 1)  # behind the controller's back: nothing is sent yet
        answer = await client.ask(MetadataRequest(topics=[]), 0)
        assert [one.name for one in answer.topics] == ["orders"]
        await cluster.metadata_propagated()
        answer = await client.ask(MetadataRequest(topics=[]), 0)
        assert sorted(one.name for one in answer.topics) == ["orders", "unheard"]


async def test_before_0_10_0_the_question_for_versions_ends_the_connection():
    async with cluster_of("0.9.0") as cluster:
        async with WireClient(address(cluster, 0)) as client:
            client.send(ApiVersionsRequest(), 0)
            assert await client.is_hung_up()
        async with WireClient(address(cluster, 0)) as client:
            client.send(MetadataRequest(topics=None), 1)
            assert await client.is_hung_up()


async def test_since_0_10_0_it_is_answered_with_that_releases_versions():
    async with cluster_of("0.10.0") as cluster, WireClient(address(cluster, 0)) as client:
        answer = await client.ask(ApiVersionsRequest(), 0)
        versions = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
        assert (versions[0], versions[1], versions[3], versions[18]) == ((0, 2), (0, 2), (0, 1), (0, 0))
        client.send(ApiVersionsRequest(), 3)
        refused = await client.answer(18, 0)
        assert (refused.error_code, refused.api_keys) == (ErrorCode.UNSUPPORTED_VERSION, [])


async def test_a_rack_goes_and_comes_back_and_the_controller_with_it():
    async with cluster_of("0.10.0") as cluster:
        mark = cluster.journal.mark()
        assert await cluster.stop_rack("a") == [0]
        assert cluster.state.support.controller_id == 1
        assert set(updates_since(cluster, mark)) == {(1, 2, "1"), (2, 2, "1")}
        async with WireClient(address(cluster, 2)) as client:
            answer = await client.ask(MetadataRequest(topics=None), 1)
            assert [one.node_id for one in answer.brokers] == [1, 2]
            assert answer.controller_id == 1
            assert all(row.leader_id in (1, 2) for topic in answer.topics for row in topic.partitions)
        mark = cluster.journal.mark()
        assert await cluster.start_rack("a") == [0]
        assert set(updates_since(cluster, mark)) == {(broker, 2, "1") for broker in range(3)}
        async with WireClient(address(cluster, 0)) as client:
            answer = await client.ask(MetadataRequest(topics=None), 1)
            assert ([one.node_id for one in answer.brokers], answer.controller_id) == ([0, 1, 2], 1)


async def test_all_racks_may_go_and_come_back():
    async with cluster_of("0.10.0") as cluster:
        for rack in ("a", "b", "c"):
            await cluster.stop_rack(rack)
        assert cluster.state.support.controller_id == -1
        for rack in ("c", "b", "a"):
            await cluster.start_rack(rack)
        assert cluster.state.support.controller_id == 2
        async with WireClient(address(cluster, 0)) as client:
            answer = await client.ask(MetadataRequest(topics=None), 1)
            assert [(one.node_id, one.rack) for one in answer.brokers] == [(0, "a"), (1, "b"), (2, "c")]


async def test_topics_are_made_by_the_controller_alone_which_answers_when_it_knows_them():
    wanted = CreateTopicsRequest.Topic(name="returns", num_partitions=2, replication_factor=3)
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=9000)
    async with (
        cluster_of("0.10.1") as cluster,
        WireClient(address(cluster, 0)) as controller,
        WireClient(address(cluster, 1)) as other,
    ):
        assert (await other.ask(request, 0)).topics[0].error_code == ErrorCode.NOT_CONTROLLER
        assert "returns" not in cluster.state.topics
        assert (await controller.ask(request, 0)).topics[0].error_code == ErrorCode.NONE
        answer = await controller.ask(MetadataRequest(topics=[MetadataRequest.Topic(name="returns")]), 1)
        assert [(one.error_code, len(one.partitions)) for one in answer.topics] == [(0, 2)]
        delete = DeleteTopicsRequest(topic_names=["returns"], timeout_ms=9000)
        assert (await other.ask(delete, 0)).responses[0].error_code == ErrorCode.NOT_CONTROLLER
        assert (await controller.ask(delete, 0)).responses[0].error_code == ErrorCode.NONE
        assert "returns" not in cluster.state.topics


async def test_a_topic_made_on_demand_has_no_leader_until_it_was_told():
    async with cluster_of("0.9.0") as cluster, WireClient(address(cluster, 2)) as client:
        request = MetadataRequest(topics=[MetadataRequest.Topic(name="new")])
        first = await client.ask(request, 0)
        assert [one.error_code for one in first.topics] == [ErrorCode.LEADER_NOT_AVAILABLE]
        await cluster.metadata_propagated()
        second = await client.ask(request, 0)
        assert [(one.error_code, len(one.partitions)) for one in second.topics] == [(ErrorCode.NONE, 1)]


async def test_an_upgraded_controller_brings_racks_to_brokers_that_ran_all_along():
    """KIP-36's last step on the controller: its protocol goes up, and with it the version that it sends."""
    async with cluster_of("0.9.0", emulate="0.10.0") as cluster:
        for broker in (0, 1, 2):
            cluster.configure_broker(broker, protocol="0.10.0")
            await cluster.stop_broker(broker)
            await cluster.start_broker(broker)
        mark = cluster.journal.mark()
        topic = cluster.create_topic("spread", 3, 3)
        await cluster.metadata_propagated()
        assert {version for _, version, _ in updates_since(cluster, mark)} == {2}
        assert len(topic.partitions) == 3
        async with WireClient(address(cluster, 1)) as client:
            answer = await client.ask(MetadataRequest(topics=None), 1)
            assert [one.rack for one in answer.brokers] == ["a", "b", "c"]


async def test_a_kraft_cluster_has_no_controllers_connections_and_refuses_to_emulate():
    async with MockCluster() as cluster:
        assert updates_since(cluster, 0) == Counter()
        with pytest.raises(ValueError, match="ZooKeeper mode only"):
            cluster.configure_broker(0, protocol="0.10.0")
        async with WireClient(address(cluster, 0)) as client:
            client.send(UpdateMetadataRequest(), 6)
            assert await client.is_hung_up()


@pytest.mark.parametrize(("protocol", "version"), [("0.10.1", 2), ("2.4", 6)])
async def test_a_capture_has_the_controllers_frames_as_those_of_real_clusters_have(tmp_path: Path, protocol, version):
    capture = tmp_path / "trace.jsonl"
    settings = {PROTOCOL: protocol}
    async with MockCluster(settings=settings, topics={"orders": (2, 3)}, capture=capture) as cluster:
        await cluster.stop_rack("c")
        await cluster.start_rack("c")
        journal = Counter(call.broker_id for call in cluster.journal if call.api_key == UPDATE_METADATA)
    rows = decode_paths([str(capture)])
    assert rows.as_dicts("problems") == []
    calls = [row for row in rows.as_dicts("calls") if row["api_key"] == UPDATE_METADATA]
    assert Counter(row["broker"] for row in calls) == journal
    assert {(row["api_version"], row["client_id"], row["api_name"]) for row in calls} == {
        (version, "0", "UpdateMetadata")
    }
    brokers = {(row["broker_id"], row["rack"]) for row in rows.as_dicts("brokers")}
    assert brokers == {(0, "a"), (1, "b"), (2, "c")}
    first = json.loads(capture.read_text().splitlines()[0])
    assert {(one["broker"], one["rack"], one["listener"]) for one in first["routes"]} == {
        (0, "a", "PLAINTEXT"),
        (1, "b", "PLAINTEXT"),
        (2, "c", "PLAINTEXT"),
    }
