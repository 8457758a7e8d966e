"""Access control where Kafka 4.4 could not be asked: brokers in ZooKeeper mode, and calls without an answer."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.access_control.acls import Acl, create_acls
from mockbroker.adapters.server import MockCluster
from mockbroker.core.simulation import ConnectionClosedError, Simulation
from protocol.apis.controller import UpdateMetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.topics import CreatePartitionsRequest
from protocol.error_codes import ErrorCode
from protocol.records import Record, build_batch

ANONYMOUS = "User:ANONYMOUS"
SETTINGS = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
IN_ZOOKEEPER_MODE = {"inter.broker.protocol.version": "2.4"}
BATCH = build_batch([Record(value=b"x")])


def controlled(super_users: str = "") -> Simulation:
    """Brokers in ZooKeeper mode."""
    return Simulation(settings=SETTINGS | IN_ZOOKEEPER_MODE | {"super.users": super_users})


@pytest.mark.zookeeper
def test_only_who_may_act_for_the_cluster_tells_brokers_what_there_is():
    forged = UpdateMetadataRequest(controller_id=1, controller_epoch=0, broker_epoch=-1)
    answers = [controlled(some).ask(forged, version=6).error_code for some in ("", ANONYMOUS)]
    assert answers == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.NONE]


@pytest.mark.zookeeper
def test_a_controller_that_its_brokers_would_refuse_is_told_of_at_the_start():
    settings = SETTINGS | IN_ZOOKEEPER_MODE | {"super.users": "User:root"}
    with pytest.raises(ValueError, match="expected User:ANONYMOUS, who the controller is to the brokers"):
        MockCluster(1, settings=settings)


def widened(sim: Simulation, names: list[str], timeout_ms: int) -> list[tuple[str, int]]:
    topics = [CreatePartitionsRequest.Topic(name=name, count=2, assignments=None) for name in names]
    answer = sim.ask(CreatePartitionsRequest(topics=topics, timeout_ms=timeout_ms), version=3)
    return sorted((one.name, one.error_code) for one in answer.results)


@pytest.mark.parametrize("name", ["", "payments"])
def test_without_time_rights_count_only_where_nothing_is_left_for_the_controller(name):
    """As a Kafka 4.4 answered."""
    sim = Simulation("a", settings=SETTINGS)
    sim.cluster.replication_control.create("orders", 1)
    may_widen = Acl(2, "orders", 3, ANONYMOUS, "*", 7, 3)
    create_acls(sim.cluster.writer, Random(0), [may_widen])
    assert widened(sim, [name], 0) == [(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    assert widened(sim, [name, name], 0) == [(name, ErrorCode.INVALID_REQUEST)]
    late = [(one, ErrorCode.REQUEST_TIMED_OUT) for one in sorted([name, "orders"])]
    assert widened(sim, [name, "orders"], 0) == late
    assert dict(widened(sim, [name, "orders"], 1)) == {name: ErrorCode.TOPIC_AUTHORIZATION_FAILED, "orders": 0}


def test_a_refused_produce_without_acknowledgements_ends_the_connection():
    sim = Simulation(settings=SETTINGS)
    sim.cluster.replication_control.create("orders", 1)
    partition = ProduceRequest.Topic.Partition(index=0, records=BATCH)
    request = ProduceRequest(acks=0, topic_data=[ProduceRequest.Topic(name="orders", partition_data=[partition])])
    with pytest.raises(ConnectionClosedError, match="TOPIC_AUTHORIZATION_FAILED"):
        sim.send(request, version=9)
    transactional = build_batch(
        [Record(value=b"x")], producer_id=5, producer_epoch=0, base_sequence=0, transactional=True
    )
    request.topic_data[0].partition_data[0].records = transactional
    request.transactional_id = "x"
    with pytest.raises(ConnectionClosedError):
        sim.send(request, version=9)
    assert sim.cluster.topics["orders"].partitions[0].log.end_offset == 0
