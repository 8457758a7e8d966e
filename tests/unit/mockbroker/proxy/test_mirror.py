"""What the proxy takes from answers of brokers that know of each other at different times."""

from __future__ import annotations

import pytest

from mockbroker.proxy.mirror import Mirror, empty_mirror, made_id
from protocol.apis.metadata import MetadataResponse

OLD, NEW = ("old.example", 9092), ("new.example", 9092)


def mirror_of(*brokers: tuple[int, str, int, str | None]) -> Mirror:
    mirror = Mirror(empty_mirror(), {})
    mirror.learn_brokers(brokers)
    return mirror


def test_metadata_is_believed_again_after_a_coordinator_was_named_where_it_no_longer_is():
    mirror = mirror_of((0, *NEW, "a"))
    mirror.broker_at(0, *OLD)
    assert mirror.upstream[0] == OLD
    mirror.learn_brokers([(0, *NEW, "a")])
    assert mirror.upstream[0] == NEW


def test_a_broker_that_was_only_named_as_a_coordinator_is_away_once_metadata_is_without_it():
    mirror = mirror_of((0, *OLD, "a"))
    mirror.broker_at(1, *NEW)
    mirror.learn_brokers([(0, *OLD, "a")])
    assert [broker.id for broker in mirror.cluster.liveness.online_brokers] == [0]


def test_a_broker_for_which_there_was_no_listener_is_tried_again_with_the_next_answer():
    mirror = mirror_of((0, *OLD, "a"))
    listeners = []

    def listen(broker):
        listeners.append(broker.id)
        if len(listeners) == 1:
            raise OSError("too many open files")

    mirror._listen = listen
    both = [(0, *OLD, "a"), (1, *NEW, "b")]
    with pytest.raises(OSError, match="too many"):
        mirror.learn_brokers(both)
    mirror.learn_brokers(both)
    assert mirror.upstream[1] == NEW
    assert listeners == [1, 1]


def said(**widths: int) -> MetadataResponse:
    """An answer that names topics with so many partitions, all led by broker 0."""
    kind = MetadataResponse.Topic
    return MetadataResponse(
        brokers=[MetadataResponse.Broker(node_id=0, host=OLD[0], port=OLD[1], rack="a")],
        topics=[
            kind(
                name=name,
                topic_id=made_id(name),
                partitions=[
                    kind.Partition(partition_index=index, leader_id=0, replica_nodes=[0], isr_nodes=[0])
                    for index in range(width)
                ],
            )
            for name, width in widths.items()
        ],
    )


def test_an_answer_about_one_topic_keeps_the_others_and_a_whole_one_ends_those_that_it_lacks():
    mirror = mirror_of((0, *OLD, "a"))
    mirror.learn(said(orders=1, events=1), 12, is_whole=True)
    mirror.learn(said(payments=1), 12)
    assert sorted(mirror.cluster.topics) == ["events", "orders", "payments"]
    mirror.learn(said(orders=1), 12, is_whole=True)
    assert sorted(mirror.cluster.topics) == ["orders"]
    assert [topic.name for topic in mirror.cluster.topic_by_id.values()] == ["orders"]


def test_a_topic_that_grows_has_leaders_and_replicas_for_its_new_partitions():
    mirror = mirror_of((0, *OLD, "a"))
    mirror.learn(said(orders=1), 12)
    mirror.learn(said(orders=3), 12)
    partitions = mirror.cluster.topics["orders"].partitions
    assert [(one.leader, one.replicas, one.isr) for one in partitions] == [(0, (0,), (0,))] * 3


def test_a_topic_gets_its_true_id_from_a_later_answer_that_says_nothing_else_new():
    mirror = Mirror(empty_mirror(), {})
    partition = MetadataResponse.Topic.Partition(partition_index=0, leader_id=0, replica_nodes=[0], isr_nodes=[0])
    for topic_id, version in ((bytes(16), 9), (b"1" * 16, 12), (b"2" * 16, 12)):
        topic = MetadataResponse.Topic(name="orders", topic_id=topic_id, partitions=[partition])
        mirror.learn(MetadataResponse(topics=[topic]), version)
        if version == 12:
            assert list(mirror.cluster.topic_by_id) == [topic_id]
