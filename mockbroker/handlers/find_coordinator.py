"""FindCoordinator (key 10): which broker coordinates a group or a transactional id.

Reads cluster.brokers and, through ``coordinator_for``, writes which broker a key was given to. The address is that of
the listener the client came in by.
Errors, per key: COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST for share partitions and unknown key types, and for
transactional ids that of ``transactional_ids``.
Source: KIP-98, KIP-699, KIP-932; KafkaApis.handleFindCoordinatorRequest, Apache Kafka 4.0.
"""

from __future__ import annotations

from mockbroker.call import Call, handles
from mockbroker.handlers.transactional_ids import check_transactional_id
from mockbroker.state.errors import ApiError
from protocol.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.error_codes import ErrorCode

BATCH_VERSION = 4
GROUP, TRANSACTION, SHARE = 0, 1, 2  # key types
NO_NODE = -1


@handles(FindCoordinatorRequest)
def find_coordinator(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """The coordinator of one key, since v4 of each key."""
    if call.version >= BATCH_VERSION:
        keys = request.coordinator_keys
        return FindCoordinatorResponse(coordinators=[entry(call, request.key_type, key) for key in keys])
    found = entry(call, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or "NONE",  # as Kafka words success here
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def entry(call: Call, key_type: int, key: str) -> FindCoordinatorResponse.Coordinator:
    """Where the coordinator of a key is, or why it has none."""
    try:
        if key_type not in (GROUP, TRANSACTION):
            what = "share partitions have no coordinator here" if key_type == SHARE else f"key type {key_type}"
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{what}; 0 (group) and 1 (transactional id) have one")
        if key_type == TRANSACTION:
            check_transactional_id(key)
        broker = call.cluster.coordinator_for(key)
        if not call.view.is_alive(broker.id):
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"broker {call.broker.id} does not know of {broker.id}")
    except ApiError as error:
        return FindCoordinatorResponse.Coordinator(
            key=key, node_id=NO_NODE, host="", port=-1, error_code=error.code, error_message=error.message or ""
        )
    listener = broker.listener(call.session.listener)
    return FindCoordinatorResponse.Coordinator(
        key=key, node_id=broker.id, host=listener.host, port=listener.port, error_message=""
    )


def coordinates(call: Call, group_id: str) -> bool:
    """Whether the broker that was called coordinates the group."""
    return call.cluster.coordinator_for(group_id) is call.broker


def check_coordinator(call: Call, group_id: str) -> None:
    """Nothing where the broker that was called coordinates the group. Raises ApiError: NOT_COORDINATOR."""
    if not coordinates(call, group_id):
        raise ApiError(ErrorCode.NOT_COORDINATOR, f"broker {call.broker.id} does not coordinate {group_id}")
