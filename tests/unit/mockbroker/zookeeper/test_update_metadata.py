"""UpdateMetadata as we write and read it, beside what controllers of Apache Kafka 3.9.1 sent."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import protocol
from mockbroker.core.simulation import Simulation
from mockbroker.state.brokers.broker import Broker, Listener
from mockbroker.state.cluster import Cluster
from mockbroker.state.metadata import DELETED
from mockbroker.zookeeper.update_metadata import MetadataUpdate, live_broker, read_partition_states
from protocol.apis.controller import UpdateMetadataRequest
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from protocol.headers import read_request
from protocol.json_form import to_json

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
PROTOCOL = "inter.broker.protocol.version"
CAPTURES = [("zk39-ibp0101", "0.10.1", 2), ("zk39-ibp24", "2.4", 6)]


def real_updates(capture: str) -> Iterator[tuple[int, UpdateMetadataRequest]]:
    """Version and request of each UpdateMetadata in a capture, in order."""
    with gzip.open(FIXTURES / "captures" / f"{capture}.jsonl.gz", "rt") as lines:
        for line in map(json.loads, lines):
            frame = base64.b64decode(line.get("data", ""))
            if line.get("dir") == "req" and frame[:2] == b"\0\x06":
                header, request = read_request(frame)
                yield header.request_api_version, request


def update_of(version: int, request: UpdateMetadataRequest) -> MetadataUpdate:
    """What a broker makes of a request, as our own controller would have had it."""
    return MetadataUpdate(
        broker_id=0,
        broker_epoch=request.broker_epoch,
        version=version,
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        live_brokers=tuple(live_broker(version, one, None) for one in request.live_brokers),
        partitions=tuple(read_partition_states(request)),
    )


@pytest.mark.parametrize(("capture", "protocol_version", "version"), CAPTURES)
def test_what_a_real_controller_said_is_written_again_byte_for_byte(capture, protocol_version, version):
    count = 0
    for found, request in real_updates(capture):
        assert found == version
        again = update_of(version, request).request()
        assert protocol.encode(again, version) == protocol.encode(request, version)
        count += 1
    assert count == 28


@pytest.mark.parametrize(("capture", "protocol_version", "version"), CAPTURES)
def test_our_controller_says_of_the_same_cluster_what_the_real_one_said(capture, protocol_version, version):
    """Three brokers and the topics that the capture has, made in the capture's order; each first telling compared."""
    brokers = [
        Broker(number, rack, [Listener(port=22400 + number)]) for number, rack in enumerate(("az-a", "az-b", "az-c"))
    ]
    cluster = Cluster.create(brokers, settings={PROTOCOL: protocol_version}, release="3.9")
    ours_first = cluster.take_updates()[0].request()
    compared = set()
    for _, theirs in real_updates(capture):
        told = list(read_partition_states(theirs))
        if not told:
            if len(theirs.live_brokers) == len(brokers):
                assert comparable(ours_first, version) == comparable(theirs, version)
                compared.add("")
            continue
        name = told[0].topic
        fresh = all(one.state.leader_epoch == 0 and one.state.partition_epoch == 0 for one in told)
        if name in compared or name.startswith("__") or not fresh or {one.topic for one in told} != {name}:
            continue
        compared.add(name)
        rows = {one.state.index: list(one.state.replicas) for one in told}
        cluster.replication_control.create(name, assignment=[rows[index] for index in sorted(rows)])
        ours = cluster.take_updates()
        assert len(ours) == len(brokers)
        for one in ours:
            assert comparable(one.request(), version) == comparable(theirs, version)
    assert len(compared) > 1


def comparable(request: UpdateMetadataRequest, version: int) -> dict[str, Any]:
    """All fields of a request as JSON but what is each cluster's own: who the controller is, the epoch of a broker's
    start, and the order, which in Kafka is that of a hash map."""
    found = to_json(request, version) | {"controllerId": 0, "brokerEpoch": 0}
    for name in ("ungroupedPartitionStates", "liveBrokers"):
        found[name] = sorted(found.get(name, ()), key=repr)
    for topic in found.get("topicStates", ()):
        topic["partitionStates"].sort(key=repr)
    return found


def shape(value: Any) -> Any:
    """The names of all fields, whatever is in them; every entry of an array counts towards one shape."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    if isinstance(value, list):
        merged: dict[str, Any] = {}
        for one in value:
            if isinstance(one, dict):
                merged |= shape(one)
        return [merged]
    return "value"


@pytest.mark.parametrize(
    ("release", "version"),
    [("0.8.2", 0), ("0.9.0", 1), ("0.10.0", 2), ("0.10.2", 3), ("1.1", 4), ("2.2", 5), ("2.4", 6), ("2.8", 7)],
)
def test_what_we_send_has_the_shape_of_kafkas_own_classes(release, version):
    theirs: Any = {}
    with gzip.open(FIXTURES / "golden" / "kafka-3.9.1.jsonl.gz", "rt") as lines:
        for vector in map(json.loads, lines):
            if vector["message"] == "UpdateMetadataRequest" and vector["version"] == version:
                theirs = merged(theirs, shape(vector["json"]))
    sim = Simulation(settings={PROTOCOL: release})
    sim.cluster.replication_control.create("orders", 2, 3)
    updates = sim.cluster.take_updates()
    assert {one.version for one in updates} == {version}
    ours = shape(to_json(updates[-1].request(), version))
    assert ours == theirs


def merged(one: Any, other: Any) -> Any:
    """Both shapes together."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: merged(one.get(name), other.get(name)) for name in {**one, **other}}
    if isinstance(one, list) and isinstance(other, list):
        return [merged(one[0], other[0])]
    return one if other is None else other


@pytest.mark.parametrize(("release", "rack"), [("0.8.2", None), ("0.9.0", None), ("0.10.0", "b"), ("2.4", "b")])
def test_the_rack_travels_since_version_2(release, rack):
    """The registration of the second broker has its rack, whatever the protocol; the version decides what arrives."""
    sim = Simulation(settings={PROTOCOL: release})
    zookeeper = sim.cluster.other_mode
    assert zookeeper is not None
    zookeeper.live = {key: one._replace(rack="abc"[key]) for key, one in zookeeper.live.items()}
    sim.cluster.replication_control.create("orders", 1, 3)
    sim.tell()
    assert zookeeper.caches[0].brokers[1].rack == rack
    assert zookeeper.caches[0].brokers[1].addresses == (("PLAINTEXT", "127.0.0.1", 9093),)


@pytest.fixture
def told() -> Simulation:
    sim = Simulation(settings={PROTOCOL: "2.4"})
    sim.cluster.replication_control.create("orders", 1, 3)
    sim.tell()
    return sim


def test_an_old_controller_is_not_believed(told):
    told.cluster.cluster_control.stop(0, 0)
    told.tell()
    old = UpdateMetadataRequest(controller_id=0, controller_epoch=1, broker_epoch=-1)
    answer = told.ask(old, version=6, broker=1)
    assert answer.error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    assert sorted(told.cluster.other_mode.caches[1].brokers) == [1, 2]


def test_what_was_meant_for_an_earlier_life_of_a_broker_is_refused(told):
    before = told.cluster.other_mode.broker_epoch(1)
    told.cluster.cluster_control.stop(1, 0)
    told.cluster.cluster_control.start(1, 0)
    late = UpdateMetadataRequest(controller_id=0, controller_epoch=1, broker_epoch=before)
    assert told.ask(late, version=6, broker=1).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert told.cluster.other_mode.caches[1].brokers == {}


def test_a_deleted_topic_travels_as_leader_minus_2(told):
    told.cluster.replication_control.delete(told.cluster.topics["orders"])
    request = told.cluster.take_updates()[0].request()
    assert [one.leader for topic in request.topic_states for one in topic.partition_states] == [DELETED] == [-2]


def test_a_broker_without_an_address_is_shown_to_nobody(told):
    zookeeper = told.cluster.other_mode
    brokers = [
        UpdateMetadataRequest.Broker(id=7),
        UpdateMetadataRequest.Broker(
            id=1, endpoints=[UpdateMetadataRequest.Broker.Endpoint(port=9093, host="127.0.0.1", listener="PLAINTEXT")]
        ),
    ]
    forged = UpdateMetadataRequest(
        controller_id=0, controller_epoch=zookeeper.controller_epoch, broker_epoch=-1, live_brokers=brokers
    )
    assert told.ask(forged, version=6, broker=1).error_code == ErrorCode.NONE
    assert [one.node_id for one in told.ask(MetadataRequest(topics=None), version=9, broker=1).brokers] == [1]
