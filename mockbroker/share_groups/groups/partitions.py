"""The share partitions of a group: initialized when a member first subscribes to a topic, deleted with topic or group.

The group coordinator has the share coordinator initialize a share partition before it assigns the partition.
Source: GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest and related methods, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

from mockbroker.share_groups.groups.group import ShareGroup, StatePartitions, TopicState
from mockbroker.share_groups.share_states import NO_OFFSET, SharePartitionKey
from mockbroker.share_groups.state.share_partitions import SharePartitions
from mockbroker.state.errors import ApiError

Value = TypeVar("Value")
Offsets = Mapping[bytes, Mapping[int, int]]
"""Start offsets of share partitions, by topic id and partition."""


def begin_subscribed(group: ShareGroup, share: SharePartitions) -> None:
    """Initialize the share partitions of all subscribed topics that are not initialized yet.

    Partitions added to a known topic start at offset 0, others where the group's configs say.
    """
    topics = group.groups.topics
    known = joined(group.partitions.initialized, group.partitions.initializing)
    offsets: dict[bytes, dict[int, int]] = {}
    for name in sorted(group.counts):
        topic = topics.by_name.get(name)
        if topic is None:
            continue
        begun = known[topic.id].partitions if topic.id in known else frozenset()
        start = 0 if topic.id in known else NO_OFFSET
        missing = {index: start for index in range(len(topic.partitions)) if index not in begun}
        if missing:
            offsets[topic.id] = missing
    if offsets:
        begin(group, share, offsets)


def begin(group: ShareGroup, share: SharePartitions, offsets: Offsets) -> dict[tuple[bytes, int], ApiError]:
    """Initialize share partitions at these offsets; returns the errors by partition."""
    topics = group.groups.topics
    states = {
        topic_id: TopicState(topics.name_of(topic_id) or "", frozenset(numbers))
        for topic_id, numbers in offsets.items()
    }
    before = group.partitions
    deleting = {topic_id: name for topic_id, name in before.deleting.items() if topic_id not in states}
    put(group, StatePartitions(joined(before.initializing, states), before.initialized, deleting))
    errors: dict[tuple[bytes, int], ApiError] = {}
    for topic_id, numbers in sorted(offsets.items()):
        for index, offset in sorted(numbers.items()):
            try:
                share.coordinator.initialize(SharePartitionKey(group.id, topic_id, index), group.epoch, offset)
            except ApiError as error:
                errors[topic_id, index] = error
    now = group.partitions
    initialized = now.initialized if errors else joined(now.initialized, states)
    put(group, StatePartitions(without(now.initializing, states), initialized, now.deleting))
    return errors


def forget_topic(group: ShareGroup, topic_id: bytes) -> None:
    """Remove a deleted topic from the group."""
    if any(topic_id in topics for topics in group.partitions):
        initializing, initialized, deleting = group.partitions
        gone = {topic_id}
        put(
            group,
            StatePartitions(
                without_topics(initializing, gone), without_topics(initialized, gone), without_topics(deleting, gone)
            ),
        )


def delete_topics(group: ShareGroup, share: SharePartitions, topic_ids: Collection[bytes]) -> None:
    """Delete the group's offsets in topics, and the share partitions of these topics."""
    initialized = group.partitions.initialized
    for topic_id in topic_ids:
        numbers = sorted(initialized[topic_id].partitions)
        share.forget_group(group.id, [SharePartitionKey(group.id, topic_id, index) for index in numbers])
    put(group, group.partitions._replace(initialized=without_topics(initialized, topic_ids)))


def put(group: ShareGroup, found: StatePartitions) -> None:
    group.write([group.partitions_record(found)])


def without_topics(topics: Mapping[bytes, Value], gone: Collection[bytes]) -> dict[bytes, Value]:
    return {topic_id: topic for topic_id, topic in topics.items() if topic_id not in gone}


def joined(first: Mapping[bytes, TopicState], second: Mapping[bytes, TopicState]) -> dict[bytes, TopicState]:
    """The topics and partitions of both mappings."""
    result = dict(first)
    for topic_id, topic in second.items():
        known = result.get(topic_id)
        result[topic_id] = topic if known is None else TopicState(topic.name, known.partitions | topic.partitions)
    return result


def without(topics: Mapping[bytes, TopicState], gone: Mapping[bytes, TopicState]) -> dict[bytes, TopicState]:
    """The first topics without the partitions of the second."""
    result: dict[bytes, TopicState] = {}
    for topic_id, topic in topics.items():
        left = topic.partitions - gone[topic_id].partitions if topic_id in gone else topic.partitions
        if left:
            result[topic_id] = TopicState(topic.name, left)
    return result
