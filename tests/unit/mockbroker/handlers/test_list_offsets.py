from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from protocol.apis.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from protocol.error_codes import ErrorCode
from protocol.records import Record, build_batch
from tests.unit.mockbroker.handlers.records import TOPIC, batch, produce

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    """Topic orders: records at 100, 300, 200 in one batch, 250 in the next, 400 in the last."""
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    produce(sim, build_batch([Record(timestamp=time, value=b"x") for time in (100, 300, 200)]))
    produce(sim, batch(b"x", timestamp=250))
    produce(sim, batch(b"x", timestamp=400))
    return sim


def ask(
    sim: Simulation, timestamp: int, *, version: int = 11, index: int = 0, **fields: object
) -> ListOffsetsResponse.Topic.Partition:
    broker = fields.pop("broker", 0)
    wanted = ListOffsetsRequest.Topic.Partition(partition_index=index, timestamp=timestamp, **fields)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.Topic(name=TOPIC, partitions=[wanted])])
    return sim.ask(request, version=version, broker=broker).topics[0].partitions[0]


def test_both_ends_of_the_log_are_found(sim):
    latest, earliest = ask(sim, LATEST), ask(sim, EARLIEST)
    assert (latest.offset, latest.timestamp, latest.leader_epoch) == (5, -1, 0)
    assert (earliest.offset, earliest.timestamp, earliest.leader_epoch) == (0, -1, 0)
    assert ask(sim, EARLIEST_LOCAL).offset == 0
    assert ask(sim, LATEST_TIERED).offset == -1


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [(0, (100, 0)), (100, (100, 0)), (101, (300, 1)), (300, (300, 1)), (301, (400, 4)), (401, (-1, -1))],
)
def test_a_timestamp_finds_the_first_record_that_is_not_older(sim, timestamp, found):
    entry = ask(sim, timestamp)
    assert (entry.timestamp, entry.offset) == found


def test_the_newest_record_is_found(sim):
    produce(sim, batch(b"x", timestamp=350))
    entry = ask(sim, MAX_TIMESTAMP)
    assert (entry.timestamp, entry.offset) == (400, 4)


def delete_before(sim: Simulation, offset: int) -> None:
    sim.cluster.topics[TOPIC].partitions[0].log.advance_start(offset)


@pytest.mark.parametrize(
    ("start", "timestamp", "found"),
    [(1, 0, (300, 1)), (2, 0, (200, 2)), (2, 250, (250, 3)), (4, 0, (400, 4)), (5, 0, (-1, -1)), (5, 400, (-1, -1))],
)
def test_records_before_the_logs_start_are_passed_over(sim, start, timestamp, found):
    delete_before(sim, start)
    entry = ask(sim, timestamp)
    assert (entry.timestamp, entry.offset) == found


def test_the_newest_record_keeps_its_own_offset_though_it_is_before_the_logs_start(sim):
    produce(sim, build_batch([Record(timestamp=time, value=b"x") for time in (500, 450)]))
    delete_before(sim, 6)
    entry = ask(sim, MAX_TIMESTAMP)
    assert (entry.timestamp, entry.offset) == (500, 5)


def test_the_log_of_a_new_leader_starts_with_its_epoch(sim):
    delete_before(sim, 5)
    sim.cluster.cluster_control.stop(0, 0)
    assert [ask(sim, mark, broker=1).leader_epoch for mark in (EARLIEST, LATEST)] == [1, 1]


def test_marks_of_later_versions_mean_nothing_in_older_ones(sim):
    for timestamp, version in ((MAX_TIMESTAMP, 6), (EARLIEST_LOCAL, 7), (LATEST_TIERED, 8), (-6, 10), (-7, 11)):
        assert ask(sim, timestamp, version=version).error_code == ErrorCode.UNSUPPORTED_VERSION
        assert ask(sim, timestamp, version=version).offset == -1


def test_version_0_gives_a_list_of_offsets(sim):
    assert ask(sim, LATEST, version=0, max_num_offsets=2).old_style_offsets == [5, 0]
    assert ask(sim, LATEST, version=0).old_style_offsets == [5]
    assert ask(sim, EARLIEST, version=0, max_num_offsets=9).old_style_offsets == [0]


def test_only_the_leader_answers_and_epochs_are_compared(sim):
    assert ask(sim, LATEST, broker=1).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ask(sim, LATEST, current_leader_epoch=1).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    sim.cluster.cluster_control.stop(0, 0)
    assert ask(sim, LATEST, broker=1, current_leader_epoch=0).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert ask(sim, LATEST, index=1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
