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
from mockbroker.groups.consumer.group import ConsumerGroup, ConsumerMember
from mockbroker.groups.consumer.heartbeat import check_heartbeat, take_heartbeat
from mockbroker.handlers.error_responses import reported
from mockbroker.handlers.find_coordinator import check_coordinator, sender_of
from mockbroker.handlers.modern_groups import (
    OF_DESCRIBE,
    check_may_see,
    check_protocol,
    described_groups,
    described_partitions,
)
from protocol.apis.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1

DescribedGroup = ConsumerGroupDescribeResponse.Group
DescribedMember = DescribedGroup.Member


@handles(
    ConsumerGroupHeartbeatRequest,
    access=Needs(group="Read", topic="Describe", note="expressions match topics with Describe on the topic"),
    errors=Errors(words="nothing"),
)
def consumer_group_heartbeat(call: Call, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    """Join, stay or leave; the answer has the member's epoch, and its assignment if that changed."""
    check_protocol(call, "group.version", "consumer")
    response = ConsumerGroupHeartbeatResponse()
    with reported(response):
        check_may_see(call, request.subscribed_topic_names)
        check_heartbeat(call.cluster.groups, request, call.version)
        check_coordinator(call, request.group_id)
        response = take_heartbeat(call.cluster.groups, request, sender_of(call), call.now_ms, call.rng)
    return response  # noqa: RET504 - or the one with an error


@handles(ConsumerGroupDescribeRequest, access=OF_DESCRIBE, errors=Errors(injected="request", words="nothing"))
def consumer_group_describe(call: Call, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    """Each group with its members, their current and their target assignments."""
    check_protocol(call, "group.version", "consumer")
    return ConsumerGroupDescribeResponse(
        groups=described_groups(call, request, ConsumerGroup, DescribedGroup, described_member)
    )


def described_member(group: ConsumerGroup, member: ConsumerMember) -> DescribedMember:
    found: DescribedMember = member.message(
        DescribedMember,
        subscribed_topic_names=sorted(member.topics),
        assignment=described_partitions(group, member.held, DescribedMember.Assignment),
        target_assignment=described_partitions(group, group.target_of(member.id), DescribedMember.Assignment),
        member_type=CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER,
    )
    return found
