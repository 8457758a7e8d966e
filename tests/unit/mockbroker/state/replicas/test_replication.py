"""Replicas that are slowed down or cut off: their log end offsets, the high watermark, and who stays in sync."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.replicas.network import CONTROLLER
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.topics import CreateTopicsRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch, produce, produce_request, values

LAG_TIME_MS = 30_000
SESSION_MS = 9_000


@pytest.fixture
def sim() -> Simulation:
    """Partition 0 of orders is led by broker 0, with followers 1 and 2 in sync."""
    sim = Simulation(racks="a,b,c")
    sim.cluster.replication_control.create(TOPIC, 1, assignment=[[0, 1, 2]], configs={"min.insync.replicas": "2"})
    return sim


def partition(sim):
    return sim.cluster.topics[TOPIC].partitions[0]


def send(sim, value=b"a", *, acks=-1, timeout_ms=60_000, broker=0):
    request = produce_request(batch(value), acks=acks)
    request.timeout_ms = timeout_ms
    return sim.send(request, version=12, broker=broker)


def error_of(sim, ticket):
    return sim.replies[ticket].responses[0].partition_responses[0].error_code


def test_without_a_fault_every_replica_has_everything_at_once(sim):
    produce(sim, batch(b"a"))
    assert partition(sim).high_watermark == 1
    assert partition(sim).replica_states is None, "nothing is kept about replicas that have caught up"


# a link that is cut


def test_a_cut_follower_holds_the_high_watermark_and_acks_all_until_it_falls_out_of_sync(sim):
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    ticket = send(sim)
    assert ticket not in sim.replies
    assert (partition(sim).high_watermark, partition(sim).log.end_offset) == (0, 1)
    sim.advance(ms=LAG_TIME_MS - 1)
    assert partition(sim).isr == (0, 1, 2)
    assert ticket not in sim.replies
    sim.advance(ms=1)
    assert partition(sim).isr == (0, 2)
    assert error_of(sim, ticket) == ErrorCode.NONE
    assert partition(sim).high_watermark == 1


def test_consumers_read_no_further_than_the_high_watermark(sim):
    produce(sim, batch(b"before"))
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    assert produce(sim, batch(b"after"), acks=1).error_code == ErrorCode.NONE
    entry = fetch(sim, 0)
    assert (values(entry.records), entry.high_watermark) == ([b"before"], 1)
    assert values(fetch(sim, 1).records) == []
    asked = ListOffsetsRequest.Topic(
        name=TOPIC, partitions=[ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=-1)]
    )
    assert sim.ask(ListOffsetsRequest(replica_id=-1, topics=[asked])).topics[0].partitions[0].offset == 1
    sim.cluster.cluster_control.restore_link(0, 1, sim.now_ms)
    assert values(fetch(sim, 0).records) == [b"before", b"after"]


def test_a_follower_that_lacks_nothing_stays_in_sync_however_long_it_is_cut_off(sim):
    produce(sim, batch(b"a"))
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    sim.advance(ms=10 * LAG_TIME_MS)
    assert partition(sim).isr == (0, 1, 2)


def test_acks_all_gives_up_at_its_timeout(sim):
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    ticket = send(sim, timeout_ms=500)
    sim.advance(ms=499)
    assert ticket not in sim.replies
    sim.advance(ms=1)
    entry = sim.replies[ticket].responses[0].partition_responses[0]
    assert (entry.error_code, entry.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, -1)


def test_while_too_few_replicas_are_in_sync_the_high_watermark_stays_and_acks_all_times_out(sim):
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    sim.cluster.cluster_control.cut_link(0, 2, sim.now_ms)
    ticket = send(sim)
    sim.advance(ms=LAG_TIME_MS)
    assert (partition(sim).isr, partition(sim).high_watermark, partition(sim).log.end_offset) == ((0,), 0, 1)
    assert error_of(sim, send(sim)) == ErrorCode.NOT_ENOUGH_REPLICAS
    sim.advance(ms=60_000 - LAG_TIME_MS)
    assert error_of(sim, ticket) == ErrorCode.REQUEST_TIMED_OUT
    sim.cluster.cluster_control.restore_link(0, 1, sim.now_ms)
    assert (partition(sim).isr, partition(sim).high_watermark) == ((0, 1), 1)


def test_while_too_few_brokers_are_up_what_acks_1_wrote_is_not_read(sim):
    produce(sim, batch(b"before"))
    sim.cluster.cluster_control.stop(1, sim.now_ms)
    sim.cluster.cluster_control.stop(2, sim.now_ms)
    assert produce(sim, batch(b"after"), acks=1).base_offset == 1
    assert values(fetch(sim, 0).records) == [b"before"]
    sim.cluster.cluster_control.start(2, sim.now_ms)
    assert values(fetch(sim, 0).records) == [b"before", b"after"]
    assert partition(sim).replica_states is None


def test_a_restored_follower_catches_up_and_is_in_sync_again(sim):
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    send(sim)
    sim.advance(ms=LAG_TIME_MS)
    epoch = partition(sim).leader_epoch
    sim.cluster.cluster_control.restore_link(0, 1, sim.now_ms)
    assert partition(sim).isr == (0, 1, 2)
    assert partition(sim).leader_epoch == epoch, "an ISR that grows begins no leader epoch"
    assert error_of(sim, send(sim)) == ErrorCode.NONE


def test_a_leader_that_lacks_records_has_its_log_cut_down_to_what_it_has(sim):
    produce(sim, batch(b"everywhere"))
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    sim.cluster.cluster_control.cut_link(0, 2, sim.now_ms)
    assert produce(sim, batch(b"only on 0"), acks=1).base_offset == 1
    sim.cluster.cluster_control.stop(0, sim.now_ms)
    assert partition(sim).leader == 1
    assert partition(sim).log.end_offset == 1
    assert produce(sim, batch(b"anew"), broker=1).base_offset == 1
    assert values(fetch(sim, 0, broker=1).records) == [b"everywhere", b"anew"]


def test_a_follower_that_reaches_a_new_leader_is_in_sync_at_once(sim):
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    send(sim)
    sim.advance(ms=LAG_TIME_MS)
    assert partition(sim).isr == (0, 2)
    sim.cluster.cluster_control.stop(0, sim.now_ms)
    assert (partition(sim).leader, partition(sim).isr) == (2, (1, 2))


def test_a_follower_that_lacks_records_of_a_new_leader_falls_out_of_sync_in_its_time(sim):
    """The wait counts from the election on (Replica.resetReplicaState)."""
    sim.cluster.cluster_control.cut_link(0, 2, sim.now_ms)
    sim.cluster.cluster_control.cut_link(1, 2, sim.now_ms)
    sim.cluster.cluster_control.set_follower_lag(1, 1, sim.now_ms)
    for value in (b"a", b"b"):
        send(sim, value, acks=1)
    sim.advance(ms=1000)
    sim.cluster.cluster_control.stop(0, sim.now_ms)
    assert (partition(sim).leader, partition(sim).log.end_offset, partition(sim).high_watermark) == (1, 1, 0)
    sim.advance(ms=LAG_TIME_MS - 1)
    assert partition(sim).isr == (1, 2)
    sim.advance(ms=1)
    assert partition(sim).isr == (1,)


def test_a_leader_that_does_not_reach_the_controller_takes_nobody_into_its_isr(sim):
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    send(sim)
    sim.advance(ms=LAG_TIME_MS)
    sim.cluster.cluster_control.cut_link(0, CONTROLLER, sim.now_ms)
    sim.cluster.cluster_control.restore_link(0, 1, sim.now_ms)
    assert partition(sim).isr == (0, 2)
    sim.cluster.cluster_control.restore_link(0, CONTROLLER, sim.now_ms)
    assert partition(sim).isr == (0, 1, 2)


def test_a_partition_that_moves_to_a_follower_that_lags_keeps_what_was_committed(sim):
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    ticket = send(sim)
    sim.advance(ms=LAG_TIME_MS)
    assert error_of(sim, ticket) == ErrorCode.NONE
    sim.cluster.replication_control.reassign(TOPIC, 0, [1])
    assert (partition(sim).leader, partition(sim).log.end_offset) == (1, 1)


def test_an_unclean_leader_is_a_follower_that_lags_where_no_other_is_up(sim):
    sim.cluster.replication_control.create(
        "unclean", 1, assignment=[[0, 1]], configs={"unclean.leader.election.enable": "true"}
    )
    found = sim.cluster.topics["unclean"].partitions[0]
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    produce(sim, batch(b"lost"), topic="unclean", acks=1)
    sim.advance(ms=LAG_TIME_MS)
    assert (found.isr, found.high_watermark) == ((0,), 1)
    sim.cluster.cluster_control.stop(0, sim.now_ms)
    assert (found.leader, found.isr, found.log.end_offset, found.high_watermark) == (1, (1,), 0, 0)


def test_a_topic_with_a_follower_that_lags_can_be_deleted(sim):
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    waiting = send(sim)
    sim.cluster.replication_control.delete(sim.cluster.topics[TOPIC])
    sim.advance(ms=0)
    assert error_of(sim, waiting) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    sim.advance(ms=LAG_TIME_MS)


def test_a_follower_of_a_topic_that_a_request_makes_has_its_full_time(sim):
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    sim.advance(ms=LAG_TIME_MS)
    made = CreateTopicsRequest.Topic(
        name="later",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreateTopicsRequest.Topic.Assignment(partition_index=0, broker_ids=[0, 1])],
    )
    sim.now_ms += 5_000  # nothing is due meanwhile
    sim.ask(CreateTopicsRequest(topics=[made]))
    produce(sim, batch(b"a"), topic="later", acks=1)
    sim.advance(ms=LAG_TIME_MS - 1)
    assert sim.cluster.topics["later"].partitions[0].isr == (0, 1)
    sim.advance(ms=1)
    assert sim.cluster.topics["later"].partitions[0].isr == (0,)


def test_retention_keeps_what_is_above_the_high_watermark(sim):
    configs = {"retention.bytes": "1", "segment.ms": "1"}
    sim.cluster.replication_control.create("small", 1, assignment=[[0, 1]], configs=configs)
    produce(sim, batch(b"a", timestamp=1000), topic="small")
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    for number in range(1, 4):
        produce(sim, batch(b"b", timestamp=1000 + 10 * number), topic="small", acks=1)
    sim.cluster.jump_clock(1, sim.now_ms)
    log = sim.cluster.topics["small"].partitions[0].log
    assert (log.start_offset, log.end_offset) == (1, 4)


def test_a_batch_that_is_sent_again_waits_for_itself_and_not_for_later_ones(sim):
    def again(sequence):
        sent = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=sequence)
        return sim.send(produce_request(sent), version=12)

    again(0)
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    waiting = again(1)
    assert error_of(sim, again(0)) == ErrorCode.NONE
    assert waiting not in sim.replies


# lag


@pytest.mark.parametrize("unclean", [True, False])
def test_a_replica_that_lacks_records_leads_by_unclean_election_alone(unclean):
    sim = Simulation(racks="a,b,c")
    settings = {"unclean.leader.election.enable": str(unclean).lower()}
    sim.cluster.replication_control.create(TOPIC, 1, assignment=[[0, 1, 2]], configs=settings)
    for broker_id in (1, 2):
        sim.cluster.cluster_control.set_follower_lag(broker_id, 2, sim.now_ms)
    for value in (b"a", b"b", b"c"):
        assert produce(sim, batch(value), acks=1).error_code == ErrorCode.NONE
    sim.advance(ms=LAG_TIME_MS)
    assert (partition(sim).isr, partition(sim).high_watermark) == ((0,), 3)
    sim.cluster.cluster_control.stop(0, sim.now_ms)
    if unclean:
        assert (partition(sim).leader, partition(sim).isr) == (1, (1,))
        assert (partition(sim).log.end_offset, partition(sim).high_watermark) == (1, 1)
    else:
        assert (partition(sim).leader, partition(sim).isr, partition(sim).eligible_leader_replicas) == (-1, (), (0,))
        assert partition(sim).log.end_offset == 3


def test_a_follower_that_lags_serves_its_readers_that_much_less(sim):
    for value in (b"a", b"b", b"c"):
        produce(sim, batch(value))
    sim.cluster.cluster_control.set_follower_lag(1, 1, sim.now_ms)
    assert values(fetch(sim, 0, broker=1).records) == [b"a", b"b"]
    assert values(fetch(sim, 0, broker=0).records) == [b"a", b"b", b"c"], "what was committed stays so"
    assert fetch(sim, 3, broker=1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_lag_holds_up_acks_all_by_as_many_records(sim):
    sim.cluster.cluster_control.set_follower_lag(1, 1, sim.now_ms)
    first = send(sim)
    assert first not in sim.replies
    second = send(sim)
    assert error_of(sim, first) == ErrorCode.NONE
    assert second not in sim.replies
    sim.cluster.cluster_control.set_follower_lag(1, 0, sim.now_ms)
    sim.advance(ms=0)
    assert error_of(sim, second) == ErrorCode.NONE


def test_a_follower_that_keeps_lagging_falls_out_of_sync_in_time_and_comes_back(sim):
    sim.cluster.cluster_control.set_follower_lag(1, 1, sim.now_ms)
    sim.advance(ms=1000)
    send(sim, acks=1)
    sim.advance(ms=LAG_TIME_MS - 1)
    assert partition(sim).isr == (0, 1, 2)
    sim.advance(ms=1)
    assert partition(sim).isr == (0, 2)
    sim.cluster.cluster_control.set_follower_lag(1, 0, sim.now_ms)
    assert partition(sim).isr == (0, 1, 2)


def test_a_lag_shorter_than_the_allowed_time_never_leaves_the_isr(sim):
    sim.cluster.cluster_control.set_follower_lag(1, 1, sim.now_ms)
    for _ in range(10):
        send(sim, acks=1)
        sim.advance(ms=LAG_TIME_MS - 1)
    assert partition(sim).isr == (0, 1, 2)


# a broker that is cut off but alive


def leader_in(sim, broker):
    response = sim.ask(MetadataRequest(topics=[MetadataRequest.Topic(name=TOPIC)]), version=12, broker=broker)
    return response.topics[0].partitions[0].leader_id


def test_a_broker_that_is_cut_off_goes_on_to_tell_what_it_knew(sim):
    sim.cluster.cluster_control.isolate(0, sim.now_ms)
    sim.advance(ms=SESSION_MS - 1)
    assert partition(sim).leader == 0
    sim.advance(ms=1)
    assert partition(sim).leader == 1
    assert (leader_in(sim, 0), leader_in(sim, 1)) == (0, 1)
    sim.cluster.replication_control.create("later", 1, 1)
    response = sim.ask(MetadataRequest(topics=None), version=12, broker=0)
    assert [topic.name for topic in response.topics] == [TOPIC]
    assert len(response.brokers) == 3
    sim.cluster.cluster_control.rejoin(0, sim.now_ms)
    assert leader_in(sim, 0) == leader_in(sim, 1) == 0, "it is the preferred leader"


def test_what_a_deposed_leader_acknowledges_with_acks_1_is_lost_and_acks_all_is_never_acknowledged(sim):
    produce(sim, batch(b"kept"))
    sim.cluster.cluster_control.isolate(0, sim.now_ms)
    sim.advance(ms=SESSION_MS)
    assert produce(sim, batch(b"lost"), acks=1, broker=0).base_offset == 1
    ticket = send(sim, b"unheard", timeout_ms=500, broker=0)
    sim.advance(ms=500)
    assert error_of(sim, ticket) == ErrorCode.REQUEST_TIMED_OUT
    assert produce(sim, batch(b"new"), broker=1).base_offset == 1
    assert values(fetch(sim, 0, broker=0).records) == [b"kept"], "it serves readers up to its high watermark"
    sim.cluster.cluster_control.rejoin(0, sim.now_ms)
    assert values(fetch(sim, 0, broker=0).records) == [b"kept", b"new"]


def test_what_a_leader_takes_before_it_is_deposed_is_truncated_with_the_rest(sim):
    sim.cluster.cluster_control.isolate(0, sim.now_ms)
    assert produce(sim, batch(b"lost"), acks=1, broker=0).base_offset == 0
    waiting = send(sim, b"lost too", broker=0)
    sim.advance(ms=SESSION_MS)
    assert (partition(sim).leader, partition(sim).log.end_offset) == (1, 0)
    assert waiting not in sim.replies, "the broker does not know that it was deposed"
    sim.cluster.cluster_control.rejoin(0, sim.now_ms)
    assert partition(sim).log.end_offset == 0


def test_what_a_deposed_leader_took_is_not_acknowledged_when_it_leads_again(sim):
    sim.cluster.cluster_control.isolate(0, sim.now_ms)
    before = send(sim, b"before it was deposed", broker=0)
    sim.advance(ms=SESSION_MS)
    after = send(sim, b"after", broker=0)
    for _ in range(3):
        assert produce(sim, batch(b"new"), broker=1).error_code == ErrorCode.NONE
    sim.cluster.cluster_control.rejoin(0, sim.now_ms)
    sim.advance(ms=0)
    assert partition(sim).leader == 0
    assert error_of(sim, before) == error_of(sim, after) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert values(fetch(sim, 0, broker=0).records) == [b"new"] * 3


def test_a_leader_that_has_not_heard_that_its_partition_moved_writes_for_itself_alone(sim):
    sim.cluster.cluster_control.cut_link(0, CONTROLLER, sim.now_ms)
    sim.cluster.replication_control.reassign(TOPIC, 0, [1, 2])
    assert produce(sim, batch(b"lost"), acks=1, broker=0).base_offset == 0
    assert produce(sim, batch(b"kept"), broker=1).base_offset == 0
    assert values(fetch(sim, 0, broker=1).records) == [b"kept"]


def test_a_deposed_leader_knows_the_producers_that_it_knew(sim):
    again = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0)
    assert produce(sim, again).base_offset == 0
    sim.cluster.cluster_control.isolate(0, sim.now_ms)
    sim.advance(ms=SESSION_MS)
    assert produce(sim, again, acks=1).base_offset == 0


def test_a_link_that_is_cut_again_does_not_put_off_the_end_of_the_session(sim):
    sim.cluster.cluster_control.cut_link(0, CONTROLLER, sim.now_ms)
    sim.advance(ms=SESSION_MS - 1)
    sim.cluster.cluster_control.isolate(0, sim.now_ms)
    sim.advance(ms=1)
    assert not sim.cluster.brokers[0].online


def test_a_broker_that_finds_back_in_time_was_never_gone(sim):
    epoch = sim.cluster.brokers[0].epoch
    sim.cluster.cluster_control.isolate(0, sim.now_ms)
    sim.advance(ms=SESSION_MS - 1)
    sim.cluster.cluster_control.rejoin(0, sim.now_ms)
    sim.advance(ms=SESSION_MS)
    assert (sim.cluster.brokers[0].epoch, partition(sim).leader) == (epoch, 0)


def test_a_leader_that_does_not_reach_the_controller_cannot_shrink_its_isr(sim):
    sim = Simulation(racks="a,b,c", settings={"broker.session.timeout.ms": 10 * LAG_TIME_MS})
    sim.cluster.replication_control.create(TOPIC, 1, assignment=[[0, 1, 2]])
    sim.cluster.cluster_control.cut_link(0, CONTROLLER, sim.now_ms)
    sim.cluster.cluster_control.cut_link(0, 1, sim.now_ms)
    ticket = send(sim, timeout_ms=10 * LAG_TIME_MS)
    sim.advance(ms=2 * LAG_TIME_MS)
    assert (partition(sim).isr, ticket in sim.replies) == ((0, 1, 2), False)
    sim.cluster.cluster_control.restore_link(0, CONTROLLER, sim.now_ms)
    sim.advance(ms=0)
    assert (partition(sim).isr, ticket in sim.replies) == ((0, 2), True)


def test_an_isolated_broker_that_is_stopped_and_started_stays_fenced_until_it_is_reached(sim):
    sim.cluster.cluster_control.isolate(2, sim.now_ms)
    sim.advance(ms=SESSION_MS)
    assert sim.cluster.cluster_control.stop(2, sim.now_ms)
    assert sim.cluster.cluster_control.start(2, sim.now_ms)
    assert not sim.cluster.brokers[2].online
    sim.cluster.cluster_control.rejoin(2, sim.now_ms)
    assert sim.cluster.brokers[2].online
    assert partition(sim).isr == (0, 1, 2)


def test_a_broker_that_is_cut_off_does_not_know_partitions_that_came_later(sim):
    sim.cluster.cluster_control.isolate(0, sim.now_ms)
    sim.cluster.replication_control.create("later", 1, assignment=[[0, 1]])
    assert produce(sim, batch(b"a"), topic="later").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_deposed_leader_names_its_own_high_watermark_as_the_latest_offset(sim):
    sim.cluster.cluster_control.isolate(0, sim.now_ms)
    sim.advance(ms=SESSION_MS)
    produce(sim, batch(b"a"), broker=1)
    asked = ListOffsetsRequest.Topic(
        name=TOPIC, partitions=[ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=-1)]
    )
    latest = [
        sim.ask(ListOffsetsRequest(replica_id=-1, topics=[asked]), broker=broker).topics[0].partitions[0].offset
        for broker in (0, 1)
    ]
    assert latest == [0, 1]


# a broker that crashes


def test_a_follower_that_crashes_holds_up_acks_all_until_its_session_has_expired(sim):
    assert sim.cluster.cluster_control.crash(1, sim.now_ms)
    ticket = send(sim)
    sim.advance(ms=SESSION_MS - 1)
    assert (partition(sim).isr, ticket in sim.replies) == ((0, 1, 2), False)
    sim.advance(ms=1)
    assert (partition(sim).isr, error_of(sim, ticket)) == ((0, 2), ErrorCode.NONE)
    assert sim.cluster.cluster_control.start(1, sim.now_ms)
    assert partition(sim).isr == (0, 1, 2)


def test_a_follower_that_stops_fetching_falls_out_of_sync_after_its_time_and_not_before():
    sim = Simulation(racks="a,b,c", settings={"broker.session.timeout.ms": 10 * LAG_TIME_MS})
    sim.cluster.replication_control.create(TOPIC, 1, assignment=[[0, 1, 2]])
    sim.cluster.cluster_control.crash(1, sim.now_ms)
    send(sim)
    sim.advance(ms=LAG_TIME_MS - 1)
    assert partition(sim).isr == (0, 1, 2)
    sim.advance(ms=1)
    assert partition(sim).isr == (0, 2)


def test_a_leader_that_crashes_is_replaced_once_its_session_has_expired(sim):
    sim.cluster.cluster_control.crash(0, sim.now_ms)
    sim.advance(ms=SESSION_MS - 1)
    assert leader_in(sim, 1) == 0
    sim.advance(ms=1)
    assert leader_in(sim, 1) == 1


def test_a_broker_that_comes_back_before_its_session_has_expired_begins_a_new_life(sim):
    epoch = sim.cluster.brokers[0].epoch
    sim.cluster.cluster_control.crash(0, sim.now_ms)
    assert not sim.cluster.cluster_control.crash(0, sim.now_ms)
    assert sim.cluster.cluster_control.start(0, sim.now_ms)
    assert sim.cluster.brokers[0].epoch > epoch
    assert (partition(sim).leader, partition(sim).isr) == (0, (0, 1, 2))
