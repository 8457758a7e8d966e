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
from typing import Any

import msgspec

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.error_responses import by_topic, reported
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.share_groups.share_states import SHARE_TOPIC, SharePartitionKey, coordinator_key, share_coordinator
from mockbroker.share_groups.state.coordinator import ShareCoordinator
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import Operation
from protocol.apis.share_state import (
    DeleteShareGroupStateRequest,
    InitializeShareGroupStateRequest,
    ReadShareGroupStateRequest,
    ReadShareGroupStateSummaryRequest,
    WriteShareGroupStateRequest,
)
from protocol.embedded.share_state_log import ShareUpdateValue
from protocol.error_codes import ErrorCode
from protocol.registry import message_class

Handle = Callable[[ShareCoordinator, SharePartitionKey, Any], Any]
UNAUTHORIZED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
OF_BROKERS = Needs(cluster="ClusterAction", handler="all")
SHOWN = ("state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")
"""The fields of a state that results have, each API some of them."""


@handles(InitializeShareGroupStateRequest, access=OF_BROKERS, errors=Errors(words="nothing"))
def initialize_state(call: Call, request: InitializeShareGroupStateRequest) -> Any:
    """Initialize share partitions."""
    return answered(call, request, lambda states, key, one: states.initialize(key, one.state_epoch, one.start_offset))


@handles(ReadShareGroupStateRequest, access=OF_BROKERS, errors=Errors(words="meaning"))
def read_state(call: Call, request: ReadShareGroupStateRequest) -> Any:
    """Read share partition states for new leaders."""
    return answered(call, request, lambda states, key, one: states.read(key, one.leader_epoch))


@handles(WriteShareGroupStateRequest, access=OF_BROKERS, errors=Errors(words="meaning"))
def write_state(call: Call, request: WriteShareGroupStateRequest) -> Any:
    """Persist the states that leaders write."""

    def write(states: ShareCoordinator, key: SharePartitionKey, one: Any) -> None:
        states.write(key, one.state_epoch, msgspec.convert(one, ShareUpdateValue, from_attributes=True))

    return answered(call, request, write)


@handles(DeleteShareGroupStateRequest, access=OF_BROKERS, errors=Errors(words="nothing"))
def delete_state(call: Call, request: DeleteShareGroupStateRequest) -> Any:
    """Delete share partition states."""
    return answered(call, request, lambda states, key, one: states.delete(key))


@handles(ReadShareGroupStateSummaryRequest, access=OF_BROKERS, errors=Errors(words="meaning"))
def read_summary(call: Call, request: ReadShareGroupStateSummaryRequest) -> Any:
    """The start offsets of share partitions."""
    return answered(call, request, lambda states, key, one: states.summary(key))


def answered(call: Call, request: Any, handle: Handle) -> Any:
    """The response: each partition has the result of ``handle``, a state or None, or its error."""
    response: Any = message_class(call.api_key, "response")
    allows_empty = isinstance(request, InitializeShareGroupStateRequest)
    may = call.access.may_cluster(Operation.CLUSTER_ACTION)
    if may and not (request.group_id and (allows_empty or all(topic.partitions for topic in request.topics))):
        return response()
    results: dict[tuple[bytes, int], Any] = {}
    for topic in request.topics:
        for entry in topic.partitions:
            result = response.Topic.Partition(partition=entry.partition)
            results[topic.topic_id, entry.partition] = result
            key = SharePartitionKey(request.group_id, topic.topic_id, entry.partition)
            with reported(result):
                if not may:
                    raise ApiError(UNAUTHORIZED, UNAUTHORIZED.meaning)
                check_coordinator(call, coordinator_key(key), SHARE_TOPIC, in_words=True)
                state = handle(share_coordinator(call.cluster), key, entry)
                for name in SHOWN if state is not None else ():
                    if hasattr(result, name):
                        setattr(result, name, getattr(state, name))
    return response(results=by_topic(response.Topic, results, key="topic_id"))
