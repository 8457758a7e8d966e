"""StreamsGroupHeartbeat (key 88), StreamsGroupDescribe (89), StreamsGroupTopologyDescriptionUpdate (93): Kafka Streams
with tasks assigned by the coordinator (KIP-1071).

Read and write cluster.groups; a heartbeat creates the missing topics of the topology.
Errors: UNSUPPORTED_VERSION if ``streams.version`` or ``group.coordinator.rebalance.protocols`` has no such groups,
STREAMS_INVALID_TOPOLOGY, NOT_COORDINATOR, and those of ``take_heartbeat``; of each described group INVALID_GROUP_ID,
NOT_COORDINATOR, GROUP_ID_NOT_FOUND. No broker here stores descriptions, so key 93 is UNSUPPORTED_VERSION.
Source: KIP-1071; KafkaApis, GroupCoordinatorService and DefaultAutoTopicCreationManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from kafka_rack.java import hash_order, string_hash
from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.error_responses import request_error
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.handlers.modern_groups import check_protocol, described_groups
from mockbroker.handlers.topics import check_total
from mockbroker.state.errors import ApiError
from mockbroker.state.security.access import access_of
from mockbroker.state.security.operations import CREATE
from mockbroker.state.topics.topic import INTERNAL_TOPICS, check_topic_name
from mockbroker.streams_groups.group import NO_TASKS, StreamsGroup, TaskOffsets
from mockbroker.streams_groups.heartbeat import Sender, check_heartbeat, take_heartbeat
from mockbroker.streams_groups.members import StreamsMember
from mockbroker.streams_groups.tasks import TaskSet, task_ids
from mockbroker.streams_groups.topology import InternalTopic, StatusCode, by_id
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

ToldTopology = StreamsGroupHeartbeatRequest.Topology
DescribedGroup = StreamsGroupDescribeResponse.Group
DescribedTopology = DescribedGroup.Topology
DescribedSubtopology = DescribedTopology.Subtopology
DescribedTopic = DescribedSubtopology.TopicInfo
DescribedMember = DescribedGroup.Member
DescribedTasks = DescribedMember.Assignment


def check_enabled(call: Call) -> None:
    """Raises ApiError: UNSUPPORTED_VERSION if the cluster does not support the streams protocol."""
    check_protocol(call, "streams.version", "streams")


def topology_subjects(_call: Call, request: StreamsGroupHeartbeatRequest) -> Subjects:
    """The group; for a joining member also the topics of its topology."""
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


@handles(
    StreamsGroupHeartbeatRequest,
    access=Needs(
        group="Read",
        topic="Describe",
        note="internal topics are made with Create on the cluster, or on all of the topics",
    ),
    errors=Errors(words="nothing"),
    subjects=topology_subjects,
)
def streams_group_heartbeat(call: Call, request: StreamsGroupHeartbeatRequest) -> StreamsGroupHeartbeatResponse:
    """Join, stay or leave; the response has the member's epoch, its tasks if they changed, and statuses."""
    check_enabled(call)
    sender = Sender(call.version, call.session.client_id or "", f"/{call.session.address}")
    try:
        if request.topology is not None:
            check_topics(request.topology)
        check_heartbeat(request)
        check_coordinator(call, request.group_id)
        response, group, to_make = take_heartbeat(call.cluster.groups, request, sender, call.now_ms)
    except ApiError as error:
        message = None if error.code == ErrorCode.NOT_COORDINATOR else request_error(error).message
        return StreamsGroupHeartbeatResponse(error_code=error.code, error_message=message)
    if to_make:
        prohibited = topics_not_to_make(call, to_make)
        if prohibited:
            tell_prohibited(response, prohibited)
        else:
            tell_why_not(call, group, to_make, response)
            make_topics(call, group, to_make.values(), 2 * response.heartbeat_interval_ms)
    return response


def check_topics(topology: ToldTopology) -> None:
    """Raises ApiError: STREAMS_INVALID_TOPOLOGY for topics that no application can have."""
    names = dict.fromkeys(
        name
        for one in topology.subtopologies
        for name in (
            *one.source_topics,
            *one.repartition_sink_topics,
            *(topic.name for topic in one.repartition_source_topics),
            *(topic.name for topic in one.state_changelog_topics),
        )
    )
    internal = [name for name in names if name in INTERNAL_TOPICS]
    if internal:
        problem = f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is prohibited."
        raise ApiError(ErrorCode.STREAMS_INVALID_TOPOLOGY, problem)
    illegal = [name for name in names if not is_legal(name)]
    if illegal:
        problem = f"Topic names {','.join(illegal)} are not valid topic names."
        raise ApiError(ErrorCode.STREAMS_INVALID_TOPOLOGY, problem)


def is_legal(name: str) -> bool:
    try:
        check_topic_name(name)
    except ApiError:
        return False
    return True


# the group's internal topics


def tell_why_not(
    call: Call, group: StreamsGroup, to_make: Iterable[str], response: StreamsGroupHeartbeatResponse
) -> None:
    """Add recent creation errors of missing topics to the response's statuses."""
    known = group.creation_errors
    for name in [name for name, (_, until_ms) in known.items() if until_ms <= call.now_ms]:
        del known[name]
    told = ", ".join(f"{name} ({known[name][0]})" for name in to_make if name in known)
    for status in response.status or ():
        if told and status.status_code == StatusCode.MISSING_INTERNAL_TOPICS:
            status.status_detail += f"; Creation failed: {told}."


def topics_not_to_make(call: Call, names: Iterable[str]) -> list[str]:
    """The topics among these that the member may not create."""
    access = access_of(call.cluster, call.session.principal, call.session.address)
    if access is None or access.may_cluster(CREATE):
        return []
    return [name for name in names if not access.may_topic(CREATE, name)]


def tell_prohibited(response: StreamsGroupHeartbeatResponse, names: Iterable[str]) -> None:
    """Add a status that no missing topic was created, because the member may not create these."""
    why = f"Unauthorized to CREATE on topics {','.join(names)}."
    missing = [one for one in response.status or () if one.status_code == StatusCode.MISSING_INTERNAL_TOPICS]
    if missing:
        missing[0].status_detail += f"; Creation failed: {why}"
    else:
        code = StatusCode.MISSING_INTERNAL_TOPICS
        response.status = [*(response.status or ()), type(response).Status(status_code=code, status_detail=why)]


def make_topics(call: Call, group: StreamsGroup, topics: Iterable[InternalTopic], remembered_ms: int) -> None:
    """Create the missing topics of a topology; errors are stored, without a retry, for ``remembered_ms``."""
    wanted = [topic for topic in topics if topic.name not in group.creation_errors]
    total = sum(topic.partitions for topic in wanted)
    for topic in wanted:
        try:
            check_total(total)
            call.cluster.replication_control.create(
                topic.name,
                topic.partitions,
                topic.replication_factor or -1,
                configs=topic.configs,
                requesting_broker_id=call.broker.id,
                all_have_racks=True,
            )
        except ApiError as error:
            why = error.message or ErrorCode(error.code).name
            group.creation_errors[topic.name] = (why, call.now_ms + remembered_ms)


# describing


@handles(
    StreamsGroupDescribeRequest,
    access=Needs(
        group="Describe", topic="Describe", note="without Describe on a topic of the group: TOPIC_AUTHORIZATION_FAILED"
    ),
    errors=Errors(injected="answer", words="nothing"),
)
def streams_group_describe(call: Call, request: StreamsGroupDescribeRequest) -> StreamsGroupDescribeResponse:
    """Each group with its topology and its members, their tasks and target tasks."""

    def complete(group: StreamsGroup, entry: DescribedGroup) -> None:
        entry.topology = described_topology(group)
        entry.members = [described_member(group, member) for _, member in sorted(group.members.items())]
        if request.include_topology_description:
            entry.topology_description_status = NO_DESCRIPTION

    check_enabled(call)
    return StreamsGroupDescribeResponse(groups=described_groups(call, request, StreamsGroup, DescribedGroup, complete))


def described_topology(group: StreamsGroup) -> DescribedTopology | None:
    """The topology with its partition counts if all its topics exist, or else as sent by the member."""
    configured = group.configured
    if configured is not None and configured.is_ready:
        return DescribedTopology(
            epoch=configured.epoch,
            subtopologies=[
                described_subtopology(
                    name,
                    one.source_topics,
                    one.sink_topics,
                    *([topic_info(*topic) for topic in topics.values()] for topics in (one.changelog, one.repartition)),
                )
                for name, one in sorted((configured.subtopologies or {}).items())
            ],
        )
    if group.topology is None:
        return None
    return DescribedTopology(
        epoch=group.topology.epoch,
        subtopologies=[
            described_subtopology(
                name,
                one.source_topics,
                one.repartition_sink_topics,
                *(
                    [msgspec.convert(topic, DescribedTopic, from_attributes=True) for topic in topics]
                    for topics in (one.state_changelog_topics, one.repartition_source_topics)
                ),
            )
            for name, one in sorted(by_id(group.topology).items())
        ],
    )


def described_subtopology(
    name: str,
    sources: Iterable[str],
    sinks: Iterable[str],
    changelog: list[DescribedTopic],
    repartition: list[DescribedTopic],
) -> DescribedSubtopology:
    return DescribedSubtopology(
        subtopology_id=name,
        source_topics=sorted(sources),
        repartition_sink_topics=sorted(sinks),
        state_changelog_topics=sorted(changelog, key=lambda topic: topic.name),
        repartition_source_topics=sorted(repartition, key=lambda topic: topic.name),
    )


def topic_info(name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]) -> DescribedTopic:
    return DescribedTopic(
        name=name,
        partitions=partitions,
        replication_factor=replication_factor,
        topic_configs=key_values(configs),
    )


def key_values(found: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=key, value=found[key]) for key in hash_order(found, string_hash)]


def described_member(group: StreamsGroup, member: StreamsMember) -> DescribedMember:
    entry = DescribedMember(
        member_id=member.id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        client_tags=key_values(member.client_tags),
        task_offsets=described_offsets(group.task_offsets.get(member.id, {})),
        task_end_offsets=described_offsets(group.task_end_offsets.get(member.id, {})),
        assignment=described_tasks(member.assigned.without_epochs),
        target_assignment=described_tasks(group.task_targets.get(member.id, NO_TASKS)),
    )
    if member.endpoint is not None:
        host, port = member.endpoint
        entry.user_endpoint = DescribedMember.Endpoint(host=host, port=port)
    return entry


def described_tasks(tasks: TaskSet) -> DescribedTasks:
    active, standby, warmup = (task_ids(DescribedTasks.TaskIds, of_role) for of_role in tasks)
    return DescribedTasks(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)


def described_offsets(offsets: TaskOffsets) -> list[DescribedMember.TaskOffset]:
    return [
        DescribedMember.TaskOffset(subtopology_id=name, partition=number, offset=offset)
        for name, numbers in sorted(offsets.items())
        for number, offset in sorted(numbers.items())
    ]


@handles(StreamsGroupTopologyDescriptionUpdateRequest, access=Needs(group="Read"))
def streams_group_topology_description_update(
    call: Call, request: StreamsGroupTopologyDescriptionUpdateRequest
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    """Reject the request, as a broker without a plugin for descriptions does."""
    check_enabled(call)
    return StreamsGroupTopologyDescriptionUpdateResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        error_message="The broker has no streams group topology description plugin configured.",
    )
