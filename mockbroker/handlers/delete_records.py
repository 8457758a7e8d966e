"""DeleteRecords (key 21): advance the start offsets of partitions' logs, so that earlier records cannot be read.

Writes partitions' logs; wakes waiting fetches. The answer waits until all replicas that are up have followed.
Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, INVALID_TOPIC_EXCEPTION,
POLICY_VIOLATION, OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR, and after a wait REQUEST_TIMED_OUT.
Source: KIP-107; KafkaApis.handleDeleteRecordsRequest, Partition.deleteRecordsOnLeader and DelayedDeleteRecords, Apache
Kafka 4.4.
"""

from __future__ import annotations

from typing import NamedTuple

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call, Wait
from mockbroker.handlers.error_responses import by_topic, reported
from mockbroker.handlers.leadership import find_partition, served_by, when_done
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.topic import Partition
from protocol.apis.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from protocol.error_codes import ErrorCode

HIGH_WATERMARK = -1  # as the offset: delete up to the high watermark
UNKNOWN_OFFSET = -1
FOLLOWED_AFTER_MS = 2
"""Followers learn a log's new start with their next fetch: a request with a shorter timeout times out."""

PartitionResponse = DeleteRecordsResponse.Topic.Partition


class Deletion(NamedTuple):
    """A log whose start the leader moved: its previous start, the requested offset, and its entry of the answer."""

    partition: Partition
    start_before: int
    offset: int
    entry: PartitionResponse


@handles(
    DeleteRecordsRequest, access=Needs(topic="Delete"), errors=Errors(injected="lookup", failed={"low_watermark": -1})
)
def delete_records(call: Call, request: DeleteRecordsRequest) -> DeleteRecordsResponse | Wait:
    """Move the start of each log. If a request names a partition twice, the last one counts."""
    wanted = {(topic.name, one.partition_index): one.offset for topic in request.topics for one in topic.partitions}
    entries = {place: PartitionResponse(partition_index=place[1], low_watermark=UNKNOWN_OFFSET) for place in wanted}
    done: list[Deletion] = []
    for place, offset in wanted.items():
        with reported(entries[place]):
            done.append(delete(call, *place, offset, entries[place]))
    response = DeleteRecordsResponse(topics=by_topic(DeleteRecordsResponse.Topic, entries))
    is_hasty = request.timeout_ms < FOLLOWED_AFTER_MS
    late = [one for one in done if is_hasty and one.offset > one.start_before and has_followers(call, one.partition)]
    for one in late:
        time_out(one)
    in_time = [one for one in done if one not in late]
    return when_done(call, response, in_time, call.now_ms + max(0, request.timeout_ms), has_followed, time_out)


def delete(call: Call, name: str, index: int, offset: int, entry: PartitionResponse) -> Deletion:
    """Move one log's start on its leader. Raises ApiError."""
    partition = find_partition(call, name, index)
    topic = partition.topic
    if topic.is_internal:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"expected a topic of a user, got {name}")
    served_by(call, partition)
    policy = topic.config("cleanup.policy")
    if "compact" in policy and "delete" not in policy:
        raise ApiError(ErrorCode.POLICY_VIOLATION, f"{name} is compacted, its records are deleted by key")
    high_watermark = partition.high_watermark
    wanted = high_watermark if offset == HIGH_WATERMARK else offset
    if not 0 <= wanted <= high_watermark:
        raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, f"expected an offset from 0 to {high_watermark}, got {offset}")
    start = partition.log.start_offset
    if partition.advance_start(wanted):
        call.cluster.notify(partition)
    return Deletion(partition, start, wanted, entry)


def has_followed(call: Call, one: Deletion) -> bool:
    """True if all replicas have moved the start too, or the partition has another leader or none."""
    partition, entry = one.partition, one.entry
    entry.low_watermark, entry.error_code = partition.log.start_offset, ErrorCode.NONE
    if partition.topic.id not in call.cluster.topic_by_id:
        entry.low_watermark, entry.error_code = UNKNOWN_OFFSET, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif not partition.topic.diskless and partition.leader != call.broker.id:
        entry.low_watermark, entry.error_code = UNKNOWN_OFFSET, ErrorCode.NOT_LEADER_OR_FOLLOWER
    else:
        return not call.cluster.replication.is_held_up(partition, call.cluster.liveness.online_ids)
    return True


def has_followers(call: Call, partition: Partition) -> bool:
    """True if the partition has followers that are up, which must move the start too."""
    online = call.cluster.liveness.online_ids
    return not partition.topic.diskless and any(one in online for one in partition.replicas if one != partition.leader)


def time_out(one: Deletion) -> None:
    """Set REQUEST_TIMED_OUT, with the leader's previous start as the low watermark that all replicas have passed."""
    one.entry.low_watermark, one.entry.error_code = one.start_before, ErrorCode.REQUEST_TIMED_OUT
