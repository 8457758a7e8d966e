"""DescribeShareGroupOffsets (key 90), AlterShareGroupOffsets (91), DeleteShareGroupOffsets (92): start offsets.

Read and write the states of share partitions, and each group's list of them.
Errors: UNSUPPORTED_VERSION if ``share.version`` has no share groups, NOT_COORDINATOR, INVALID_GROUP_ID,
NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND; UNKNOWN_TOPIC_OR_PARTITION of each topic or partition.
Source: KIP-932, KIP-1226; KafkaApis and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.groups.modern.members import grouped
from mockbroker.handlers.error_responses import reported
from mockbroker.handlers.find_coordinator import check_coordinator, check_group
from mockbroker.share_groups.groups.group import ShareGroup
from mockbroker.share_groups.handlers.share_acknowledgements import check_enabled
from mockbroker.share_groups.share_states import NO_OFFSET, NOT_HOSTED, SharePartitionKey, share_coordinator, share_of
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import Operation
from protocol.apis.share_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from protocol.error_codes import ErrorCode

UNKNOWN_COUNT = -1
UNAUTHORIZED = ErrorCode.TOPIC_AUTHORIZATION_FAILED

DescribedGroup = DescribeShareGroupOffsetsResponse.Group
DescribedTopic = DescribedGroup.Topic
AlteredTopic = AlterShareGroupOffsetsResponse.Topic
DeletedTopic = DeleteShareGroupOffsetsResponse.Topic


@handles(
    DescribeShareGroupOffsetsRequest,
    access=Needs(
        group="Describe", topic="Describe", note="a request for all topics returns those with Describe", handler="all"
    ),
    errors=Errors(injected="request", words="meaning"),
)
def describe_offsets(call: Call, request: DescribeShareGroupOffsetsRequest) -> DescribeShareGroupOffsetsResponse:
    """The start offset and lag of each group in each partition."""
    return DescribeShareGroupOffsetsResponse(groups=[described(call, requested) for requested in request.groups])


def described(call: Call, requested: DescribeShareGroupOffsetsRequest.Group) -> DescribedGroup:
    entry, access = DescribedGroup(group_id=requested.group_id), call.access
    with reported(entry):
        if not access.may_group(Operation.DESCRIBE, requested.group_id):
            raise ApiError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        check_enabled(call)
        if requested.topics is None:
            check_coordinator(call, requested.group_id, in_words=True)
    if entry.error_code:
        return entry
    topics = call.cluster.topics
    if requested.topics is None:
        group = call.cluster.groups.find(requested.group_id)
        initialized = grouped((group.initialized if isinstance(group, ShareGroup) else None) or ())
        known = [
            (topic.name, sorted(numbers))
            for topic_id, numbers in sorted(initialized.items())
            if (topic := call.cluster.topic_by_id.get(topic_id)) is not None
            and access.may_topic(Operation.DESCRIBE, topic.name)
        ]
    else:  # first those that exist, last those that the client may not see
        named = sorted(requested.topics, key=lambda one: one.topic_name not in topics)
        known = [(one.topic_name, one.partitions) for one in named]
        known.sort(key=lambda one: not access.may_topic(Operation.DESCRIBE, one[0]))
    entry.topics = [described_topic(call, requested.group_id, *one) for one in known]
    return entry


def described_topic(call: Call, group_id: str, name: str, partitions: Iterable[int]) -> DescribedTopic:
    if not call.access.may_topic(Operation.DESCRIBE, name):
        entries = [
            DescribedTopic.Partition(partition_index=one, error_code=UNAUTHORIZED, error_message=UNAUTHORIZED.meaning)
            for one in partitions
        ]
        return DescribedTopic(topic_name=name, partitions=entries)
    topic = call.cluster.topics.get(name)
    described = DescribedTopic(topic_name=name) if topic is None else DescribedTopic(topic_name=name, topic_id=topic.id)
    for index in partitions:
        entry = DescribedTopic.Partition(partition_index=index, start_offset=NO_OFFSET)
        described.partitions.append(entry)
        if topic is None:
            continue
        with suppress(ApiError):  # as in Kafka, which does not report the error
            state = share_coordinator(call.cluster).summary(SharePartitionKey(group_id, topic.id, index))
            entry.start_offset, entry.leader_epoch = state.start_offset, state.leader_epoch
            if state.start_offset != NO_OFFSET and state.delivery_complete_count != UNKNOWN_COUNT:
                end_offset = topic.partitions[index].high_watermark
                entry.lag = end_offset - state.start_offset - state.delivery_complete_count
    return described


@handles(
    AlterShareGroupOffsetsRequest,
    access=Needs(group="Read", topic="Read", handler="topics"),
    errors=Errors(words="meaning"),
)
def alter_offsets(call: Call, request: AlterShareGroupOffsetsRequest) -> AlterShareGroupOffsetsResponse:
    """Set the start offsets of a group without members; creates the group if it does not exist."""
    check_enabled(call)
    check_group(call, request.group_id)
    groups = call.cluster.groups
    group = groups.find_or_make(ShareGroup, request.group_id, create=True)
    group.delete()  # raises if the group has members
    unknown: list[AlteredTopic] = []
    altered: dict[bytes, AlteredTopic] = {}
    offsets: dict[tuple[bytes, int], int] = {}
    access = call.access
    for requested in request.topics:
        may = access.may_topic(Operation.READ, requested.topic_name)
        topic = call.cluster.topics.get(requested.topic_name) if may else None
        if topic is not None and topic.id in altered:
            continue  # the first entry of a repeated topic counts
        entry = AlteredTopic(topic_name=requested.topic_name)
        for one in requested.partitions:
            result = AlteredTopic.Partition(partition_index=one.partition_index)
            entry.partitions.append(result)
            if not may:
                result.error_code, result.error_message = UNAUTHORIZED, UNAUTHORIZED.meaning
            elif topic is None or one.partition_index >= len(topic.partitions):
                result.error_code, result.error_message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED
            else:
                offsets[topic.id, one.partition_index] = one.start_offset
        if topic is None:
            unknown.append(entry)
        else:
            entry.topic_id, altered[topic.id] = topic.id, entry
    if altered:
        groups.register(group)
        errors = group.begin(offsets)
        for topic_id, entry in altered.items():
            for result in entry.partitions:
                failed = errors.get((topic_id, result.partition_index))
                if failed is not None:
                    result.error_code, result.error_message = failed.code, failed.message
    return AlterShareGroupOffsetsResponse(responses=[*altered.values(), *unknown])


@handles(
    DeleteShareGroupOffsetsRequest,
    access=Needs(group="Delete", topic="Read", handler="topics"),
    errors=Errors(words="meaning"),
)
def delete_offsets(call: Call, request: DeleteShareGroupOffsetsRequest) -> DeleteShareGroupOffsetsResponse:
    """Delete the offsets of a group without members in some topics."""
    check_enabled(call)
    check_group(call, request.group_id)
    group = call.cluster.groups.get_as(ShareGroup, request.group_id)
    group.delete()  # raises if the group has members
    initialized, access = grouped(group.initialized or ()), call.access
    failed: list[DeletedTopic] = []
    deleted: dict[bytes, DeletedTopic] = {}
    for requested in request.topics:
        entry, topic = DeletedTopic(topic_name=requested.topic_name), call.cluster.topics.get(requested.topic_name)
        if not access.may_topic(Operation.READ, requested.topic_name):
            entry.error_code, entry.error_message = UNAUTHORIZED, UNAUTHORIZED.meaning
            failed.append(entry)
        elif topic is not None and topic.id in initialized:
            entry.topic_id, deleted[topic.id] = topic.id, entry
        elif group.initialized is not None:
            entry.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            entry.error_message = NOT_HOSTED if topic is None else "There is no offset information to delete."
            failed.append(entry)
    if deleted:
        share_of(call.cluster).forget_group(group.id, deleted)
        group.forget_topics(deleted)
    return DeleteShareGroupOffsetsResponse(responses=[*deleted.values(), *failed])
