"""ShareGroupHeartbeat (key 76), ShareGroupDescribe (77): groups whose members share partitions (KIP-932).

Read and write cluster.groups; a heartbeat initializes the share partitions of subscribed topics.
Errors: UNSUPPORTED_VERSION if ``share.version`` has no share groups, INVALID_REQUEST, NOT_COORDINATOR,
GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH; of each described group
INVALID_GROUP_ID, NOT_COORDINATOR, GROUP_ID_NOT_FOUND.
Source: KIP-932; KafkaApis and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.error_responses import reported
from mockbroker.handlers.find_coordinator import check_coordinator, sender_of
from mockbroker.handlers.modern_groups import OF_DESCRIBE, check_may_see, described_groups, described_partitions
from mockbroker.share_groups.groups.group import ShareGroup, ShareMember
from mockbroker.share_groups.groups.heartbeat import check_heartbeat, take_heartbeat
from mockbroker.share_groups.handlers.share_acknowledgements import check_enabled, check_member
from protocol.apis.share_group import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

DescribedGroup = ShareGroupDescribeResponse.Group
DescribedMember = DescribedGroup.Member


@handles(ShareGroupHeartbeatRequest, access=Needs(group="Read", topic="Describe"), errors=Errors(words="nothing"))
def share_group_heartbeat(call: Call, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
    """Join, stay or leave; the response has the member's epoch, and its partitions if they changed."""
    check_enabled(call)
    check_member(request.group_id, request.member_id)
    response = ShareGroupHeartbeatResponse()
    with reported(response):
        check_may_see(call, request.subscribed_topic_names)
        check_heartbeat(request)
        check_coordinator(call, request.group_id)
        response = take_heartbeat(call.cluster.groups, request, sender_of(call), call.now_ms)
    return response  # noqa: RET504 - or the one with an error


@handles(ShareGroupDescribeRequest, access=OF_DESCRIBE, errors=Errors(injected="request", words="nothing"))
def share_group_describe(call: Call, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
    """Each group with its members and their assignments."""
    check_enabled(call)
    return ShareGroupDescribeResponse(
        groups=described_groups(call, request, ShareGroup, DescribedGroup, described_member, in_words=True)
    )


def described_member(group: ShareGroup, member: ShareMember) -> DescribedMember:
    assignment = described_partitions(group, member.assigned, DescribedMember.Assignment)
    names = sorted(member.topics)
    found: DescribedMember = member.message(DescribedMember, subscribed_topic_names=names, assignment=assignment)
    return found
