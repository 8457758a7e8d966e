"""The share partitions of a group: initialized when a member first subscribes to a topic, deleted with topic or group.

The group coordinator has the share coordinator initialize a share partition before it assigns the partition.
Source: GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest and related methods, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mockbroker.share_groups.groups import records
from mockbroker.share_groups.groups.group import ShareGroup
from mockbroker.share_groups.groups.records import StatePartitions, TopicState
from mockbroker.share_groups.share_states import NO_OFFSET, SharePartitionKey
from mockbroker.share_groups.state.share_partitions import SharePartitions
from mockbroker.state.errors import ApiError

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
                share.begin(SharePartitionKey(group.id, topic_id, index), group.epoch, offset)
            except ApiError as error:
                errors[topic_id, index] = error
    begun = {} if errors else states
    present = group.partitions
    put(
        group,
        StatePartitions(without(present.initializing, states), joined(present.initialized, begun), present.deleting),
    )
    return errors


def forget_topic(group: ShareGroup, topic_id: bytes) -> None:
    """Remove a deleted topic from the group."""
    before = group.partitions
    initializing, initialized, deleting = dict(before.initializing), dict(before.initialized), dict(before.deleting)
    if topic_id in initializing or topic_id in initialized or topic_id in deleting:
        initializing.pop(topic_id, None)
        initialized.pop(topic_id, None)
        deleting.pop(topic_id, None)
        put(group, StatePartitions(initializing, initialized, deleting))


def delete_topics(group: ShareGroup, share: SharePartitions, topic_ids: Iterable[bytes]) -> None:
    """Delete the group's offsets in topics, and the share partitions of these topics."""
    for topic_id in topic_ids:
        numbers = group.partitions.initialized[topic_id].partitions
        share.forget_group(group.id, [SharePartitionKey(group.id, topic_id, index) for index in sorted(numbers)])
    gone = set(topic_ids)
    before = group.partitions
    initialized = {topic_id: topic for topic_id, topic in before.initialized.items() if topic_id not in gone}
    put(group, StatePartitions(before.initializing, initialized, before.deleting))


def put(group: ShareGroup, found: StatePartitions) -> None:
    group.write([records.state_partitions(group.id, found)])


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
