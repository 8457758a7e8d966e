"""OffsetCommit (key 8), OffsetFetch (9), OffsetDelete (47): the committed offsets of groups.

They read and write cluster.groups, and read cluster.topics. Requests name topics by name, since v10 by id. Offsets of
version 0, which Kafka stored in ZooKeeper, are stored with all others.
Errors: NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP and those
of ``Groups.commit``; per partition UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, OFFSET_METADATA_TOO_LARGE,
UNSTABLE_OFFSET_COMMIT, GROUP_SUBSCRIBED_TO_TOPIC.
Source: KIP-211, KIP-320, KIP-447, KIP-496, KIP-709, KIP-848; KafkaApis and OffsetMetadataManager, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.handlers.leadership import find_partition, is_known
from mockbroker.handlers.offset_commits import keep_offsets
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.coordinator import check_group_id
from mockbroker.state.groups.offsets import NEVER, NOTHING_COMMITTED, Committed
from mockbroker.state.image.image import TopicPartition
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

TOPIC_ID_VERSION = 10
GROUP_NOT_FOUND_VERSION = 9  # of OffsetCommit
FETCH_BATCH_VERSION = 8
FETCH_TOP_LEVEL_ERROR_VERSION = 2


@handles(OffsetCommitRequest, access=Needs(group="Read", topic="Read"), errors=Errors(injected="request"))
def offset_commit(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Commit the offsets of all valid partitions; every partition has its own error."""
    expires_ms = NEVER
    if request.retention_time_ms != NEVER:
        expires_ms = call.cluster.groups.clock.at(call.now_ms) + request.retention_time_ms
    return keep_offsets(
        call,
        request,
        OffsetCommitResponse(),
        lambda offsets: commit(call, request, offsets),
        first_version_by_id=TOPIC_ID_VERSION,
        expires_ms=expires_ms,
    )


def commit(
    call: Call, request: OffsetCommitRequest, offsets: dict[TopicPartition, Committed]
) -> dict[TopicPartition, ErrorCode]:
    """The error of each partition; an error of the member or the group applies to all."""
    try:
        check_coordinator(call, request.group_id)
        call.cluster.internal_topics.check_takes_writes(OFFSETS_TOPIC, request.group_id)
        return call.cluster.groups.commit(
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
        return dict.fromkeys(offsets, code)


@handles(
    OffsetFetchRequest,
    access=Needs(group="Describe", topic="Describe", note="a request for all topics returns those with Describe"),
    errors=Errors(failed={"committed_offset": -1}),
)
def offset_fetch(call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """The committed offsets of one group, since v8 of several: for the requested partitions, or all."""
    response = OffsetFetchResponse()
    if call.version >= FETCH_BATCH_VERSION:
        for group in request.groups:
            response.groups.append(fetched_group(call, group, request))
        return response
    try:
        check_coordinator(call, request.group_id)
    except ApiError as error:
        return refused_fetch(call, request, error)
    for topic in topics_of_fetch(call, request.group_id, request.topics, OffsetFetchRequest.Topic):
        entry = OffsetFetchResponse.Topic(name=topic.name)
        response.topics.append(entry)
        for index, committed, code in read(call, request.group_id, topic, request.require_stable):
            entry.partitions.append(
                OffsetFetchResponse.Topic.Partition(
                    partition_index=index,
                    committed_offset=committed.offset,
                    committed_leader_epoch=committed.leader_epoch,
                    metadata=committed.metadata,
                    error_code=code,
                )
            )
    return response


def fetched_group(
    call: Call, group: OffsetFetchRequest.Group, request: OffsetFetchRequest
) -> OffsetFetchResponse.Group:
    entry = OffsetFetchResponse.Group(group_id=group.group_id)
    try:
        check_coordinator(call, group.group_id)
        call.cluster.groups.check_fetch(group.group_id, group.member_id, group.member_epoch)
    except ApiError as error:
        entry.error_code = error.code
        return entry
    for topic in topics_of_fetch(call, group.group_id, group.topics, OffsetFetchRequest.Group.Topic):
        found = OffsetFetchResponse.Group.Topic(name=topic.name, topic_id=topic.topic_id)
        entry.topics.append(found)
        for index, committed, code in read(call, group.group_id, topic, request.require_stable):
            found.partitions.append(
                OffsetFetchResponse.Group.Topic.Partition(
                    partition_index=index,
                    committed_offset=committed.offset,
                    committed_leader_epoch=committed.leader_epoch,
                    metadata=committed.metadata,
                    error_code=code,
                )
            )
    return entry


def topics_of_fetch(call: Call, group_id: str, wanted: Sequence[Any] | None, topic_class: Any) -> Sequence[Any]:
    """The requested topics; if the request has null, all topics for which the group has offsets."""
    if wanted is not None:
        return wanted
    every = call.cluster.groups.offsets(group_id).partitions()
    topics = []
    for name, partitions in groupby(every, key=lambda partition: partition[0]):
        topic = topic_class(name=name, partition_indexes=[index for _, index in partitions])
        if call.version >= TOPIC_ID_VERSION:
            if name not in call.cluster.topics:
                continue
            topic.topic_id = call.cluster.topics[name].id
        topics.append(topic)
    return topics


def read(call: Call, group_id: str, topic: Any, require_stable: bool) -> list[tuple[int, Committed, ErrorCode]]:
    """Partition, committed offset and error, for each requested partition of a topic."""
    name = topic.name
    if call.version >= TOPIC_ID_VERSION:
        found = call.cluster.topic_by_id.get(topic.topic_id)
        if found is None:
            return [(index, NOTHING_COMMITTED, ErrorCode.UNKNOWN_TOPIC_ID) for index in topic.partition_indexes]
        name = found.name
    offsets = call.cluster.groups.offsets(group_id)
    found_offsets = []
    for index in topic.partition_indexes:
        committed = offsets.get((name, index))
        if require_stable and offsets.is_unstable((name, index)):
            found_offsets.append((index, NOTHING_COMMITTED, ErrorCode.UNSTABLE_OFFSET_COMMIT))
        elif call.version == 0 and committed is NOTHING_COMMITTED:  # as for a missing node of ZooKeeper
            found_offsets.append((index, NOTHING_COMMITTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        else:
            found_offsets.append((index, committed, ErrorCode.NONE))
    return found_offsets


def refused_fetch(call: Call, request: OffsetFetchRequest, error: ApiError) -> OffsetFetchResponse:
    """The answer with an error for the whole request; before v2 only partitions have an error field."""
    if call.version >= FETCH_TOP_LEVEL_ERROR_VERSION:
        return OffsetFetchResponse(error_code=error.code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponse.Topic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponse.Topic.Partition(
                        partition_index=index,
                        committed_offset=NOTHING_COMMITTED.offset,
                        metadata=NOTHING_COMMITTED.metadata,
                        error_code=error.code,
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


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
    try:
        check_group_id(request.group_id)
        check_coordinator(call, request.group_id)
        call.cluster.internal_topics.check_takes_writes(OFFSETS_TOPIC, request.group_id)
        results.update(call.cluster.groups.delete_offsets(request.group_id, known))
    except ApiError as error:
        return OffsetDeleteResponse(error_code=error.code)
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
