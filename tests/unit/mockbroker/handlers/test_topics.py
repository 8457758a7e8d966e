from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from protocol import ZERO_UUID
from protocol.apis.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
)
from protocol.error_codes import ErrorCode

Wanted = CreateTopicsRequest.Topic


def create(sim: Simulation, *topics: Wanted, version: int = 7, **fields: object) -> list[CreateTopicsResponse.Topic]:
    return sim.ask(CreateTopicsRequest(topics=list(topics), **fields), version=version).topics


def test_a_created_topic_has_its_leaders_before_the_answer(sim):
    (entry,) = create(sim, Wanted(name="orders", num_partitions=3, replication_factor=2))
    topic = sim.cluster.topics["orders"]
    assert (entry.error_code, entry.topic_id) == (ErrorCode.NONE, topic.id)
    assert (entry.num_partitions, entry.replication_factor) == (3, 2)
    assert all(partition.leader >= 0 for partition in topic.partitions)


def test_each_topic_succeeds_or_fails_by_itself(sim):
    good, bad, twice = create(
        sim,
        Wanted(name="orders", num_partitions=1, replication_factor=1),
        Wanted(name="wide", num_partitions=1, replication_factor=4),
        Wanted(name="twice", num_partitions=1, replication_factor=1),
        Wanted(name="twice", num_partitions=1, replication_factor=1),
    )
    assert good.error_code == ErrorCode.NONE
    assert (bad.error_code, bad.error_message) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "replication factor 4, but 3 brokers are registered",
    )
    assert twice.error_code == ErrorCode.INVALID_REQUEST
    assert sorted(sim.cluster.topics) == ["orders"]


def test_settings_are_kept_and_shown_with_where_they_come_from(sim):
    config = Wanted.Config(name="retention.ms", value="1000")
    (entry,) = create(sim, Wanted(name="orders", num_partitions=1, replication_factor=1, configs=[config]))
    shown = {one.name: (one.value, one.config_source) for one in entry.configs}
    assert shown["retention.ms"] == ("1000", 1)
    assert shown["cleanup.policy"] == ("delete", 5)
    assert sim.cluster.topics["orders"].config("retention.ms") == 1000


def test_a_diskless_topic_is_made_by_its_setting(sim):
    config = Wanted.Config(name="diskless.enable", value="true")
    (entry,) = create(sim, Wanted(name="events", num_partitions=2, replication_factor=3, configs=[config]))
    assert entry.error_code == ErrorCode.NONE
    assert sim.cluster.topics["events"].diskless
    assert [partition.replicas for partition in sim.cluster.topics["events"].partitions] == [(), ()]


def test_replicas_may_be_given_by_hand(sim):
    rows = [Wanted.Assignment(partition_index=index, broker_ids=ids) for index, ids in ((1, [2, 0]), (0, [1, 2]))]
    (entry,) = create(sim, Wanted(name="orders", num_partitions=-1, replication_factor=-1, assignments=rows))
    assert entry.error_code == ErrorCode.NONE
    assert [partition.replicas for partition in sim.cluster.topics["orders"].partitions] == [(1, 2), (2, 0)]
    (entry,) = create(sim, Wanted(name="both", num_partitions=2, replication_factor=-1, assignments=rows))
    assert entry.error_code == ErrorCode.INVALID_REQUEST
    (entry,) = create(sim, Wanted(name="gap", num_partitions=-1, replication_factor=-1, assignments=rows[:1]))
    assert entry.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_validating_creates_nothing(sim):
    (entry,) = create(sim, Wanted(name="orders", num_partitions=1, replication_factor=1), validate_only=True)
    assert entry.error_code == ErrorCode.NONE
    assert entry.topic_id != ZERO_UUID  # as Kafka, which draws an id all the same
    assert sim.cluster.topics == {}


def test_topics_are_deleted_by_name_and_by_id(sim):
    first, second = sim.cluster.replication_control.create("first"), sim.cluster.replication_control.create("second")
    by_name = sim.ask(DeleteTopicsRequest(timeout_ms=1000, topic_names=["first", "none"]), version=5).responses
    assert [(one.name, one.error_code) for one in by_name] == [
        ("first", ErrorCode.NONE),
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    wanted = [DeleteTopicsRequest.Topic(name=None, topic_id=topic.id) for topic in (second, first)]
    by_id = sim.ask(DeleteTopicsRequest(timeout_ms=1000, topics=wanted), version=6).responses
    assert [(one.name, one.error_code) for one in by_id] == [
        ("second", ErrorCode.NONE),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert sim.cluster.topics == {}


def test_a_topic_is_widened(sim):
    sim.cluster.replication_control.create("orders", 2, 2)
    wanted = [CreatePartitionsRequest.Topic(name=name, count=4, assignments=None) for name in ("orders", "none")]
    results = sim.ask(CreatePartitionsRequest(timeout_ms=1000, topics=wanted)).results
    assert [one.error_code for one in results] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert len(sim.cluster.topics["orders"].partitions) == 4
    assert all(partition.leader >= 0 for partition in sim.cluster.topics["orders"].partitions)
    again = sim.ask(CreatePartitionsRequest(timeout_ms=1000, topics=wanted[:1])).results[0]
    assert again.error_code == ErrorCode.INVALID_PARTITIONS


@pytest.mark.zookeeper
def test_in_zookeeper_mode_create_topics_is_refused_where_only_some_brokers_have_racks():
    """As AdminManager of Kafka 0.10.1 and later; KafkaApis, which makes the topics that clients ask for, is lenient."""
    sim = Simulation("a,b,", settings={"inter.broker.protocol.version": "0.10.2"})
    sim.tell()
    (refused,) = create(sim, Wanted(name="orders", num_partitions=2, replication_factor=2), version=1)
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        "Not all brokers have rack information for replica rack aware assignment",
    )
    assert "orders" not in sim.cluster.topics
    assert len(sim.cluster.replication_control.create("asked-for", 2, 2, requesting_broker_id=0).partitions) == 2


@pytest.mark.zookeeper
def test_in_zookeeper_mode_no_topic_is_widened_where_only_some_brokers_have_racks():
    """ZkAdminManager of Kafka 3.9 fails before it looks at a topic, so the whole request does, without words."""
    sim = Simulation("a,b,", settings={"inter.broker.protocol.version": "3.9", "zookeeper.connect": "here"})
    sim.tell()
    sim.cluster.replication_control.create("orders", 1, 2)
    sim.tell()
    wanted = [
        CreatePartitionsRequest.Topic(
            name=name, count=2, assignments=[CreatePartitionsRequest.Topic.Assignment(broker_ids=[0, 1])]
        )
        for name in ("orders", "none")
    ]
    results = sim.ask(CreatePartitionsRequest(timeout_ms=1000, topics=wanted)).results
    assert [(one.name, one.error_code, one.error_message) for one in results] == [
        ("orders", ErrorCode.UNKNOWN_SERVER_ERROR, None),
        ("none", ErrorCode.UNKNOWN_SERVER_ERROR, None),
    ]
    assert len(sim.cluster.topics["orders"].partitions) == 1


def test_in_kraft_mode_racks_are_left_out_where_only_some_brokers_have_one():
    (made,) = create(Simulation("a,b,"), Wanted(name="orders", num_partitions=2, replication_factor=2))
    assert made.error_code == ErrorCode.NONE


def test_an_error_that_repeats_the_request_is_cut_off(sim):
    name = "x!" * 5_000
    answer = sim.ask(
        CreateTopicsRequest(topics=[CreateTopicsRequest.Topic(name=name, num_partitions=1, replication_factor=1)])
    )
    (topic,) = answer.topics
    assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert len(topic.error_message) < 1_100
