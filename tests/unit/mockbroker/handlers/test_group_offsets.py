"""OffsetCommit, OffsetFetch and OffsetDelete, every version."""

from __future__ import annotations

import pytest

import protocol
from mockbroker.groups.classic.members import topics_in
from mockbroker.groups.kind import Sender
from protocol.apis.group_offsets import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest
from protocol.embedded.group_log import OffsetCommitValue
from protocol.error_codes import ErrorCode
from tests.group_driver import WITHOUT_IDS, commit_offsets, join_request

READERS = "readers"
NO_TOPIC = bytes(15) + b"\1"


@pytest.fixture
def sim(sim):
    """Three brokers; topics orders (2 partitions) and events (1)."""
    sim.cluster.replication_control.create("orders", 2)
    sim.cluster.replication_control.create("events", 1)
    return sim


def ask(sim, request, version=None):
    return sim.ask(request, version=version, broker=sim.cluster.internal_topics.coordinator(READERS).id)


def commit(sim, partitions, *, version=10, group=READERS, generation=-1, member_id="", topic="orders", metadata="note"):
    """Commit offsets of one topic, {partition: offset}; the error of each partition."""
    known = sim.cluster.topics.get(topic)
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        topics=[
            OffsetCommitRequest.Topic(
                name=topic,
                topic_id=known.id if known else NO_TOPIC,
                partitions=[
                    OffsetCommitRequest.Topic.Partition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_leader_epoch=3,
                        committed_metadata=metadata,
                    )
                    for index, offset in partitions.items()
                ],
            )
        ],
    )
    (answer,) = ask(sim, request, version).topics
    return {partition.partition_index: partition.error_code for partition in answer.partitions}


def fetch(sim, wanted, *, version=9, require_stable=False, group=READERS):
    """Fetch offsets, {topic: partitions} or None for all; {(topic, partition): (offset, metadata, error)}."""
    single = version < 8
    topic_class = OffsetFetchRequest.Topic if single else OffsetFetchRequest.Group.Topic
    topics = None if wanted is None else []
    for name, indexes in (wanted or {}).items():
        topic = topic_class(name=name, partition_indexes=indexes)
        if version >= 10:
            topic.topic_id = sim.cluster.topics[name].id if name in sim.cluster.topics else NO_TOPIC
        topics.append(topic)
    if single:
        answer = ask(sim, OffsetFetchRequest(group_id=group, topics=topics, require_stable=require_stable), version)
    else:
        groups = [OffsetFetchRequest.Group(group_id=group, topics=topics)]
        (answer,) = ask(sim, OffsetFetchRequest(groups=groups, require_stable=require_stable), version).groups
    assert answer.error_code == ErrorCode.NONE
    names = {topic.id: name for name, topic in sim.cluster.topics.items()}
    return {
        (names.get(topic.topic_id, "?") if version >= 10 else topic.name, partition.partition_index): (
            partition.committed_offset,
            partition.metadata,
            partition.error_code,
        )
        for topic in answer.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", range(11))
def test_offsets_are_committed_in_every_version(sim, version):
    assert commit(sim, {0: 5, 1: 7}, version=version) == {0: ErrorCode.NONE, 1: ErrorCode.NONE}
    offsets = sim.cluster.groups.offsets(READERS)
    leader_epoch = 3 if version >= 6 else -1
    for index, offset in ((0, 5), (1, 7)):
        value = offsets.get(("orders", index))
        assert (value.offset, value.leader_epoch, value.metadata) == (offset, leader_epoch, "note")


@pytest.mark.parametrize("version", range(11))
def test_offsets_are_fetched_in_every_version(sim, version):
    commit(sim, {1: 7})
    fetched = fetch(sim, {"orders": [1, 0]}, version=version)
    nothing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if version == 0 else ErrorCode.NONE
    assert list(fetched.items()) == [
        (("orders", 1), (7, "note", ErrorCode.NONE)),
        (("orders", 0), (-1, "", nothing)),
    ]


@pytest.mark.parametrize("version", [version for version in range(11) if version >= 2])
def test_no_topics_means_all_that_the_group_has_in_order(sim, version):
    commit(sim, {1: 7, 0: 5})
    commit(sim, {0: 1}, topic="events")
    assert list(fetch(sim, None, version=version)) == [("events", 0), ("orders", 0), ("orders", 1)]


@pytest.mark.parametrize("version", [7, 8, 9, 10])
def test_an_offset_that_a_transaction_may_still_change_is_unstable_to_whoever_asks_for_stable_ones(sim, version):
    commit(sim, {0: 5, 1: 7})
    commit_offsets(sim.cluster.groups, READERS, {("orders", 0): OffsetCommitValue(9)}, sim.now_ms, producer=(1, 0))
    wanted = {"orders": [0, 1]}
    assert fetch(sim, wanted, version=version)["orders", 0] == (5, "note", ErrorCode.NONE)
    assert fetch(sim, wanted, version=version, require_stable=True) == {
        ("orders", 0): (-1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT),
        ("orders", 1): (7, "note", ErrorCode.NONE),
    }


def test_the_leader_epoch_is_given_back(sim):
    commit(sim, {0: 5})
    request = OffsetFetchRequest(
        group_id=READERS, topics=[OffsetFetchRequest.Topic(name="orders", partition_indexes=[0, 1])]
    )
    (topic,) = ask(sim, request, 7).topics
    assert [partition.committed_leader_epoch for partition in topic.partitions] == [3, -1]


def test_several_groups_are_fetched_at_once_each_with_its_own_error(sim):
    commit(sim, {0: 5})
    elsewhere = next(
        name
        for name in map(str, range(99))
        if sim.cluster.internal_topics.coordinator(name) != sim.cluster.internal_topics.coordinator(READERS)
    )
    topics = [OffsetFetchRequest.Group.Topic(name="orders", partition_indexes=[0])]
    groups = [OffsetFetchRequest.Group(group_id=name, topics=topics) for name in (elsewhere, READERS)]
    refused, found = ask(sim, OffsetFetchRequest(groups=groups), 8).groups
    assert (refused.group_id, refused.error_code, refused.topics) == (elsewhere, ErrorCode.NOT_COORDINATOR, [])
    assert (found.group_id, found.topics[0].partitions[0].committed_offset) == (READERS, 5)


@pytest.mark.parametrize("version", range(8))
def test_a_broker_that_does_not_coordinate_the_group_says_so_where_the_version_can(sim, version):
    other = (sim.cluster.internal_topics.coordinator(READERS).id + 1) % 3
    topics = [OffsetFetchRequest.Topic(name="orders", partition_indexes=[0])]
    answer = sim.ask(OffsetFetchRequest(group_id=READERS, topics=topics), version=version, broker=other)
    if version >= 2:
        assert (answer.error_code, answer.topics) == (ErrorCode.NOT_COORDINATOR, [])
    else:
        partition = answer.topics[0].partitions[0]
        assert (partition.error_code, partition.committed_offset) == (ErrorCode.NOT_COORDINATOR, -1)


def test_a_commit_to_a_broker_that_does_not_coordinate_the_group_is_refused_partition_by_partition(sim):
    other = (sim.cluster.internal_topics.coordinator(READERS).id + 1) % 3
    partitions = [OffsetCommitRequest.Topic.Partition(partition_index=index) for index in (0, 1)]
    request = OffsetCommitRequest(
        group_id=READERS, topics=[OffsetCommitRequest.Topic(name="orders", partitions=partitions)]
    )
    (topic,) = sim.ask(request, version=9, broker=other).topics
    assert [partition.error_code for partition in topic.partitions] == [ErrorCode.NOT_COORDINATOR] * 2


def test_an_unknown_topic_or_partition_spoils_only_its_own_commit(sim):
    assert commit(sim, {0: 5, 2: 9}, version=9) == {0: ErrorCode.NONE, 2: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert commit(sim, {0: 5}, version=9, topic="absent") == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert commit(sim, {0: 5}, version=10, topic="absent") == {0: ErrorCode.UNKNOWN_TOPIC_ID}


def test_unknown_topics_have_no_offsets_and_unknown_topic_ids_are_an_error(sim):
    assert fetch(sim, {"absent": [0]}, version=9) == {("absent", 0): (-1, "", ErrorCode.NONE)}
    assert fetch(sim, {"absent": [0]}, version=10) == {("?", 0): (-1, "", ErrorCode.UNKNOWN_TOPIC_ID)}


def test_offsets_of_topics_that_have_no_id_any_more_are_left_out_of_all_by_id(sim):
    commit(sim, {0: 5})
    commit_offsets(sim.cluster.groups, READERS, {("gone", 0): OffsetCommitValue(1)}, sim.now_ms)
    assert ("gone", 0) in fetch(sim, None, version=9)
    assert list(fetch(sim, None, version=10)) == [("orders", 0)]


def test_no_metadata_is_kept_as_an_empty_text(sim):
    commit(sim, {0: 5}, metadata=None)
    assert fetch(sim, {"orders": [0]})["orders", 0] == (5, "", ErrorCode.NONE)


@pytest.mark.parametrize(("letter", "units"), [("x", 1), ("\u00fc", 1), ("\U0001f600", 2)])
def test_metadata_longer_than_4096_units_of_java_is_refused(sim, letter, units):
    assert commit(sim, {0: 5}, metadata=letter * (4096 // units)) == {0: ErrorCode.NONE}
    too_long = letter * (4096 // units + 1)
    assert commit(sim, {0: 5}, metadata=too_long) == {0: ErrorCode.OFFSET_METADATA_TOO_LARGE}


def test_metadata_too_long_spoils_only_its_own_partition(sim):
    entry = OffsetCommitRequest.Topic.Partition
    partitions = [
        entry(partition_index=index, committed_offset=1, committed_metadata="x" * length)
        for index, length in ((0, 4097), (1, 4096))
    ]
    request = OffsetCommitRequest(
        group_id=READERS,
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequest.Topic(name="orders", partitions=partitions)],
    )
    (answer,) = ask(sim, request, 9).topics
    codes = [partition.error_code for partition in answer.partitions]
    assert codes == [ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.NONE]
    assert sim.cluster.groups.offsets(READERS).partitions() == [("orders", 1)]


@pytest.mark.parametrize("version", range(1, 11))
def test_a_generation_of_no_group_is_illegal_before_version_9_and_no_group_since(sim, version):
    expected = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
    assert commit(sim, {0: 5}, version=version, generation=4, member_id="m") == {0: expected}


def test_offsets_may_be_committed_and_fetched_under_the_empty_group_id(sim):
    def to_coordinator(request):
        return sim.ask(request, version=7, broker=sim.cluster.internal_topics.coordinator("").id)

    partition = OffsetCommitRequest.Topic.Partition(partition_index=0, committed_offset=5, committed_metadata="")
    to_coordinator(OffsetCommitRequest(topics=[OffsetCommitRequest.Topic(name="orders", partitions=[partition])]))
    (topic,) = to_coordinator(OffsetFetchRequest(topics=None)).topics
    assert topic.partitions[0].committed_offset == 5


# OffsetDelete


def delete(sim, *partitions, topic="orders"):
    request = OffsetDeleteRequest(
        group_id=READERS,
        topics=[
            OffsetDeleteRequest.Topic(
                name=topic,
                partitions=[OffsetDeleteRequest.Topic.Partition(partition_index=index) for index in partitions],
            )
        ],
    )
    return ask(sim, request)


def errors_of(answer):
    return {partition.partition_index: partition.error_code for partition in answer.topics[0].partitions}


@pytest.mark.parametrize(("index", "topics"), [(0, 2), (99, 1)])
def test_a_topic_that_is_named_twice_is_answered_once_only_where_a_partition_is_refused(sim, index, topics):
    commit(sim, {0: 5})
    named = [
        OffsetDeleteRequest.Topic(
            name="orders", partitions=[OffsetDeleteRequest.Topic.Partition(partition_index=partition)]
        )
        for partition in (0, index)
    ]
    assert len(ask(sim, OffsetDeleteRequest(group_id=READERS, topics=named)).topics) == topics


def subscription(*topics):
    message = protocol.named_class("ConsumerProtocolSubscription")(topics=list(topics), user_data=None)
    return (1).to_bytes(2, "big") + protocol.encode(message, 1)


def join(sim, metadata):
    """One member whose subscription is this."""
    joining = join_request(protocols=[("range", metadata)], rebalance_ms=10_000, group_id=READERS)
    sim.cluster.groups.join(joining, Sender(WITHOUT_IDS, "c", "/h"), sim.now_ms, sim.engine.path.rng)


def test_the_empty_group_has_no_offsets_to_delete(sim):
    request = OffsetDeleteRequest(group_id="")
    coordinator = sim.cluster.internal_topics.coordinator("").id
    assert sim.ask(request, broker=coordinator).error_code == ErrorCode.INVALID_GROUP_ID


def test_offsets_are_deleted_and_unknown_partitions_named(sim):
    commit(sim, {0: 5, 1: 7})
    assert errors_of(delete(sim, 0, 9)) == {0: ErrorCode.NONE, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert sim.cluster.groups.offsets(READERS).partitions() == [("orders", 1)]


def test_offsets_of_a_topic_that_is_read_are_kept(sim):
    commit(sim, {0: 5})
    commit(sim, {0: 5}, topic="events")
    join(sim, subscription("orders"))
    assert errors_of(delete(sim, 0)) == {0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
    assert errors_of(delete(sim, 0, topic="events")) == {0: ErrorCode.NONE}
    assert sim.cluster.groups.offsets(READERS).partitions() == [("orders", 0)]


def test_offsets_of_no_group_cannot_be_deleted(sim):
    answer = delete(sim, 0)
    assert (answer.error_code, answer.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\0\0\0\0\7", b"\0\1\xff\xff\xff\xff"])
def test_metadata_that_is_no_subscription_is_told_from_one(metadata):
    assert topics_in(metadata) is None
    assert topics_in(subscription("orders", "events")) == {"orders", "events"}
