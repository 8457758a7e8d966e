"""OffsetCommit (key 8), OffsetFetch (9), OffsetDelete (47): the committed offsets of groups.

They read and write cluster.groups, and read cluster.topics. Requests name topics by name, since v10 by id. Offsets of
version 0, which Kafka stored in ZooKeeper, are stored with all others.
Errors: NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP and those
of ``Groups.commit``; per partition UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, OFFSET_METADATA_TOO_LARGE,
UNSTABLE_OFFSET_COMMIT, GROUP_SUBSCRIBED_TO_TOPIC.
Source: KIP-211, KIP-320, KIP-447, KIP-496, KIP-709, KIP-848; KafkaApis and OffsetMetadataManager, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, TypeVar

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.groups.offsets import NOTHING_COMMITTED, Committed, GroupOffsets
from mockbroker.handlers.error_responses import answer_parts
from mockbroker.handlers.find_coordinator import check_coordinator, check_group
from mockbroker.handlers.leadership import find_partition, is_known
from mockbroker.state.coordinator_shard import NEVER
from mockbroker.state.errors import ApiError
from mockbroker.state.image import TopicPartition
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from protocol.apis.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocol.error_codes import ErrorCode

CommitResponse = TypeVar("CommitResponse")
Store = Callable[[dict[TopicPartition, Committed]], ErrorCode]

TOPIC_ID_VERSION = 10
GROUP_NOT_FOUND_VERSION = 9  # of OffsetCommit
FETCH_BATCH_VERSION = 8


@handles(OffsetCommitRequest, access=Needs(group="Read", topic="Read"), errors=Errors(injected="request"))
def offset_commit(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Commit the offsets of all valid partitions; every partition has its own error."""
    expires_ms = NEVER
    if request.retention_time_ms != NEVER:
        expires_ms = call.cluster.groups.clock.at(call.now_ms) + request.retention_time_ms
    return store_offsets(
        call,
        request,
        OffsetCommitResponse(),
        lambda offsets: commit(call, request, offsets),
        first_version_by_id=TOPIC_ID_VERSION,
        expires_ms=expires_ms,
    )


def commit(call: Call, request: OffsetCommitRequest, offsets: dict[TopicPartition, Committed]) -> ErrorCode:
    """Commit offsets; returns the error of the member or the group."""
    try:
        check_coordinator(call, request.group_id)
        call.cluster.internal_topics.check_takes_writes(OFFSETS_TOPIC, request.group_id)
        call.cluster.groups.commit(
            request.group_id,
            request.generation_id_or_member_epoch,
            request.member_id,
            request.group_instance_id,
            offsets,
            call.now_ms,
            version=call.version,
        )
    except ApiError as error:
        code = ErrorCode(error.code)
        is_old = call.version < GROUP_NOT_FOUND_VERSION
        if code is ErrorCode.GROUP_ID_NOT_FOUND and is_old and call.cluster.groups.find(request.group_id) is None:
            code = ErrorCode.ILLEGAL_GENERATION
        return code
    return ErrorCode.NONE


@handles(
    OffsetFetchRequest,
    access=Needs(group="Describe", topic="Describe", note="a request for all topics returns those with Describe"),
    errors=Errors(failed={"committed_offset": -1}),
)
def offset_fetch(call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """The committed offsets of one group, since v8 of several: for the requested partitions, or all."""

    def fetch_group(
        _call: Call, entry: OffsetFetchResponse.Group | OffsetFetchResponse, group: OffsetFetchRequest.Group
    ) -> None:
        check_coordinator(call, group.group_id)
        call.cluster.groups.check_fetch(group.group_id, group.member_id, group.member_epoch)
        add_offsets(call, entry, group, request.require_stable)

    if call.version >= FETCH_BATCH_VERSION:
        return answer_parts(call, request, OffsetFetchResponse, fetch_group)
    check_coordinator(call, request.group_id)
    response = OffsetFetchResponse()
    add_offsets(call, response, request, request.require_stable)
    return response


def add_offsets(call: Call, answer: Any, group: Any, require_stable: bool) -> None:
    """Add a group's offsets to its part of the answer."""
    offsets = call.cluster.groups.offsets(group.group_id)
    for topic in topics_of_fetch(call, group):
        entry, name = type(answer).Topic(name=topic.name), topic.name
        if call.version >= TOPIC_ID_VERSION:
            entry.topic_id = topic.topic_id
            found = call.cluster.topic_by_id.get(topic.topic_id)
            name = None if found is None else found.name
        for index in topic.partition_indexes:
            committed, code = read(call, offsets, name, index, require_stable)
            entry.partitions.append(
                entry.Partition(
                    partition_index=index,
                    committed_offset=committed.offset,
                    committed_leader_epoch=committed.leader_epoch,
                    metadata=committed.metadata,
                    error_code=code,
                )
            )
        answer.topics.append(entry)


def topics_of_fetch(call: Call, group: Any) -> Sequence[Any]:
    """The requested topics; if the request has null, all topics for which the group has offsets."""
    if group.topics is not None:
        requested: Sequence[Any] = group.topics
        return requested
    every = call.cluster.groups.offsets(group.group_id).partitions()
    topics = []
    for name, partitions in groupby(every, key=lambda partition: partition[0]):
        topic = group.Topic(name=name, partition_indexes=[index for _, index in partitions])
        if call.version >= TOPIC_ID_VERSION:
            if name not in call.cluster.topics:
                continue
            topic.topic_id = call.cluster.topics[name].id
        topics.append(topic)
    return topics


def read(
    call: Call, offsets: GroupOffsets, topic: str | None, index: int, require_stable: bool
) -> tuple[Committed, ErrorCode]:
    """The committed offset of a partition, and its error; ``topic`` is None for an unknown id."""
    if topic is None:
        return NOTHING_COMMITTED, ErrorCode.UNKNOWN_TOPIC_ID
    if require_stable and offsets.is_unstable((topic, index)):
        return NOTHING_COMMITTED, ErrorCode.UNSTABLE_OFFSET_COMMIT
    committed = offsets.get((topic, index))
    if call.version == 0 and committed is NOTHING_COMMITTED:  # as for a missing node of ZooKeeper
        return committed, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return committed, ErrorCode.NONE


@handles(OffsetDeleteRequest, access=Needs(group="Delete", topic="Read"), errors=Errors(injected="request"))
def offset_delete(call: Call, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    """Delete the offsets of topics to which the group is not subscribed."""
    known: list[TopicPartition] = []
    results: dict[TopicPartition, ErrorCode] = {}
    for topic in request.topics:
        for wanted in topic.partitions:
            try:
                partition = find_partition(call, topic.name, wanted.partition_index)
            except ApiError as error:
                results[topic.name, wanted.partition_index] = ErrorCode(error.code)
            else:
                known.append((partition.topic.name, partition.index))
    refused = bool(results) or not all(is_known(call, topic.name) for topic in request.topics)
    check_group(call, request.group_id)
    call.cluster.internal_topics.check_takes_writes(OFFSETS_TOPIC, request.group_id)
    results.update(call.cluster.groups.delete_offsets(request.group_id, known))
    topics = [
        OffsetDeleteResponse.Topic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponse.Topic.Partition(
                    partition_index=wanted.partition_index, error_code=results[topic.name, wanted.partition_index]
                )
                for wanted in topic.partitions
            ],
        )
        for topic in request.topics
        if topic.partitions or not is_known(call, topic.name)
    ]
    return OffsetDeleteResponse(topics=merged(topics) if refused else topics)


def merged(topics: list[OffsetDeleteResponse.Topic]) -> list[OffsetDeleteResponse.Topic]:
    """Each topic once, as in Kafka's answer if a partition is refused before the group is looked up."""
    by_name: dict[str, OffsetDeleteResponse.Topic] = {}
    for topic in topics:
        known = by_name.setdefault(topic.name, OffsetDeleteResponse.Topic(name=topic.name, partitions=[]))
        known.partitions.extend(topic.partitions)
    return list(by_name.values())


# offsets of OffsetCommit and TxnOffsetCommit


def store_offsets(
    call: Call,
    request: Any,
    response: CommitResponse,
    store: Store,
    *,
    first_version_by_id: int,
    expires_ms: int = NEVER,
) -> CommitResponse:
    """Fill in a response: the result of ``store`` for each existing partition, an error for the others.

    A topic that is named twice has two entries in the answer, unless a partition is refused before the group is looked
    up: then the answer begins with the refused partitions, and has each topic once.
    Source: OffsetCommitResponse.Builder and TxnOffsetCommitResponse.Builder, Apache Kafka 4.4.

    Args:
        store: called with the offsets of all existing partitions that can be stored; returns an error of all.
        first_version_by_id: the first version that names topics by id instead of name.
        expires_ms: when the offsets expire, by the wall clock.
    """
    filled: Any = response
    refused: dict[str | bytes, Any] = {}
    accepted: list[tuple[str | bytes, Any]] = []
    offsets: dict[TopicPartition, Committed] = {}
    results: list[Any] = []
    for topic in request.topics:
        key = topic.topic_id if call.version >= first_version_by_id else topic.name
        entry = type(filled).Topic(name=topic.name, topic_id=topic.topic_id)
        if not is_known(call, key):
            refused.setdefault(key, entry)
        for wanted in topic.partitions:
            result = type(filled).Topic.Partition(partition_index=wanted.partition_index)
            try:
                partition = find_partition(call, key, wanted.partition_index)
            except ApiError as error:
                result.error_code = error.code
                refused.setdefault(key, type(filled).Topic(name=topic.name, topic_id=topic.topic_id))
                refused[key].partitions.append(result)
                continue
            entry.partitions.append(result)
            place = (partition.topic.name, partition.index)
            committed = Committed(
                wanted.committed_offset,
                wanted.committed_leader_epoch,
                wanted.committed_metadata or "",
                expires_ms,
                partition.topic.id,
            )
            results.append(result)
            if call.cluster.groups.fits(committed):
                offsets[place] = committed
            else:
                result.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
        if entry.partitions and entry is not refused.get(key):
            accepted.append((key, entry))
    if results and (code := store(offsets)):
        for result in results:
            result.error_code = code
    filled.topics = refused_first(refused, accepted) if refused else [entry for _, entry in accepted]
    return response


def refused_first(refused: dict[str | bytes, Any], accepted: list[tuple[str | bytes, Any]]) -> list[Any]:
    """The refused topics, then the accepted ones, each topic once."""
    for key, entry in accepted:
        if key in refused:
            refused[key].partitions.extend(entry.partitions)
        else:
            refused[key] = entry
    return list(refused.values())
