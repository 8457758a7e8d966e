"""The drop-in assignors speak kafka-python's and aiokafka's interfaces, and version 3 of the subscription."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kafka_rack.assignment.clients.subscriptions import LastAssignment
from kafka_rack.assignment.user_data import read_cooperative, read_sticky
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, write_versioned

kafka_python = pytest.importorskip("kafka_rack.assignment.clients.kafka_python", reason="kafka-python is missing")
aiokafka = pytest.importorskip("kafka_rack.assignment.clients.aiokafka", reason="aiokafka is missing")

BOTH = pytest.mark.parametrize("client", [kafka_python, aiokafka], ids=["kafka-python", "aiokafka"])
RACKS = {0: "a", 1: "b"}


def cluster_of(client, partitions=4):
    """The client's own view of brokers 0 and 1 in racks a and b, and of a topic that alternates between them."""
    if client is kafka_python:
        from kafka.cluster import ClusterMetadata
        from kafka.protocol.metadata import MetadataResponse

        cluster = ClusterMetadata(bootstrap_servers="localhost:1")
        cluster._brokers = {
            broker: MetadataResponse.MetadataResponseBroker(broker, "h", 1, rack) for broker, rack in RACKS.items()
        }
        cluster._partitions = {
            "t": {number: SimpleNamespace(replica_nodes=[number % 2]) for number in range(partitions)}
        }
        return cluster
    from aiokafka.cluster import ClusterMetadata
    from aiokafka.structs import BrokerMetadata, PartitionMetadata

    cluster = ClusterMetadata()
    cluster._brokers = {broker: BrokerMetadata(broker, "h", 1, rack) for broker, rack in RACKS.items()}
    cluster._partitions = {
        "t": {number: PartitionMetadata("t", number, 0, [number % 2], [], None) for number in range(partitions)}
    }
    return cluster


def joined(client, subscriptions):
    """Members as the client's leader hands them to its assignor: from the bytes that they sent."""
    if client is kafka_python:
        from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription as Theirs

        return [
            SimpleNamespace(member_id=name, group_instance_id=None, metadata=Theirs.decode(data))
            for name, data in subscriptions.items()
        ]
    from aiokafka.coordinator.protocol import ConsumerProtocol

    return {name: ConsumerProtocol.METADATA.decode(data) for name, data in subscriptions.items()}


def partitions_of(answer):
    """Each member's partitions, read from the bytes that the leader would send."""
    found = {}
    for member, said in answer.items():
        assignment = read_versioned(ConsumerProtocolAssignment, said.encode())
        found[member] = [(part.topic, list(part.partitions)) for part in assignment.assigned_partitions]
    return found


def assigned(client, assignor, partitions, generation=3):
    """Tell an assignor what its member was given, as the client would."""
    if client is kafka_python:
        from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment as Theirs

        assignor.on_assignment(Theirs(0, partitions, b""), generation)
    else:
        from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment

        assignor.on_assignment(ConsumerProtocolMemberAssignment(0, partitions, b""))


@BOTH
def test_the_subscription_is_version_3_and_carries_the_rack(client):
    data = client.RackAwareRangeAssignor("az1").metadata({"t", "s"}).encode()
    assert data[:2] == b"\x00\x03"
    said = read_versioned(ConsumerProtocolSubscription, data)
    assert (list(said.topics), said.rack_id, said.generation_id) == (["s", "t"], "az1", -1)


@BOTH
@pytest.mark.parametrize("rack", [None, ""])
def test_no_rack_is_null_in_the_subscription(client, rack):
    data = client.RackAwareRangeAssignor(rack).metadata(["t"]).encode()
    assert read_versioned(ConsumerProtocolSubscription, data).rack_id is None


@BOTH
@pytest.mark.parametrize("name", ["Range", "Sticky"])
def test_a_leader_gives_members_the_partitions_of_their_racks(client, name):
    kind = getattr(client, f"RackAware{name}Assignor")
    leader = kind("b")
    members = joined(client, {"one": leader.metadata(["t"]).encode(), "two": kind("a").metadata(["t"]).encode()})
    answer = partitions_of(leader.assign(cluster_of(client), members))
    assert answer == {"one": [("t", [1, 3])], "two": [("t", [0, 2])]}


@BOTH
def test_members_with_older_subscriptions_take_part_without_racks(client):
    leader = client.RackAwareRangeAssignor("b")
    old = write_versioned(ConsumerProtocolSubscription(topics=["t"]), 0)
    answer = partitions_of(leader.assign(cluster_of(client), joined(client, {"a-old": old, "b-new": old})))
    assert answer == {"a-old": [("t", [0, 1])], "b-new": [("t", [2, 3])]}


@BOTH
def test_a_topic_that_does_not_exist_is_passed_over(client):
    leader = client.RackAwareRangeAssignor("b")
    answer = leader.assign(cluster_of(client), joined(client, {"one": leader.metadata(["gone"]).encode()}))
    assert partitions_of(answer) == {"one": []}


@BOTH
def test_round_robin_is_there_for_groups_that_change_over(client):
    leader = client.RackAwareRoundRobinAssignor("b")
    members = joined(client, {"one": leader.metadata(["t"]).encode(), "two": leader.metadata(["t"]).encode()})
    answer = partitions_of(leader.assign(cluster_of(client), members))
    assert answer == {"one": [("t", [0, 2])], "two": [("t", [1, 3])]}


@BOTH
def test_a_sticky_member_says_in_user_data_what_it_owned(client):
    assignor = client.RackAwareStickyAssignor("a")
    assert assignor.metadata(["t"]).user_data == b""
    assigned(client, assignor, [("t", [2, 0])])
    said = read_versioned(ConsumerProtocolSubscription, assignor.metadata(["t"]).encode())
    generation = 3 if client is kafka_python else -1
    assert read_sticky(said.user_data) == ([("t", 0), ("t", 2)], generation)
    assert said.owned_partitions == []


@BOTH
def test_a_sticky_group_keeps_what_it_has_when_a_member_comes(client):
    kind = client.RackAwareStickyAssignor
    old, new = kind(None), kind(None)
    assigned(client, old, [("t", [0, 1, 2, 3])])
    members = joined(client, {"old": old.metadata(["t"]).encode(), "new": new.metadata(["t"]).encode()})
    assert partitions_of(old.assign(cluster_of(client), members)) == {"old": [("t", [0, 1])], "new": [("t", [2, 3])]}


def test_a_cooperative_member_sends_what_it_owns_and_its_generation():
    assignor = kafka_python.RackAwareCooperativeStickyAssignor("a")
    assigned(kafka_python, assignor, [("t", [0, 2])], generation=7)
    said = read_versioned(ConsumerProtocolSubscription, assignor.metadata(["t"]).encode())
    assert [(part.topic, list(part.partitions)) for part in said.owned_partitions] == [("t", [0, 2])]
    assert (said.generation_id, read_cooperative(said.user_data)) == (7, 7)


def test_a_cooperative_leader_holds_back_what_must_first_be_given_up():
    kind = kafka_python.RackAwareCooperativeStickyAssignor
    one, two = kind("a"), kind("b")
    assigned(kafka_python, one, [("t", [0, 1])])
    assigned(kafka_python, two, [("t", [2, 3])])
    first = joined(kafka_python, {"one": one.metadata(["t"]).encode(), "two": two.metadata(["t"]).encode()})
    assert partitions_of(one.assign(cluster_of(kafka_python), first)) == {"one": [("t", [0])], "two": [("t", [3])]}
    assigned(kafka_python, one, [("t", [0])], generation=4)
    assigned(kafka_python, two, [("t", [3])], generation=4)
    second = joined(kafka_python, {"one": one.metadata(["t"]).encode(), "two": two.metadata(["t"]).encode()})
    answer = partitions_of(one.assign(cluster_of(kafka_python), second))
    assert answer == {"one": [("t", [0, 2])], "two": [("t", [1, 3])]}


def test_a_member_that_claims_a_topic_it_left_does_not_get_it_back():
    # Kafka's own sticky assignor gives it back: a known fault with unequal subscriptions.
    kind = kafka_python.RackAwareStickyAssignor
    left, stays = kind(None), kind(None)
    assigned(kafka_python, left, [("t", [0, 1, 2, 3])], generation=2)
    assigned(kafka_python, stays, [], generation=3)
    members = joined(kafka_python, {"left": left.metadata(["s"]).encode(), "stays": stays.metadata(["t"]).encode()})
    answer = partitions_of(left.assign(cluster_of(kafka_python), members))
    assert answer == {"left": [], "stays": [("t", [0, 1, 2, 3])]}


def test_kafka_pythons_consumer_takes_the_assignors():
    from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol

    assignor = kafka_python.RackAwareCooperativeStickyAssignor("a")
    assert isinstance(assignor, AbstractPartitionAssignor)
    assert assignor.supported_protocols() == [RebalanceProtocol.COOPERATIVE]
    assert kafka_python.RackAwareRangeAssignor().supported_protocols() == [RebalanceProtocol.EAGER]


def test_aiokafkas_other_assignors_still_read_subscriptions():
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.protocol import ConsumerProtocol

    ours = aiokafka.RackAwareRangeAssignor("a").metadata(["t"]).encode()
    theirs = RangePartitionAssignor.metadata(["t"]).encode()
    members = {"one": ConsumerProtocol.METADATA.decode(ours), "two": ConsumerProtocol.METADATA.decode(theirs)}
    answer = RangePartitionAssignor.assign(cluster_of(aiokafka), members)
    assert partitions_of(answer) == {"one": [("t", [0, 1])], "two": [("t", [2, 3])]}


def test_a_member_owns_nothing_before_its_first_assignment():
    ownership = LastAssignment()
    assert (ownership.user_data("sticky"), ownership.user_data("range"), ownership.owned("cooperative-sticky")) == (
        b"",
        b"",
        [],
    )
