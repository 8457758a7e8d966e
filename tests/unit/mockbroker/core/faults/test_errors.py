"""An injected error stands where that API has a place for it, and the rest of the request is answered truly."""

from __future__ import annotations

from typing import Any

import pytest

import protocol
from mockbroker.core.simulation import ConnectionClosedError, Simulation
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.classic_group import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from protocol.apis.cluster import DescribeClusterRequest
from protocol.apis.configs import AlterConfigsRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.group_offsets import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest
from protocol.apis.groups import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from protocol.apis.leader_epochs import OffsetForLeaderEpochRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.apis.reassignments import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest
from protocol.apis.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.core.conftest import Outcomes
from tests.unit.mockbroker.handlers.records import batch

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
OTHER, ORDERS = "events", "orders"
NO_OFFSET = -1
VERSION = {8: 9, 9: 9, 20: 6, 0: 12, 1: 12, 3: 12}


@pytest.fixture(params=["ours", pytest.param("proxied", marks=pytest.mark.proxy)])
def sim(request) -> Simulation:
    """Topics orders and events of two partitions, all led by broker 0; reached directly, and by a proxy."""
    sim = Simulation(racks="a,b,c")
    if request.param == "proxied":
        from tests.unit.mockbroker.proxy.proxied_simulation import ProxiedSimulation

        sim = ProxiedSimulation(racks="a,b,c")
    for name in (ORDERS, OTHER):
        sim.cluster.replication_control.create(name, 2, assignment=[[0, 1, 2], [0, 1, 2]])
    return sim


def topics(kind: Any, partition: Any, *, field: str = "partitions", name: str = "name") -> list[Any]:
    """Both topics with both partitions."""
    return [kind(**{name: topic, field: [partition(index) for index in (0, 1)]}) for topic in (ORDERS, OTHER)]


def produce_request(acks: int = -1) -> ProduceRequest:
    kind = ProduceRequest.Topic
    data = topics(kind, lambda index: kind.Partition(index=index, records=batch(b"a")), field="partition_data")
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=data)


def fetch_request(**fields: Any) -> FetchRequest:
    kind = FetchRequest.Topic
    wanted = topics(kind, lambda index: kind.Partition(partition=index, partition_max_bytes=10**6), name="topic")
    return FetchRequest(max_wait_ms=0, max_bytes=10**6, **{"topics": wanted, **fields})


def list_offsets_request() -> ListOffsetsRequest:
    kind = ListOffsetsRequest.Topic
    return ListOffsetsRequest(
        replica_id=-1, topics=topics(kind, lambda index: kind.Partition(partition_index=index, timestamp=-1))
    )


def leader_epochs_request() -> OffsetForLeaderEpochRequest:
    kind = OffsetForLeaderEpochRequest.Topic
    return OffsetForLeaderEpochRequest(
        topics=topics(kind, lambda index: kind.Partition(partition=index, leader_epoch=0), name="topic")
    )


def commit_request(group: str = "billing") -> OffsetCommitRequest:
    kind = OffsetCommitRequest.Topic
    return OffsetCommitRequest(
        group_id=group,
        topics=topics(
            kind, lambda index: kind.Partition(partition_index=index, committed_offset=7, committed_metadata="")
        ),
    )


def offset_fetch_request(*groups: str, all_topics: bool = False) -> OffsetFetchRequest:
    kind = OffsetFetchRequest.Group
    wanted = [kind.Topic(name=topic, partition_indexes=[0, 1]) for topic in (ORDERS, OTHER)]
    return OffsetFetchRequest(
        groups=[kind(group_id=group, topics=None if all_topics else wanted) for group in groups or ("billing",)]
    )


def coordinator(sim: Simulation, group: str = "billing") -> int:
    return sim.cluster.internal_topics.coordinator(group).id


def codes(response: Any) -> dict[tuple[str, int], int]:
    """The errors of an answer's partitions."""
    found = {}
    for topic in response.responses if hasattr(response, "responses") else response.topics:
        name = getattr(topic, "topic", None) or topic.name
        for one in getattr(topic, "partition_responses", None) or topic.partitions:
            index = next(
                getattr(one, field) for field in ("index", "partition_index", "partition") if hasattr(one, field)
            )
            found[name, index] = one.error_code
    return found


def only(*failed: tuple[str, int], code: int = NOT_LEADER) -> dict[tuple[str, int], int]:
    """The errors where these partitions fail and all others do not."""
    return {(topic, index): code if (topic, index) in failed else 0 for topic in (ORDERS, OTHER) for index in (0, 1)}


PARTITION_REQUESTS = {
    "Produce": (produce_request, 12),
    "Fetch": (fetch_request, 12),
    "ListOffsets": (list_offsets_request, 7),
    "OffsetForLeaderEpoch": (leader_epochs_request, 4),
}


@pytest.mark.parametrize("api", PARTITION_REQUESTS)
@pytest.mark.parametrize(
    ("match", "failed"),
    [
        ({}, [(ORDERS, 0), (ORDERS, 1), (OTHER, 0), (OTHER, 1)]),
        ({"topic": ORDERS}, [(ORDERS, 0), (ORDERS, 1)]),
        ({"topic": "ord*", "partition": 1}, [(ORDERS, 1)]),
        ({"partition": [1]}, [(ORDERS, 1), (OTHER, 1)]),
        ({"topic": [ORDERS, "nothing"], "partition": [0, 9]}, [(ORDERS, 0)]),
    ],
)
def test_only_the_partitions_that_are_meant_fail(sim, api, match, failed):
    request, version = PARTITION_REQUESTS[api]
    handle = sim.faults.add(match={"api": api, **match}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    assert codes(sim.ask(request(), version=version)) == only(*failed)
    assert handle.fired == 1


def test_what_is_refused_is_not_written_and_the_rest_is(sim):
    sim.faults.add(match={"topic": ORDERS, "partition": 0}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    sim.ask(produce_request(), version=12)
    ends = {name: [one.log.end_offset for one in topic.partitions] for name, topic in sim.cluster.topics.items()}
    assert ends == {ORDERS: [0, 1], OTHER: [1, 1]}


def test_topics_that_go_by_id_are_meant_by_their_name(sim):
    sim.faults.add(match={"api": "Fetch", "topic": ORDERS}, effect={"error": "KAFKA_STORAGE_ERROR"})
    ids = [sim.cluster.topics[name].id for name in (ORDERS, OTHER)]
    kind = FetchRequest.Topic
    wanted = [kind(topic_id=one, partitions=[kind.Partition(partition=0, partition_max_bytes=10)]) for one in ids]
    response = sim.ask(fetch_request(topics=wanted), version=17)
    found = {topic.topic_id: topic.partitions[0].error_code for topic in response.responses}
    assert found == {ids[0]: ErrorCode.KAFKA_STORAGE_ERROR, ids[1]: 0}
    assert response.error_code == 0


def test_a_topic_that_there_is_not_can_be_refused_too(sim):
    sim.faults.add(match={"topic": "secret"}, effect={"error": "TOPIC_AUTHORIZATION_FAILED"})
    kind = ListOffsetsRequest.Topic
    wanted = [kind(name="secret", partitions=[kind.Partition(partition_index=0, timestamp=-1)])]
    response = sim.ask(ListOffsetsRequest(replica_id=-1, topics=wanted), version=7)
    assert codes(response) == {("secret", 0): ErrorCode.TOPIC_AUTHORIZATION_FAILED}


def test_a_fetch_session_goes_on_over_an_error_and_has_lost_nothing(sim):
    first = sim.ask(fetch_request(session_epoch=0), version=12)
    handle = sim.faults.add(match={"api": "Fetch", "topic": ORDERS}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    going_on = {"session_id": first.session_id, "topics": []}
    refused = sim.ask(fetch_request(session_epoch=1, **going_on), version=12)
    assert codes(refused) == {(ORDERS, 0): NOT_LEADER, (ORDERS, 1): NOT_LEADER}, "what has not changed is left out"
    assert handle.matched == 1, "the request names nothing, but its session does"
    handle.remove()
    sim.ask(produce_request(), version=12)
    response = sim.ask(fetch_request(session_epoch=2, **going_on), version=12)
    assert codes(response) == only()


@pytest.mark.parametrize("name", ["FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH"])
def test_errors_of_fetch_sessions_stand_at_the_top(sim, name):
    handle = sim.faults.add(match={"api": "Fetch"}, effect={"error": name})
    response = sim.ask(fetch_request(), version=12)
    assert (response.error_code, response.responses) == (ErrorCode[name], [])
    assert codes(sim.ask(fetch_request(), version=6)) == only(), "without sessions there is no place for it"
    assert (handle.matched, handle.fired) == (2, 1)


def test_acks_0_learns_of_an_error_by_the_end_of_its_connection(sim):
    sim.faults.add(match={"topic": ORDERS}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    with pytest.raises(ConnectionClosedError, match="NOT_LEADER_OR_FOLLOWER"):
        sim.send(produce_request(acks=0), version=12)


@pytest.mark.parametrize("name", ["REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"])
def test_errors_that_come_after_the_append_come_after_the_append(sim, name):
    sim.faults.add(match={"topic": ORDERS}, effect={"error": name})
    assert codes(sim.ask(produce_request(), version=12)) == only((ORDERS, 0), (ORDERS, 1), code=ErrorCode[name])
    assert [one.log.end_offset for one in sim.cluster.topics[ORDERS].partitions] == [1, 1]


# Metadata


def metadata_request(*names: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequest.Topic(name=name) for name in names] or None)


def topic_codes(response: Any) -> dict[str, tuple[int, int]]:
    return {topic.name: (topic.error_code, len(topic.partitions)) for topic in response.topics}


@pytest.mark.parametrize("names", [(), (ORDERS, OTHER)])
@pytest.mark.parametrize("version", [1, 9, 12, 13])
def test_metadata_tells_the_error_of_the_topic_and_the_rest_truly(sim, names, version):
    handle = sim.faults.add(match={"api": "Metadata", "topic": ORDERS}, effect={"error": "LEADER_NOT_AVAILABLE"})
    for _ in range(2):  # the second time where a cache could answer
        response = sim.ask(metadata_request(*names), version=version)
        assert topic_codes(response) == {ORDERS: (5, 0), OTHER: (0, 2)}
        assert len(response.brokers) == 3
    handle.remove()
    assert topic_codes(sim.ask(metadata_request(*names), version=version)) == {ORDERS: (0, 2), OTHER: (0, 2)}


def test_metadata_tells_the_error_of_a_partition(sim):
    match = {"api": "Metadata", "topic": ORDERS, "partition": 1}
    sim.faults.add(match=match, effect={"error": "LEADER_NOT_AVAILABLE"})
    response = sim.ask(metadata_request(), version=12)
    found = {topic.name: [(one.error_code, one.leader_id) for one in topic.partitions] for topic in response.topics}
    assert found == {ORDERS: [(0, 0), (5, -1)], OTHER: [(0, 0), (0, 0)]}


def test_without_a_topic_in_match_metadata_tells_it_of_each(sim):
    sim.faults.add(match={"api": "Metadata"}, effect={"error": "LEADER_NOT_AVAILABLE"})
    response = sim.ask(metadata_request(), version=12)
    assert topic_codes(response) == {ORDERS: (5, 0), OTHER: (5, 0)}
    assert len(response.brokers) == 3


def test_a_refused_topic_is_not_created(sim):
    sim.faults.add(match={"topic": "new"}, effect={"error": "TOPIC_AUTHORIZATION_FAILED"})
    response = sim.ask(metadata_request("new"), version=12)
    assert topic_codes(response) == {"new": (ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0)}
    assert "new" not in sim.cluster.topics


def test_metadata_of_brokers_alone_has_no_place_before_v13(sim):
    handle = sim.faults.add(match={"api": "Metadata"}, effect={"error": "LEADER_NOT_AVAILABLE"})
    nothing = MetadataRequest(topics=[])
    assert len(sim.ask(nothing, version=12).brokers) == 3
    assert (handle.matched, handle.fired) == (1, 0)
    assert "have no place for LEADER_NOT_AVAILABLE" in handle.explain()
    assert sim.ask(nothing, version=13).error_code == ErrorCode.LEADER_NOT_AVAILABLE


def test_describe_topic_partitions_tells_the_error_of_the_topic(sim):
    sim.faults.add(match={"topic": ORDERS}, effect={"error": "TOPIC_AUTHORIZATION_FAILED"})
    kind = DescribeTopicPartitionsRequest.Topic
    request = DescribeTopicPartitionsRequest(topics=[kind(name=OTHER), kind(name=ORDERS)])
    assert topic_codes(sim.ask(request, version=0)) == {ORDERS: (29, 0), OTHER: (0, 2)}


# groups and their offsets


def test_an_offset_that_is_refused_is_not_committed_and_the_rest_is(sim):
    match = {"api": "OffsetCommit", "topic": ORDERS, "partition": 1}
    sim.faults.add(match=match, effect={"error": "UNSTABLE_OFFSET_COMMIT"})
    response = sim.ask(commit_request(), version=9, broker=coordinator(sim))
    assert codes(response) == only((ORDERS, 1), code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    fetched = sim.ask(offset_fetch_request(), version=9, broker=coordinator(sim)).groups[0]
    offsets = {
        (topic.name, one.partition_index): one.committed_offset for topic in fetched.topics for one in topic.partitions
    }
    assert offsets == {(ORDERS, 0): 7, (ORDERS, 1): NO_OFFSET, (OTHER, 0): 7, (OTHER, 1): 7}


def test_an_observer_sees_the_whole_request_that_was_answered_in_parts(sim):
    calls = Outcomes()
    getattr(sim, "proxy", sim.engine).path.observers.append(calls)
    for index in (0, 1):
        match = {"api": "OffsetCommit", "topic": ORDERS, "partition": index}
        sim.faults.add(match=match, effect={"error": "UNSTABLE_OFFSET_COMMIT"})
    ticket = sim.send(commit_request(), version=9, broker=coordinator(sim))
    assert calls[0].call.request == commit_request()
    failed = only((ORDERS, 0), (ORDERS, 1), code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert codes(sim.replies[ticket]) == failed


@pytest.mark.parametrize("all_topics", [True, False])
def test_offset_fetch_tells_the_error_of_the_partition(sim, all_topics):
    sim.ask(commit_request(), version=9, broker=coordinator(sim))
    match = {"api": "OffsetFetch", "topic": ORDERS, "partition": 0}
    sim.faults.add(match=match, effect={"error": "UNSTABLE_OFFSET_COMMIT"})
    request = offset_fetch_request(all_topics=all_topics)
    (group,) = sim.ask(request, version=9, broker=coordinator(sim)).groups
    assert codes(group) == only((ORDERS, 0), code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert group.error_code == 0


def test_offset_fetch_tells_the_error_of_the_group(sim):
    sim.faults.add(match={"group": "bill*"}, effect={"error": "COORDINATOR_LOAD_IN_PROGRESS"})
    groups = sim.ask(offset_fetch_request("billing", "audit"), version=9, broker=coordinator(sim)).groups
    found = {group.group_id: group.error_code for group in groups}
    assert found["billing"] == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert found["audit"] != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_offset_fetch_of_old_has_one_error_for_all(sim):
    sim.faults.add(match={"group": "billing"}, effect={"error": "COORDINATOR_LOAD_IN_PROGRESS"})
    kind = OffsetFetchRequest.Topic
    request = OffsetFetchRequest(group_id="billing", topics=[kind(name=ORDERS, partition_indexes=[0])])
    assert sim.ask(request, version=5, broker=coordinator(sim)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_find_coordinator_and_describe_groups_tell_the_error_of_the_group(sim):
    sim.faults.add(match={"group": "billing"}, effect={"error": "GROUP_AUTHORIZATION_FAILED"})
    found = sim.ask(FindCoordinatorRequest(coordinator_keys=["billing", "audit"]), version=4).coordinators
    assert {one.key: one.error_code for one in found} == {"billing": 30, "audit": 0}
    where = coordinator(sim, "billing")
    described = sim.ask(DescribeGroupsRequest(groups=["billing"]), version=5, broker=where).groups
    assert [(one.group_id, one.error_code) for one in described] == [("billing", 30)]


def test_a_group_that_is_refused_is_not_deleted(sim):
    sim.ask(commit_request("billing"), version=9, broker=coordinator(sim))
    handle = sim.faults.add(match={"group": "billing"}, effect={"error": "GROUP_AUTHORIZATION_FAILED"})
    request = DeleteGroupsRequest(groups_names=["billing", "nobody"])
    results = sim.ask(request, version=2, broker=coordinator(sim)).results
    assert {one.group_id: one.error_code for one in results}["billing"] == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert {one.group_id for one in results} == {"billing", "nobody"}
    handle.remove()
    fetched = sim.ask(offset_fetch_request(), version=9, broker=coordinator(sim)).groups[0]
    assert fetched.topics[0].partitions[0].committed_offset == 7


def test_offset_delete_refuses_the_partition_that_is_meant(sim):
    sim.ask(commit_request(), version=9, broker=coordinator(sim))
    sim.faults.add(
        match={"topic": ORDERS, "partition": 1, "api": "OffsetDelete"}, effect={"error": "UNKNOWN_SERVER_ERROR"}
    )
    kind = OffsetDeleteRequest.Topic
    request = OffsetDeleteRequest(
        group_id="billing", topics=topics(kind, lambda index: kind.Partition(partition_index=index))
    )
    response = sim.ask(request, version=0, broker=coordinator(sim))
    assert codes(response) == only((ORDERS, 1), code=-1)
    assert response.error_code == 0


# topics


def test_a_topic_that_is_refused_is_neither_created_nor_widened_nor_deleted(sim):
    sim.faults.add(match={"topic": ["new", ORDERS]}, effect={"error": "POLICY_VIOLATION"})
    kind = CreateTopicsRequest.Topic
    wanted = [kind(name=name, num_partitions=1, replication_factor=1) for name in ("new", "newer")]
    created = sim.ask(CreateTopicsRequest(topics=wanted), version=5).topics
    assert {one.name: one.error_code for one in created} == {"new": 44, "newer": 0}
    wider = [CreatePartitionsRequest.Topic(name=name, count=3, assignments=None) for name in (ORDERS, OTHER)]
    widened = sim.ask(CreatePartitionsRequest(timeout_ms=1000, topics=wider), version=3).results
    assert {one.name: one.error_code for one in widened} == {ORDERS: 44, OTHER: 0}
    assert {name: len(topic.partitions) for name, topic in sim.cluster.topics.items()} == {
        ORDERS: 2,
        OTHER: 3,
        "newer": 1,
    }
    deleted = sim.ask(DeleteTopicsRequest(timeout_ms=1000, topic_names=[ORDERS, OTHER]), version=5).responses
    assert {one.name: one.error_code for one in deleted} == {ORDERS: 44, OTHER: 0}
    by_id = [DeleteTopicsRequest.Topic(topic_id=sim.cluster.topics[ORDERS].id)]
    (deleted_by_id,) = sim.ask(DeleteTopicsRequest(timeout_ms=1000, topics=by_id), version=6).responses
    assert deleted_by_id.error_code == ErrorCode.POLICY_VIOLATION
    assert set(sim.cluster.topics) == {ORDERS, "newer"}


def test_describe_configs_tells_the_error_of_the_topic(sim):
    sim.faults.add(match={"topic": ORDERS}, effect={"error": "TOPIC_AUTHORIZATION_FAILED"})
    kind = DescribeConfigsRequest.Resource
    wanted = [kind(resource_type=2, resource_name=name, configuration_keys=None) for name in (ORDERS, OTHER)]
    results = sim.ask(DescribeConfigsRequest(resources=wanted), version=4).results
    assert {one.resource_name: (one.error_code, bool(one.configs)) for one in results} == {
        ORDERS: (29, False),
        OTHER: (0, True),
    }


@pytest.mark.parametrize(("kind", "version"), [(AlterConfigsRequest, 2), (IncrementalAlterConfigsRequest, 1)])
def test_configs_that_are_refused_do_not_change_and_the_rest_does(sim, kind, version):
    sim.faults.add(match={"topic": ORDERS}, effect={"error": "TOPIC_AUTHORIZATION_FAILED"})
    resource = kind.Resource
    wanted = [
        resource(resource_type=2, resource_name=name, configs=[resource.Config(name="retention.ms", value="77")])
        for name in (ORDERS, OTHER)
    ]
    answer = sim.ask(kind(resources=wanted), version=version, broker=sim.cluster.support.controller_id)
    assert {one.resource_name: one.error_code for one in answer.responses} == {ORDERS: 29, OTHER: 0}
    configs = {name: sim.cluster.topics[name].config("retention.ms") for name in (ORDERS, OTHER)}
    assert (configs[ORDERS] != 77, configs[OTHER]) == (True, 77)


def test_a_client_told_to_bootstrap_anew_hears_it_at_the_top_though_topics_are_named(sim):
    sim.faults.add(match={"api": "Metadata", "topic": ORDERS}, effect={"error": "REBOOTSTRAP_REQUIRED"})
    answer = sim.ask(metadata_request(ORDERS, OTHER), version=13)
    assert answer.error_code == ErrorCode.REBOOTSTRAP_REQUIRED


def test_a_reassignment_that_is_refused_does_not_happen(sim):
    sim.faults.add(match={"topic": ORDERS, "partition": 0}, effect={"error": "INVALID_REPLICA_ASSIGNMENT"})
    kind = AlterPartitionReassignmentsRequest.Topic
    moves = topics(kind, lambda index: kind.Partition(partition_index=index, replicas=[1, 2, 0]))
    response = sim.ask(
        AlterPartitionReassignmentsRequest(topics=moves), version=0, broker=sim.cluster.support.controller_id
    )
    assert codes(response) == only((ORDERS, 0), code=ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    assert response.error_code == 0
    assert sim.cluster.topics[ORDERS].partitions[0].replicas == (0, 1, 2)
    assert sim.cluster.topics[ORDERS].partitions[1].replicas == (1, 2, 0)


# as a whole

WHOLE = [
    (HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4),
    (JoinGroupRequest(group_id="g", session_timeout_ms=9000, member_id="", protocol_type="consumer"), 7),
    (SyncGroupRequest(group_id="g", generation_id=1, member_id="m"), 4),
    (LeaveGroupRequest(group_id="g", members=[LeaveGroupRequest.Member(member_id="m")]), 4),
    (FindCoordinatorRequest(key="g"), 2),
    (ListGroupsRequest(), 4),
    (ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3),
    (InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4),
    (DescribeClusterRequest(), 1),
    (ListPartitionReassignmentsRequest(topics=None), 0),
]


@pytest.mark.parametrize(("request_", "version"), WHOLE, ids=lambda one: type(one).__name__)
def test_an_api_with_one_error_for_all_has_it_there(sim, request_, version):
    name = type(request_).name.removesuffix("Request")
    handle = sim.faults.add(match={"api": name}, effect={"error": "COORDINATOR_LOAD_IN_PROGRESS"})
    assert sim.ask(request_, version=version).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert handle.fired == 1


def test_api_versions_refuses_a_version_in_its_oldest_form(sim):
    sim.faults.add(match={"api": "ApiVersions"}, effect={"error": "UNSUPPORTED_VERSION"})
    request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    if hasattr(sim, "proxy"):
        response = sim.replies[sim.send(request, version=3)]
    else:
        client = Client(sim)
        client.write(client.frame(request, 3))
        (frame,) = client.frames()
        _, response = protocol.read_response(frame, 18, 0)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.api_keys


def test_errors_of_two_faults_meet_one_call(sim):
    sim.faults.add(match={"topic": ORDERS}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    sim.faults.add(match={"topic": OTHER, "partition": 1}, effect={"error": "KAFKA_STORAGE_ERROR"})
    found = codes(sim.ask(produce_request(), version=12))
    assert found == {
        (ORDERS, 0): NOT_LEADER,
        (ORDERS, 1): NOT_LEADER,
        (OTHER, 0): 0,
        (OTHER, 1): ErrorCode.KAFKA_STORAGE_ERROR,
    }


def test_a_throttle_and_an_error_meet_one_call(sim):
    sim.faults.add(match={"topic": ORDERS}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    sim.faults.add(effect={"throttle_ms": 300})
    response = sim.ask(produce_request(), version=12)
    assert response.throttle_time_ms == 300
    assert codes(response) == only((ORDERS, 0), (ORDERS, 1))


def test_offsets_that_go_by_topic_id_are_meant_by_the_topics_name(sim):
    sim.faults.add(match={"topic": ORDERS, "partition": 1}, effect={"error": "UNSTABLE_OFFSET_COMMIT"})
    topic_id = sim.cluster.topics[ORDERS].id
    kind = OffsetCommitRequest.Topic
    commits = [kind.Partition(partition_index=index, committed_offset=7, committed_metadata="") for index in (0, 1)]
    request = OffsetCommitRequest(group_id="billing", topics=[kind(topic_id=topic_id, partitions=commits)])
    (topic,) = sim.ask(request, version=10, broker=coordinator(sim)).topics
    assert topic.topic_id == topic_id
    assert {one.partition_index: one.error_code for one in topic.partitions} == {0: 0, 1: 88}
    group = OffsetFetchRequest.Group
    wanted = [group.Topic(topic_id=topic_id, partition_indexes=[0, 1])]
    asked = OffsetFetchRequest(groups=[group(group_id="billing", topics=wanted)])
    (fetched,) = sim.ask(asked, version=10, broker=coordinator(sim)).groups[0].topics
    found = {one.partition_index: (one.error_code, one.committed_offset) for one in fetched.partitions}
    assert found == {0: (0, 7), 1: (88, NO_OFFSET)}
