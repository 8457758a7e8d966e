"""FindCoordinator (key 10): which broker coordinates a group or a transactional id.

Reads cluster.brokers and, through ``coordinator_for``, makes the topic of the key's type if there is none yet. The
address is that of the listener the client came in by. Where Kafka makes the topic it answers COORDINATOR_NOT_AVAILABLE
first; here the topic is there at once.
Errors, per key: COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST for unknown key types and share partitions' broken keys.
Source: KIP-98, KIP-699, KIP-932; KafkaApis.handleFindCoordinatorRequest, Apache Kafka 4.0.
"""

from __future__ import annotations

import re

from mockbroker.api import Needs, handles
from mockbroker.call import Call
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, SHARE_TOPIC, TRANSACTIONS_TOPIC
from protocol.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.error_codes import ErrorCode

BATCH_VERSION = 4
SHARE_VERSION = 6
GROUP, TRANSACTION, SHARE = 0, 1, 2  # key types
NO_NODE = -1
TOPICS = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_TOPIC)  # by key type
SHARE_KEY = re.compile(r"(?P<group>.*):(?P<topic>[A-Za-z0-9_-]{22})(?:==)?:(?P<partition>[-+]?\d+)", re.DOTALL)


@handles(
    FindCoordinatorRequest,
    access=Needs(
        group="Describe", transactional_id="Describe", note="of the share coordinator: ClusterAction on the cluster"
    ),
)
def find_coordinator(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """The coordinator of one key, since v4 of each key."""
    if call.version >= BATCH_VERSION:
        return FindCoordinatorResponse(
            coordinators=[entry(call, request.key_type, key) for key in request.coordinator_keys]
        )
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
        if key_type not in (GROUP, TRANSACTION, SHARE):
            raise ApiError(ErrorCode.INVALID_REQUEST, f"expected a key type of 0, 1 or 2, got {key_type}")
        if key_type == SHARE and call.version < SHARE_VERSION:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        named = share_key(key) if key_type == SHARE else key
        broker = call.cluster.coordinator_for(named, TOPICS[key_type])
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


def share_key(key: str) -> str:
    """The key of a share partition in the form that decides where it is. Raises ApiError: INVALID_REQUEST.

    >>> share_key("workers:AAAAAAAAAAAAAAAAAAAAAA==:+2")
    'workers:AAAAAAAAAAAAAAAAAAAAAA:2'
    """
    found = SHARE_KEY.fullmatch(key)
    if found is None or not found["group"].strip() or not -(1 << 31) <= int(found["partition"]) < 1 << 31:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    return f"{found['group']}:{found['topic']}:{int(found['partition'])}"


def coordinates(call: Call, key: str, topic: str = OFFSETS_TOPIC) -> bool:
    """Whether the broker that was called coordinates a group, or the key of another coordinators' topic."""
    try:
        return call.cluster.coordinator_for(key, topic) is call.broker
    except ApiError:
        return False


def check_coordinator(call: Call, key: str, topic: str = OFFSETS_TOPIC) -> None:
    """Nothing where the broker that was called coordinates a group, or the key of another coordinators' topic.

    Raises ApiError: NOT_COORDINATOR.
    """
    if not coordinates(call, key, topic):
        raise ApiError(ErrorCode.NOT_COORDINATOR, f"broker {call.broker.id} does not coordinate {key}")
