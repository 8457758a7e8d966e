"""The partitions that each member can answer interactive queries for, by the member's endpoint.

Source: StreamsGroup.buildEndpointToPartitions and EndpointToPartitionsManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_rack.java import hash_order, string_hash
from mockbroker.groups.modern.members import grouped
from mockbroker.state.errors import ApiError
from mockbroker.streams_groups.group import StreamsGroup, StreamsMember, Task
from mockbroker.streams_groups.topology import ConfiguredTopology
from protocol.apis.streams_group import StreamsGroupHeartbeatResponse
from protocol.error_codes import ErrorCode

ByEndpoint = StreamsGroupHeartbeatResponse.EndpointToPartitions


def partitions_by_endpoint(
    group: StreamsGroup, configured: ConfiguredTopology, member: StreamsMember, replaced: StreamsMember | None
) -> list[ByEndpoint]:
    """All endpoints of a group, with the updated member last.

    Raises ApiError: UNKNOWN_SERVER_ERROR, as in Kafka, for an endpoint of a topology with unknown partition counts.
    """
    gone = {member.id, replaced.id if replaced is not None else member.id}
    members = [group.members[one] for one in hash_order(group.members, string_hash) if one not in gone]
    return [of_member(group, configured, one) for one in (*members, member) if one.endpoint is not None]


def of_member(group: StreamsGroup, configured: ConfiguredTopology, member: StreamsMember) -> ByEndpoint:
    assert member.endpoint is not None
    if configured.subtopologies is None:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    held = member.assigned
    host, port = member.endpoint
    return ByEndpoint(
        user_endpoint=ByEndpoint.Endpoint(host=host, port=port),
        active_partitions=topic_partitions(group, configured, held.active),
        standby_partitions=topic_partitions(group, configured, held.standby | held.warmup),
    )


def topic_partitions(
    group: StreamsGroup, configured: ConfiguredTopology, tasks: Iterable[Task]
) -> list[ByEndpoint.TopicPartition]:
    """The partitions that tasks read."""
    assert configured.subtopologies is not None
    found: list[ByEndpoint.TopicPartition] = []
    numbers_of = grouped(tasks)
    for name in hash_order(numbers_of, string_hash):
        for topic in configured.subtopologies[name].inputs:
            known = group.groups.topics.by_name.get(topic)
            if known is None:
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
            numbers = [number for number in sorted(numbers_of[name]) if number < len(known.partitions)]
            if numbers:
                found.append(ByEndpoint.TopicPartition(topic=topic, partitions=numbers))
    return found
