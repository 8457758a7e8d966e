from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError
from mockbroker.state.transactions.states import Producer
from protocol.apis.classic_group import JoinGroupRequest, SyncGroupRequest
from protocol.apis.cluster import UnregisterBrokerRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.groups import DescribeGroupsRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.embedded.group_log import OffsetCommitValue
from protocol.error_codes import ErrorCode
from protocol.records import Record, build_batch
from tests.group_driver import commit_offsets

DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def sim() -> Simulation:
    """Without the topics that the other tests of this folder begin with."""
    return Simulation()


@pytest.fixture
def orders(sim):
    """A topic of one partition on brokers 0, 1 and 2, led by 0."""
    topic = sim.cluster.replication_control.create("orders", assignment=[[0, 1, 2]])
    return topic.partitions[0]


def produce(
    sim: Simulation, broker: int, timestamp: int = 0, acks: int = -1, producer_id: int = -1, sequence: int = -1
):
    record = Record(value=b"one", timestamp=timestamp)
    epoch = -1 if producer_id < 0 else 0
    records = build_batch([record], producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    partition = ProduceRequest.Topic.Partition(index=0, records=records)
    topic = ProduceRequest.Topic(name="orders", partition_data=[partition])
    answer = sim.ask(ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic]), version=9, broker=broker)
    return answer.responses[0].partition_responses[0]


def fetch_error(sim: Simulation, broker: int) -> int:
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    topic = FetchRequest.Topic(topic="orders", partitions=[partition])
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic])
    return sim.ask(request, version=11, broker=broker).responses[0].partitions[0].error_code


def shown(sim: Simulation, broker: int = 0):
    return sim.ask(MetadataRequest(topics=None), broker=broker, version=9)


def test_a_leader_that_is_moved_leads_until_it_is_down_and_again_once_it_is_back(sim, orders):
    assert sim.move_leader("orders", 0, 2)
    assert (orders.leader, orders.isr, orders.leader_epoch) == (2, (0, 1, 2), 1)
    sim.restart_broker(0)
    assert orders.leader == 2
    sim.stop_broker(2)
    assert orders.leader == 0
    sim.start_broker(2)
    assert orders.leader == 2


def test_the_leader_before_says_that_it_leads_no_longer(sim, orders):
    sim.move_leader("orders", 0, 1)
    assert produce(sim, 0).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert produce(sim, 1).error_code == ErrorCode.NONE


def test_to_move_a_leader_to_where_it_is_changes_nothing(sim, orders):
    assert not sim.move_leader("orders", 0, 0)
    assert orders.leader_epoch == 0


def test_a_leader_is_in_sync(sim, orders):
    sim.stop_broker(1)
    with pytest.raises(ApiError, match=r"a leader of orders-0 that is up and in its ISR \[0, 2\], got 1"):
        sim.move_leader("orders", 0, 1)
    assert orders.leader == 0


def test_a_leader_has_a_replica(sim):
    sim.cluster.replication_control.create("orders", assignment=[[0, 1]])
    with pytest.raises(ApiError, match=r"a leader of orders-0 among its replicas \[0, 1\], got \[2\]"):
        sim.move_leader("orders", 0, 2)


def test_moved_replicas_forget_who_led_by_command(sim, orders):
    sim.move_leader("orders", 0, 2)
    sim.move_replicas("orders", 0, [1, 2])
    assert (orders.replicas, orders.leader) == ((1, 2), 1)
    sim.restart_broker(2)
    assert orders.leader == 1


def test_a_broker_taken_out_of_the_isr_stays_out_until_it_is_let_in(sim, orders):
    assert sim.shrink_isr("orders", 0, [1])
    produce(sim, 0)
    sim.restart_broker(1)
    sim.advance(60_000)
    assert orders.isr == (0, 2)
    assert sim.grow_isr("orders", 0, [1])
    assert orders.isr == (0, 1, 2)


def test_a_broker_out_of_the_isr_is_not_elected(sim, orders):
    sim.shrink_isr("orders", 0, [1])
    sim.stop_broker(0)
    assert (orders.leader, orders.isr) == (2, (2,))


def test_a_partition_with_too_few_in_sync_refuses_acks_all():
    sim = Simulation(settings={"min.insync.replicas": 2})
    sim.cluster.replication_control.create("orders", assignment=[[0, 1, 2]])
    sim.shrink_isr("orders", 0, [1, 2])
    assert produce(sim, 0).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    sim.grow_isr("orders", 0, [2])
    assert produce(sim, 0).error_code == ErrorCode.NONE


def test_unclean_election_takes_a_broker_that_was_kept_out_of_the_isr():
    sim = Simulation(settings={"unclean.leader.election.enable": True})
    partition = sim.cluster.replication_control.create("orders", assignment=[[0, 1]]).partitions[0]
    sim.shrink_isr("orders", 0, [1])
    sim.stop_broker(0)
    assert (partition.leader, partition.isr) == (1, (1,))


def test_the_isr_keeps_its_leader(sim, orders):
    with pytest.raises(ApiError, match="followers of orders-0 to take out of its ISR, but 0 leads it"):
        sim.shrink_isr("orders", 0, [0, 1])
    with pytest.raises(ApiError, match=r"an ISR of orders-0 with its leader 0, got \[1, 2\]"):
        sim.set_isr("orders", 0, [1, 2])
    assert orders.isr == (0, 1, 2)


def test_a_follower_that_lacks_records_is_not_let_into_the_isr():
    sim = Simulation(settings={"replica.lag.time.max.ms": 1000})
    partition = sim.cluster.replication_control.create("orders", assignment=[[0, 1]]).partitions[0]
    sim.set_follower_lag(1, 5)
    produce(sim, 0, acks=1)
    sim.advance(1000)
    assert partition.isr == (0,)
    with pytest.raises(ApiError, match=r"replicas of orders-0 that are up and have all its records .* got \[1\]"):
        sim.grow_isr("orders", 0, [1])


def test_without_a_leader_nobody_is_let_into_the_isr(sim, orders):
    sim.set_isr("orders", 0, [0])
    sim.fence_broker(0)
    with pytest.raises(ApiError, match="expected a leader of orders-0, got none"):
        sim.grow_isr("orders", 0, [1])
    sim.unfence_broker(0)
    assert sim.grow_isr("orders", 0, [1])
    assert orders.isr == (0, 1)


def test_a_move_to_replicas_that_were_all_kept_out_of_the_isr_lets_them_in(sim, orders):
    sim.set_isr("orders", 0, [0])
    sim.move_replicas("orders", 0, [2, 1])
    assert (orders.leader, orders.replicas, set(orders.isr)) == (2, (2, 1), {1, 2})


def test_an_isr_can_be_given_as_a_whole(sim, orders):
    assert sim.set_isr("orders", 0, [0, 2])
    assert orders.isr == (0, 2)
    assert sim.set_isr("orders", 0, [0, 1])
    assert orders.isr == (0, 1)
    assert not sim.set_isr("orders", 0, [0, 1])


def test_a_fenced_broker_leads_nothing_and_is_shown_to_nobody_until_it_is_unfenced(sim, orders):
    assert sim.fence_broker(0)
    assert (orders.leader, orders.isr) == (1, (1, 2))
    assert [broker.node_id for broker in shown(sim, broker=0).brokers] == [1, 2]
    sim.isolate_broker(0)
    sim.rejoin_broker(0)
    assert orders.isr == (1, 2)
    assert not sim.fence_broker(0)
    assert sim.unfence_broker(0)
    assert (orders.leader, orders.isr) == (0, (0, 1, 2))
    assert not sim.unfence_broker(0)


def test_a_fenced_broker_that_starts_anew_serves(sim, orders):
    sim.fence_broker(0)
    sim.restart_broker(0)
    assert orders.leader == 0


def test_a_fenced_broker_that_was_unregistered_is_not_unfenced(sim):
    assert sim.fence_broker(2)
    assert sim.ask(UnregisterBrokerRequest(broker_id=2)).error_code == ErrorCode.NONE
    assert not sim.unfence_broker(2)


def test_a_full_disk_takes_replicas_offline_and_others_lead(sim, orders):
    assert sim.fill_disk(0)
    assert (orders.leader, orders.isr) == (1, (1, 2))
    assert produce(sim, 0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert fetch_error(sim, 0) == ErrorCode.KAFKA_STORAGE_ERROR
    partition = shown(sim).topics[0].partitions[0]
    assert partition.offline_replicas == [0]
    assert [broker.node_id for broker in shown(sim).brokers] == [0, 1, 2]


def test_a_disk_with_room_again_catches_up(sim, orders):
    sim.fill_disk(0)
    produce(sim, 1)
    sim.restart_broker(0)
    assert orders.isr == (1, 2)
    assert sim.empty_disk(0)
    assert (orders.leader, orders.isr, orders.high_watermark) == (0, (0, 1, 2), 1)
    assert produce(sim, 0).base_offset == 1
    assert not sim.empty_disk(0)


def test_the_only_replica_on_a_full_disk_leaves_its_partition_without_a_leader(sim):
    partition = sim.cluster.replication_control.create("orders", assignment=[[1]]).partitions[0]
    sim.fill_disk(1)
    assert (partition.leader, partition.isr) == (-1, ())
    sim.empty_disk(1)
    assert partition.leader == 1


def test_what_is_made_after_a_disk_is_full_goes_to_the_other_one(sim):
    sim.fill_disk(1)
    partition = sim.cluster.replication_control.create("orders", assignment=[[1]]).partitions[0]
    assert partition.leader == 1
    assert produce(sim, 1).error_code == ErrorCode.NONE


def test_a_moved_coordinator_is_found_and_the_one_before_refuses(sim):
    sim.move_coordinator("readers", 1)
    assert not sim.move_coordinator("readers", 1)
    found = sim.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"])).coordinators[0]
    assert found.node_id == 1
    assert sim.move_coordinator("readers", 2)
    refused = sim.ask(DescribeGroupsRequest(groups=["readers"]), broker=1).groups[0]
    assert refused.error_code == ErrorCode.NOT_COORDINATOR
    assert sim.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"])).coordinators[0].node_id == 2


def test_a_coordinator_that_goes_down_is_followed_by_another(sim):
    sim.move_coordinator("readers", 2)
    sim.stop_broker(2)
    assert sim.cluster.internal_topics.coordinator("readers").id != 2


def test_a_broker_that_is_down_coordinates_nothing(sim):
    sim.stop_broker(2)
    with pytest.raises(ApiError, match=r"a broker that is up \(0, 1\) for the coordinator of readers, got 2"):
        sim.move_coordinator("readers", 2)


def test_the_wall_clock_stamps_records_and_time_goes_on_beside_it(sim):
    sim.create_topic("orders", 1, 1, configs={"message.timestamp.type": "LogAppendTime"})
    leader = sim.cluster.topics["orders"].partitions[0].leader
    sim.advance(1000)
    sim.jump_clock(DAY_MS)
    assert produce(sim, leader).log_append_time_ms == DAY_MS + 1000
    sim.jump_clock(-2 * DAY_MS)
    assert produce(sim, leader).log_append_time_ms == 1000 - DAY_MS
    assert sim.now_ms == 1000


def test_a_jump_past_the_retention_time_drops_records_that_are_older(sim, orders):
    for days in (1, 2, 10):
        produce(sim, 0, timestamp=days * DAY_MS)
    sim.jump_clock(9 * DAY_MS)
    assert (orders.log.start_offset, orders.log.end_offset) == (0, 3)  # a segment with what is seven days old stays
    sim.jump_clock(1)
    assert (orders.log.start_offset, orders.log.end_offset) == (2, 3)
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsRequest.Topic(
                name="orders", partitions=[ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=-2)]
            )
        ],
    )
    assert sim.ask(request, version=6).topics[0].partitions[0].offset == 2


def test_a_topic_that_keeps_records_for_ever_keeps_them(sim):
    sim.create_topic("orders", 1, 1, configs={"retention.ms": -1})
    partition = sim.cluster.topics["orders"].partitions[0]
    produce(sim, partition.leader, timestamp=1)
    sim.jump_clock(1000 * DAY_MS)
    assert partition.log.start_offset == 0


def test_once_the_clock_has_gone_back_records_from_the_future_are_refused(sim, orders):
    sim.jump_clock(-2 * 60 * 60 * 1000)
    assert produce(sim, 0, timestamp=0).error_code == ErrorCode.INVALID_TIMESTAMP
    sim.jump_clock(60 * 60 * 1000)
    assert produce(sim, 0, timestamp=0).error_code == ErrorCode.NONE


def test_a_jump_leaves_members_sessions_alone(sim):
    sim.crash_broker(0)
    sim.jump_clock(DAY_MS)
    assert sim.cluster.brokers[0].online
    sim.advance(sim.cluster.settings["broker.session.timeout.ms"])
    assert not sim.cluster.brokers[0].online


def test_offsets_of_a_group_without_members_are_dropped_once_they_are_too_old(sim, orders):
    committed = {("orders", 0): OffsetCommitValue(3)}
    groups = sim.cluster.groups
    commit_offsets(groups, "early", committed, sim.now_ms)
    sim.jump_clock(6 * DAY_MS)
    commit_offsets(groups, "late", committed, sim.now_ms)
    sim.jump_clock(2 * DAY_MS)
    assert [group.id for group in groups.select()] == ["late"]
    assert groups.offsets("late").get(("orders", 0)).offset == 3
    assert groups.offsets("early").partitions() == []


def test_offsets_of_a_group_with_members_stay(sim, orders):
    protocol = JoinGroupRequest.Protocol(name="range", metadata=b"")
    request = JoinGroupRequest(
        group_id="readers",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[protocol],
    )
    joined = sim.ask(request, version=3, broker=sim.cluster.internal_topics.coordinator("readers").id)
    sync = SyncGroupRequest(group_id="readers", generation_id=1, member_id=joined.member_id)
    sim.ask(sync, version=3, broker=sim.cluster.internal_topics.coordinator("readers").id)
    groups = sim.cluster.groups
    commit_offsets(
        groups, "readers", {("orders", 0): OffsetCommitValue(3)}, sim.now_ms, generation=1, member_id=joined.member_id
    )
    sim.jump_clock(8 * DAY_MS)
    assert groups.offsets("readers").get(("orders", 0)).offset == 3


def test_transactional_ids_that_were_not_used_for_too_long_begin_anew(sim):
    def producer_id(transactional_id: str) -> int:
        return sim.cluster.transactions.initialise(Producer(transactional_id, -1, -1), 1000)[0]

    old, kept = producer_id("old"), producer_id("kept")
    sim.jump_clock(6 * DAY_MS)
    assert producer_id("kept") == kept
    sim.jump_clock(2 * DAY_MS)
    assert producer_id("kept") == kept
    assert producer_id("old") != old


def test_producers_that_wrote_nothing_for_too_long_may_begin_anywhere(sim, orders):
    for sequence in (0, 1):
        assert produce(sim, 0, producer_id=7, sequence=sequence).error_code == ErrorCode.NONE
    assert produce(sim, 0, producer_id=7, sequence=5).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    sim.jump_clock(DAY_MS)
    assert produce(sim, 0, producer_id=7, sequence=5).error_code == ErrorCode.NONE


def test_members_that_wait_at_a_coordinator_are_told_that_it_is_another(sim):
    sim.move_coordinator("readers", 1)
    tickets = [
        sim.send(
            JoinGroupRequest(
                group_id="readers",
                session_timeout_ms=10_000,
                rebalance_timeout_ms=10_000,
                protocol_type="consumer",
                protocols=[JoinGroupRequest.Protocol(name="range", metadata=b"")],
            ),
            version=3,
            broker=1,
        )
        for _ in range(2)
    ]
    assert tickets[1] not in sim.replies  # it waits until the first joins again
    sim.move_coordinator("readers", 2)
    assert sim.replies[tickets[1]].error_code == ErrorCode.NOT_COORDINATOR


def test_the_isr_of_a_partition_without_a_leader_is_left_alone(sim):
    partition = sim.cluster.replication_control.create("orders", assignment=[[0, 1]]).partitions[0]
    sim.stop_broker(1)
    sim.stop_broker(0)
    with pytest.raises(ApiError, match="expected a leader of orders-0, got none"):
        sim.shrink_isr("orders", 0, [1])
    assert (partition.isr, partition.eligible_leader_replicas) == ((), (0,))


@pytest.mark.parametrize(
    "command",
    [
        lambda sim: sim.stop_broker(7),
        lambda sim: sim.restart_broker(7),
        lambda sim: sim.crash_broker(7),
        lambda sim: sim.fence_broker(7),
        lambda sim: sim.unfence_broker(7),
        lambda sim: sim.fill_disk(7),
        lambda sim: sim.empty_disk(7),
        lambda sim: sim.isolate_broker(7),
        lambda sim: sim.rejoin_broker(7),
        lambda sim: sim.cut_link(0, 7),
        lambda sim: sim.restore_link(7, 0),
        lambda sim: sim.set_follower_lag(7, 1),
        lambda sim: sim.move_coordinator("readers", 7),
        lambda sim: sim.move_leader("orders", 0, 7),
    ],
)
def test_a_broker_that_is_not_there_is_named_with_those_that_are(sim, orders, command):
    with pytest.raises(KeyError) as raised:
        command(sim)
    assert str(raised.value) == "expected a broker of 0, 1, 2; got 7"


@pytest.mark.parametrize("command", ["stop_rack", "start_rack", "restart_rack"])
def test_a_rack_that_is_not_there_is_named_with_those_that_are(sim, command):
    with pytest.raises(KeyError) as raised:
        getattr(sim, command)("z")
    assert str(raised.value) == "expected a rack of a, b, c; got 'z'"


def test_a_broker_has_no_link_to_itself(sim):
    with pytest.raises(ValueError, match="expected two nodes for a link, got 1 twice"):
        sim.cut_link(1, 1)


@pytest.mark.parametrize(
    "command",
    [lambda control: control.fence_broker(0, 0), lambda control: control.set_disk(0, 0, full=True)],
    ids=["fence", "fill the disk"],
)
@pytest.mark.zookeeper
def test_what_zookeeper_mode_does_not_have_is_refused(command):
    cluster = Cluster.create([Broker(0, "a")], settings={"inter.broker.protocol.version": "2.8"})
    with pytest.raises(ValueError, match="in KRaft mode only"):
        command(cluster.cluster_control)


def test_a_deleted_topic_is_gone(sim, orders):
    sim.delete_topic("orders")
    assert sim.cluster.topics == {}
    with pytest.raises(ApiError, match="there is no topic orders"):
        sim.delete_topic("orders")
