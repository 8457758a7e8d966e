from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.share_groups.share_states import NO_OFFSET, SharePartitionKey, share_of
from mockbroker.state.image import GROUP_RESOURCE
from protocol.embedded.metadata_settings import ConfigRecord
from protocol.error_codes import ErrorCode
from protocol.records import Record, build_batch
from tests.unit.mockbroker.handlers.records import produce
from tests.unit.mockbroker.share_groups.share import (
    ACCEPT,
    GAP,
    GROUP,
    REJECT,
    RELEASE,
    RENEW,
    TOPIC,
    acknowledge,
    acquired,
    begun,
    filled,
    outcome,
    read_values,
    share_fetch,
    share_fetch_request,
)

LOCK_MS = 30_000


def test_a_member_acquires_what_it_is_given_and_another_one_does_not_get_it(sim):
    topic = begun(sim)
    filled(sim, 3)
    first = share_fetch(sim, topic)
    assert acquired(first) == [(0, 2, 1)]
    assert read_values(first) == [b"0", b"1", b"2"]
    assert first.acquisition_lock_timeout_ms == LOCK_MS
    assert acquired(share_fetch(sim, topic, member="two")) == []


def test_two_members_get_different_records(sim):
    topic = begun(sim)
    filled(sim, 2)
    share_fetch(sim, topic)
    filled(sim, 2)
    assert acquired(share_fetch(sim, topic, member="two")) == [(2, 3, 1)]


def test_accepted_records_never_come_again(sim):
    topic = begun(sim)
    filled(sim, 3)
    share_fetch(sim, topic)
    assert outcome(acknowledge(sim, topic, 1, (0, 2, [ACCEPT]))) == ErrorCode.NONE
    sim.advance(LOCK_MS)
    assert acquired(share_fetch(sim, topic, 2)) == []


def test_released_records_come_again_and_are_counted(sim):
    topic = begun(sim)
    filled(sim, 3)
    share_fetch(sim, topic)
    acknowledge(sim, topic, 1, (0, 2, [RELEASE]))
    assert acquired(share_fetch(sim, topic, member="two")) == [(0, 2, 2)]


def test_each_record_can_be_told_of_by_itself(sim):
    topic = begun(sim)
    filled(sim, 4)
    share_fetch(sim, topic)
    acknowledge(sim, topic, 1, (0, 3, [ACCEPT, RELEASE, REJECT, GAP]))
    assert acquired(share_fetch(sim, topic, 2)) == [(1, 1, 2)]


def test_a_lock_that_times_out_gives_the_records_to_others(sim):
    topic = begun(sim)
    filled(sim, 3)
    share_fetch(sim, topic)
    waiting = sim.send(share_fetch_request(topic, member="two", max_wait_ms=60_000))
    sim.advance(LOCK_MS - 1)
    assert waiting not in sim.replies
    sim.advance(1)
    assert acquired(sim.replies[waiting]) == [(0, 2, 2)]
    late = acknowledge(sim, topic, 1, (0, 2, [ACCEPT]))
    assert outcome(late) == ErrorCode.INVALID_RECORD_STATE
    assert late.responses[0].partitions[0].error_message


def test_a_renewed_lock_lasts_longer(sim):
    topic = begun(sim)
    filled(sim, 1)
    share_fetch(sim, topic)
    sim.advance(LOCK_MS - 1)
    assert outcome(acknowledge(sim, topic, 1, (0, 0, [RENEW]), is_renew_ack=True)) == ErrorCode.NONE
    sim.advance(LOCK_MS - 1)
    assert acquired(share_fetch(sim, topic, member="two")) == []
    assert outcome(acknowledge(sim, topic, 2, (0, 0, [ACCEPT]))) == ErrorCode.NONE


@pytest.mark.parametrize(("version", "is_renew_ack"), [(1, False), (2, False)])
def test_a_renewal_takes_version_2_and_its_flag(sim, version, is_renew_ack):
    topic = begun(sim)
    filled(sim, 1)
    share_fetch(sim, topic)
    answer = acknowledge(sim, topic, 1, (0, 0, [RENEW]), version=version, is_renew_ack=is_renew_ack)
    assert outcome(answer) == ErrorCode.INVALID_REQUEST


def test_records_are_archived_once_they_were_delivered_often_enough(sim):
    topic = begun(sim)
    filled(sim, 1)
    for delivery in range(1, 6):
        assert acquired(share_fetch(sim, topic)) == [(0, 0, delivery)]
        sim.advance(LOCK_MS)
    assert acquired(share_fetch(sim, topic)) == []
    assert share_of(sim.cluster).get(SharePartitionKey(GROUP, topic, 0)).start_offset == 1


def test_records_that_were_delivered_often_come_in_smaller_numbers_and_at_last_alone(sim):
    topic = begun(sim)
    filled(sim, 8)
    for _ in range(3):
        share_fetch(sim, topic)
        sim.advance(LOCK_MS)
    half = share_fetch(sim, topic, member="two")
    assert acquired(half) == [(0, 3, 4)]
    assert acquired(share_fetch(sim, topic, 1, member="two")) == [(4, 7, 4)]
    sim.advance(LOCK_MS)
    assert acquired(share_fetch(sim, topic, 2, member="two")) == [(0, 0, 5)]
    assert acquired(share_fetch(sim, topic, 3, member="two")) == [(1, 1, 5)]


def test_a_whole_batch_of_the_log_comes_even_where_fewer_records_are_asked_for(sim):
    topic = begun(sim)
    filled(sim, 5, 5)
    assert acquired(share_fetch(sim, topic, max_records=2)) == [(0, 4, 1)]


def test_with_a_record_limit_no_more_come_and_the_rest_goes_to_others(sim):
    topic = begun(sim)
    filled(sim, 5)
    assert acquired(share_fetch(sim, topic, max_records=2, share_acquire_mode=1)) == [(0, 1, 1)]
    assert acquired(share_fetch(sim, topic, member="two", max_records=2, share_acquire_mode=1)) == [(2, 3, 1)]
    assert acquired(share_fetch(sim, topic, member="three")) == [(4, 4, 1)]


def test_records_come_in_batches_of_about_the_size_asked_for(sim):
    topic = begun(sim)
    filled(sim, 5, 5, 5)
    assert acquired(share_fetch(sim, topic, batch_size=7)) == [(0, 9, 1), (10, 14, 1)]


def test_no_more_records_are_in_flight_than_the_limit_lets(sim):
    sim = Simulation("a,b,c", settings={"group.share.partition.max.record.locks": "100"})
    topic = begun(sim)
    filled(sim, 60, 60, 60)
    assert acquired(share_fetch(sim, topic)) == [(0, 119, 1)]
    assert acquired(share_fetch(sim, topic, member="two")) == []
    acknowledge(sim, topic, 1, (0, 119, [ACCEPT]))
    assert acquired(share_fetch(sim, topic, 1, member="two")) == [(120, 179, 1)]


def test_acknowledgements_ride_on_a_fetch(sim):
    topic = begun(sim)
    filled(sim, 2)
    share_fetch(sim, topic)
    filled(sim, 2)
    answer = share_fetch(sim, topic, 1, batches=[(0, 1, [ACCEPT])])
    assert acquired(answer) == [(2, 3, 1)]
    assert answer.responses[0].partitions[0].acknowledge_error_code == ErrorCode.NONE


def test_a_fetch_tells_what_became_of_acknowledgements_without_records_too(sim):
    topic = begun(sim)
    filled(sim, 2)
    share_fetch(sim, topic)
    answer = share_fetch(sim, topic, 1, batches=[(7, 8, [ACCEPT])])
    entry = answer.responses[0].partitions[0]
    assert (entry.error_code, entry.acknowledge_error_code) == (ErrorCode.NONE, ErrorCode.INVALID_REQUEST)
    assert entry.acknowledge_error_message


@pytest.mark.parametrize(
    "batches",
    [
        [(1, 0, [ACCEPT])],
        [(0, 1, [])],
        [(0, 1, [ACCEPT] * 3)],
        [(0, 1, [5])],
        [(0, 1, [-1])],
        [(1, 1, [ACCEPT]), (0, 0, [ACCEPT])],
    ],
)
def test_acknowledgements_that_make_no_sense_are_refused(sim, batches):
    topic = begun(sim)
    filled(sim, 2)
    share_fetch(sim, topic)
    answer = acknowledge(sim, topic, 1, *batches)
    assert outcome(answer) == ErrorCode.INVALID_REQUEST
    assert answer.responses[0].partitions[0].error_message is None


def test_all_acknowledgements_of_a_partition_count_or_none(sim):
    topic = begun(sim)
    filled(sim, 2, 2)
    share_fetch(sim, topic, batch_size=1)
    assert outcome(acknowledge(sim, topic, 1, (0, 1, [ACCEPT]), (2, 9, [ACCEPT]))) == ErrorCode.INVALID_REQUEST
    assert outcome(acknowledge(sim, topic, 2, (0, 3, [ACCEPT]))) == ErrorCode.NONE


def test_records_of_another_member_cannot_be_acknowledged(sim):
    topic = begun(sim)
    filled(sim, 2)
    share_fetch(sim, topic)
    share_fetch(sim, topic, member="two")
    assert outcome(acknowledge(sim, topic, 1, (0, 1, [ACCEPT]), member="two")) == ErrorCode.INVALID_RECORD_STATE


# sessions


def test_a_session_takes_its_epochs_in_order(sim):
    topic = begun(sim)
    share_fetch(sim, topic)
    assert share_fetch(sim, topic, 1).error_code == ErrorCode.NONE
    assert share_fetch(sim, topic, 1).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert acknowledge(sim, topic, 5, (0, 0, [ACCEPT])).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert acknowledge(sim, topic, 0, (0, 0, [ACCEPT])).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert share_fetch(sim, topic, 2).error_code == ErrorCode.NONE


@pytest.mark.parametrize("epoch", [-1, 1, 7])
def test_without_a_session_only_its_first_request_is_taken(sim, epoch):
    topic = begun(sim)
    assert share_fetch(sim, topic, epoch).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert acknowledge(sim, topic, epoch, (0, 0, [ACCEPT])).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_the_first_request_of_a_session_acknowledges_nothing(sim):
    topic = begun(sim)
    assert share_fetch(sim, topic, batches=[(0, 0, [ACCEPT])]).error_code == ErrorCode.INVALID_REQUEST


def test_the_end_of_a_session_gives_back_what_its_member_has(sim):
    topic = begun(sim)
    filled(sim, 4)
    share_fetch(sim, topic)
    ending = share_fetch(sim, topic, -1, batches=[(0, 1, [ACCEPT])], max_wait_ms=500)
    assert ending.responses[0].partitions[0].acknowledge_error_code == ErrorCode.NONE
    assert acquired(share_fetch(sim, topic, member="two")) == [(2, 3, 2)]
    assert share_fetch(sim, topic, 1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_a_session_ends_with_its_connection(sim):
    topic = begun(sim)
    filled(sim, 2)
    ticket = sim.send(share_fetch_request(topic))
    share_fetch(sim, topic, member="two")
    share_of(sim.cluster).connection_closed(0, ticket)
    assert acquired(share_fetch(sim, topic, 1, member="two")) == [(0, 1, 2)]
    assert share_fetch(sim, topic, 1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_there_are_no_more_sessions_than_the_limit_and_who_is_refused_waits(sim):
    sim = Simulation("a,b,c", settings={"group.share.max.share.sessions": "1"})
    topic = begun(sim)
    share_fetch(sim, topic)
    waiting = sim.send(share_fetch_request(topic, member="two", max_wait_ms=100))
    sim.advance(99)
    assert waiting not in sim.replies
    sim.advance(1)
    assert sim.replies[waiting].error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert share_fetch(sim, topic).error_code == ErrorCode.NONE


@pytest.mark.parametrize(("group", "member"), [(None, "one"), (GROUP, ""), (GROUP, None), (GROUP, "m" * 37)])
def test_a_member_without_a_name_is_refused(sim, group, member):
    topic = begun(sim)
    assert share_fetch(sim, topic, group=group, member=member).error_code == ErrorCode.INVALID_REQUEST
    answer = acknowledge(sim, topic, 1, (0, 0, [ACCEPT]), group=group, member=member)
    assert answer.error_code == ErrorCode.INVALID_REQUEST


# partitions


def test_an_unknown_topic_and_an_unknown_partition_have_their_errors(sim):
    topic = begun(sim)
    (unknown,) = share_fetch(sim, bytes(15) + b"\1").responses
    assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    (known,) = share_fetch(sim, topic, indexes=[4]).responses
    assert known.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert known.partitions[0].error_message is None


def test_a_broker_that_does_not_lead_names_the_leader(sim):
    topic = begun(sim)
    response = share_fetch(sim, topic, broker=1, max_wait_ms=500)
    entry = response.responses[0].partitions[0]
    assert entry.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (entry.current_leader.leader_id, entry.current_leader.leader_epoch) == (0, 0)
    assert [(one.node_id, one.rack) for one in response.node_endpoints] == [(0, "a")]


def test_without_an_error_the_leader_has_kafkas_defaults(sim):
    topic = begun(sim)
    filled(sim, 1)
    entry = share_fetch(sim, topic).responses[0].partitions[0]
    assert (entry.current_leader.leader_id, entry.current_leader.leader_epoch) == (0, 0)


def test_a_share_partition_that_nobody_began_is_told_of_when_the_time_is_over(sim):
    topic = sim.cluster.replication_control.create(TOPIC, 1, 3).id
    waiting = sim.send(share_fetch_request(topic, max_wait_ms=100))
    assert waiting not in sim.replies
    sim.advance(100)
    assert sim.replies[waiting].responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_another_leader_goes_on_with_what_was_settled_and_forgets_locks(sim):
    topic = begun(sim)
    filled(sim, 2, 2, 2)
    share_fetch(sim, topic, batch_size=1)
    acknowledge(sim, topic, 1, (2, 3, [ACCEPT]))
    sim.move_leader(TOPIC, 0, 1)
    assert acquired(share_fetch(sim, topic, broker=1)) == [(0, 1, 1), (4, 5, 1)]
    assert share_fetch(sim, topic, 2).responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert outcome(acknowledge(sim, topic, 3, (0, 1, [ACCEPT]))) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_stopped_broker_loses_sessions_and_locks_and_no_acknowledgement(sim):
    topic = begun(sim)
    filled(sim, 2, 2)
    share_fetch(sim, topic, batch_size=1)
    acknowledge(sim, topic, 1, (0, 1, [ACCEPT]))
    sim.stop_broker(0)
    leader = sim.cluster.topics[TOPIC].partitions[0].leader
    assert acquired(share_fetch(sim, topic, broker=leader)) == [(2, 3, 1)]


@pytest.mark.parametrize("end", ["stop_broker", "crash_broker"])
def test_locks_on_a_diskless_topic_end_with_the_broker_of_their_session(sim, end):
    topic = sim.cluster.replication_control.create(TOPIC, 1, configs={"diskless.enable": "true"}).id
    share_of(sim.cluster).coordinator.initialize(SharePartitionKey(GROUP, topic, 0), 1, 0)
    filled(sim, 3)
    assert acquired(share_fetch(sim, topic)) == [(0, 2, 1)]
    assert acquired(share_fetch(sim, topic, member="two", broker=1)) == []
    getattr(sim, end)(0)
    assert acquired(share_fetch(sim, topic, 1, member="two", broker=1)) == [(0, 2, 2)]


def test_a_fetch_that_waits_is_answered_though_a_topic_that_another_broker_leads_is_deleted(sim):
    topic = begun(sim)
    there = sim.cluster.replication_control.create("there", assignment=[[1]])
    request = share_fetch_request(topic, max_wait_ms=500)
    request.topics.append(
        type(request).Topic(topic_id=there.id, partitions=[type(request).Topic.Partition(partition_index=0)])
    )
    ticket = sim.send(request)
    sim.delete_topic("there")
    sim.advance(500)
    answer = sim.replies[ticket]
    assert answer.error_code == ErrorCode.NONE
    (entry,) = next(one for one in answer.responses if one.topic_id == there.id).partitions
    assert entry.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_records_that_are_gone_from_the_log_are_passed_over(sim):
    topic = begun(sim)
    filled(sim, 2, 2)
    share_fetch(sim, topic, batch_size=1)
    acknowledge(sim, topic, 1, (0, 3, [RELEASE]))
    sim.cluster.topics[TOPIC].partitions[0].log.advance_start(2)
    share_fetch(sim, topic, 2)
    assert acquired(share_fetch(sim, topic, 3)) == [(2, 3, 2)]


def test_only_what_is_done_with_behind_the_start_counts_as_delivered(sim):
    topic = begun(sim)
    filled(sim, *[1] * 6)
    share_fetch(sim, topic, batch_size=1)
    running = share_of(sim.cluster).get(SharePartitionKey(GROUP, topic, 0))
    acknowledge(sim, topic, 1, (2, 2, [RELEASE]))
    assert running.delivery_complete_count == 0
    acknowledge(sim, topic, 2, (1, 1, [ACCEPT]), (3, 4, [REJECT]))
    assert (running.start_offset, running.delivery_complete_count) == (0, 3)
    running.log_starts_at(4)  # records before 4 are gone, two of those that were done with
    assert (running.start_offset, running.delivery_complete_count) == (4, 1)


def test_a_fetch_waits_for_its_least_bytes_or_its_time(sim):
    topic = begun(sim)
    waiting = sim.send(share_fetch_request(topic, max_wait_ms=500, min_bytes=1))
    filled(sim, 1)
    assert acquired(sim.replies[waiting]) == [(0, 0, 1)]
    filled(sim, 1)
    waiting = sim.send(share_fetch_request(topic, 1, max_wait_ms=500, min_bytes=10_000))
    sim.advance(499)
    assert waiting not in sim.replies
    sim.advance(1)
    assert acquired(sim.replies[waiting]) == [(1, 1, 1)]


@pytest.mark.parametrize("limits", [{"max_records": 0}, {"max_bytes": 0}])
def test_who_wants_nothing_is_answered_at_once(sim, limits):
    topic = begun(sim)
    filled(sim, 1)
    response = share_fetch(sim, topic, **{"max_wait_ms": 500, **limits})
    assert (response.error_code, response.responses) == (ErrorCode.NONE, [])


def test_within_a_session_partitions_without_news_are_left_out(sim):
    topic = begun(sim, 3)
    assert len(share_fetch(sim, topic).responses[0].partitions) == 1
    assert share_fetch(sim, topic, 1, indexes=[]).responses == []
    filled(sim, 1)
    assert acquired(share_fetch(sim, topic, 2, indexes=[])) == [(0, 0, 1)]


def test_a_group_that_was_never_told_where_to_begin_begins_at_the_end(sim):
    topic = sim.cluster.replication_control.create(TOPIC, 1, 3).id
    filled(sim, 2)
    share_of(sim.cluster).coordinator.initialize(SharePartitionKey(GROUP, topic, 0), 1, NO_OFFSET)
    assert acquired(share_fetch(sim, topic)) == []
    filled(sim, 1)
    assert acquired(share_fetch(sim, topic, 1)) == [(2, 2, 1)]


@pytest.mark.parametrize(("age", "given"), [("PT+1S", []), ("PT+1H", [(0, 1, 1)])])
def test_a_group_begins_with_the_records_of_a_duration(sim, age, given):
    sim.advance(5000)  # the records are of 1000
    topic = sim.cluster.replication_control.create(TOPIC, 1, 3).id
    filled(sim, 2)
    config = {"resource_type": GROUP_RESOURCE, "resource_name": GROUP, "name": "share.auto.offset.reset"}
    sim.cluster.writer.commit([ConfigRecord(**config, value=f"by_duration:{age}")])
    share_of(sim.cluster).coordinator.initialize(SharePartitionKey(GROUP, topic, 0), 1, NO_OFFSET)
    assert acquired(share_fetch(sim, topic)) == given


def test_a_fork_and_a_reset_have_what_was_acknowledged(sim):
    topic = begun(sim)
    filled(sim, 2, 2)
    share_fetch(sim, topic, batch_size=1)
    acknowledge(sim, topic, 1, (0, 1, [ACCEPT]))
    assert acquired(share_fetch(sim.fork(), topic)) == [(2, 3, 1)]


def test_the_journal_counts_what_members_fetch_and_what_crosses_racks(sim):
    topic = begun(sim)
    filled(sim, 3)
    request = share_fetch_request(topic)
    here = sim.send(request, client_id="one,diskless_az=a")
    filled(sim, 1)
    away = sim.send(share_fetch_request(topic, member="two"), client_id="two,diskless_az=b")
    near, far = (next(one for one in sim.journal if one.connection == ticket) for ticket in (here, away))
    assert (near.api, near.category, near.locality, near.groups) == ("ShareFetch", "consume", "local", (GROUP,))
    assert near.topics == {TOPIC: (0,)}
    size = len(sim.replies[here].responses[0].partitions[0].records)
    assert near.traffic == {TOPIC: size}
    assert (far.locality, far.locality_reason) == ("cross", "share_group")


def test_a_topic_named_twice_gives_the_partitions_of_both(sim):
    # As librdkafka 2.15 asks where the partitions of topics stand in turns: t-4, u-1, u-4, t-1.
    topic_id = begun(sim, 12)
    partitions = sim.cluster.topics[TOPIC].partitions
    here, there, *_ = (index for index in range(12) if partitions[index].leader == 0)
    for index in (here, there):
        assert produce(sim, build_batch([Record(value=b"a")]), index=index, broker=0).error_code == 0
    request = share_fetch_request(topic_id, indexes=[here])
    request.topics += share_fetch_request(topic_id, indexes=[there]).topics
    (topic,) = sim.ask(request, broker=0).responses
    assert {one.partition_index: len(one.acquired_records) for one in topic.partitions} == {here: 1, there: 1}


@pytest.mark.parametrize("name", ["SHARE_SESSION_NOT_FOUND", "INVALID_SHARE_SESSION_EPOCH"])
def test_injected_errors_of_sessions_are_at_the_top_of_the_answer(sim, name):
    topic = begun(sim)
    filled(sim, 1)
    sim.faults.add(match={"api": ["ShareFetch", "ShareAcknowledge"]}, effect={"error": name})
    refused = share_fetch(sim, topic)
    assert (refused.error_code, refused.error_message, refused.responses) == (ErrorCode[name], None, [])
    refused = acknowledge(sim, topic, 1, (0, 0, [ACCEPT]))
    assert (refused.error_code, refused.error_message, refused.responses) == (ErrorCode[name], None, [])
