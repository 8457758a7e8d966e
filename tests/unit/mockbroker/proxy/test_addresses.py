"""Answers that carry addresses lead to the proxy, in every version, and have nothing else changed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import protocol
from mockbroker.proxy.addresses import may_carry_addresses, nodes_in, rewrite_addresses
from protocol.apis.cluster import DescribeClusterResponse
from protocol.apis.fetch import FetchResponse
from protocol.apis.find_coordinator import FindCoordinatorResponse
from protocol.apis.metadata import MetadataResponse
from protocol.codec import codec
from protocol.declare import declaration_of
from protocol.error_codes import ErrorCode
from protocol.fuzz.generation import Maker
from protocol.json_form import to_json
from protocol.registry import APIS
from protocol.versions import VersionRange
from protocol.wire import Array, FieldType
from tests.fixture_data import capture_names, captured_frames

DESCRIBE_CLUSTER = 60
REWRITTEN = (0, 1, 3, 10, 52, 53, 54, 59, DESCRIBE_CLUSTER, 78, 79)
"""The APIs whose answers have a node's id, host and port by their schemas; brokers do not serve 52 to 59."""
LEFT_ALONE = {
    *(f"{group}GroupDescribeResponse.groups[].members[].client_host" for group in ("Consumer", "Share", "Streams")),
    *(f"{group}GroupDescribeResponse.groups[].members[].rack_id" for group in ("Consumer", "Share", "Streams")),
    "DescribeGroupsResponse.groups[].members[].client_host",  # of members' connections, as the broker sees them
    "DeleteAclsResponse.filter_results[].matching_acls[].host",  # patterns of rules
    "DescribeAclsResponse.resources[].acls[].host",
    "DescribeQuorumResponse.nodes[].listeners[].host",  # controllers' own listeners, to be shown
    "StreamsGroupDescribeResponse.groups[].members[].user_endpoint.host",  # where applications serve queries
    "StreamsGroupHeartbeatResponse.partitions_by_user_endpoint[].user_endpoint.host",
    "TopicMetadataResponse.brokers[].host",  # as KIP-36 draws it; MetadataResponse is on the wire
    "TopicMetadataResponse.brokers[].rack",
    "UpdateRaftVoterResponse.current_leader.host",  # controllers ask each other
}
"""Hosts and racks where clients do not connect through the proxy."""
EVERY_VERSION = [
    (api_key, version)
    for api_key in REWRITTEN
    for version in protocol.message_class(api_key, "response").valid_versions
]
RESPONSES = [message for message in protocol.messages() if message.kind == "response"]
MESSAGES = 25


def moved(node_id: int, host: str, port: int, rack: str | None) -> tuple[str, int, str | None]:
    """Each broker is elsewhere, in another rack."""
    return f"proxy-{node_id}", node_id & 0xFFFF, moved_rack(node_id, rack)


def moved_rack(node_id: int, rack: str | None) -> str:
    return f"{(rack or '')[:9]}-{node_id}"


def same(node_id: int, host: str, port: int, rack: str | None) -> tuple[str, int, str | None]:
    """Everything is where it is."""
    return host, port, rack


def moved_json(value: Any) -> Any:
    """What an answer should be, by its JSON alone: whatever has a host and a port is a node."""
    if isinstance(value, list):
        return [moved_json(one) for one in value]
    if not isinstance(value, dict):
        return value
    value = {name: moved_json(one) for name, one in value.items()}
    if value.get("host") and "port" in value:
        node_id = value["nodeId"] if "nodeId" in value else value["brokerId"]
        value |= {"host": f"proxy-{node_id}", "port": node_id & 0xFFFF}
        if "rack" in value:
            value["rack"] = moved_rack(node_id, value["rack"])
    return value


def made(api_key: int, version: int) -> Iterator[tuple[bytes, Any]]:
    """Messages of a version as bytes and as read from them; those of DescribeCluster name brokers."""
    message = protocol.message_class(api_key, "response")
    maker, chance = Maker(message, version), Random(api_key * 100 + version)
    for _ in range(MESSAGES):
        one = maker.make(chance)
        if api_key == DESCRIBE_CLUSTER:
            one.endpoint_type = 1
        data = protocol.encode(one, version)
        yield data, protocol.decode(api_key, "response", version, data)


@pytest.mark.parametrize(("api_key", "version"), EVERY_VERSION)
def test_every_node_leads_to_the_proxy_and_all_else_is_as_it_was(api_key, version):
    for _, message in made(api_key, version):
        before = to_json(message, version)
        changed = rewrite_addresses(api_key, version, message, moved)
        after = to_json(protocol.decode(api_key, "response", version, protocol.encode(message, version)), version)
        assert after == moved_json(before)
        assert changed is (after != before)
        assert not changed or may_carry_addresses(api_key, version)


@pytest.mark.parametrize(("api_key", "version"), EVERY_VERSION)
def test_where_everything_is_where_it_was_nothing_changes(api_key, version):
    for data, message in made(api_key, version):
        assert not rewrite_addresses(api_key, version, message, same)
        assert protocol.encode(message, version) == data


def hosts_and_racks(message: Any) -> dict[str, VersionRange]:
    """The fields of a response that by their names are a host, a port or a rack, by path, and when there are values."""
    return {
        path: versions
        for path, versions in fields_below(message, "", message.valid_versions)
        if any(word in path.rpartition(".")[2] for word in ("host", "rack", "address")) or path.endswith("port")
    }


def fields_below(record: Any, above: str, inside: VersionRange) -> Iterator[tuple[str, VersionRange]]:
    for field in declaration_of(record).fields:
        many = isinstance(field.type, Array)
        kind = field.type.item if many else field.type
        path = f"{above}{field.name}{'[]' if many else ''}"
        versions = field.versions.within(inside)
        yield path, versions
        if not isinstance(kind, FieldType):
            yield from fields_below(kind, f"{path}.", versions)


def fields_left_alone(name: str) -> set[str]:
    """Of a response; a port stands beside a host, and what is done to that is done to both."""
    paths = {one.removeprefix(f"{name}.") for one in LEFT_ALONE if one.startswith(f"{name}.")}
    return paths | {path.removesuffix("host") + "port" for path in paths if path.endswith(".host")}


def fields_rewritten(name: str) -> set[str]:
    found = set()
    for api_key in REWRITTEN:
        message = protocol.message_class(api_key, "response")
        if message.name == name:
            for nodes in (nodes for version in message.valid_versions for nodes in nodes_in(api_key, version)):
                above = f"{nodes.field}[]." if nodes.field else ""
                found |= {f"{above}host", f"{above}port"} | ({f"{above}rack"} if nodes.has_racks else set())
    return found


@pytest.mark.parametrize("message", RESPONSES, ids=lambda one: one.name)
def test_every_host_and_rack_of_every_response_is_rewritten_or_left_alone_for_a_reason(message):
    left_alone, rewritten = fields_left_alone(message.name), fields_rewritten(message.name)
    met = set(hosts_and_racks(message))
    assert rewritten <= met
    assert met - left_alone == rewritten
    assert {path for path in left_alone if not path.endswith(".port")} <= met


@pytest.mark.parametrize("api_key", sorted(APIS))
def test_an_answer_is_to_be_read_exactly_where_its_version_has_nodes(api_key):
    message = protocol.message_class(api_key, "response")
    rewritten = fields_rewritten(message.name)
    for version in message.valid_versions:
        has_nodes = any(version in versions for path, versions in hosts_and_racks(message).items() if path in rewritten)
        assert may_carry_addresses(api_key, version) is has_nodes, version


def test_a_coordinator_that_was_not_found_is_nowhere():
    """Source: FindCoordinatorResponse.prepareErrorResponse has Node.noNode, Apache Kafka 4.4."""
    nowhere = {"node_id": -1, "host": "", "port": -1}
    single = FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, **nowhere)
    missing = FindCoordinatorResponse.Coordinator(
        key="there is none", error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, **nowhere
    )
    found = FindCoordinatorResponse.Coordinator(key="orders", node_id=1, host="b1", port=9092)
    several = FindCoordinatorResponse(coordinators=[missing, found])
    asked: list[int] = []

    def noted(node_id: int, host: str, port: int, rack: str | None) -> tuple[str, int, str | None]:
        asked.append(node_id)
        return moved(node_id, host, port, rack)

    assert not rewrite_addresses(10, 3, single, noted)
    assert rewrite_addresses(10, 4, several, noted)
    assert asked == [1]
    assert (missing.host, missing.port) == ("", -1)
    assert (found.host, found.port) == ("proxy-1", 1)


def test_racks_are_told_only_where_the_version_has_them():
    answer = MetadataResponse(brokers=[MetadataResponse.Broker(node_id=7, host="b7", port=9092)])
    assert rewrite_addresses(3, 0, answer, moved)
    assert answer.brokers[0].rack is None
    assert b"proxy-7" in protocol.encode(answer, 0)


def test_a_refusal_to_name_controllers_passes():
    refusal = DescribeClusterResponse(error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE, endpoint_type=2)
    assert not rewrite_addresses(DESCRIBE_CLUSTER, 1, refusal, moved)


def test_leader_hints_of_a_fetch_lead_to_the_proxy():
    endpoint = FetchResponse.NodeEndpoint(node_id=2, host="b2", port=9092, rack="c")
    answer = FetchResponse(node_endpoints=[endpoint])
    assert rewrite_addresses(1, 17, answer, moved)
    assert (endpoint.host, endpoint.port, endpoint.rack) == ("proxy-2", 2, "c-2")


@pytest.mark.parametrize("name", capture_names())
def test_no_answer_of_real_brokers_has_an_address_left(name):
    """Looked for as bytes, host and port behind each other, in the answers that need not be read too."""
    frames = [frame for frame in captured_frames(name) if frame.kind == "response"]
    addresses = set()
    for frame in frames:
        if frame.api_key == 3:
            _, answer = protocol.read_response(frame.data, frame.api_key, frame.version)
            addresses |= {broker.host.encode() + broker.port.to_bytes(4) for broker in answer.brokers}
    rewritten = 0
    for frame in frames:
        data = frame.data
        if may_carry_addresses(frame.api_key, frame.version):
            _, answer = protocol.read_response(data, frame.api_key, frame.version)
            body = codec(type(answer), frame.version).encode(answer)
            assert not rewrite_addresses(frame.api_key, frame.version, answer, same)
            assert codec(type(answer), frame.version).encode(answer) == body
            assert data.endswith(body)
            if rewrite_addresses(frame.api_key, frame.version, answer, moved):
                rewritten += 1
                data = codec(type(answer), frame.version).encode(answer)
        assert not any(address in data for address in addresses), (frame.index, frame.api_key, frame.version)
    assert rewritten or not addresses
