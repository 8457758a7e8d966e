"""InitializeShareGroupState (key 83), ReadShareGroupState (84), WriteShareGroupState (85), DeleteShareGroupState (86),
ReadShareGroupStateSummary (87): requests of brokers to share coordinators.

Read and write the states of share partitions. The response is empty for a request without a group id, without topics,
or (except 83) with a topic without partitions.
Errors, per partition: NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST, FENCED_LEADER_EPOCH,
FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION.
Source: KIP-932; ShareCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.error_responses import reported
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.share_groups.share_states import (
    SHARE_TOPIC,
    SharePartitionKey,
    coordinator_key,
    share_of,
)
from protocol.apis.share_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
)
from protocol.embedded.share_state_log import ShareUpdateValue

Response = TypeVar("Response")


@handles(InitializeShareGroupStateRequest, access=Needs(cluster="ClusterAction"), errors=Errors(words="nothing"))
def initialize_state(call: Call, request: InitializeShareGroupStateRequest) -> InitializeShareGroupStateResponse:
    """Initialize share partitions."""

    def one(key: SharePartitionKey, entry: Any, result: Any) -> None:
        share_of(call.cluster).coordinator.initialize(key, entry.state_epoch, entry.start_offset)

    return answered(call, request, InitializeShareGroupStateResponse, one, allows_empty=True)


@handles(ReadShareGroupStateRequest, access=Needs(cluster="ClusterAction"), errors=Errors(words="meaning"))
def read_state(call: Call, request: ReadShareGroupStateRequest) -> ReadShareGroupStateResponse:
    """Read share partition states for new leaders."""

    def one(key: SharePartitionKey, entry: Any, result: ReadShareGroupStateResponse.Topic.Partition) -> None:
        state = share_of(call.cluster).coordinator.read(key, entry.leader_epoch)
        result.state_epoch, result.start_offset = state.state_epoch, state.start_offset
        result.state_batches = state.state_batches

    return answered(call, request, ReadShareGroupStateResponse, one)


@handles(WriteShareGroupStateRequest, access=Needs(cluster="ClusterAction"), errors=Errors(words="meaning"))
def write_state(call: Call, request: WriteShareGroupStateRequest) -> WriteShareGroupStateResponse:
    """Persist the states that leaders write."""

    def one(key: SharePartitionKey, entry: Any, result: Any) -> None:
        update = msgspec.convert(entry, ShareUpdateValue, from_attributes=True)
        share_of(call.cluster).coordinator.write(key, entry.state_epoch, update)

    return answered(call, request, WriteShareGroupStateResponse, one)


@handles(DeleteShareGroupStateRequest, access=Needs(cluster="ClusterAction"), errors=Errors(words="nothing"))
def delete_state(call: Call, request: DeleteShareGroupStateRequest) -> DeleteShareGroupStateResponse:
    """Delete share partition states."""

    def one(key: SharePartitionKey, entry: Any, result: Any) -> None:
        share_of(call.cluster).coordinator.delete(key)

    return answered(call, request, DeleteShareGroupStateResponse, one)


@handles(ReadShareGroupStateSummaryRequest, access=Needs(cluster="ClusterAction"), errors=Errors(words="meaning"))
def read_summary(call: Call, request: ReadShareGroupStateSummaryRequest) -> ReadShareGroupStateSummaryResponse:
    """The start offsets of share partitions."""

    def one(key: SharePartitionKey, entry: Any, result: ReadShareGroupStateSummaryResponse.Topic.Partition) -> None:
        state = share_of(call.cluster).coordinator.summary(key)
        result.state_epoch, result.leader_epoch = state.state_epoch, state.leader_epoch
        result.start_offset = state.start_offset
        result.delivery_complete_count = state.delivery_complete_count

    return answered(call, request, ReadShareGroupStateSummaryResponse, one)


def answered(
    call: Call,
    request: Any,
    response_class: type[Response],
    handle: Callable[[SharePartitionKey, Any, Any], None],
    *,
    allows_empty: bool = False,
) -> Response:
    """The response: ``handle`` fills the result of each partition, or its error is reported."""
    response: Any = response_class
    if not request.group_id or not (allows_empty or all(topic.partitions for topic in request.topics)):
        return cast("Response", response())
    topics: dict[bytes, dict[int, Any]] = {}
    for topic in request.topics:
        results = topics.setdefault(topic.topic_id, {}) if topic.partitions else {}
        for entry in topic.partitions:
            result = results[entry.partition] = response.Topic.Partition(partition=entry.partition)
            key = SharePartitionKey(request.group_id, topic.topic_id, entry.partition)
            with reported(result):
                check_coordinator(call, coordinator_key(key), SHARE_TOPIC)
                handle(key, entry, result)
    entries = [response.Topic(topic_id=topic_id, partitions=list(found.values())) for topic_id, found in topics.items()]
    return cast("Response", response(results=entries))
