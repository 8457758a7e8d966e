from __future__ import annotations

from mockbroker.core.simulation import Simulation
from protocol.apis.leader_epochs import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import TOPIC, batch, produce


def ask(
    sim: Simulation, epoch: int, *, broker: int = 0, topic: str = TOPIC, current: int = -1
) -> OffsetForLeaderEpochResponse.Topic.Partition:
    wanted = OffsetForLeaderEpochRequest.Topic.Partition(partition=0, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderEpochRequest.Topic(topic=topic, partitions=[wanted])])
    return sim.ask(request, broker=broker).topics[0].partitions[0]


def test_an_epoch_ends_where_the_next_leader_began(sim):
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    produce(sim, batch(b"a", b"b"))
    sim.cluster.cluster_control.stop(0, 0)
    produce(sim, batch(b"c"), broker=1)
    answers = [ask(sim, epoch, broker=1) for epoch in (0, 1)]
    assert [(one.leader_epoch, one.end_offset) for one in answers] == [(0, 2), (1, 3)]
    assert ask(sim, 0, broker=2).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ask(sim, 0, broker=1, current=0).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert ask(sim, 0, topic="none").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_diskless_partition_has_one_epoch_whichever_broker_is_asked(sim):
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    produce(sim, batch(b"a"), topic="events")
    sim.cluster.cluster_control.stop(0, 0)
    produce(sim, batch(b"b"), topic="events", broker=1)
    answers = [ask(sim, 0, broker=broker, topic="events", current=0) for broker in (1, 2)]
    assert [(one.error_code, one.leader_epoch, one.end_offset) for one in answers] == [(0, 0, 2)] * 2


def test_an_epoch_before_the_first_record_ends_where_the_first_one_known_begins(sim):
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    sim.cluster.cluster_control.stop(0, 0)
    produce(sim, batch(b"a", b"b"), broker=1)
    sim.cluster.topics[TOPIC].partitions[0].log.advance_start(1)
    found = ask(sim, 0, broker=1)
    assert (found.leader_epoch, found.end_offset) == (0, 1)


def test_an_epoch_after_the_latest_is_undefined(sim):
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    produce(sim, batch(b"a"))
    found = ask(sim, 1)
    assert (found.error_code, found.leader_epoch, found.end_offset) == (ErrorCode.NONE, -1, -1)


def test_a_leader_that_appended_nothing_yet_began_its_epoch_where_the_log_ends(sim):
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    produce(sim, batch(b"a"))
    sim.cluster.cluster_control.stop(0, 0)
    answers = [ask(sim, epoch, broker=1) for epoch in (0, 1)]
    assert [(one.leader_epoch, one.end_offset) for one in answers] == [(0, 1), (1, 1)]
