"""ConsumerGroupHeartbeat (key 68), ConsumerGroupDescribe (69): groups whose coordinator assigns (KIP-848).

They read and write cluster.groups.
Errors: UNSUPPORTED_VERSION if ``group.version`` or ``group.coordinator.rebalance.protocols`` disables consumer groups,
INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, NOT_COORDINATOR, and those of ``take_heartbeat``; per described group
INVALID_GROUP_ID, NOT_COORDINATOR, GROUP_ID_NOT_FOUND.
Source: KIP-848, KIP-1082, KIP-1099; KafkaApis and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.groups.consumer.group import ConsumerGroup
from mockbroker.groups.consumer.heartbeat import ConsumerHeartbeat, check_heartbeat, take_heartbeat
from mockbroker.groups.consumer.members import ConsumerMember
from mockbroker.groups.modern.members import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, messages_of
from mockbroker.handlers.error_responses import request_error
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.handlers.modern_groups import OF_DESCRIBE, check_protocol, described_groups, described_partitions
from mockbroker.state.errors import ApiError
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
        rack_id=request.rack_id,
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
        groups = call.cluster.groups
        check_heartbeat(groups, beat, call.version)
        check_coordinator(call, request.group_id)
        if beat.epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            groups.get_as(ConsumerGroup, beat.group_id).leave(beat.member_id, beat.instance_id, beat.epoch, call.now_ms)
            return ConsumerGroupHeartbeatResponse(member_id=beat.member_id, member_epoch=beat.epoch)
        group, member, assigned = take_heartbeat(groups, beat, call.now_ms, call.rng)
    except ApiError as error:
        message = None if error.code == ErrorCode.NOT_COORDINATOR else request_error(error).message
        return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=message)
    return ConsumerGroupHeartbeatResponse(
        member_id=member.id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=group.config("consumer.heartbeat.interval.ms"),
        assignment=None
        if assigned is None
        else Assignment(topic_partitions=messages_of(Assignment.TopicPartitions, assigned)),
    )


def check_enabled(call: Call) -> None:
    """Raises ApiError: UNSUPPORTED_VERSION, if the cluster does not support the consumer protocol."""
    check_protocol(call, "group.version", "consumer")


@handles(ConsumerGroupDescribeRequest, access=OF_DESCRIBE, errors=Errors(injected="request", words="nothing"))
def consumer_group_describe(call: Call, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    """Each group with its members, their current and their target assignments."""
    check_enabled(call)
    return ConsumerGroupDescribeResponse(
        groups=described_groups(call, request, ConsumerGroup, DescribedGroup, described_member)
    )


def described_member(group: ConsumerGroup, member: ConsumerMember) -> DescribedMember:
    held: dict[bytes, list[int]] = {}
    for topic_id, partition, _ in member.held:
        held.setdefault(topic_id, []).append(partition)
    found: DescribedMember = member.message(
        DescribedMember,
        subscribed_topic_names=sorted(member.topics),
        assignment=described_partitions(group, held, DescribedMember.Assignment),
        target_assignment=described_partitions(group, group.target_of(member.id), DescribedMember.Assignment),
        member_type=CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER,
    )
    return found
