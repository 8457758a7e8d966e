"""The rack in what a member of a classic group subscribes to: added where there is room, nothing else moved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription as PeersSubscription

from mockbroker.proxy.subscriptions import with_rack
from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, write_versioned
from protocol.fuzz import messages
from tests.fixture_data import golden_vectors

Subscription = ConsumerProtocolSubscription
RACKS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
OWNED = [Subscription.TopicPartition(topic="events", partitions=[0, 2])]


def written(version, **values):
    return write_versioned(Subscription(topics=["events"], **values), version)


@given(st.data(), st.integers(0, 3), RACKS, st.sampled_from(["range", "sticky", "roundrobin"]))
def test_a_subscription_says_the_same_and_the_rack(data, version, rack, assignor):
    subscription = data.draw(messages(Subscription, version))
    sent = write_versioned(subscription, version)
    rewritten = with_rack(sent, rack, assignor)
    if version == 0 or subscription.rack_id:
        assert rewritten is None
        return
    subscription.rack_id = rack
    assert rewritten == write_versioned(subscription, 3)
    assert with_rack(rewritten, "another", assignor) is None


@given(st.data(), st.integers(4, 32767), st.binary(max_size=30))
def test_what_a_newer_version_adds_stays_behind_the_rack(data, version, added):
    subscription = data.draw(messages(Subscription, 3))
    subscription.rack_id = None
    sent = version.to_bytes(2) + write_versioned(subscription, 3)[2:] + added
    rewritten = with_rack(sent, "a", "range")
    assert rewritten is not None
    assert rewritten == version.to_bytes(2) + sent[2 : len(sent) - len(added) - 2] + b"\0\1a" + added
    assert read_versioned(Subscription, rewritten).rack_id == "a"


@pytest.mark.parametrize("rack_id", [None, ""])
def test_an_empty_rack_is_none(rack_id):
    rewritten = with_rack(written(3, generation_id=4, rack_id=rack_id), "a", "range")
    assert rewritten == written(3, generation_id=4, rack_id="a")


def test_a_cooperative_member_keeps_the_generation_of_its_user_data():
    """As what its leader looks for in version 2 and newer alone, where it finds one there."""
    generation = (7).to_bytes(4)
    sent = written(1, user_data=generation, owned_partitions=OWNED)
    rewritten = read_versioned(Subscription, with_rack(sent, "a", "cooperative-sticky"))
    assert (rewritten.generation_id, rewritten.user_data, rewritten.owned_partitions) == (7, generation, OWNED)
    assert read_versioned(Subscription, with_rack(sent, "a", "sticky")).generation_id == -1
    longer = written(1, user_data=generation + b"\0", owned_partitions=OWNED)
    assert read_versioned(Subscription, with_rack(longer, "a", "cooperative-sticky")).generation_id == -1


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\0",
        b"\0\3",
        b"\xff\xff" + written(3)[2:],  # a version below any
        written(0),
        b"\0\1" + written(0)[2:],  # as kafka-go and sarama-cluster write it
        written(1) + b"tail",
        written(2) + b"\0",
        written(3)[:-1],
        b"not a subscription of ours",
    ],
)
def test_what_cannot_be_read_or_lifted_stays(sent):
    assert with_rack(sent, "a", "range") is None


def test_every_beginning_of_a_subscription_stays():
    whole = written(3, owned_partitions=OWNED, generation_id=3)
    assert {with_rack(whole[:length], "a", "range") for length in range(len(whole))} == {None}


def test_a_rack_too_long_to_be_written_stays_away():
    assert with_rack(written(3), "ä" * 16384, "range") is None
    assert with_rack(written(3), "a" * 32767, "range") is not None


@pytest.mark.parametrize("version", [1, 2, 3])
def test_kafka_python_reads_it_as_before(version):
    sent = written(version, user_data=b"its own", owned_partitions=OWNED, generation_id=5 if version > 1 else -1)
    read = PeersSubscription.decode
    was, now = read(sent), read(with_rack(sent, "az-a", "range"))
    assert now.rack_id == "az-a"
    assert (now.topics, now.user_data, now.generation_id) == (was.topics, was.user_data, was.generation_id)
    assert [(one.topic, one.partitions) for one in now.owned_partitions] == [("events", [0, 2])]


@pytest.mark.parametrize("vector", golden_vectors("ConsumerProtocolSubscription"), ids=lambda one: one.label)
def test_kafkas_own_bytes_are_read_with_the_rack(vector):
    sent = vector.version.to_bytes(2) + vector.body
    rewritten = with_rack(sent, "a", "range")
    was = read_versioned(Subscription, sent)
    if vector.version == 0 or was.rack_id:
        assert rewritten is None
    else:
        was.rack_id = "a"
        assert read_versioned(Subscription, rewritten) == was
