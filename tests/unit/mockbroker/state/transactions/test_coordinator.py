from __future__ import annotations

import pytest
from msgspec import structs

from mockbroker.core.simulation import Simulation
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from mockbroker.state.transactions.states import (
    STATE_NAMES,
    VALID_BEFORE,
    TransactionState,
    after,
    new_value,
    record,
)
from protocol.apis.fetch import FetchRequest
from protocol.embedded.group_log import OffsetCommitValue
from protocol.error_codes import ErrorCode
from protocol.records import ControlType, control_type, coordinator_epoch, iter_records
from tests.group_driver import commit_offsets
from tests.transaction_driver import NEW, OLD, TOPIC, TransactionalProducer, fetched, visible

RETRY_MS = 100
LAST_EPOCH = 2**15 - 2


@pytest.fixture
def sim() -> Simulation:
    """Three brokers at time 0; topic "orders" has two partitions on each of them."""
    sim = Simulation()
    sim.cluster.replication_control.create(TOPIC, 2, 3)
    return sim


def begun(sim: Simulation, version: int = NEW, **fields: int) -> TransactionalProducer:
    """A producer with a record in each partition, in a transaction that is open."""
    producer = TransactionalProducer(sim, version=version, **fields)
    assert producer.init() == 0
    assert producer.send(b"0", index=0) == producer.send(b"1", index=1) == 0
    return producer


def state_of(sim: Simulation, transactional_id: str = "payments") -> str:
    return STATE_NAMES[TransactionState(sim.cluster.transactions.get(transactional_id).transaction_status)]


def exhaust(producer: TransactionalProducer) -> None:
    """Have all epochs but the last one used up."""
    value = structs.replace(producer.sim.cluster.transactions.get(producer.id), producer_epoch=LAST_EPOCH)
    producer.sim.cluster.internal_topics.write(TRANSACTIONS_TOPIC, producer.id, [record(producer.id, value)])
    producer.epoch = LAST_EPOCH


def test_a_state_follows_only_those_that_kafka_lists_for_it():
    value = structs.replace(new_value(1, 1000, 0), transaction_status=TransactionState.PREPARE_COMMIT)
    assert after(value, TransactionState.COMPLETE_COMMIT, 0).transaction_status == TransactionState.COMPLETE_COMMIT
    with pytest.raises(AssertionError):
        after(value, TransactionState.ONGOING, 0)
    assert set(VALID_BEFORE) == set(TransactionState) - {TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE}


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("commit", [True, False])
def test_each_partition_of_a_transaction_gets_its_marker(sim, version, commit):
    producer = begun(sim, version)
    assert producer.end(commit=commit) == 0
    for index in range(2):
        *_, marker = iter_records(fetched(sim, index=index).records)
        assert control_type(marker) is (ControlType.COMMIT if commit else ControlType.ABORT)
        assert marker.batch.producer_epoch == (1 if version == NEW else 0)
        assert coordinator_epoch(marker) == 0
    assert state_of(sim) == ("CompleteCommit" if commit else "CompleteAbort")


def test_a_transaction_that_can_not_be_marked_everywhere_is_decided_and_complete_once_it_is(sim):
    producer = begun(sim)
    sim.cluster.cluster_control.isolate(next(iter({0, 1, 2} - {producer.coordinator})), sim.now_ms)
    cut_off = sim.cluster.network.cut_links[0]
    assert cut_off
    assert producer.end() == 0
    assert state_of(sim) == "PrepareCommit"
    assert producer.send(b"next") == ErrorCode.CONCURRENT_TRANSACTIONS
    assert TransactionalProducer(sim).init() == ErrorCode.CONCURRENT_TRANSACTIONS
    for broker in range(3):
        sim.cluster.cluster_control.rejoin(broker, sim.now_ms)
    sim.advance(RETRY_MS)
    assert state_of(sim) == "CompleteCommit"
    assert [visible(fetched(sim, index=index)) for index in range(2)] == [[b"0"], [b"1"]]


def test_a_marker_waits_for_as_many_replicas_in_sync_as_acks_all_does(sim):
    sim.cluster.replication_control.create("few", 1, 3, configs={"min.insync.replicas": 3})
    producer = TransactionalProducer(sim)
    assert producer.init() == producer.send(b"a", topic="few") == 0
    follower = sim.cluster.find_partition("few", 0).isr[-1]
    sim.shrink_isr("few", 0, [follower])
    assert (producer.end(), state_of(sim)) == (0, "PrepareCommit")
    sim.grow_isr("few", 0, [follower])
    sim.advance(RETRY_MS)
    assert state_of(sim) == "CompleteCommit"


def test_a_transaction_is_complete_once_followers_have_its_markers(sim):
    producer = begun(sim)
    sim.cluster.cluster_control.set_follower_lag((sim.cluster.find_partition(TOPIC, 0).leader + 1) % 3, 1, sim.now_ms)
    assert (producer.end(), state_of(sim)) == (0, "PrepareCommit")
    assert visible(fetched(sim)) == []
    sim.cluster.cluster_control.set_follower_lag((sim.cluster.find_partition(TOPIC, 0).leader + 1) % 3, 0, sim.now_ms)
    sim.advance(RETRY_MS)
    assert (state_of(sim), visible(fetched(sim))) == ("CompleteCommit", [b"0"])


def test_a_marker_that_is_lost_with_its_leader_is_written_again_by_the_next(sim):
    """Found by simulated clients and faults: records of a committed transaction were open for ever."""
    producer = begun(sim)
    partition = sim.cluster.find_partition(TOPIC, 0)
    leader = partition.leader
    for follower in set(partition.replicas) - {leader}:
        sim.set_follower_lag(follower, 1)
    assert (producer.end(), state_of(sim)) == (0, "PrepareCommit")
    sim.stop_broker(leader)
    assert (partition.log.end_offset, partition.leader != leader) == (1, True)
    other = TransactionalProducer(sim, "refunds")
    assert other.init() == other.send(b"2") == 0
    for broker in sim.cluster.brokers:
        sim.set_follower_lag(broker, 0)
    sim.advance(2 * RETRY_MS)
    assert (state_of(sim), visible(fetched(sim))) == ("CompleteCommit", [b"0"])


def test_a_leader_that_was_deposed_unawares_shows_no_record_of_a_transaction_that_is_open(sim):
    """Found by simulated clients and faults."""
    producer = begun(sim)
    partition = sim.cluster.find_partition(TOPIC, 0)
    leader = partition.leader
    sim.isolate_broker(leader)
    sim.advance(30_000)
    assert partition.leader != leader
    wanted = FetchRequest.Topic.Partition(partition=0, partition_max_bytes=10**6)
    topics = [FetchRequest.Topic(topic=TOPIC, partitions=[wanted])]
    request = FetchRequest(isolation_level=1, max_bytes=10**6, topics=topics)
    entry = sim.ask(request, version=12, broker=leader).responses[0].partitions[0]
    assert (entry.error_code, entry.high_watermark, entry.last_stable_offset, visible(entry)) == (0, 1, 0, [])
    assert producer.epoch == 0


def test_a_topic_that_was_deleted_holds_up_nothing(sim):
    producer = begun(sim)
    sim.cluster.replication_control.delete(sim.cluster.topics[TOPIC])
    assert (producer.end(), state_of(sim)) == (0, "CompleteCommit")


def test_another_broker_goes_on_with_the_transactions_of_a_coordinator_that_stopped(sim):
    producer = begun(sim)
    before = producer.coordinator
    sim.stop_broker(before)
    assert producer.coordinator != before
    assert producer.send(b"more") == producer.end() == 0
    assert visible(fetched(sim)) == [b"0", b"more"]


def test_a_transaction_goes_on_at_the_broker_that_its_coordinator_was_moved_to(sim):
    producer = begun(sim)
    sim.move_coordinator(producer.id, (producer.coordinator + 1) % 3)
    assert producer.end() == 0
    assert visible(fetched(sim)) == [b"0"]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_time_is_up_at_the_next_look_and_its_producer_is_fenced(sim, version):
    producer = begun(sim, version, timeout_ms=25_000)
    sim.advance(29_999)
    assert state_of(sim) == "Ongoing"
    sim.advance(1)
    assert state_of(sim) == "CompleteAbort"
    assert [one.first_offset for one in fetched(sim).aborted_transactions] == [0]
    assert producer.send(b"late", adds=False) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.init() == 0


def test_a_setting_says_how_often_the_coordinator_looks():
    sim = Simulation(settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100})
    sim.cluster.replication_control.create(TOPIC, 2, 3)
    begun(sim, timeout_ms=250)
    sim.advance(300)
    assert state_of(sim) == "CompleteAbort"


def test_a_transaction_is_aborted_where_the_clock_jumps_over_its_time(sim):
    begun(sim)
    sim.jump_clock(60_000)
    assert state_of(sim) == "Ongoing"
    sim.jump_clock(1)
    assert state_of(sim) == "CompleteAbort"


def test_a_clock_that_is_set_back_gives_a_transaction_more_time(sim):
    begun(sim)
    sim.jump_clock(-30_000)
    sim.advance(80_000)
    assert state_of(sim) == "Ongoing"
    sim.advance(20_000)
    assert state_of(sim) == "CompleteAbort"


def test_a_transactional_id_is_forgotten_that_was_not_used_for_too_long():
    sim = Simulation(settings={"transactional.id.expiration.ms": 7_000_000})
    sim.cluster.replication_control.create(TOPIC, 2, 3)
    producer = begun(sim)
    assert producer.end() == 0
    sim.advance(7_000_000 - 1)
    assert producer.id in sim.cluster.transactions.values()
    sim.advance(3_600_000)  # transaction.remove.expired.transaction.cleanup.interval.ms
    assert producer.id not in sim.cluster.transactions.values()
    assert producer.send(b"late", adds=False) == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_an_id_that_is_used_is_not_forgotten():
    sim = Simulation(settings={"transactional.id.expiration.ms": 7_000_000})
    producer = TransactionalProducer(sim)
    for _ in range(3):
        assert producer.init() == 0
        sim.advance(6_000_000)
    assert producer.id in sim.cluster.transactions.values()


def test_the_last_epoch_is_followed_by_a_new_producer_id_which_the_end_of_a_transaction_brings(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == 0
    exhaust(producer)
    assert producer.send(b"a") == 0
    pair = (producer.producer_id, producer.epoch)
    assert producer.end() == 0
    assert (producer.producer_id != pair[0], producer.epoch) == (True, 0)
    after = producer.producer_id
    producer.producer_id, producer.epoch = pair
    assert producer.end() == 0  # a retry
    assert (producer.producer_id, producer.epoch) == (after, 0)
    assert producer.send(b"b") == producer.end() == 0
    assert visible(fetched(sim)) == [b"a", b"b"]


def test_initialising_after_the_last_epoch_brings_a_new_producer_id_and_a_retry_the_same_one(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == 0
    exhaust(producer)
    pair = (producer.producer_id, producer.epoch)
    assert producer.init(continues=True) == 0
    after = (producer.producer_id, producer.epoch)
    assert (after[0] != pair[0], after[1]) == (True, 0)
    producer.producer_id, producer.epoch = pair
    assert producer.init(continues=True) == 0
    assert (producer.producer_id, producer.epoch) == after


def test_without_version_2_a_fence_takes_the_next_epoch_and_markers_have_it(sim):
    from protocol.embedded.metadata_settings import FeatureLevelRecord

    sim.cluster.writer.commit([FeatureLevelRecord(name="transaction.version", feature_level=1)])
    begun(sim, OLD)
    assert TransactionalProducer(sim).init() == ErrorCode.CONCURRENT_TRANSACTIONS
    *_, marker = iter_records(fetched(sim).records)
    assert (marker.batch.producer_epoch, control_type(marker)) == (1, ControlType.ABORT)


def test_a_fork_goes_on_with_a_transaction_that_is_open_and_each_ends_its_own(sim):
    producer = begun(sim)
    fork = sim.fork()
    assert producer.end() == 0
    assert visible(fetched(sim)) == [b"0"]
    assert visible(fetched(fork)) == []
    other = TransactionalProducer(fork)
    assert [other.init(), other.init()] == [ErrorCode.CONCURRENT_TRANSACTIONS, 0]
    assert visible(fetched(fork)) == []
    assert [one.first_offset for one in fetched(fork).aborted_transactions] == [0]


def test_a_reset_forgets_the_transactions_that_came_afterwards(sim):
    begun(sim)
    sim.reset()
    with pytest.raises(ApiError):
        sim.cluster.transactions.get("payments")


def test_the_earlier_of_two_commits_of_an_offset_counts_for_nothing(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == producer.commit_offset(7) == 0
    commit_offsets(sim.cluster.groups, "readers", {(TOPIC, 0): OffsetCommitValue(9)}, sim.now_ms)
    assert producer.end() == 0
    assert sim.cluster.groups.offsets("readers").get((TOPIC, 0)).offset == 9


def test_an_expired_transactional_id_takes_its_producer_from_the_group_coordinators():
    sim = Simulation(settings={"transactional.id.expiration.ms": 7_000_000})
    sim.cluster.replication_control.create(TOPIC, 2, 3)
    producer = begun(sim)
    assert producer.commit_offset(3) == 0
    assert producer.end() == 0
    (shard,) = [one for one in sim.cluster.internal_topics.shards(OFFSETS_TOPIC) if one.end]
    assert producer.producer_id in shard.producer_epochs
    sim.advance(7_000_000 + 3_600_000)
    assert not shard.producer_epochs
