"""The offsets of a group: asked for when partitions come, committed while they are read."""

from __future__ import annotations

from typing import Any

from mockbroker.testing.simulation.clients.client import Client, ConnectionLostError, TopicPartition
from mockbroker.testing.simulation.clients.consumer_protocol import ConsumerMembership
from mockbroker.testing.simulation.clients.fetcher import FetchPosition
from mockbroker.testing.simulation.clients.membership import Membership
from mockbroker.testing.simulation.history import CommittedOffset
from protocol.apis.group_offsets import OffsetCommitRequest, OffsetFetchRequest
from protocol.error_codes import ErrorCode

GROUPS_VERSION, TOPIC_ID_VERSION = 8, 10
STABLE_VERSION = 7  # older brokers do not know of offsets that a transaction may still change (KIP-447)
NO_OFFSET = -1


async def committed_positions(
    client: Client,
    membership: Membership | ConsumerMembership,
    places: tuple[TopicPartition, ...],
    *,
    require_stable: bool,
) -> dict[TopicPartition, FetchPosition] | None:
    """Where a group goes on in these partitions, from the start where it has committed nothing; None if the member has
    to join anew. Raises ConnectionLostError.
    """
    if not places:
        return {}
    version = min(9, client.version_of(OffsetFetchRequest))
    topics = grouped(places)
    require_stable = require_stable and version >= STABLE_VERSION

    def make() -> Any:
        if version < GROUPS_VERSION:
            wanted: Any = [
                OffsetFetchRequest.Topic(name=name, partition_indexes=list(them)) for name, them in topics.items()
            ]
            return OffsetFetchRequest(group_id=membership.group, topics=wanted, require_stable=require_stable)
        kind = OffsetFetchRequest.Group
        wanted = [kind.Topic(name=name, partition_indexes=list(them)) for name, them in topics.items()]
        group = kind(group_id=membership.group, topics=wanted)
        if isinstance(membership, ConsumerMembership):
            group.member_id, group.member_epoch = membership.member_id, membership.generation
        return OffsetFetchRequest(groups=[group], require_stable=require_stable)

    def group_of(answer: Any) -> Any:
        return answer.groups[0] if version >= GROUPS_VERSION else answer

    def error_of(answer: Any) -> int:
        whole = int(group_of(answer).error_code)
        errors = [one.error_code for topic in group_of(answer).topics for one in topic.partitions]
        return whole or next((int(error) for error in errors if error == ErrorCode.UNSTABLE_OFFSET_COMMIT), 0)

    client.versions[OffsetFetchRequest] = version
    answer = await client.ask_coordinator(
        membership.group, make, error_of, also_retry=(ErrorCode.UNSTABLE_OFFSET_COMMIT,)
    )
    error = ErrorCode(error_of(answer))
    if error is not ErrorCode.NONE:
        membership.lost(error)
        return None
    found = {}
    for topic in group_of(answer).topics:
        for one in topic.partitions:
            offset = max(0, one.committed_offset)
            epoch = one.committed_leader_epoch if one.committed_offset > NO_OFFSET else -1
            found[topic.name, one.partition_index] = FetchPosition(offset, epoch)
    return found


async def commit(
    client: Client, membership: Membership | ConsumerMembership, positions: dict[TopicPartition, tuple[int, int]]
) -> bool:
    """Commit offsets, given with their leader epochs; whether they were all taken."""
    if not positions:
        return True
    version = min(9, client.version_of(OffsetCommitRequest))
    client.versions[OffsetCommitRequest] = version
    generation, term, asked_at = membership.generation, membership.term, client.now_ms
    topics = []
    for name, indexes in grouped(tuple(positions)).items():
        partitions = [
            OffsetCommitRequest.Topic.Partition(
                partition_index=index,
                committed_offset=positions[name, index][0],
                committed_leader_epoch=positions[name, index][1],
                committed_metadata="",
            )
            for index in indexes
        ]
        topics.append(OffsetCommitRequest.Topic(name=name, partitions=partitions))
    request = OffsetCommitRequest(
        group_id=membership.group,
        generation_id_or_member_epoch=generation,
        member_id=membership.member_id,
        group_instance_id=membership.instance_id,
        topics=topics,
    )
    try:
        answer = await client.ask(await client.coordinator(membership.group), request)
    except ConnectionLostError:
        client.forget_coordinator(membership.group)
        return False
    all_taken = True
    for topic in answer.topics:
        for one in topic.partitions:
            error = ErrorCode(one.error_code)
            if error is ErrorCode.NONE:
                offset = positions[topic.name, one.partition_index][0]
                client.world.history.commits.append(
                    CommittedOffset(
                        client.name,
                        membership.group,
                        generation,
                        topic.name,
                        one.partition_index,
                        offset,
                        asked_at,
                        client.now_ms,
                    )
                )
                continue
            all_taken = False
            if error in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                client.forget_coordinator(membership.group)
            elif (not error.retriable or error is ErrorCode.REBALANCE_IN_PROGRESS) and membership.is_in(term):
                membership.lost(error)
    return all_taken


def grouped(places: tuple[TopicPartition, ...]) -> dict[str, list[int]]:
    """Partitions by topic, in order."""
    topics: dict[str, list[int]] = {}
    for name, index in sorted(places):
        topics.setdefault(name, []).append(index)
    return topics
