"""DescribeShareGroupOffsets (key 90), AlterShareGroupOffsets (91), DeleteShareGroupOffsets (92): start offsets.

Read and write the states of share partitions, and each group's list of them.
Errors: UNSUPPORTED_VERSION if ``share.version`` has no share groups, NOT_COORDINATOR, INVALID_GROUP_ID,
NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND; UNKNOWN_TOPIC_OR_PARTITION of each topic or partition.
Source: KIP-932, KIP-1226; KafkaApis and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.find_coordinator import check_coordinator, check_group
from mockbroker.share_groups.groups.group import ShareGroup
from mockbroker.share_groups.groups.partitions import begin, delete_topics
from mockbroker.share_groups.handlers.share_acknowledgements import check_enabled
from mockbroker.share_groups.share_states import NO_OFFSET, NOT_HOSTED, SharePartitionKey, share_of
from mockbroker.state.errors import ApiError
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

DescribedGroup = DescribeShareGroupOffsetsResponse.Group
DescribedTopic = DescribedGroup.Topic
AlteredTopic = AlterShareGroupOffsetsResponse.Topic
DeletedTopic = DeleteShareGroupOffsetsResponse.Topic


@handles(
    DescribeShareGroupOffsetsRequest,
    access=Needs(group="Describe", topic="Describe", note="a request for all topics returns those with Describe"),
    errors=Errors(injected="request", words="meaning"),
)
def describe_offsets(call: Call, request: DescribeShareGroupOffsetsRequest) -> DescribeShareGroupOffsetsResponse:
    """The start offset and lag of each group in each partition."""
    return DescribeShareGroupOffsetsResponse(groups=[described(call, requested) for requested in request.groups])


def described(call: Call, requested: DescribeShareGroupOffsetsRequest.Group) -> DescribedGroup:
    entry = DescribedGroup(group_id=requested.group_id)
    try:
        check_enabled(call)
        if requested.topics is None:
            check_coordinator(call, requested.group_id)
    except ApiError as error:
        entry.error_code, entry.error_message = error.code, error.message
        return entry
    wanted: list[tuple[bytes, Iterable[int]]] = []
    unknown: list[DescribedTopic] = []
    if requested.topics is None:
        group = call.cluster.groups.find(requested.group_id)
        initialized = (group.initialized if isinstance(group, ShareGroup) else None) or {}
        wanted = [(topic_id, sorted(one.partitions)) for topic_id, one in sorted(initialized.items())]
    for topic in requested.topics or ():
        found = call.cluster.topics.get(topic.topic_name)
        if found is not None:
            wanted.append((found.id, topic.partitions))
            continue
        entries = [
            DescribedTopic.Partition(partition_index=index, start_offset=NO_OFFSET) for index in topic.partitions
        ]
        unknown.append(DescribedTopic(topic_name=topic.topic_name, partitions=entries))
    known = [described_topic(call, requested.group_id, *one) for one in wanted if one[0] in call.cluster.topic_by_id]
    entry.topics = known + unknown
    return entry


def described_topic(call: Call, group_id: str, topic_id: bytes, partitions: Iterable[int]) -> DescribedTopic:
    topic = call.cluster.topic_by_id[topic_id]
    entries = []
    for index in partitions:
        entry = DescribedTopic.Partition(partition_index=index, start_offset=NO_OFFSET, lag=-1)
        try:
            state = share_of(call.cluster).coordinator.summary(SharePartitionKey(group_id, topic_id, index))
            entry.start_offset, entry.leader_epoch = state.start_offset, state.leader_epoch
            if state.start_offset != NO_OFFSET and state.delivery_complete_count != UNKNOWN_COUNT:
                end_offset = topic.partitions[index].high_watermark
                entry.lag = end_offset - state.start_offset - state.delivery_complete_count
        except ApiError:
            entry.start_offset = NO_OFFSET  # as in Kafka, which does not report the error
        entries.append(entry)
    return DescribedTopic(topic_name=topic.name, topic_id=topic_id, partitions=entries)


@handles(AlterShareGroupOffsetsRequest, access=Needs(group="Read", topic="Read"), errors=Errors(words="meaning"))
def alter_offsets(call: Call, request: AlterShareGroupOffsetsRequest) -> AlterShareGroupOffsetsResponse:
    """Set the start offsets of a group without members; creates the group if it does not exist."""
    check_enabled(call)
    check_group(call, request.group_id)
    groups = call.cluster.groups
    group = groups.find_or_make(ShareGroup, request.group_id, create=True)
    group.delete()  # raises if the group has members
    unknown: list[AlteredTopic] = []
    altered: dict[bytes, AlteredTopic] = {}
    offsets: dict[bytes, dict[int, int]] = {}
    for requested in request.topics:
        topic = call.cluster.topics.get(requested.topic_name)
        if topic is None:
            unknown.append(
                AlteredTopic(
                    topic_name=requested.topic_name,
                    partitions=[unknown_partition(one.partition_index) for one in requested.partitions],
                )
            )
            continue
        if topic.id in altered:
            continue  # the first entry of a repeated topic counts
        start_offsets = offsets.setdefault(topic.id, {})
        entries = []
        for one in requested.partitions:
            if one.partition_index >= len(topic.partitions):
                entries.append(unknown_partition(one.partition_index))
            else:
                entries.append(AlteredTopic.Partition(partition_index=one.partition_index))
                start_offsets[one.partition_index] = one.start_offset
        altered[topic.id] = AlteredTopic(topic_name=topic.name, topic_id=topic.id, partitions=entries)
    if altered:
        groups.register(group)
        errors = begin(group, share_of(call.cluster), offsets)
        for topic_id, altered_topic in altered.items():
            for entry in altered_topic.partitions:
                failed = errors.get((topic_id, entry.partition_index))
                if failed is not None:
                    entry.error_code, entry.error_message = failed.code, failed.message
    return AlterShareGroupOffsetsResponse(responses=[*altered.values(), *unknown])


def unknown_partition(index: int) -> AlteredTopic.Partition:
    return AlteredTopic.Partition(
        partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, error_message=NOT_HOSTED
    )


@handles(DeleteShareGroupOffsetsRequest, access=Needs(group="Delete", topic="Read"), errors=Errors(words="meaning"))
def delete_offsets(call: Call, request: DeleteShareGroupOffsetsRequest) -> DeleteShareGroupOffsetsResponse:
    """Delete the offsets of a group without members in some topics."""
    check_enabled(call)
    check_group(call, request.group_id)
    group = call.cluster.groups.get_as(ShareGroup, request.group_id)
    group.delete()  # raises if the group has members
    if group.initialized is None:
        return DeleteShareGroupOffsetsResponse()
    failed: list[DeletedTopic] = []
    deleted: dict[bytes, DeletedTopic] = {}
    for requested in request.topics:
        topic = call.cluster.topics.get(requested.topic_name)
        if topic is not None and topic.id in group.initialized:
            deleted[topic.id] = DeletedTopic(topic_name=topic.name, topic_id=topic.id)
            continue
        message = NOT_HOSTED if topic is None else "There is no offset information to delete."
        failed.append(
            DeletedTopic(
                topic_name=requested.topic_name,
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                error_message=message,
            )
        )
    delete_topics(group, share_of(call.cluster), list(deleted))
    return DeleteShareGroupOffsetsResponse(responses=[*deleted.values(), *failed])
