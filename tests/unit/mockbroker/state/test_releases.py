"""What a release serves in KRaft mode, and what clients of a cluster that emulates it get to see."""

from __future__ import annotations

import gzip
import json

import pytest

from mockbroker.api import SERVED
from mockbroker.core.simulation import Simulation
from mockbroker.handlers.api_versions import PRODUCE, TELEMETRY_KEYS
from mockbroker.state.cluster import Cluster
from mockbroker.state.features import feature_level
from mockbroker.state.releases import (
    KRAFT_RELEASES,
    initial_levels,
    is_since,
    supported_levels,
    versions_of_release,
)
from mockbroker.state.settings import KafkaSettings
from protocol.apis.acls import DescribeAclsRequest
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.produce import ProduceRequest
from protocol.registry import message_class
from tests.answers.versions import VERSIONS
from tests.fixture_data import FIXTURES

DESCRIBE_ACLS = 29
CLIENT = {"client_software_name": "test", "client_software_version": "1"}


def named(api_key):
    return message_class(api_key, "request").name.removesuffix("Request")


def seen_by_a_client(release, version=3, **settings):
    sim = Simulation(release=release, settings=settings)
    return sim.replies[sim.send(ApiVersionsRequest(**CLIENT), version=version)]


def test_a_real_broker_of_4_1_serves_what_the_table_says():
    with gzip.open(FIXTURES / "answers" / "kafka-4.1.jsonl.gz", "rt") as lines:
        told = json.loads(next(lines))["versions"]
    # It has no telemetry plugin, and tells of Produce from 0 on.
    expected = {
        named(key): list(versions) for key, versions in versions_of_release("4.1").items() if key not in TELEMETRY_KEYS
    }
    assert told == expected | {"Produce": [0, 13]}


def test_a_real_broker_of_4_4_serves_what_the_table_says():
    assert {named(key): versions for key, versions in versions_of_release("4.4").items()} == VERSIONS


@pytest.mark.parametrize("release", [*KRAFT_RELEASES[1:], "diskless"])
def test_clients_are_told_what_the_release_serves_as_far_as_there_is_a_handler(release):
    told = {one.api_key: (one.min_version, one.max_version) for one in seen_by_a_client(release).api_keys}
    expected = {
        key: versions
        for key, versions in versions_of_release(release).items()
        if key in SERVED and key not in TELEMETRY_KEYS
    }
    assert told == expected | {0: (0, expected[0][1])}


def test_every_version_of_a_release_has_a_declaration():
    for release in [*KRAFT_RELEASES, "diskless"]:
        for api_key, (lowest, highest) in versions_of_release(release).items():
            if api_key in SERVED:
                known = message_class(api_key, "request").valid_versions
                assert lowest in known, (release, api_key)
                assert highest in known, (release, api_key)


@pytest.mark.parametrize(("release", "api_key"), [("2.8", 22), ("3.0", 55), ("3.2", 64), ("3.7", 75), ("4.0", 78)])
def test_an_api_that_a_release_lacks_is_not_in_its_table(release, api_key):
    assert api_key not in versions_of_release(release)


def test_the_diskless_release_has_the_proposals_versions():
    assert versions_of_release("diskless")[3] == (0, 14)
    assert versions_of_release("diskless")[75] == (0, 1)
    assert versions_of_release("4.4")[3] == (0, 13)


@pytest.mark.parametrize(
    ("release", "supported", "initial"),
    [
        ("3.2", {}, {}),
        ("3.3", {"metadata.version": (1, 7)}, {"metadata.version": 7}),
        (
            "3.9.1",
            {"kraft.version": (0, 1), "metadata.version": (1, 21)},
            {"kraft.version": 0, "metadata.version": 21},
        ),
        (
            "4.0",
            {
                "eligible.leader.replicas.version": (0, 1),
                "group.version": (0, 1),
                "kraft.version": (0, 1),
                "metadata.version": (7, 25),
                "transaction.version": (0, 2),
            },
            {
                "eligible.leader.replicas.version": 0,
                "group.version": 1,
                "kraft.version": 0,
                "metadata.version": 25,
                "transaction.version": 2,
            },
        ),
    ],
)
def test_features_are_those_of_the_release(release, supported, initial):
    assert supported_levels(release) == supported
    assert initial_levels(release) == initial


@pytest.mark.parametrize(("release", "shares", "streams"), [("4.0", 0, 0), ("4.1", 0, 0), ("4.2", 1, 1), ("4.4", 2, 1)])
def test_share_and_streams_groups_come_with_4_2(release, shares, streams):
    cluster = Cluster.create(Simulation().cluster.brokers.values(), release=release)
    assert feature_level(cluster, "share.version") == shares
    assert feature_level(cluster, "streams.version") == streams


def test_clients_are_told_the_features_of_the_release():
    told = seen_by_a_client("4.0", version=4)
    assert {one.name: one.max_version_level for one in told.finalized_features} == {
        "group.version": 1,
        "metadata.version": 25,
        "transaction.version": 2,
    }
    assert {one.name: (one.min_version, one.max_version) for one in told.supported_features} == (
        supported_levels("4.0")
    )


@pytest.mark.parametrize(
    ("release", "version", "is_served"),
    [("3.9", 0, True), ("3.9", 12, False), ("4.0", 0, False), ("4.0", 12, True), ("4.0", 13, False), ("4.1", 13, True)],
)
def test_a_version_that_the_release_does_not_serve_ends_the_connection(release, version, is_served):
    sim = Simulation(release=release)
    ticket = sim.send(ProduceRequest(acks=1, timeout_ms=1, topic_data=[]), version=version, may_close=True)
    assert (sim.replies.get(ticket) is not None) is is_served


@pytest.mark.zookeeper
def test_kafka_2_8_is_in_zookeeper_mode_but_where_process_roles_is_set():
    assert not Simulation(release="2.8").cluster.support.is_kraft
    assert KafkaSettings({"process.roles": "broker,controller"}).without_effect == ()
    told = seen_by_a_client("2.8", **{"process.roles": "broker,controller"})
    assert 22 not in {one.api_key for one in told.api_keys}
    assert {one.api_key: one.max_version for one in told.api_keys}[3] == 11


def test_a_fork_emulates_the_release_of_its_cluster():
    sim = Simulation(release="3.5")
    sim.cluster.replication_control.create("orders", assignment=[[0, 1, 2]])
    assert sim.fork().cluster.support.served_versions(0) == versions_of_release("3.5")


@pytest.mark.parametrize(
    ("release", "line", "expected"), [("3.9.1", "3.9", True), ("3.9", "4.0", False), ("diskless", "4.4", True)]
)
def test_a_release_comes_after_others(release, line, expected):
    assert is_since(release, line) is expected


@pytest.mark.zookeeper
@pytest.mark.parametrize(("release", "words"), [("4.5", "0.8.2 to 4.4 are known"), ("disk", "expected a version")])
def test_a_release_that_there_is_not_is_refused(release, words):
    with pytest.raises(ValueError, match=words):
        Simulation(release=release)


def every_version(release, **settings):
    """A simulation, and each API with its lowest and its highest version as it is told."""
    sim = Simulation(release=release, settings=settings)
    sim.cluster.replication_control.create("orders", assignment=[[0, 1, 2]])
    served = sim.engine.session(sim.cluster.brokers[0]).served_versions
    return sim, [(api_key, version) for api_key, both in served.items() for version in sorted(set(both))]


@pytest.mark.parametrize("release", [*KRAFT_RELEASES[1:], "diskless"])
def test_every_version_that_a_release_serves_is_answered(release):
    sim, told = every_version(release)
    for api_key, version in told:
        check_is_answered(sim, api_key, version)


def check_is_answered(sim, api_key, version):
    """Send a request whose fields are all at their defaults; it is answered, or waits for time or others."""
    if api_key == DESCRIBE_ACLS:
        request = DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1)
    else:
        request = message_class(api_key, "request")()
    ticket = sim.send(request, version=version)
    unanswered = api_key == PRODUCE and request.acks == 0
    assert ticket in sim.replies or ticket in sim._waiting or unanswered, (api_key, version)
