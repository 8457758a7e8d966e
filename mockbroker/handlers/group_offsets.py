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
from copy import copy
from functools import partial
from itertools import groupby
from typing import Any, TypeVar, cast

from kafka_rack.java import utf16_key
from mockbroker.api import Errors, Needs, handles, served_api
from mockbroker.call import Call
from mockbroker.groups.offsets import NOTHING_COMMITTED, GroupOffsets
from mockbroker.handlers.error_responses import answer_parts, each_topic_once
from mockbroker.handlers.find_coordinator import check_coordinator, check_group
from mockbroker.handlers.leadership import find_partition, is_known
from mockbroker.state.coordinator_shard import NEVER
from mockbroker.state.errors import ApiError
from mockbroker.state.image import TopicPartition
from mockbroker.state.security.operations import Operation
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from protocol.apis.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocol.embedded.group_log import OffsetCommitValue
from protocol.error_codes import ErrorCode

CommitResponse = TypeVar("CommitResponse")
Offsets = dict[TopicPartition, OffsetCommitValue]

TOPIC_ID_VERSION = 10
GROUP_NOT_FOUND_VERSION = 9  # of OffsetCommit
FETCH_BATCH_VERSION = 8
UTF16_BYTES = 2
"""Of a unit in which Java measures text."""


@handles(OffsetCommitRequest, access=Needs(group="Read", topic="Read"), errors=Errors(injected="request"))
def offset_commit(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Commit the offsets of all valid partitions; every partition has its own error."""

    def store(offsets: Offsets) -> None:
        check_coordinator(call, request.group_id)
        commit(call, request, offsets)

    return store_offsets(call, request, OffsetCommitResponse, store, new_codes_since=GROUP_NOT_FOUND_VERSION)


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
    """The requested topics; if the request has null, all with offsets of the group that the client may describe."""
    if group.topics is not None:
        requested: Sequence[Any] = group.topics
        return requested
    every, access = call.cluster.groups.offsets(group.group_id).partitions(), call.access
    topics = []
    for name, partitions in groupby(every, key=lambda partition: partition[0]):
        if not access.may_topic(Operation.DESCRIBE, name):
            continue
        topic = group.Topic(name=name, partition_indexes=[index for _, index in partitions])
        if call.version >= TOPIC_ID_VERSION:
            if name not in call.cluster.topics:
                continue
            topic.topic_id = call.cluster.topics[name].id
        topics.append(topic)
    return topics


def read(
    call: Call, offsets: GroupOffsets, topic: str | None, index: int, require_stable: bool
) -> tuple[OffsetCommitValue, ErrorCode]:
    """The committed offset of a partition, and its error; ``topic`` is None for an unknown id."""
    if topic is None:
        return NOTHING_COMMITTED, ErrorCode.UNKNOWN_TOPIC_ID
    if require_stable and offsets.is_unstable((topic, index)):
        return NOTHING_COMMITTED, ErrorCode.UNSTABLE_OFFSET_COMMIT
    committed = offsets.get((topic, index))
    if call.version == 0 and committed is NOTHING_COMMITTED:  # as for a missing node of ZooKeeper
        return committed, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return committed, ErrorCode.NONE


@handles(
    OffsetDeleteRequest, access=Needs(group="Delete", topic="Read", handler="topics"), errors=Errors(injected="request")
)
def offset_delete(call: Call, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    """Delete the offsets of topics to which the group is not subscribed."""
    known: list[TopicPartition] = []
    refused = not all(is_known(call, topic.name) for topic in request.topics)
    may_read = partial(call.access.may_topic, Operation.READ)

    def find(_call: Call, _entry: Any, topic: Any, wanted: Any) -> None:
        nonlocal refused
        try:
            if not may_read(topic.name):
                raise ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            find_partition(call, topic.name, wanted.partition_index)
        except ApiError:
            refused = True
            raise
        known.append((topic.name, wanted.partition_index))

    response = answer_parts(call, request, OffsetDeleteResponse, find)
    check_group(call, request.group_id)
    call.cluster.internal_topics.check_takes_writes(OFFSETS_TOPIC, request.group_id)
    results = call.cluster.groups.delete_offsets(request.group_id, known)
    for topic in response.topics:
        for entry in topic.partitions:
            entry.error_code = entry.error_code or results[topic.name, entry.partition_index]
    response.topics = [topic for topic in response.topics if topic.partitions or not is_known(call, topic.name)]
    if refused:  # before it looks the group up, Kafka names each topic once
        response.topics = each_topic_once(call, response.topics)
    return response


# offsets of OffsetCommit and TxnOffsetCommit


def store_offsets(
    call: Call,
    request: Any,
    response: type[CommitResponse],
    store: Callable[[Offsets], None],
    *,
    new_codes_since: int,
) -> CommitResponse:
    """The response: the result of ``store`` for each existing partition, an error for the others.

    A topic that is named twice has two entries in the answer, unless a partition is refused before the group is looked
    up: then the answer begins with the refused partitions, and has each topic once.
    Source: OffsetCommitResponse.Builder and TxnOffsetCommitResponse.Builder, Apache Kafka 4.4.

    Args:
        store: called with the offsets of all existing partitions that can be stored; raises an error of all.
        new_codes_since: the first version with the codes of KIP-848.
    """
    offsets: Offsets = {}
    results: list[Any] = []
    cluster, (by_topic, _) = call.cluster, served_api(call.api_key).parts(call.version)
    retention_ms = getattr(request, "retention_time_ms", NEVER)  # until version 4 of OffsetCommit
    wall_ms, max_metadata_units = cluster.clock.at(call.now_ms), cluster.settings["offset.metadata.max.bytes"]

    def take(_call: Call, entry: Any, topic: Any, wanted: Any) -> None:
        partition = find_partition(call, by_topic.key_of(topic)[0], wanted.partition_index)
        results.append(entry)
        metadata = wanted.committed_metadata or ""
        if len(utf16_key(metadata)) > UTF16_BYTES * max_metadata_units:
            raise ApiError(ErrorCode.OFFSET_METADATA_TOO_LARGE)
        offsets[partition.topic.name, partition.index] = OffsetCommitValue(
            offset=wanted.committed_offset,
            leader_epoch=wanted.committed_leader_epoch,
            metadata=metadata,
            commit_timestamp=wall_ms,
            expire_timestamp=NEVER if retention_ms == NEVER else wall_ms + retention_ms,
            topic_id=partition.topic.id,
        )

    answer: Any = answer_parts(call, request, response, take)
    try:
        if results:
            store(offsets)
    except ApiError as error:
        is_absent = error.code == ErrorCode.GROUP_ID_NOT_FOUND and cluster.groups.find(request.group_id) is None
        is_new = call.version < new_codes_since and (is_absent or error.code == ErrorCode.STALE_MEMBER_EPOCH)
        for entry in results:
            entry.error_code = ErrorCode.ILLEGAL_GENERATION if is_new else error.code
    taken = {id(entry) for entry in results}
    refused: list[Any] = []
    accepted: list[Any] = []
    for topic in answer.topics:
        for found, is_taken in ((refused, False), (accepted, True)):
            part = copy(topic)
            part.partitions = [one for one in topic.partitions if (id(one) in taken) is is_taken]
            if part.partitions or not (is_taken or is_known(call, by_topic.key_of(topic)[0])):
                found.append(part)
    answer.topics = each_topic_once(call, refused + accepted) if refused else accepted
    return cast("CommitResponse", answer)


def commit(call: Call, request: Any, offsets: Offsets, producer: tuple[int, int] | None = None) -> None:
    """Commit offsets, or write those of a producer's transaction. Raises ApiError."""
    call.cluster.internal_topics.check_takes_writes(OFFSETS_TOPIC, request.group_id)
    call.cluster.groups.commit(request, offsets, call.now_ms, call.version, producer)
