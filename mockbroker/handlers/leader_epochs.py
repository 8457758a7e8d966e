"""OffsetForLeaderEpoch (key 23): the end offset of a leader epoch, by which a consumer detects log truncation.

For an epoch before the first known one: that epoch and the first one's start; for one after the latest: -1 and -1.
Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH.
Source: KIP-101, KIP-279, KIP-320; ReplicaManager.lastOffsetForLeaderEpoch and LeaderEpochFileCache, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.error_responses import answer_parts
from mockbroker.handlers.leadership import find_partition, served_by
from protocol.apis.leader_epochs import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse


@handles(
    OffsetForLeaderEpochRequest,
    access=Needs(topic="Describe", every_topic="ClusterAction"),
    errors=Errors(injected="lookup"),
)
def offset_for_leader_epoch(call: Call, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """The end of an epoch for each requested partition."""
    return answer_parts(call, request, OffsetForLeaderEpochResponse, end_of_epoch)


def end_of_epoch(
    call: Call,
    entry: OffsetForLeaderEpochResponse.Topic.Partition,
    topic: OffsetForLeaderEpochRequest.Topic,
    wanted: OffsetForLeaderEpochRequest.Topic.Partition,
) -> None:
    partition = find_partition(call, topic.topic, wanted.partition)
    served_by(call, partition, wanted.current_leader_epoch)
    log = partition.log
    entry.leader_epoch, entry.end_offset = log.leader_epochs.end_offset_for(wanted.leader_epoch, log.end_offset)
