"""What requests name: topics with partitions, groups, under names whatever they were given by."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from mockbroker.call import Call
from mockbroker.core.simulation import Simulation
from mockbroker.subjects import Subjects, subjects_of
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.classic_group import HeartbeatRequest
from protocol.apis.configs import DescribeConfigsRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.group_offsets import OffsetCommitRequest, OffsetFetchRequest
from protocol.apis.groups import DeleteGroupsRequest, DescribeGroupsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.reassignments import ListPartitionReassignmentsRequest
from protocol.apis.topics import DeleteTopicsRequest

UNKNOWN_ID = bytes(15) + b"\7"


@pytest.fixture
def sim() -> Simulation:
    sim = Simulation()
    sim.cluster.replication_control.create("orders", 3, 3)
    sim.cluster.replication_control.create("events", 3, 3)
    return sim


@pytest.fixture
def seen(sim) -> list[Subjects]:
    """The subjects of each call, as a fault would ask for them."""
    found: list[Subjects] = []
    sim.engine.path.faults.append(lambda call: found.append(subjects_of(call)))
    return found


def topic_id(sim: Simulation, name: str) -> bytes:
    return sim.cluster.topics[name].id


Partition = FetchRequest.Topic.Partition


def fetch(*topics: FetchRequest.Topic, **fields: Any) -> FetchRequest:
    return FetchRequest(topics=list(topics), max_wait_ms=0, **fields)


def by_name(name: str, *indexes: int) -> FetchRequest.Topic:
    return FetchRequest.Topic(topic=name, partitions=[Partition(partition=index) for index in indexes])


def by_id(topic_id: bytes, *indexes: int) -> FetchRequest.Topic:
    return FetchRequest.Topic(topic_id=topic_id, partitions=[Partition(partition=index) for index in indexes])


def test_topics_and_partitions_stand_in_the_requests_order(sim, seen):
    sim.ask(fetch(by_name("orders", 2, 0), by_name("events", 1), by_name("orders", 1)), version=12)
    assert seen == [Subjects({"orders": (2, 0, 1), "events": (1,)})]
    assert list(seen[0].topics) == ["orders", "events"]


def test_a_topic_id_stands_for_its_name_and_one_that_no_topic_has_for_none(sim, seen):
    sim.ask(fetch(by_id(topic_id(sim, "events"), 1), by_id(UNKNOWN_ID, 0)), version=13)
    assert seen == [Subjects({"events": (1,)})]
    data = [ProduceRequest.Topic.Partition(index=2, records=None)]
    produce = ProduceRequest(
        acks=1, topic_data=[ProduceRequest.Topic(topic_id=topic_id(sim, "orders"), partition_data=data)]
    )
    sim.ask(produce, version=13)
    assert seen[1] == Subjects({"orders": (2,)})


@pytest.mark.parametrize("version", [12, 13])
def test_a_fetch_in_a_session_names_what_the_session_has(sim, seen, version):
    def topic(name: str, *indexes: int) -> FetchRequest.Topic:
        return by_name(name, *indexes) if version < 13 else by_id(topic_id(sim, name), *indexes)

    first = sim.ask(fetch(topic("orders", 0, 1), session_epoch=0), version=version)
    gone = topic("orders", 0)
    forgotten = FetchRequest.ForgottenTopic(topic=gone.topic, topic_id=gone.topic_id, partitions=[0])
    going_on = {"session_id": first.session_id}
    sim.ask(fetch(session_epoch=1, **going_on), version=version)
    sim.ask(fetch(topic("events", 2), session_epoch=2, forgotten_topics_data=[forgotten], **going_on), version=version)
    assert [one.topics for one in seen] == [{"orders": (0, 1)}, {"orders": (0, 1)}, {"orders": (1,), "events": (2,)}]


def test_a_session_whose_topic_was_deleted_names_the_others(sim, seen):
    first = sim.ask(
        fetch(by_id(topic_id(sim, "orders"), 0), by_id(topic_id(sim, "events"), 1), session_epoch=0), version=13
    )
    sim.delete_topic("orders")
    sim.ask(fetch(session_id=first.session_id, session_epoch=1), version=13)
    assert seen[1].topics == {"events": (1,)}


def test_the_subjects_of_a_session_are_the_same_after_the_handler_as_before(sim):
    first = sim.ask(fetch(by_name("orders", 0, 1), session_epoch=0), version=12)
    forgotten = FetchRequest.ForgottenTopic(topic="orders", partitions=[0])
    request = fetch(
        by_name("events", 2), session_id=first.session_id, session_epoch=1, forgotten_topics_data=[forgotten]
    )
    ticket = sim.send(request, version=12)
    assert subjects_of(sim.calls[ticket]).topics == {"orders": (1,), "events": (2,)}


@pytest.mark.parametrize(
    ("request_", "version", "expected"),
    [
        (MetadataRequest(topics=None), 12, Subjects({}, all_topics=True)),
        (MetadataRequest(topics=[]), 0, Subjects({}, all_topics=True)),
        (MetadataRequest(topics=[]), 12, Subjects({})),
        (MetadataRequest(topics=[MetadataRequest.Topic(name="orders")]), 12, Subjects({"orders": ()})),
        (DeleteTopicsRequest(timeout_ms=1000, topic_names=["nothing"]), 5, Subjects({"nothing": ()})),
        (ListPartitionReassignmentsRequest(topics=None), 0, Subjects({}, all_topics=True)),
        (HeartbeatRequest(group_id="g", member_id="m"), 4, Subjects({}, ("g",))),
        (DescribeGroupsRequest(groups=["g", "h"]), 5, Subjects({}, ("g", "h"))),
        (DeleteGroupsRequest(groups_names=["g"]), 2, Subjects({}, ("g",))),
        (FindCoordinatorRequest(key="g"), 0, Subjects({}, ("g",))),
        (FindCoordinatorRequest(coordinator_keys=["g", "h"]), 4, Subjects({}, ("g", "h"))),
        (FindCoordinatorRequest(coordinator_keys=["transaction"], key_type=1), 4, Subjects({})),
        (ApiVersionsRequest(), 0, Subjects({})),
        (
            DescribeConfigsRequest(
                resources=[
                    DescribeConfigsRequest.Resource(resource_type=2, resource_name="orders", configuration_keys=None),
                    DescribeConfigsRequest.Resource(resource_type=4, resource_name="0", configuration_keys=None),
                ]
            ),
            4,
            Subjects({"orders": ()}),
        ),
        (
            OffsetCommitRequest(
                group_id="g",
                topics=[
                    OffsetCommitRequest.Topic(
                        name="orders",
                        partitions=[
                            OffsetCommitRequest.Topic.Partition(
                                partition_index=1, committed_offset=0, committed_metadata=""
                            )
                        ],
                    )
                ],
            ),
            9,
            Subjects({"orders": (1,)}, ("g",)),
        ),
        (
            OffsetFetchRequest(
                group_id="g", topics=[OffsetFetchRequest.Topic(name="orders", partition_indexes=[1, 2])]
            ),
            7,
            Subjects({"orders": (1, 2)}, ("g",)),
        ),
        (
            OffsetFetchRequest(
                groups=[
                    OffsetFetchRequest.Group(
                        group_id="g",
                        topics=[OffsetFetchRequest.Group.Topic(name="orders", partition_indexes=[1])],
                    ),
                    OffsetFetchRequest.Group(group_id="h", topics=None),
                ]
            ),
            9,
            Subjects({"orders": (1,)}, ("g", "h"), all_topics=True),
        ),
    ],
)
def test_what_a_request_names(sim, seen, request_, version, expected):
    sim.send(request_, version=version)
    assert seen == [expected]


def test_they_are_worked_out_once_a_call(sim):
    calls: list[Call] = []
    sim.engine.path.faults.append(calls.append)
    sim.ask(fetch(by_name("orders", 0)), version=12)
    assert subjects_of(calls[0]) is subjects_of(calls[0])


def test_a_topic_that_is_named_again_and_again_costs_as_much_as_all_its_partitions_at_once(sim, seen):
    times = 9_000
    before = process_time()
    sim.send(fetch(*[by_name("orders", 2)] * times, session_epoch=-1), version=11)
    assert seen == [Subjects({"orders": (2,) * times})]
    assert process_time() - before < 5.0  # each time all of before was copied
