"""ConsumerGroupHeartbeat (key 68), ConsumerGroupDescribe (69): groups whose coordinator assigns (KIP-848).

They read and write cluster.groups.
Errors: UNSUPPORTED_VERSION if ``group.version`` or ``group.coordinator.rebalance.protocols`` disables consumer groups,
INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, NOT_COORDINATOR, and those of ``take_heartbeat``; per described group
INVALID_GROUP_ID, NOT_COORDINATOR, GROUP_ID_NOT_FOUND.
Source: KIP-848, KIP-1082, KIP-1099; KafkaApis and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.error_responses import request_error
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.handlers.modern_groups import check_protocol, described_groups
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.consumer.group import ConsumerGroup
from mockbroker.state.groups.consumer.heartbeat import ConsumerHeartbeat, check_heartbeat, take_heartbeat
from mockbroker.state.groups.consumer.members import ConsumerMember, Holding
from mockbroker.state.security.access import may_see_of
from protocol.apis.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from protocol.error_codes import ErrorCode

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1

Assignment = ConsumerGroupHeartbeatResponse.Assignment
DescribedGroup = ConsumerGroupDescribeResponse.Group
DescribedMember = DescribedGroup.Member
DescribedAssignment = DescribedMember.Assignment


@handles(
    ConsumerGroupHeartbeatRequest,
    access=Needs(group="Read", topic="Describe", note="expressions match topics with Describe on the topic"),
    errors=Errors(words="nothing"),
)
def consumer_group_heartbeat(call: Call, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    """Join, stay or leave; the answer has the member's epoch, and its assignment if that changed."""
    owned = request.topic_partitions
    beat = ConsumerHeartbeat(
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
        may_see=may_see_of(call.cluster, call.session.principal, call.session.address),
    )
    check_enabled(call)
    try:
        check_heartbeat(beat, call.version, call.cluster.groups.configs)
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
    """Raises ApiError: UNSUPPORTED_VERSION, if the cluster does not support the consumer protocol."""
    check_protocol(call, "group.version", "consumer")


def assignment(assigned: Holding) -> Assignment:
    """A member's partitions, by topic id."""
    return Assignment(
        topic_partitions=[
            Assignment.TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(assigned.items())
        ]
    )


@handles(
    ConsumerGroupDescribeRequest,
    access=Needs(
        group="Describe", topic="Describe", note="without Describe on a topic of the group: TOPIC_AUTHORIZATION_FAILED"
    ),
    errors=Errors(injected="answer", words="nothing"),
)
def consumer_group_describe(call: Call, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    """Each group with its members, their current and their target assignments."""
    check_enabled(call)
    return ConsumerGroupDescribeResponse(
        groups=described_groups(call, request, ConsumerGroup, DescribedGroup, describe_members)
    )


def describe_members(group: ConsumerGroup, entry: DescribedGroup) -> None:
    entry.members = [described_member(group, member) for _, member in sorted(group.members.items())]


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
    """The partitions of existing topics, by topic name."""
    topics = group.groups.topics
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
