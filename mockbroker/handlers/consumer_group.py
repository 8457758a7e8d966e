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
from mockbroker.groups.consumer.heartbeat import check_heartbeat, take_heartbeat
from mockbroker.groups.consumer.members import ConsumerMember
from mockbroker.handlers.find_coordinator import sender_of
from mockbroker.handlers.modern_groups import (
    OF_DESCRIBE,
    answered_heartbeat,
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
    check_enabled(call)
    groups = call.cluster.groups
    return answered_heartbeat(
        call,
        request,
        ConsumerGroupHeartbeatResponse,
        lambda: check_heartbeat(groups, request, call.version),
        lambda: take_heartbeat(groups, request, sender_of(call), call.now_ms, call.rng),
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
    found: DescribedMember = member.message(
        DescribedMember,
        subscribed_topic_names=sorted(member.topics),
        assignment=described_partitions(group, member.held, DescribedMember.Assignment),
        target_assignment=described_partitions(group, group.target_of(member.id), DescribedMember.Assignment),
        member_type=CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER,
    )
    return found
