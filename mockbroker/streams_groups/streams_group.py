"""StreamsGroupHeartbeat (key 88), StreamsGroupDescribe (89), StreamsGroupTopologyDescriptionUpdate (93): Kafka Streams
with tasks assigned by the coordinator (KIP-1071).

Read and write cluster.groups; a heartbeat creates the missing topics of the topology.
Errors: UNSUPPORTED_VERSION if ``streams.version`` or ``group.coordinator.rebalance.protocols`` has no such groups,
STREAMS_INVALID_TOPOLOGY, NOT_COORDINATOR, and those of ``take_heartbeat``; of each described group INVALID_GROUP_ID,
NOT_COORDINATOR, GROUP_ID_NOT_FOUND. No broker here stores descriptions, so key 93 is UNSUPPORTED_VERSION.
Source: KIP-1071; KafkaApis, GroupCoordinatorService and DefaultAutoTopicCreationManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter

import msgspec

from kafka_rack.java import hash_order, string_hash
from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.error_responses import reported
from mockbroker.handlers.find_coordinator import check_coordinator, sender_of
from mockbroker.handlers.modern_groups import (
    OF_DESCRIBE,
    check_may_see,
    check_protocol,
    described_groups,
)
from mockbroker.handlers.topics import check_total
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import Operation
from mockbroker.state.topics.topic import INTERNAL_TOPICS, check_topic_name
from mockbroker.streams_groups.group import StreamsGroup, StreamsMember, TaskOffsets, tasks_as
from mockbroker.streams_groups.heartbeat import check_heartbeat, take_heartbeat
from mockbroker.streams_groups.topology import StatusCode, Subtopology, TopicInfo, by_id, changelogs_of, inputs_of
from mockbroker.subjects import Subjects
from protocol.apis.streams_group import (
    KeyValue,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from protocol.apis.streams_topology import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)
from protocol.error_codes import ErrorCode

NO_DESCRIPTION = 1
BY_NAME = attrgetter("name")

SentTopology = StreamsGroupHeartbeatRequest.Topology
DescribedGroup = StreamsGroupDescribeResponse.Group
DescribedTopology = DescribedGroup.Topology
DescribedSubtopology = DescribedTopology.Subtopology
DescribedTopic = DescribedSubtopology.TopicInfo
DescribedMember = DescribedGroup.Member
DescribedTasks = DescribedMember.Assignment


def topology_subjects(_call: Call, request: StreamsGroupHeartbeatRequest) -> Subjects:
    """The group; for a joining member also the topics of its topology."""
    names = [] if request.topology is None else all_topics(request.topology)
    return Subjects(dict.fromkeys(names, ()), (request.group_id,))


def all_topics(topology: SentTopology) -> list[str]:
    """The names of all topics of a topology."""
    return list(
        dict.fromkeys(
            name
            for one in topology.subtopologies
            for name in (*one.source_topics, *one.repartition_sink_topics, *inputs_of(one), *changelogs_of(one))
        )
    )


@handles(
    StreamsGroupHeartbeatRequest,
    access=Needs(
        group="Read",
        topic="Describe",
        note="internal topics are made with Create on the cluster, or on all of the topics",
        handler="topics",
    ),
    errors=Errors(words="nothing"),
    subjects=topology_subjects,
)
def streams_group_heartbeat(call: Call, request: StreamsGroupHeartbeatRequest) -> StreamsGroupHeartbeatResponse:
    """Join, stay or leave; the response has the member's epoch, its tasks if they changed, and statuses."""
    check_protocol(call, "streams.version", "streams")
    response = StreamsGroupHeartbeatResponse()
    to_make: Mapping[str, TopicInfo] = {}
    with reported(response):
        if request.topology is not None:
            check_topics(request.topology)
            check_may_see(call, all_topics(request.topology))
        check_heartbeat(request)
        check_coordinator(call, request.group_id)
        response, to_make = take_heartbeat(call.cluster.groups, request, sender_of(call), call.now_ms)
    if prohibited := topics_not_to_make(call, to_make):
        add_reason(response, f"Unauthorized to CREATE on topics {','.join(prohibited)}")
    elif failed := make_topics(call, to_make.values()):
        add_reason(response, failed)
    return response


def check_topics(topology: SentTopology) -> None:
    """Raises ApiError: STREAMS_INVALID_TOPOLOGY for topics that no application can have."""
    names = all_topics(topology)
    if internal := [name for name in names if name in INTERNAL_TOPICS]:
        problem = f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is prohibited."
        raise ApiError(ErrorCode.STREAMS_INVALID_TOPOLOGY, problem)
    if illegal := [name for name in names if not is_legal(name)]:
        problem = f"Topic names {','.join(illegal)} are not valid topic names."
        raise ApiError(ErrorCode.STREAMS_INVALID_TOPOLOGY, problem)


def is_legal(name: str) -> bool:
    try:
        check_topic_name(name)
    except ApiError:
        return False
    return True


# the group's internal topics


def add_reason(response: StreamsGroupHeartbeatResponse, reason: str) -> None:
    """Add to the status of missing topics why they were not created."""
    for status in response.status or ():
        if status.status_code == StatusCode.MISSING_INTERNAL_TOPICS:
            status.status_detail += f"; Creation failed: {reason}."


def topics_not_to_make(call: Call, names: Iterable[str]) -> list[str]:
    """The topics among these that the member may not create."""
    access = call.access
    if access.may_cluster(Operation.CREATE):
        return []
    return [name for name in names if not access.may_topic(Operation.CREATE, name)]


def make_topics(call: Call, topics: Collection[TopicInfo]) -> str:
    """Create the missing topics of a topology; returns the errors as text."""
    failed: list[str] = []
    total = sum(topic.partitions for topic in topics)
    for topic in topics:
        try:
            check_total(total)
            call.cluster.replication_control.create(
                topic.name,
                topic.partitions,
                topic.replication_factor or -1,
                configs={one.key: one.value for one in topic.topic_configs},
                requesting_broker_id=call.broker.id,
                all_have_racks=True,
            )
        except ApiError as error:
            failed.append(f"{topic.name} ({error.message or ErrorCode(error.code).name})")
    return ", ".join(failed)


# describing


@handles(StreamsGroupDescribeRequest, access=OF_DESCRIBE, errors=Errors(injected="request", words="nothing"))
def streams_group_describe(call: Call, request: StreamsGroupDescribeRequest) -> StreamsGroupDescribeResponse:
    """Each group with its topology and its members, their tasks and target tasks."""

    def complete(group: StreamsGroup, entry: DescribedGroup) -> None:
        entry.topology = described_topology(group)
        if request.include_topology_description:
            entry.topology_description_status = NO_DESCRIPTION

    check_protocol(call, "streams.version", "streams")
    return StreamsGroupDescribeResponse(
        groups=described_groups(call, request, StreamsGroup, DescribedGroup, described_member, complete=complete)
    )


def described_topology(group: StreamsGroup) -> DescribedTopology | None:
    """The topology with its partition counts if all its topics exist, or else as sent by the member."""
    configured, topology = group.configured, group.topology
    if configured is not None and configured.is_ready:
        declared = {name: one.declared for name, one in (configured.subtopologies or {}).items()}
        epoch = configured.epoch
    elif topology is not None:
        declared, epoch = by_id(topology), topology.epoch
    else:
        return None
    subtopologies = [described_subtopology(one) for _, one in sorted(declared.items())]
    return DescribedTopology(epoch=epoch, subtopologies=subtopologies)


def described_subtopology(one: Subtopology) -> DescribedSubtopology:
    changelog, repartition = (
        [msgspec.convert(topic, DescribedTopic, from_attributes=True) for topic in sorted(topics, key=BY_NAME)]
        for topics in (one.state_changelog_topics, one.repartition_source_topics)
    )
    return DescribedSubtopology(
        subtopology_id=one.subtopology_id,
        source_topics=sorted(one.source_topics),
        repartition_sink_topics=sorted(one.repartition_sink_topics),
        state_changelog_topics=changelog,
        repartition_source_topics=repartition,
    )


def key_values(found: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=key, value=found[key]) for key in hash_order(found, string_hash)]


def described_member(group: StreamsGroup, member: StreamsMember) -> DescribedMember:
    found: DescribedMember = member.message(
        DescribedMember,
        user_endpoint=member.endpoint_as(DescribedMember.Endpoint),
        client_tags=key_values(member.client_tags),
        task_offsets=described_offsets(group.task_offsets.get(member.id, {})),
        task_end_offsets=described_offsets(group.task_end_offsets.get(member.id, {})),
        assignment=DescribedTasks(**tasks_as(DescribedTasks.TaskIds, member.assigned.without_epochs)),
        target_assignment=DescribedTasks(**tasks_as(DescribedTasks.TaskIds, group.target_of(member.id))),
    )
    return found


def described_offsets(offsets: TaskOffsets) -> list[DescribedMember.TaskOffset]:
    return [
        DescribedMember.TaskOffset(subtopology_id=name, partition=number, offset=offset)
        for (name, number), offset in sorted(offsets.items())
    ]


@handles(StreamsGroupTopologyDescriptionUpdateRequest, access=Needs(group="Read"))
def streams_group_topology_description_update(
    call: Call, request: StreamsGroupTopologyDescriptionUpdateRequest
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    """Reject the request, as a broker without a plugin for descriptions does."""
    check_protocol(call, "streams.version", "streams")
    return StreamsGroupTopologyDescriptionUpdateResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        error_message="The broker has no streams group topology description plugin configured.",
    )
