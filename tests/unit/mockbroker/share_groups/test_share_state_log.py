"""``__share_group_state`` has what share coordinators keep; what real brokers write is in fixtures/answers."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.share_groups.share_states import (
    SHARE_TOPIC,
    SharePartitionKey,
    coordinator_key,
    share_coordinator,
    share_of,
)
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.topics.coordinator_keys import partition_of_key
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.codec import codec
from protocol.embedded.share_state_log import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
    StateBatch,
)
from protocol.embedded.versioned import read_versioned
from protocol.records import Record
from tests.internal_topics import records_of

KINDS = {0: (ShareSnapshotKey, ShareSnapshotValue), 1: (ShareUpdateKey, ShareUpdateValue)}
INTERVAL_MS = 300_000  # share.coordinator.state.topic.prune.interval.ms, and that of cold share partitions
Shown = tuple[str, int, int | None]  # kind, share partition, and the first offset in flight; None: deleted


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    """Three brokers, a topic with two partitions, and a share partition of the first that starts at 5."""
    sim.cluster.replication_control.create("orders", 2)
    share_of(sim.cluster).coordinator.initialize(key_of(sim), 0, 5)
    return sim


def key_of(sim: Simulation, partition: int = 0) -> SharePartitionKey:
    return SharePartitionKey("workers", sim.cluster.topics["orders"].id, partition)


def write(sim: Simulation, start_offset: int, *batches: StateBatch) -> None:
    update = ShareUpdateValue(start_offset=start_offset, delivery_complete_count=0, state_batches=list(batches))
    share_of(sim.cluster).coordinator.write(key_of(sim), 0, update)


def read(sim: Simulation) -> list[Shown]:
    return [shown(one) for one in records_of(sim, SHARE_TOPIC, coordinator_key(key_of(sim)))]


def shown(record: Record) -> Shown:
    assert record.key is not None
    key_class, value_class = KINDS[int.from_bytes(record.key[:2])]
    key, _ = codec(key_class, 0).decode(record.key, 2)
    value = None if record.value is None else read_versioned(value_class, record.value, trailing="error")
    kind = key_class.__name__.removeprefix("Share").removesuffix("Key")
    return (kind, key.partition, None if value is None else value.start_offset)


def test_a_reader_sees_each_update_and_each_deletion(sim):
    write(sim, 6)
    share_of(sim.cluster).coordinator.delete(key_of(sim))
    assert read(sim) == [("Snapshot", 0, 5), ("Update", 0, 6), ("Snapshot", 0, None)]


def test_with_the_topic_read_from_the_group_is_forgotten_in_the_log_too(sim):
    read(sim)
    sim.cluster.replication_control.delete(sim.cluster.topics["orders"])
    topic = sim.cluster.topics[SHARE_TOPIC]
    (written,) = [one for one in topic.partitions if one.log.end_offset]
    assert written.log.end_offset == 2


def test_with_the_topic_of_states_they_are_gone(sim):
    read(sim)
    sim.cluster.replication_control.delete(sim.cluster.topics[SHARE_TOPIC])
    assert not share_of(sim.cluster).coordinator.states


def test_an_old_state_is_written_once_more_and_what_is_before_it_is_deleted(sim):
    read(sim)
    for start_offset in range(6, 10):
        write(sim, start_offset)
    sim.advance(2 * INTERVAL_MS)
    assert read(sim) == [("Snapshot", 0, 9)]
    sim.advance(5 * INTERVAL_MS)
    partition = sim.cluster.internal_topics.partition_of(SHARE_TOPIC, coordinator_key(key_of(sim)))
    assert (partition.log.start_offset, partition.log.end_offset) == (5, 6)


def test_a_fork_goes_on_with_the_log_and_keeps_it_small(sim):
    read(sim)
    write(sim, 6)
    fork = sim.fork()
    write(fork, 7)
    assert read(fork) == [("Snapshot", 0, 5), ("Update", 0, 6), ("Update", 0, 7)]
    fork.advance(2 * INTERVAL_MS)
    assert read(fork) == [("Snapshot", 0, 7)]
    assert read(sim) == [("Snapshot", 0, 5), ("Update", 0, 6)]


@pytest.mark.parametrize(("racks", "min_isr"), [("a", 1), ("a,b", 1), ("a,b,c", 2), ("a,b,c,a", 2)])
def test_the_first_question_for_a_coordinator_makes_the_topic_with_kafkas_configs(racks, min_isr):
    sim = Simulation(racks=racks)
    key = "workers:AAAAAAAAAAAAAAAAAAAAAA:0"
    answer = sim.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), version=6).coordinators[0]
    topic = sim.cluster.topics[SHARE_TOPIC]
    assert (answer.error_code, answer.node_id) == (0, topic.partitions[partition_of_key(key, 50)].leader)
    # ShareCoordinatorService.shareGroupStateTopicConfigs, Apache Kafka 4.4
    assert (len(topic.partitions), topic.config("min.insync.replicas")) == (50, min_isr)
    assert "delete" in topic.config("cleanup.policy")


def test_updates_in_the_log_go_on_from_the_snapshot_before_them():
    key = {"group_id": "workers", "topic_id": bytes(16), "partition": 0}
    snapshot = ShareSnapshotValue(
        snapshot_epoch=3, state_epoch=1, leader_epoch=0, start_offset=10, create_timestamp=0, write_timestamp=0
    )
    update = ShareUpdateValue(snapshot_epoch=3, leader_epoch=2, start_offset=20, state_batches=[])
    coordinator = share_coordinator(Simulation().cluster)
    for one in [(ShareUpdateKey(**key), update), (ShareSnapshotKey(**key), snapshot), (ShareUpdateKey(**key), update)]:
        coordinator.replay(CoordinatorRecord(*one))
    (state,) = coordinator.states.values()
    value = state.value
    assert (value.snapshot_epoch, value.state_epoch, value.start_offset, state.newest_leader_epoch) == (3, 1, 20, 2)
