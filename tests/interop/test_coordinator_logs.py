"""Kafka's own formatters print what coordinators write into their topics."""

from __future__ import annotations

import json
import socket
import struct
from base64 import urlsafe_b64encode
from typing import Any

from mockbroker.adapters.blocking import BlockingMockCluster
from mockbroker.adapters.server import MockCluster
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.share_state import InitializeShareGroupStateRequest
from protocol.headers import read_response, request_frame
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_tool, tool_jars

FORMATTER = "org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter"
SIZE = struct.Struct(">i")
START = 7


def ask(address: str, request: Any, version: int) -> Any:
    """The answer of the broker at an address."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port))) as connection, connection.makefile("rb") as answers:
        connection.sendall(request_frame(request, version, correlation_id=1, client_id="test"))
        (size,) = SIZE.unpack(answers.read(SIZE.size))
        return read_response(answers.read(size), type(request).api_key, version)[1]


def test_kafkas_formatter_prints_the_states_of_share_partitions():
    with skipped_without_tools():
        tool_jars()
    settings = {"share.coordinator.state.topic.num.partitions": "1"}
    with BlockingMockCluster(MockCluster(brokers=1, racks=("a",), settings=settings)) as cluster:
        cluster.create_topic("orders", 1, 1)
        servers = cluster.bootstrap_servers
        (topic,) = ask(servers, MetadataRequest(topics=[MetadataRequest.Topic(name="orders")]), 12).topics
        key = f"workers:{urlsafe_b64encode(topic.topic_id).decode().rstrip('=')}:0"
        (found,) = ask(servers, FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), 6).coordinators
        assert found.error_code == 0
        begun = InitializeShareGroupStateRequest.Topic.Partition(partition=0, state_epoch=1, start_offset=START)
        wanted = InitializeShareGroupStateRequest.Topic(topic_id=topic.topic_id, partitions=[begun])
        answer = ask(servers, InitializeShareGroupStateRequest(group_id="workers", topics=[wanted]), 0)
        assert answer.results[0].partitions[0].error_code == 0
        printed = kafka_tool(
            "consumer.ConsoleConsumer",
            *("--bootstrap-server", servers, "--topic", "__share_group_state", "--from-beginning"),
            *("--max-messages", "1", "--timeout-ms", "60000", "--formatter", FORMATTER),
        )
    (line,) = [json.loads(one) for one in printed.splitlines() if one.startswith("{")]
    assert (line["key"]["data"]["groupId"], line["key"]["data"]["partition"]) == ("workers", 0)
    assert (line["value"]["data"]["stateEpoch"], line["value"]["data"]["startOffset"]) == (1, START)
