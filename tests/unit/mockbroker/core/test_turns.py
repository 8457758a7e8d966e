"""Requests that name very many things are dealt with in turns, between which others have theirs."""

from __future__ import annotations

from typing import Any

import pytest

import protocol
from mockbroker.call import QUICK_ITEMS, TURN_ITEMS
from mockbroker.core.path import LARGE_FRAME_BYTES
from mockbroker.core.simulation import Simulation
from mockbroker.handlers.fetch import AT_ONCE_BYTES
from protocol.apis.configs import DescribeConfigsRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.group_offsets import OffsetCommitRequest, OffsetFetchRequest
from protocol.apis.groups import DescribeGroupsRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
)
from protocol.apis.transactions import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.handlers.records import batch, fetch_request, produce

TURNS = 3
NAMES = [f"none-{number}" for number in range(TURNS * TURN_ITEMS)]
NUMBERS = range(len(NAMES))
IDS = [number.to_bytes(16, "big") for number in range(1, len(NAMES))]


def list_offsets() -> ListOffsetsRequest:
    partitions = [ListOffsetsRequest.Topic.Partition(partition_index=number, timestamp=-1) for number in NUMBERS]
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.Topic(name="orders", partitions=partitions)])


def fetch() -> FetchRequest:
    partitions = [FetchRequest.Topic.Partition(partition=number, partition_max_bytes=100) for number in NUMBERS]
    return FetchRequest(max_wait_ms=0, topics=[FetchRequest.Topic(topic="orders", partitions=partitions)])


def offset_commit() -> OffsetCommitRequest:
    partitions = [OffsetCommitRequest.Topic.Partition(partition_index=number) for number in NUMBERS]
    return OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequest.Topic(name="orders", partitions=partitions)])


def delete_records() -> DeleteRecordsRequest:
    partitions = [DeleteRecordsRequest.Topic.Partition(partition_index=number) for number in NUMBERS]
    return DeleteRecordsRequest(topics=[DeleteRecordsRequest.Topic(name="orders", partitions=partitions)])


def offset_fetch() -> OffsetFetchRequest:
    topic = OffsetFetchRequest.Group.Topic(name="orders", partition_indexes=list(NUMBERS))
    return OffsetFetchRequest(groups=[OffsetFetchRequest.Group(group_id="g", topics=[topic])])


LARGE_TOPICS = [MetadataRequest.Topic(name=f"many-{number}") for number in range(3 * QUICK_ITEMS)]


def produce_to_many() -> ProduceRequest:
    partitions = [ProduceRequest.Topic.Partition(index=number, records=batch(b"")) for number in NUMBERS]
    return ProduceRequest(acks=1, topic_data=[ProduceRequest.Topic(name="orders", partition_data=partitions)])


def add_partitions() -> AddPartitionsToTxnRequest:
    topic = AddPartitionsToTxnTopic(name="orders", partitions=list(NUMBERS))
    return AddPartitionsToTxnRequest(v3_and_below_transactional_id="t", v3_and_below_topics=[topic])


def create_partitions() -> CreatePartitionsRequest:
    topics = [CreatePartitionsRequest.Topic(name=name, count=2) for name in NAMES]
    return CreatePartitionsRequest(topics=topics, timeout_ms=1000)


LARGE = {
    "Metadata": (
        MetadataRequest(topics=[MetadataRequest.Topic(name=name) for name in NAMES], allow_auto_topic_creation=False),
        9,
        lambda answer: [topic.name for topic in answer.topics] == NAMES,
    ),
    "Metadata by id": (
        MetadataRequest(topics=[MetadataRequest.Topic(name=None, topic_id=one) for one in IDS]),
        12,
        lambda answer: [topic.topic_id for topic in answer.topics] == IDS,
    ),
    "DescribeTopicPartitions": (
        DescribeTopicPartitionsRequest(topics=[DescribeTopicPartitionsRequest.Topic(name=name) for name in NAMES]),
        0,
        lambda answer: [topic.name for topic in answer.topics] == sorted(NAMES),
    ),
    "Produce": (produce_to_many(), 9, lambda answer: len(answer.responses[0].partition_responses) == len(NUMBERS)),
    "AddPartitionsToTxn": (
        add_partitions(),
        3,
        lambda answer: len(answer.results_by_topic_v3_and_below[0].results_by_partition) == len(NUMBERS),
    ),
    "CreatePartitions": (create_partitions(), 3, lambda answer: [one.name for one in answer.results] == NAMES),
    "DescribeConfigs": (
        DescribeConfigsRequest(
            resources=[DescribeConfigsRequest.Resource(resource_type=2, resource_name=name) for name in NAMES]
        ),
        4,
        lambda answer: [one.resource_name for one in answer.results] == NAMES,
    ),
    "DescribeGroups": (
        DescribeGroupsRequest(groups=NAMES),
        5,
        lambda answer: [group.group_id for group in answer.groups] == NAMES,
    ),
    "FindCoordinator": (
        FindCoordinatorRequest(coordinator_keys=NAMES),
        4,
        lambda answer: [one.key for one in answer.coordinators] == NAMES,
    ),
    "CreateTopics": (
        CreateTopicsRequest(
            topics=[CreateTopicsRequest.Topic(name=name, num_partitions=2, replication_factor=1) for name in NAMES],
            timeout_ms=1000,
        ),
        7,
        lambda answer: {one.error_code for one in answer.topics} == {ErrorCode.POLICY_VIOLATION},
    ),
    "DeleteTopics": (
        DeleteTopicsRequest(topic_names=NAMES, timeout_ms=1000),
        5,
        lambda answer: [one.name for one in answer.responses] == NAMES,
    ),
    "ListOffsets": (list_offsets(), 7, lambda answer: len(answer.topics[0].partitions) == len(NAMES)),
    "Fetch": (fetch(), 12, lambda answer: len(answer.responses[0].partitions) == len(NAMES)),
    "DeleteRecords": (delete_records(), 2, lambda answer: len(answer.topics[0].partitions) == len(NAMES)),
    "OffsetCommit": (offset_commit(), 8, lambda answer: len(answer.topics[0].partitions) == len(NAMES)),
    "OffsetFetch": (offset_fetch(), 8, lambda answer: len(answer.groups[0].topics[0].partitions) == len(NAMES)),
}


@pytest.fixture
def sim() -> Simulation:
    """One broker, which leads the topic orders."""
    sim = Simulation(racks="a", seed=0)
    sim.cluster.create_topic("orders", 1, 1)
    return sim


def answered(sim: Simulation, ticket: int) -> Any:
    """The answer to a call that takes turns, each of them a millisecond."""
    for _ in range(1000 * TURNS):
        if ticket in sim.replies:
            return sim.replies[ticket]
        sim.advance(ms=1)
    raise AssertionError("no answer")


@pytest.mark.parametrize("name", LARGE)
def test_others_are_answered_while_a_large_request_takes_turns(sim, name):
    request, version, is_whole = LARGE[name]
    ticket = sim.send(request, version=version)
    for _ in range(TURNS - 1):
        assert ticket not in sim.replies
        assert sim.ask(MetadataRequest(topics=[])).topics == []
        sim.advance(ms=1)
    assert is_whole(answered(sim, ticket))


def test_a_large_frame_is_read_in_turns_before_it_is_looked_at(sim):
    names = [f"{number:0300}" for number in range(LARGE_FRAME_BYTES // 300 * 2)]
    request = MetadataRequest(topics=[MetadataRequest.Topic(name=name) for name in names])
    ticket = sim.send(request, version=9)
    assert [one.name for one in answered(sim, ticket).topics] == names


def test_a_large_frame_that_is_no_request_ends_its_connection(sim):
    client = Client(sim)
    frame = bytearray(client.frame(FindCoordinatorRequest(coordinator_keys=["x" * 30_000] * 50), 4))
    frame[-1] = 1
    client.write(bytes(frame))
    sim.advance(ms=10)
    assert "are not this message" in client.connection.closed


def test_of_several_large_requests_one_has_a_turn_at_a_time(sim):
    request = LARGE["Metadata"][0]
    tickets = [sim.send(request, version=9) for _ in range(3)]
    turns = 0
    while not all(ticket in sim.replies for ticket in tickets):
        before = len(sim.replies)
        sim.now_ms = max(sim.now_ms, sim.engine.next_deadline_ms())
        sim.engine.advance(sim.now_ms)
        assert len(sim.replies) <= before + 1
        turns += 1
    assert turns > len(tickets) * TURNS


def test_what_a_large_request_and_its_answer_held_is_given_back_in_turns(sim):
    client = Client(sim)
    client.write(client.frame(MetadataRequest(topics=LARGE_TOPICS, allow_auto_topic_creation=False), 9))
    while not (frames := client.frames()):
        sim.advance(ms=1)
    assert frames
    assert sim.engine.next_deadline_ms() is not None, "there is something to free"
    assert sim.engine.parked_calls == 0, "for which nobody waits"
    sim.advance(ms=10 * TURNS)
    assert sim.engine.next_deadline_ms() is None


def test_of_many_topics_asked_for_twice_each_is_answered_once_in_the_order_of_its_first(sim):
    names = [topic.name for topic in LARGE_TOPICS]
    ids = [number.to_bytes(16, "big") for number in range(1, len(names))]
    by_name = [MetadataRequest.Topic(name=name) for name in (*names, *reversed(names))]
    by_id = [MetadataRequest.Topic(name=None, topic_id=one) for one in (*ids, *reversed(ids))]
    answers = [
        answered(sim, sim.send(MetadataRequest(topics=topics, allow_auto_topic_creation=False), version=12))
        for topics in (by_name, by_id)
    ]
    assert [topic.name for topic in answers[0].topics] == names
    assert [topic.topic_id for topic in answers[1].topics] == ids


def test_a_large_answer_leaves_in_pieces_which_nobody_joins(sim):
    client = Client(sim)
    topics = [*LARGE_TOPICS, *(MetadataRequest.Topic(name=f"{topic.name}-more") for topic in LARGE_TOPICS)]
    client.write(client.frame(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9))
    while not (pieces := client.connection.take_output()):
        sim.advance(ms=1)
    assert len(pieces) > 3
    (frame,) = client.reader.feed(b"".join(pieces))
    assert len(protocol.read_response(frame, MetadataRequest.api_key, 9)[1].topics) == len(topics)


def test_a_client_that_goes_takes_its_turns_with_it(sim):
    client = Client(sim)
    client.write(client.frame(LARGE["Metadata"][0], 9))
    client.connection.stopped()
    assert sim.engine.parked_calls == 0
    sim.advance(ms=10)
    assert client.frames() == []


def test_a_topic_that_another_makes_between_two_turns_is_not_made_twice(sim):
    wanted = [
        CreateTopicsRequest.Topic(name=f"new-{number}", num_partitions=1, replication_factor=1) for number in range(60)
    ]
    ticket = sim.send(CreateTopicsRequest(topics=wanted, timeout_ms=10_000, validate_only=False), version=7)
    last = wanted[-1].name
    sim.cluster.create_topic(last, 1, 1)
    errors = {one.name: one.error_code for one in answered(sim, ticket).topics}
    assert errors.pop(last) == ErrorCode.TOPIC_ALREADY_EXISTS
    assert set(errors.values()) == {0}


def test_a_fetch_that_records_overtake_between_two_turns_does_not_wait_for_them(sim):
    request = fetch_request(max_wait_ms=60_000)
    sim.cluster.create_topic("wide", 2 * TURN_ITEMS, 1)
    partitions = [
        FetchRequest.Topic.Partition(partition=number, partition_max_bytes=1000) for number in range(2 * TURN_ITEMS)
    ]
    request.topics.append(FetchRequest.Topic(topic="wide", partitions=partitions))
    ticket = sim.send(request, version=12)
    for _ in range(2):  # the first turn reads the request, the second one partitions
        sim.advance(ms=1)
    assert ticket not in sim.replies
    produce(sim, batch(b"late"))
    assert answered(sim, ticket).error_code == 0


def test_large_answers_are_made_one_by_one_and_others_come_between(sim):
    for _ in range(6):
        produce(sim, batch(bytes(1_000_000)))
    request = fetch_request(max_bytes=10**7, partition_max_bytes=10**7)
    tickets = [sim.send(request, version=12) for _ in range(3)]
    for number, ticket in enumerate(tickets):
        assert tickets[number:] == [one for one in tickets if one not in sim.replies]
        assert sim.ask(MetadataRequest(topics=[]), version=9).topics == []
        if number == 2:
            sim.cluster.answer_room_bytes = 2_500_000  # clients do not read
        sim.engine.advance(sim.now_ms)
        assert len(sim.replies[ticket].responses[0].partitions[0].records) > (
            2_000_000 if number == 2 else AT_ONCE_BYTES
        )
    assert len(sim.replies[tickets[2]].responses[0].partitions[0].records) <= 2_500_000


def test_an_answer_that_is_not_large_is_made_at_once_however_much_was_allowed(sim):
    for _ in range(6):
        produce(sim, batch(bytes(1_000_000)))
    request = fetch_request(3, max_bytes=10**7, partition_max_bytes=10**7)
    assert len(sim.ask(request, version=12).responses[0].partitions[0].records) > 2_000_000
