from __future__ import annotations

from typing import Any

import pytest

from mockbroker.core.simulation import Simulation
from protocol.apis.fetch import FetchRequest, FetchResponse
from protocol.error_codes import ErrorCode
from protocol.records import CompressionCodec, iter_batches
from tests.unit.mockbroker.handlers.records import (
    TOPIC,
    batch,
    fetch,
    fetch_request,
    offsets,
    produce,
    values,
)


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    """With the topics orders (3 partitions, partition i led by broker i) and events (diskless)."""
    sim.cluster.replication_control.create(TOPIC, 3, 3)
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    return sim


def is_empty(response: FetchResponse) -> bool:
    return not any(one.records for topic in response.responses for one in topic.partitions)


def test_an_empty_fetch_waits_its_full_time_and_no_longer(sim):
    ticket = sim.send(fetch_request(max_wait_ms=500), version=12)
    sim.advance(ms=499)
    assert ticket not in sim.replies
    sim.advance(ms=1)
    assert is_empty(sim.replies[ticket])


def test_a_fetch_with_no_time_is_answered_at_once(sim):
    assert is_empty(sim.ask(fetch_request(max_wait_ms=0), version=12))


def test_an_append_wakes_a_fetch_that_waits(sim):
    ticket = sim.send(fetch_request(max_wait_ms=500), version=12)
    sim.advance(ms=100)
    produce(sim, batch(b"a"))
    assert values(sim.replies[ticket].responses[0].partitions[0].records) == [b"a"]
    assert sim.engine.path.purgatory.next_deadline_ms() is None


def test_an_append_elsewhere_wakes_nobody(sim):
    ticket = sim.send(fetch_request(max_wait_ms=500), version=12)
    produce(sim, batch(b"a"), index=1, broker=1)
    assert ticket not in sim.replies


def test_a_fetch_goes_on_waiting_until_its_least_bytes_have_come(sim):
    size = len(batch(b"a"))
    ticket = sim.send(fetch_request(max_wait_ms=500, min_bytes=2 * size), version=12)
    produce(sim, batch(b"a"))
    assert ticket not in sim.replies
    produce(sim, batch(b"b"))
    assert values(sim.replies[ticket].responses[0].partitions[0].records) == [b"a", b"b"]


def test_too_little_is_given_when_the_time_is_over(sim):
    ticket = sim.send(fetch_request(max_wait_ms=500, min_bytes=10_000), version=12)
    produce(sim, batch(b"a"))
    sim.advance(ms=500)
    assert values(sim.replies[ticket].responses[0].partitions[0].records) == [b"a"]


def test_an_error_is_answered_without_waiting(sim):
    (topic,) = sim.ask(fetch_request(index=1, max_wait_ms=500), version=10, broker=0).responses
    assert topic.partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_waiting_fetch_learns_at_once_that_its_leader_has_changed(sim):
    ticket = sim.send(fetch_request(max_wait_ms=500, partition={"current_leader_epoch": 0}), version=10, broker=0)
    sim.cluster.cluster_control.stop(0, 0)
    sim.cluster.cluster_control.start(0, 0)
    sim.engine.wake(0)
    assert sim.replies[ticket].responses[0].partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_a_deleted_topic_ends_the_wait(sim):
    ticket = sim.send(fetch_request(max_wait_ms=500), version=12)
    sim.cluster.replication_control.delete(sim.cluster.topics[TOPIC])
    sim.engine.wake(0)
    assert sim.replies[ticket].responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (0, ErrorCode.FENCED_LEADER_EPOCH),
        (1, ErrorCode.NONE),
        (2, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (-1, ErrorCode.NONE),
    ],
)
def test_the_clients_leader_epoch_must_be_the_present_one(sim, epoch, error):
    sim.cluster.cluster_control.stop(0, 0)
    entry = fetch(sim, broker=1, partition={"current_leader_epoch": epoch})
    assert entry.error_code == error


def test_followers_serve_consumers_that_may_ask_them(sim):
    produce(sim, batch(b"a"))
    assert values(fetch(sim, broker=2, version=11).records) == [b"a"]
    assert fetch(sim, broker=2, version=10).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_offset_outside_the_log_is_refused(sim):
    produce(sim, batch(b"a"))
    for offset in (2, -1):
        entry = fetch(sim, offset)
        assert (entry.error_code, entry.high_watermark, entry.records) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1, b"")


def test_batches_fill_the_limits_the_last_one_cut_and_the_first_may_exceed_them(sim):
    size = len(batch(b"a" * 100))
    for _ in range(4):
        produce(sim, batch(b"a" * 100))
    assert len(fetch(sim, partition_max_bytes=2 * size + 1).records) == 2 * size + 1
    assert offsets(fetch(sim, partition_max_bytes=2 * size + 1).records) == [0, 1]
    assert len(fetch(sim, max_bytes=3 * size).records) == 3 * size
    assert len(fetch(sim, max_bytes=1).records) == size


def test_only_the_first_partition_with_records_may_exceed_the_limit(sim):
    sim.cluster.replication_control.create("wide", 2, assignment=[[0], [0]])
    for index in (0, 1):
        produce(sim, batch(b"a" * 100), topic="wide", index=index)
    wanted = [FetchRequest.Topic.Partition(partition=index, partition_max_bytes=10) for index in (0, 1)]
    request = FetchRequest(max_bytes=10, topics=[FetchRequest.Topic(topic="wide", partitions=wanted)])
    first, second = sim.ask(request, version=12).responses[0].partitions
    assert (bool(first.records), bool(second.records), second.high_watermark) == (True, False, 1)


def test_a_fetch_from_within_a_batch_gives_the_whole_batch(sim):
    produce(sim, batch(b"a", b"b", b"c"))
    assert offsets(fetch(sim, 1).records) == [0, 1, 2]


def test_a_log_that_was_cut_differently_is_reported(sim):
    produce(sim, batch(b"a", b"b"))
    sim.cluster.cluster_control.stop(0, 0)
    produce(sim, batch(b"c"), broker=1)
    entry = fetch(sim, 3, broker=1, partition={"last_fetched_epoch": 0})
    assert (entry.diverging_epoch.epoch, entry.diverging_epoch.end_offset) == (0, 2)
    assert entry.records == b""
    assert fetch(sim, 2, broker=1, partition={"last_fetched_epoch": 0}).diverging_epoch.epoch == -1


def test_a_reader_of_an_epoch_before_the_first_one_known_hears_where_that_begins(sim):
    sim.cluster.cluster_control.stop(0, 0)
    produce(sim, batch(b"a", b"b"), broker=1)
    sim.cluster.topics[TOPIC].partitions[0].log.advance_start(1)
    entry = fetch(sim, 2, broker=1, partition={"last_fetched_epoch": 0})
    assert (entry.error_code, entry.diverging_epoch.epoch, entry.diverging_epoch.end_offset) == (ErrorCode.NONE, 0, 1)


def test_a_reader_below_the_logs_start_is_out_of_range_though_epochs_diverge(sim):
    sim.cluster.cluster_control.stop(0, 0)
    produce(sim, batch(b"a", b"b"), broker=1)
    sim.cluster.topics[TOPIC].partitions[0].log.advance_start(2)
    entry = fetch(sim, 1, broker=1, partition={"last_fetched_epoch": 1})
    assert (entry.error_code, entry.diverging_epoch.epoch) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_a_reader_of_an_epoch_after_the_latest_is_out_of_range(sim):
    assert fetch(sim, partition={"last_fetched_epoch": 1}).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)])
def test_old_consumers_get_the_format_they_know(sim, version, magic):
    produce(sim, batch(b"a", b"b"))
    records = fetch(sim, version=version).records
    assert {header.magic for header in iter_batches(records)} == {magic}
    assert (values(records), offsets(records)) == ([b"a", b"b"], [0, 1])


def test_zstd_is_refused_to_consumers_of_messages_and_given_to_those_of_batches_as_kafka_does(sim):
    produce(sim, batch(b"a", codec=CompressionCodec.ZSTD))
    assert fetch(sim, version=3).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert values(fetch(sim, version=4).records) == [b"a"]


def test_topics_go_by_id_since_version_13(sim):
    produce(sim, batch(b"a"))
    topic_id = sim.cluster.topics[TOPIC].id
    wanted = FetchRequest.Topic.Partition(partition=0, partition_max_bytes=1000)
    request = FetchRequest(topics=[FetchRequest.Topic(topic_id=topic_id, partitions=[wanted])])
    (topic,) = sim.ask(request, version=18).responses
    assert (topic.topic_id, values(topic.partitions[0].records)) == (topic_id, [b"a"])
    request.topics[0].topic_id = b"\1" * 16
    assert sim.ask(request, version=13).responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_refused_fetch_says_who_leads_and_where(sim):
    sim.cluster.replication_control.create("single", 1, assignment=[[1]])
    topic_id = sim.cluster.topics["single"].id
    wanted = FetchRequest.Topic.Partition(partition=0, partition_max_bytes=1000)
    response = sim.ask(FetchRequest(topics=[FetchRequest.Topic(topic_id=topic_id, partitions=[wanted])]), version=16)
    entry = response.responses[0].partitions[0]
    assert (entry.error_code, entry.current_leader.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 1)
    assert [(node.node_id, node.port) for node in response.node_endpoints] == [(1, 9093)]


def test_a_broker_that_stops_names_nobody_as_leader_of_a_diskless_partition_to_readers(sim):
    sim.cluster.brokers[0].is_running = False
    wanted = FetchRequest.Topic.Partition(partition=0, partition_max_bytes=1000)
    topic = FetchRequest.Topic(topic_id=sim.cluster.topics["events"].id, partitions=[wanted])
    entry = sim.ask(FetchRequest(topics=[topic]), version=16).responses[0].partitions[0]
    assert entry.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (entry.current_leader.leader_id, entry.current_leader.leader_epoch) == (-1, -1)


def test_a_fetch_with_an_old_leader_epoch_learns_who_leads_and_where(sim):
    sim.cluster.replication_control.create("moving", 1, assignment=[[0, 1]])
    sim.cluster.replication_control.reassign("moving", 0, [1, 0])
    wanted = FetchRequest.Topic.Partition(partition=0, partition_max_bytes=1000, current_leader_epoch=0)
    topic = FetchRequest.Topic(topic_id=sim.cluster.topics["moving"].id, partitions=[wanted])
    response = sim.ask(FetchRequest(topics=[topic]), version=16)
    entry = response.responses[0].partitions[0]
    assert (entry.error_code, entry.current_leader.leader_id) == (ErrorCode.FENCED_LEADER_EPOCH, 1)
    assert [(node.node_id, node.port) for node in response.node_endpoints] == [(1, 9093)]


# sessions


class Session:
    """A client that fetches in a session from broker 0."""

    def __init__(self, sim: Simulation, *indexes: int) -> None:
        self.sim = sim
        self.epoch = 0
        self.id = 0
        self.first = self.ask(*[(index, 0) for index in indexes])
        self.id = self.first.session_id

    def ask(self, *wanted: tuple[int, int], forget: tuple[int, ...] = (), **fields: Any) -> FetchResponse:
        request = FetchRequest(
            session_id=self.id,
            session_epoch=self.epoch,
            max_wait_ms=0,
            topics=[
                FetchRequest.Topic(
                    topic="wide",
                    partitions=[
                        FetchRequest.Topic.Partition(partition=index, fetch_offset=offset, partition_max_bytes=10**6)
                        for index, offset in wanted
                    ],
                )
            ]
            if wanted
            else [],
            forgotten_topics_data=[FetchRequest.ForgottenTopic(topic="wide", partitions=list(forget))]
            if forget
            else [],
            **fields,
        )
        self.epoch += 1
        return self.sim.ask(request, version=12)


def told(response: FetchResponse) -> list[int]:
    return [one.partition_index for topic in response.responses for one in topic.partitions]


@pytest.fixture
def session(sim: Simulation) -> Session:
    """A session over partitions 0-2 of the topic wide, all led by broker 0."""
    sim.cluster.replication_control.create("wide", 4, assignment=[[0]] * 4)
    return Session(sim, 0, 1, 2)


def test_a_session_is_first_told_of_everything_and_then_of_changes(sim, session):
    assert session.id != 0
    assert told(session.first) == [0, 1, 2]
    assert told(session.ask()) == []
    produce(sim, batch(b"a"), topic="wide", index=1)
    assert told(session.ask()) == [1]
    assert told(session.ask((1, 1))) == []


def test_partitions_join_and_leave_a_session(sim, session):
    assert told(session.ask((3, 0), forget=(0,))) == [3]
    for index in (0, 3):
        produce(sim, batch(b"a"), topic="wide", index=index)
    assert told(session.ask()) == [3]


def test_a_session_reads_its_partitions_in_turn(sim, session):
    for index in (0, 1, 2):
        for _ in range(2):
            produce(sim, batch(b"a" * 100), topic="wide", index=index)
    served = []
    offset = dict.fromkeys(range(3), 0)
    for _ in range(6):
        response = session.ask(*offset.items(), max_bytes=1)
        for topic in response.responses:
            for one in topic.partitions:
                if one.records:
                    served.append(one.partition_index)
                    offset[one.partition_index] += 1
    assert served == [0, 1, 2, 0, 1, 2]


def test_errors_are_told_each_time(sim, session):
    assert told(session.ask((1, 99))) == [1]
    assert told(session.ask()) == [1]


def test_a_session_ends_with_its_broker(sim, session):
    sim.cluster.cluster_control.stop(0, 0)
    sim.cluster.cluster_control.start(0, 0)
    assert session.ask().error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_wrong_session_epoch_is_refused(session):
    session.epoch += 1
    assert session.ask().error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_client_closes_its_session_with_the_final_epoch(session):
    session.epoch = -1
    response = session.ask((0, 0))
    assert (response.session_id, told(response)) == (0, [0])
    session.epoch = 1
    assert session.ask().error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_without_partitions_is_over(session):
    response = session.ask(forget=(0, 1, 2))
    assert (response.session_id, told(response)) == (0, [])


def test_a_waiting_session_is_answered_in_full_after_the_wait(sim, session):
    request = FetchRequest(session_id=session.id, session_epoch=1, max_wait_ms=500, min_bytes=1)
    ticket = sim.send(request, version=12)
    produce(sim, batch(b"a"), topic="wide", index=2)
    assert told(sim.replies[ticket]) == [2]
