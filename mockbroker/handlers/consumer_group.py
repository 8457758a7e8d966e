"""ConsumerGroupHeartbeat (key 68), ConsumerGroupDescribe (69): groups whose coordinator assigns (KIP-848).

Read and write cluster.groups.
Errors: UNSUPPORTED_VERSION where ``group.version`` or ``group.coordinator.rebalance.protocols`` has no such groups,
INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, NOT_COORDINATOR, and those of ``take_heartbeat``; of each described group
INVALID_GROUP_ID, NOT_COORDINATOR, GROUP_ID_NOT_FOUND.
Source: KIP-848, KIP-1082, KIP-1099; KafkaApis and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mockbroker.call import Call, handles
from mockbroker.handlers.error_responses import request_error
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.handlers.groups import ALL_GROUP_OPERATIONS
from mockbroker.state.errors import ApiError
from mockbroker.state.features import feature_level
from mockbroker.state.groups.consumer.group import ConsumerGroup
from mockbroker.state.groups.consumer.heartbeat import Heartbeat, check_heartbeat, take_heartbeat
from mockbroker.state.groups.consumer.members import ConsumerMember, Holding
from mockbroker.state.groups.coordinator import check_group_id
from protocol.apis.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from protocol.error_codes import ErrorCode

GROUP_FEATURE = "group.version"
CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1

Assignment = ConsumerGroupHeartbeatResponse.Assignment
DescribedGroup = ConsumerGroupDescribeResponse.Group
DescribedMember = DescribedGroup.Member
DescribedAssignment = DescribedMember.Assignment


@handles(ConsumerGroupHeartbeatRequest)
def consumer_group_heartbeat(call: Call, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    """Join, stay or leave; the answer has the member's epoch, and its assignment where that changed."""
    owned = request.topic_partitions
    beat = Heartbeat(
        group_id=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=request.subscribed_topic_names,
        expression=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=None if owned is None else [(one.topic_id, one.partitions) for one in owned],
        client_id=call.session.client_id or "",
        client_host=f"/{call.session.address}",
    )
    check_enabled(call)
    try:
        check_heartbeat(beat, call.version, call.cluster.groups.context.configs)
        check_coordinator(call, request.group_id)
        answer = take_heartbeat(call.cluster.groups, beat, call.now_ms, call.rng)
    except ApiError as error:
        message = None if error.code == ErrorCode.NOT_COORDINATOR else request_error(error).message
        return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=message)
    return ConsumerGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.epoch,
        heartbeat_interval_ms=answer.interval_ms,
        assignment=None if answer.assigned is None else assignment(answer.assigned),
    )


def check_enabled(call: Call) -> None:
    """Raises ApiError: UNSUPPORTED_VERSION, where the cluster has no groups of the consumer protocol."""
    protocols = call.cluster.configs.broker(None, "group.coordinator.rebalance.protocols")
    if feature_level(call.cluster, GROUP_FEATURE) < 1 or "consumer" not in protocols:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)


def assignment(assigned: Holding) -> Assignment:
    """What a member holds, by topic id."""
    return Assignment(
        topic_partitions=[
            Assignment.TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(assigned.items())
        ]
    )


@handles(ConsumerGroupDescribeRequest)
def consumer_group_describe(call: Call, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    """Each group with its members, and what they hold and shall hold."""
    check_enabled(call)
    response = ConsumerGroupDescribeResponse(groups=[described(call, group_id) for group_id in request.group_ids])
    for entry in response.groups:
        if request.include_authorized_operations and entry.error_code == ErrorCode.NONE:
            entry.authorized_operations = ALL_GROUP_OPERATIONS
    return response


def described(call: Call, group_id: str) -> DescribedGroup:
    try:
        check_group_id(group_id)
    except ApiError as error:
        return DescribedGroup(group_id="", error_code=error.code)
    try:
        check_coordinator(call, group_id)
        group = call.cluster.groups.get_as(ConsumerGroup, group_id)
    except ApiError as error:
        message = error.message if error.code == ErrorCode.GROUP_ID_NOT_FOUND else None
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=message)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor_name,
        members=[described_member(group, member) for _, member in sorted(group.members.items())],
    )


def described_member(group: ConsumerGroup, member: ConsumerMember) -> DescribedMember:
    held: dict[bytes, list[int]] = {}
    for topic_id, partition, _ in member.held:
        held.setdefault(topic_id, []).append(partition)
    return DescribedMember(
        member_id=member.id,
        instance_id=member.instance_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.expression,
        assignment=described_partitions(group, held),
        target_assignment=described_partitions(group, group.target_of(member.id)),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def described_partitions(group: ConsumerGroup, partitions: Mapping[bytes, Iterable[int]]) -> DescribedAssignment:
    """Partitions of the topics that there are, by topic name."""
    topics = group.context.topics
    named = sorted(
        (name, topic_id, sorted(numbers))
        for topic_id, numbers in partitions.items()
        if (name := topics.name_of(topic_id)) is not None
    )
    return DescribedAssignment(
        topic_partitions=[
            DescribedAssignment.TopicPartitions(topic_id=topic_id, topic_name=name, partitions=numbers)
            for name, topic_id, numbers in named
        ]
    )
