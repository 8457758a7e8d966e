"""Produce (key 0): append record batches to partitions.

Writes partitions' logs and what they know of producers; wakes fetches that wait.
Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS,
INVALID_REQUIRED_ACKS, and those of ``appends.append``. With acks=0 there is no answer, and
an error closes the connection.
Source: KIP-98, KIP-467, KIP-516, KIP-951; KafkaApis.handleProduceRequest, Apache Kafka.
"""

from __future__ import annotations

from mockbroker.call import Call, handles
from mockbroker.handlers.leadership import NodeEndpoints, find_partition, served_by
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.appending import append
from mockbroker.state.topics.topic import Partition
from protocol.apis.produce import ProduceRequest, ProduceResponse
from protocol.error_codes import ErrorCode, error_name

BATCH_VERSION = 3  # from here on exactly one batch of magic 2
ZSTD_VERSION = 7
CURRENT_LEADER_VERSION = 10
TOPIC_ID_VERSION = 13
ALL_IN_SYNC, NONE, LEADER = -1, 0, 1
NO_OFFSET = -1

PartitionResponse = ProduceResponse.Topic.Partition


@handles(ProduceRequest)
def produce(call: Call, request: ProduceRequest) -> ProduceResponse | None:
    """Append to each partition by itself."""
    by_topic_id = call.version >= TOPIC_ID_VERSION
    endpoints = NodeEndpoints(call)
    traffic: dict[str, int] = {}
    call.traffic = traffic
    response = ProduceResponse()
    failure: str | None = None
    for topic in request.topic_data:
        entries = []
        for wanted in topic.partition_data:
            partition: Partition | None = None
            try:
                partition = find_partition(call, topic.topic_id if by_topic_id else topic.name, wanted.index)
                entries.append(appended(call, partition, wanted, request.acks))
                name = partition.topic.name
                traffic[name] = traffic.get(name, 0) + len(wanted.records or b"")
            except ApiError as error:
                entry = refused(wanted.index, error)
                moved = error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
                if moved and partition is not None and call.version >= CURRENT_LEADER_VERSION:
                    entry.current_leader = PartitionResponse.LeaderIdAndEpoch(
                        leader_id=partition.leader, leader_epoch=partition.leader_epoch
                    )
                    endpoints.add(partition.leader)
                entries.append(entry)
                failure = failure or f"produce with acks=0 failed: {error_name(error.code)}"
        response.responses.append(
            ProduceResponse.Topic(topic_id=topic.topic_id, partition_responses=entries)
            if by_topic_id
            else ProduceResponse.Topic(name=topic.name, partition_responses=entries)
        )
    if request.acks == NONE:
        call.close_reason = failure
        return None
    if call.version >= CURRENT_LEADER_VERSION:
        response.node_endpoints = endpoints.entries(ProduceResponse.NodeEndpoint)
    return response


def appended(call: Call, partition: Partition, wanted: ProduceRequest.Topic.Partition, acks: int) -> PartitionResponse:
    """Append one partition's records. Raises ApiError."""
    if acks not in (ALL_IN_SYNC, NONE, LEADER):
        raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks {acks}, but -1, 0 and 1 are possible")
    served_by(call, partition)
    if acks == ALL_IN_SYNC and not partition.topic.diskless:
        min_isr = partition.effective_min_isr()
        if len(partition.isr) < min_isr:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"expected {min_isr} or more replicas in sync, got {len(partition.isr)}",
            )
    written = append(
        partition,
        wanted.records or b"",
        call.now_ms,
        one_batch=call.version >= BATCH_VERSION,
        allow_zstd=call.version >= ZSTD_VERSION,
    )
    call.cluster.woken.append(partition)
    return PartitionResponse(
        index=wanted.index,
        base_offset=written.base_offset,
        log_append_time_ms=written.append_time_ms,
        log_start_offset=partition.log.start_offset,
    )


def refused(index: int, error: ApiError) -> PartitionResponse:
    return PartitionResponse(
        index=index, error_code=int(error.code), base_offset=NO_OFFSET, error_message=error.message
    )
