"""Produce (key 0): append record batches to partitions.

Writes partitions' logs and what they know of producers; wakes fetches that wait. With acks=all the answer waits until
every in-sync replica has the records, for as long as the request's timeout.
Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS,
INVALID_REQUIRED_ACKS, those of ``appending.append``, and after a wait REQUEST_TIMED_OUT and
NOT_ENOUGH_REPLICAS_AFTER_APPEND. With acks=0 there is no answer, and an error closes the connection.
Source: KIP-98, KIP-467, KIP-516, KIP-951; KafkaApis.handleProduceRequest, DelayedProduce and
Partition.checkEnoughReplicasReachOffset, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import NamedTuple

from mockbroker.call import Call, Wait, handles
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
NO_TIME = -1

PartitionResponse = ProduceResponse.Topic.Partition


class AppendedRecords(NamedTuple):
    """Records that were appended: the offset behind them, the leader epoch it was in, and their entry of the answer."""

    partition: Partition
    end_offset: int
    leader_epoch: int
    entry: PartitionResponse


@handles(ProduceRequest)
def produce(call: Call, request: ProduceRequest) -> ProduceResponse | Wait | None:
    """Append to each partition by itself."""
    by_topic_id = call.version >= TOPIC_ID_VERSION
    endpoints = NodeEndpoints(call)
    call.traffic = {}
    response = ProduceResponse()
    written: list[AppendedRecords] = []
    failure: str | None = None
    for topic in request.topic_data:
        entries = []
        for wanted in topic.partition_data:
            partition: Partition | None = None
            try:
                partition = find_partition(call, topic.topic_id if by_topic_id else topic.name, wanted.index)
                done = append_records(call, partition, wanted, request.acks)
                written.append(done)
                entries.append(done.entry)
                name = partition.topic.name
                call.traffic[name] = call.traffic.get(name, 0) + len(wanted.records or b"")
            except ApiError as error:
                entry = error_entry(wanted.index, error)
                if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER and partition is not None:
                    name_leader(call, entry, partition, endpoints)
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
    if request.acks == ALL_IN_SYNC:
        return when_replicated(call, response, written, call.now_ms + max(0, request.timeout_ms))
    return response


def when_replicated(
    call: Call, response: ProduceResponse, written: list[AppendedRecords], until_ms: int
) -> ProduceResponse | Wait:
    """The response once all that was written is replicated, or once the time is over, which is an error then."""
    missing = [one for one in written if not is_replicated(call, one)]
    if not missing:
        return response
    if call.now_ms < until_ms:
        keys = tuple(one.partition for one in missing)
        return Wait(until_ms, keys, lambda later: when_replicated(later, response, missing, until_ms))
    for one in missing:
        fail(one.entry, ErrorCode.REQUEST_TIMED_OUT)
    return response


def is_replicated(call: Call, one: AppendedRecords) -> bool:
    """Whether the wait for one partition is over: every in-sync replica has the records, or its leader has changed."""
    partition = one.partition
    if partition.topic.diskless:
        return True
    if partition.topic.id not in call.cluster.topic_by_id:
        fail(one.entry, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return True
    if call.deposed(partition) is not None:
        return False  # the broker does not know, and nobody fetches from it
    if partition.leader != call.broker.id or was_truncated(one):
        fail(one.entry, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return True
    if partition.high_watermark < one.end_offset:
        return False
    if len(partition.isr) < partition.effective_min_isr():
        fail(one.entry, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    return True


def was_truncated(one: AppendedRecords) -> bool:
    """Whether another leader came meanwhile who lacked the records, even if the present one is the one before it."""
    partition, log = one.partition, one.partition.log
    if partition.leader_epoch == one.leader_epoch:
        return False
    return log.leader_epochs.end_offset_for(one.leader_epoch, log.end_offset).end_offset < one.end_offset


def fail(entry: PartitionResponse, code: ErrorCode) -> None:
    entry.error_code, entry.base_offset, entry.log_append_time_ms = code, NO_OFFSET, NO_TIME


def name_leader(call: Call, entry: PartitionResponse, partition: Partition, endpoints: NodeEndpoints) -> None:
    """Say who leads a partition, to whom it can be said (KIP-951)."""
    if call.version >= CURRENT_LEADER_VERSION:
        known = call.leadership(partition)
        entry.current_leader = PartitionResponse.LeaderIdAndEpoch(
            leader_id=known.leader, leader_epoch=known.leader_epoch
        )
        endpoints.add(known.leader)


def append_records(
    call: Call, partition: Partition, wanted: ProduceRequest.Topic.Partition, acks: int
) -> AppendedRecords:
    """Append one partition's records. Raises ApiError."""
    if acks not in (ALL_IN_SYNC, NONE, LEADER):
        raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks {acks}, but -1, 0 and 1 are possible")
    served_by(call, partition)
    if acks == ALL_IN_SYNC and not partition.topic.diskless:
        min_isr = partition.effective_min_isr()
        in_sync = len(call.leadership(partition).isr)
        if in_sync < min_isr:
            raise ApiError(ErrorCode.NOT_ENOUGH_REPLICAS, f"expected {min_isr} or more replicas in sync, got {in_sync}")
    deposed = call.deposed(partition)
    log_owner = partition if deposed is None else deposed.fork
    written = append(
        log_owner,
        wanted.records or b"",
        call.now_ms,
        one_batch=call.version >= BATCH_VERSION,
        allow_zstd=call.version >= ZSTD_VERSION,
    )
    if deposed is None:
        call.cluster.replication.appended(partition, call.now_ms)
    entry = PartitionResponse(
        index=wanted.index,
        base_offset=written.base_offset,
        log_append_time_ms=written.append_time_ms,
        log_start_offset=partition.log.start_offset,
    )
    return AppendedRecords(partition, written.end_offset, log_owner.leader_epoch, entry)


def error_entry(index: int, error: ApiError) -> PartitionResponse:
    return PartitionResponse(
        index=index, error_code=int(error.code), base_offset=NO_OFFSET, error_message=error.message
    )
