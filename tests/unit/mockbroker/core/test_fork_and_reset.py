from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.errors import ApiError
from mockbroker.state.quotas.client_quotas import quota_records
from protocol.apis.classic_group import JoinGroupRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.group_offsets import OffsetCommitRequest, OffsetFetchRequest
from protocol.apis.groups import ListGroupsRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.error_codes import ErrorCode
from protocol.records import Record, build_batch, iter_records


@pytest.fixture
def sim() -> Simulation:
    """With a topic of one partition that broker 0 leads, and one record in it."""
    sim = Simulation()
    sim.cluster.replication_control.create("orders", assignment=[[0, 1, 2]])
    produce(sim, b"seed")
    return sim


def produce(sim: Simulation, value: bytes, producer_id: int = -1, sequence: int = -1) -> int:
    epoch = -1 if producer_id < 0 else 0
    records = build_batch([Record(value=value)], producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    partition = ProduceRequest.Topic.Partition(index=0, records=records)
    topic = ProduceRequest.Topic(name="orders", partition_data=[partition])
    answer = sim.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), version=9)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    return answer.responses[0].partition_responses[0].base_offset


def values(sim: Simulation) -> list[bytes]:
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topic = FetchRequest.Topic(topic="orders", partitions=[partition])
    request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[topic])
    records = sim.ask(request, version=11).responses[0].partitions[0].records
    return [record.value for record in iter_records(records)]


def commit(sim: Simulation, offset: int) -> None:
    partition = OffsetCommitRequest.Topic.Partition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequest.Topic(name="orders", partitions=[partition])
    request = OffsetCommitRequest(group_id="readers", topics=[topic])
    sim.ask(request, version=8, broker=sim.cluster.internal_topics.coordinator("readers").id)


def committed(sim: Simulation) -> int:
    group = OffsetFetchRequest.Group(
        group_id="readers", topics=[OffsetFetchRequest.Group.Topic(name="orders", partition_indexes=[0])]
    )
    broker = sim.cluster.internal_topics.coordinator("readers").id
    answer = sim.ask(OffsetFetchRequest(groups=[group]), version=8, broker=broker)
    return answer.groups[0].topics[0].partitions[0].committed_offset


def join(sim: Simulation) -> None:
    protocol = JoinGroupRequest.Protocol(name="range", metadata=b"")
    request = JoinGroupRequest(
        group_id="readers",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[protocol],
    )
    sim.send(request, version=3, broker=sim.cluster.internal_topics.coordinator("readers").id)


def test_a_fork_has_the_records_and_what_is_written_to_either_stays_there(sim):
    fork = sim.fork()
    produce(fork, b"in the fork")
    produce(sim, b"in the first")
    assert values(fork) == [b"seed", b"in the fork"]
    assert values(sim) == [b"seed", b"in the first"]


def test_a_fork_has_what_was_there_when_it_was_made_though_it_looks_late(sim):
    fork = sim.fork()
    sim.cluster.topics["orders"].partitions[0].truncate(0)
    produce(sim, b"another")
    assert values(fork) == [b"seed"]


def test_what_is_deleted_in_one_is_there_in_the_other(sim):
    fork, other = sim.fork(), sim.fork()
    sim.cluster.topics["orders"].partitions[0].log.advance_start(1)
    other.delete_topic("orders")
    assert values(fork) == [b"seed"]


def test_a_fork_of_a_fork_has_the_records_of_both(sim):
    fork = sim.fork()
    produce(fork, b"in the fork")
    assert values(fork.fork().fork()) == [b"seed", b"in the fork"]


def test_forks_give_the_same_ids_for_the_same_commands(sim):
    made = [fork.create_topic("payments", 1).id for fork in (sim.fork(), sim.fork())]
    assert made[0] == made[1] == sim.create_topic("payments", 1).id


def test_a_fork_has_committed_offsets_and_no_members(sim):
    join(sim)
    fork = sim.fork()
    assert [len(group.members) for group in fork.cluster.groups.select()] == [0]
    assert [len(group.members) for group in sim.cluster.groups.select()] == [1]


def test_committed_offsets_of_a_fork_are_its_own(sim):
    commit(sim, 1)
    fork = sim.fork()
    commit(fork, 5)
    assert (committed(sim), committed(fork)) == (1, 5)
    listed = fork.ask(ListGroupsRequest(), broker=fork.cluster.internal_topics.coordinator("readers").id)
    assert [group.group_id for group in listed.groups] == ["readers"]


def test_a_fork_knows_a_batch_that_was_sent_before(sim):
    producer_id = sim.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)).producer_id
    offset = produce(sim, b"once", producer_id, 0)
    fork = sim.fork()
    assert produce(fork, b"once", producer_id, 0) == offset
    assert values(fork) == [b"seed", b"once"]


def test_producer_ids_of_a_fork_go_on_behind_those_that_were_given(sim):
    given = sim.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)).producer_id
    assert sim.fork().ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)).producer_id > given


def test_a_fork_has_all_brokers_up_and_undisturbed(sim):
    sim.stop_rack("a")
    sim.fill_disk(1)
    sim.set_follower_lag(2, 5)
    sim.cut_link(1, 2)
    sim.fence_broker(2)
    partition = sim.fork().cluster.topics["orders"].partitions[0]
    assert (partition.leader, partition.isr) == (0, (0, 1, 2))
    assert sim.cluster.topics["orders"].partitions[0].isr != (0, 1, 2)


def test_a_fork_keeps_leaders_and_isrs_that_were_commanded(sim):
    sim.move_leader("orders", 0, 2)
    sim.shrink_isr("orders", 0, [1])
    fork = sim.fork()
    partition = fork.cluster.topics["orders"].partitions[0]
    assert (partition.leader, partition.isr) == (2, (0, 2))
    fork.grow_isr("orders", 0, [1])
    assert sim.cluster.topics["orders"].partitions[0].isr == (0, 2)


def test_a_fork_keeps_the_configs_of_topics(sim):
    sim.create_topic("logs", 1, 1, configs={"retention.ms": 5})
    assert sim.fork().cluster.topics["logs"].config("retention.ms") == 5


def test_a_fork_keeps_coordinators_that_were_commanded(sim):
    sim.move_coordinator("readers", 2)
    assert sim.fork().cluster.internal_topics.coordinator("readers").id == 2


def test_a_reset_is_as_at_first(sim):
    commit(sim, 1)
    join(sim)
    sim.stop_rack("a")
    sim.jump_clock(1000)
    version = sim.cluster.version
    sim.reset()
    assert sim.cluster.topics == {}
    assert sim.cluster.groups.select() == []
    assert [broker.id for broker in sim.cluster.liveness.online_brokers] == [0, 1, 2]
    assert sim.cluster.clock.offset_ms == 0
    assert sim.cluster.version > version
    assert sim.cluster.timers.next_ms() is None
    with pytest.raises(ApiError):
        sim.cluster.find_topic("orders")


def test_a_reset_drops_who_waits(sim):
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=1, partition_max_bytes=1000)
    topic = FetchRequest.Topic(topic="orders", partitions=[partition])
    ticket = sim.send(FetchRequest(max_wait_ms=5000, min_bytes=1, topics=[topic]), version=11)
    sim.reset()
    sim.advance(10_000)
    assert sim.replies[ticket] is None
    assert sim.engine.parked_calls == 0


def test_after_a_reset_the_same_commands_give_the_same_ids(sim):
    sim.reset()
    first = sim.create_topic("orders", 1).id
    sim.reset()
    assert sim.create_topic("orders", 1).id == first


def test_a_reset_fork_is_as_it_was_forked(sim):
    fork = sim.fork()
    produce(fork, b"in the fork")
    for _ in range(2):
        fork.reset()
        assert values(fork) == [b"seed"]
        produce(fork, b"again")


@pytest.mark.parametrize("release", ["0.10.0", "2.8"])
@pytest.mark.zookeeper
def test_zookeeper_mode_forks_and_is_reset(release):
    sim = Simulation(release=release)
    sim.cluster.replication_control.create("orders", assignment=[[0, 1, 2]])
    fork = sim.fork()
    assert fork.cluster.other_mode is not None
    assert fork.cluster.topics["orders"].partitions[0].leader == 0
    fork.reset()
    assert list(fork.cluster.topics) == ["orders"]
    assert fork.cluster.support.controller_id == 0


def test_a_reset_forgets_what_clients_used_of_their_quotas(sim):
    def limited() -> None:
        limits = [("producer_byte_rate", 1000.0)]
        sim.cluster.writer.commit(quota_records(sim.cluster.image, {"client-id": "app"}, limits))

    def throttle_ms(size: int) -> int:
        partition = ProduceRequest.Topic.Partition(index=0, records=build_batch([Record(value=b"x" * size)]))
        topic = ProduceRequest.Topic(name="orders", partition_data=[partition])
        request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
        return int(sim.ask(request, version=9, client_id="app").throttle_time_ms)

    limited()
    assert throttle_ms(60_000) > 40_000
    sim.reset()
    limited()
    assert throttle_ms(10) == 0


def test_a_reset_gives_loggers_their_first_levels(sim):
    level = sim.cluster.brokers[0].loggers
    name = next(iter(level.levels()))
    before = level.levels()[name]
    level.set(name, "TRACE")
    sim.reset()
    assert sim.cluster.brokers[0].loggers.levels()[name] == before


def test_a_reset_ends_fetch_sessions(sim):
    def fetch(session_id: int, epoch: int):
        partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1000)
        topics = [FetchRequest.Topic(topic="orders", partitions=[partition])] if epoch == 0 else []
        request = FetchRequest(max_wait_ms=0, session_id=session_id, session_epoch=epoch, topics=topics)
        return sim.ask(request, version=11)

    session_id = fetch(0, 0).session_id
    assert session_id > 0
    assert fetch(session_id, 1).error_code == ErrorCode.NONE
    sim.reset()
    assert fetch(session_id, 2).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_reset_makes_a_new_cluster_and_leaves_the_old_one_as_it_was(sim):
    old, brokers = sim.cluster, dict(sim.cluster.brokers)
    sim.stop_broker(2)
    sim.reset()
    assert sim.cluster is not old
    assert list(old.topics) == ["orders"]
    assert not brokers[2].is_running
    assert not set(brokers.values()) & set(sim.cluster.brokers.values())
