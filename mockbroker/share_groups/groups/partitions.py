"""The share partitions of a group: initialized when a member first subscribes to a topic, deleted with topic or group.

The group coordinator has the share coordinator initialize a share partition before it assigns the partition.
Source: GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest and related methods, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from mockbroker.groups.modern.members import grouped
from mockbroker.share_groups.groups.group import ShareGroup
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
    known = grouped(group.initialized or ())
    offsets: dict[bytes, dict[int, int]] = {}
    for name in sorted(group.topics_read_by(group.members.values())):
        topic = topics.by_name.get(name)
        if topic is None:
            continue
        start = 0 if topic.id in known else NO_OFFSET
        missing = {index: start for index in range(len(topic.partitions)) if index not in known.get(topic.id, ())}
        if missing:
            offsets[topic.id] = missing
    if offsets:
        begin(group, share, offsets)


def begin(group: ShareGroup, share: SharePartitions, offsets: Offsets) -> dict[tuple[bytes, int], ApiError]:
    """Initialize share partitions at these offsets; returns the errors by partition, which leave none initialized."""
    errors: dict[tuple[bytes, int], ApiError] = {}
    for topic_id, numbers in sorted(offsets.items()):
        for index, offset in sorted(numbers.items()):
            try:
                share.coordinator.initialize(SharePartitionKey(group.id, topic_id, index), group.epoch, offset)
            except ApiError as error:
                errors[topic_id, index] = error
    initialized = group.initialized or frozenset()
    if not errors:
        initialized |= {(topic_id, index) for topic_id, numbers in offsets.items() for index in numbers}
    group.write_initialized(initialized)
    return errors
