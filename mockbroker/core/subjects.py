"""What a request names: topics with their partitions, and groups.

To find that out the request is decoded, so ask only where it is needed, and first whether the API names any
(``APIS_WITH_TOPICS``, ``APIS_WITH_GROUPS``). A fetch in a session names what the session has, not only what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from mockbroker.call import Call

TOPIC_RESOURCE_TYPE = 2
GROUP_KEY_TYPE = 0
SHARE_FETCH = 78


class Subjects(NamedTuple):
    """What one request names.

    ``topics`` has the partitions of each topic in the request's order; none where the request names the topic as a
    whole. Topics that are named by an id stand under their name; an id that no topic has is left out. ``all_topics``
    says that every topic there is was asked for, as Metadata may; those are not listed.
    """

    topics: dict[str, tuple[int, ...]]
    groups: tuple[str, ...] = ()
    all_topics: bool = False


NOTHING = Subjects({})


def subjects_of(call: Call) -> Subjects:
    """What a call's request names; worked out once a call.

    Raises ProtocolError: the request cannot be read.
    """
    found: Subjects | None = call.subjects
    if found is None:
        reader = READERS.get(call.api_key)
        found = call.subjects = NOTHING if reader is None else reader(call, call.request)
    return found


def topics_with_partitions(
    call: Call, topics: Iterable[Any], partitions: str, index: str | None, name: str = "name"
) -> dict[str, tuple[int, ...]]:
    """Topics of a request by name.

    Args:
        partitions: the field with a topic's partitions.
        index: the field with a partition's number; None where the list holds the numbers themselves.
        name: the field with the topic's name.
    """
    found: dict[str, tuple[int, ...]] = {}
    doubled: dict[str, list[int]] = {}  # of topics that are named again, as nobody does who means well
    for topic in topics:
        known = topic_name(call, topic, name)
        if known is None:
            continue
        listed = getattr(topic, partitions)
        indexes = tuple(listed) if index is None else tuple([getattr(one, index) for one in listed])
        if known in found:
            doubled.setdefault(known, list(found[known])).extend(indexes)
        else:
            found[known] = indexes
    found.update((known, tuple(indexes)) for known, indexes in doubled.items())
    return found


def topic_name(call: Call, topic: Any, name: str = "name") -> str | None:
    """The name of a topic that a request names by its name or by its id; None for an id that no topic has."""
    given: str | None = getattr(topic, name)
    if given:
        return given
    known = call.cluster.topic_by_id.get(getattr(topic, "topic_id", b""))
    return None if known is None else known.name


def whole_topics(call: Call, topics: Iterable[Any]) -> dict[str, tuple[int, ...]]:
    """Topics that a request names without partitions."""
    names = (topic_name(call, topic) for topic in topics)
    return {name: () for name in names if name is not None}


# one reader an API


def produce(call: Call, request: Any) -> Subjects:
    return Subjects(topics_with_partitions(call, request.topic_data, "partition_data", "index"))


def fetch(call: Call, request: Any) -> Subjects:
    named = topics_with_partitions(call, request.topics, "partitions", "partition", "topic")
    session = None
    if request.session_epoch > 0:
        sessions = call.cluster.fetch_sessions.get(call.broker.id)
        session = sessions.by_id.get(request.session_id) if sessions is not None else None
    if session is None:
        return Subjects(named)
    by_name: dict[str, dict[int, None]] = {}
    gone: set[tuple[str | bytes, int]] = set()
    for topic in request.forgotten_topics_data:
        gone.update((topic.topic_id if session.by_topic_id else topic.topic, index) for index in topic.partitions)
    for key, index in session.partitions:
        if (key, index) in gone:
            continue
        if isinstance(key, bytes):
            known = call.cluster.topic_by_id.get(key)
            if known is None:
                continue
            key = known.name  # noqa: PLW2901 - the same topic, by its name
        by_name.setdefault(key, {})[index] = None
    for name, indexes in named.items():
        by_name.setdefault(name, {}).update(dict.fromkeys(indexes))
    return Subjects({name: tuple(indexes) for name, indexes in by_name.items()})


def indexed_partitions(call: Call, request: Any) -> Subjects:
    """ListOffsets, DeleteRecords, AlterPartitionReassignments."""
    return Subjects(topics_with_partitions(call, request.topics, "partitions", "partition_index"))


def metadata(call: Call, request: Any) -> Subjects:
    if request.topics is None or (call.version == 0 and not request.topics):
        return Subjects({}, all_topics=True)
    return Subjects(whole_topics(call, request.topics))


def describe_topic_partitions(_call: Call, request: Any) -> Subjects:
    return Subjects({topic.name: () for topic in request.topics}, all_topics=not request.topics)


def group_and_topics(call: Call, request: Any) -> Subjects:
    """OffsetCommit, TxnOffsetCommit, OffsetDelete."""
    topics = topics_with_partitions(call, request.topics, "partitions", "partition_index")
    return Subjects(topics, (request.group_id,))


def offset_fetch(call: Call, request: Any) -> Subjects:
    groups = request.groups or (request,)
    found: dict[str, dict[int, None]] = {}
    for group in groups:
        named = topics_with_partitions(call, group.topics or (), "partition_indexes", None)
        for name, indexes in named.items():
            found.setdefault(name, {}).update(dict.fromkeys(indexes))
    topics = {name: tuple(indexes) for name, indexes in found.items()}
    return Subjects(topics, tuple(group.group_id for group in groups), any(group.topics is None for group in groups))


def find_coordinator(_call: Call, request: Any) -> Subjects:
    if request.key_type != GROUP_KEY_TYPE:
        return NOTHING
    return Subjects({}, tuple(request.coordinator_keys) or (request.key,))


def one_group(_call: Call, request: Any) -> Subjects:
    """JoinGroup, SyncGroup, Heartbeat, LeaveGroup, AddOffsetsToTxn, ConsumerGroupHeartbeat."""
    return Subjects({}, (request.group_id,))


def describe_groups(_call: Call, request: Any) -> Subjects:
    return Subjects({}, tuple(request.groups))


def consumer_group_describe(_call: Call, request: Any) -> Subjects:
    return Subjects({}, tuple(request.group_ids))


def delete_groups(_call: Call, request: Any) -> Subjects:
    return Subjects({}, tuple(request.groups_names))


def named_topics(call: Call, request: Any) -> Subjects:
    """CreateTopics, CreatePartitions."""
    return Subjects(whole_topics(call, request.topics))


def delete_topics(call: Call, request: Any) -> Subjects:
    return Subjects({**dict.fromkeys(request.topic_names, ()), **whole_topics(call, request.topics)})


def leader_epochs(call: Call, request: Any) -> Subjects:
    return Subjects(topics_with_partitions(call, request.topics, "partitions", "partition", "topic"))


def topic_resources(_call: Call, request: Any) -> Subjects:
    """DescribeConfigs, AlterConfigs, IncrementalAlterConfigs."""
    found = [one.resource_name for one in request.resources if one.resource_type == TOPIC_RESOURCE_TYPE]
    return Subjects(dict.fromkeys(found, ()))


def elect_leaders(call: Call, request: Any) -> Subjects:
    if request.topic_partitions is None:
        return Subjects({}, all_topics=True)
    return Subjects(topics_with_partitions(call, request.topic_partitions, "partitions", None, "topic"))


def alter_replica_log_dirs(call: Call, request: Any) -> Subjects:
    topics = [topic for directory in request.dirs for topic in directory.topics]
    return Subjects(topics_with_partitions(call, topics, "partitions", None))


def describe_log_dirs(call: Call, request: Any) -> Subjects:
    if request.topics is None:
        return Subjects({}, all_topics=True)
    return Subjects(topics_with_partitions(call, request.topics, "partitions", None, "topic"))


def list_reassignments(call: Call, request: Any) -> Subjects:
    if request.topics is None:
        return Subjects({}, all_topics=True)
    return Subjects(topics_with_partitions(call, request.topics, "partition_indexes", None))


def share_session(call: Call, request: Any) -> Subjects:
    """ShareFetch, ShareAcknowledge: what the request names, and for a fetch what its session has."""
    named = [(topic.topic_id, one.partition_index) for topic in request.topics for one in topic.partitions]
    if call.api_key == SHARE_FETCH and request.share_session_epoch > 0:
        gone = {(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions}
        for extension in call.cluster.extensions():
            there = extension.partitions_of_session(call.broker.id, request.group_id, request.member_id)
            named = [one for one in there if one not in gone] + named
    found: dict[str, dict[int, None]] = {}
    for topic_id, index in named:
        known = call.cluster.topic_by_id.get(topic_id)
        if known is not None:
            found.setdefault(known.name, {})[index] = None
    groups = () if request.group_id is None else (request.group_id,)
    return Subjects({name: tuple(indexes) for name, indexes in found.items()}, groups)


def share_state(call: Call, request: Any) -> Subjects:
    """What brokers ask of share coordinators."""
    found: dict[str, tuple[int, ...]] = {}
    for topic in request.topics:
        known = call.cluster.topic_by_id.get(topic.topic_id)
        if known is not None:
            found[known.name] = found.get(known.name, ()) + tuple([one.partition for one in topic.partitions])
    return Subjects(found, (request.group_id,))


def described_share_offsets(_call: Call, request: Any) -> Subjects:
    topics: dict[str, tuple[int, ...]] = {}
    for group in request.groups:
        for topic in group.topics or ():
            topics[topic.topic_name] = tuple(dict.fromkeys((*topics.get(topic.topic_name, ()), *topic.partitions)))
    groups = tuple(group.group_id for group in request.groups)
    return Subjects(topics, groups, any(group.topics is None for group in request.groups))


def altered_share_offsets(call: Call, request: Any) -> Subjects:
    named = topics_with_partitions(call, request.topics, "partitions", "partition_index", "topic_name")
    return Subjects(named, (request.group_id,))


def deleted_share_offsets(_call: Call, request: Any) -> Subjects:
    return Subjects({topic.topic_name: () for topic in request.topics}, (request.group_id,))


def streams_heartbeat(_call: Call, request: Any) -> Subjects:
    """The group; of who joins also the topics of its topology."""
    names = [
        name
        for one in (request.topology.subtopologies if request.topology is not None else ())
        for name in (
            *one.source_topics,
            *one.repartition_sink_topics,
            *(topic.name for topic in one.repartition_source_topics),
            *(topic.name for topic in one.state_changelog_topics),
        )
    ]
    return Subjects(dict.fromkeys(names, ()), (request.group_id,))


READERS: dict[int, Callable[[Call, Any], Subjects]] = {
    0: produce,
    1: fetch,
    2: indexed_partitions,
    3: metadata,
    8: group_and_topics,
    9: offset_fetch,
    10: find_coordinator,
    11: one_group,
    12: one_group,
    13: one_group,
    14: one_group,
    15: describe_groups,
    19: named_topics,
    20: delete_topics,
    21: indexed_partitions,
    23: leader_epochs,
    25: one_group,
    28: group_and_topics,
    32: topic_resources,
    33: topic_resources,
    34: alter_replica_log_dirs,
    35: describe_log_dirs,
    37: named_topics,
    42: delete_groups,
    44: topic_resources,
    43: elect_leaders,
    45: indexed_partitions,
    46: list_reassignments,
    47: group_and_topics,
    68: one_group,
    69: consumer_group_describe,
    75: describe_topic_partitions,
    76: one_group,
    77: consumer_group_describe,
    78: share_session,
    79: share_session,
    83: share_state,
    84: share_state,
    85: share_state,
    86: share_state,
    87: share_state,
    88: streams_heartbeat,
    89: consumer_group_describe,
    90: described_share_offsets,
    91: altered_share_offsets,
    92: deleted_share_offsets,
    93: one_group,
}
"""Who reads which API's requests; an API that is not here names neither topics nor groups."""

SHARE_APIS = frozenset({76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92})
APIS_WITH_GROUPS = frozenset({8, 9, 10, 11, 12, 13, 14, 15, 25, 28, 42, 47, 68, 69, 88, 89, 93}) | SHARE_APIS
APIS_WITH_TOPICS = frozenset(READERS) - {10, 11, 12, 13, 14, 15, 25, 42, 68, 69, 76, 77, 89, 93}
