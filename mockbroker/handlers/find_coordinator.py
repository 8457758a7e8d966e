"""FindCoordinator (key 10): which broker coordinates a group or a transactional id.

Reads cluster.brokers and, through ``internal_topics.coordinator``, creates the topic of the key's type if it is
missing. The address is that of the client's listener. While Kafka creates the topic it answers
COORDINATOR_NOT_AVAILABLE; here the topic exists at once.
Errors, per key: COORDINATOR_NOT_AVAILABLE, GROUP_AUTHORIZATION_FAILED, TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
INVALID_REQUEST for unknown key types and malformed keys; of a whole request CLUSTER_AUTHORIZATION_FAILED.
Source: KIP-98, KIP-699; KafkaApis.handleFindCoordinatorRequest, Apache Kafka 4.0.
"""

from __future__ import annotations

from functools import partial

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.groups.kind import Sender, check_group_id
from mockbroker.handlers.error_responses import reported
from mockbroker.parts import load
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import Operation
from mockbroker.state.topics.coordinator_keys import COORDINATOR_TOPICS, OFFSETS_TOPIC
from mockbroker.subjects import NOTHING, Subjects
from protocol.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.error_codes import ErrorCode

BATCH_VERSION = 4
NO_NODE = -1
GROUP_KEY_TYPE, TRANSACTION_KEY_TYPE, SHARE_KEY_TYPE = 0, 1, 2
SHARE_VERSION = 6
TOPIC_OF_KEY_TYPE = {topic.key_type: name for name, topic in COORDINATOR_TOPICS.items()}


def groups_named(_call: Call, request: FindCoordinatorRequest) -> Subjects:
    """The keys that are groups."""
    if request.key_type != GROUP_KEY_TYPE:
        return NOTHING
    return Subjects({}, tuple(request.coordinator_keys) or (request.key,))


@handles(
    FindCoordinatorRequest,
    access=Needs(
        group="Describe",
        transactional_id="Describe",
        note="of the share coordinator: ClusterAction on the cluster",
        handler="all",
    ),
    errors=Errors(injected="request", words="meaning", failed={"node_id": -1, "host": "", "port": -1}),
    subjects=groups_named,
)
def find_coordinator(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """The coordinator of one key, since v4 of several."""
    finds_share_state = request.key_type == SHARE_KEY_TYPE and call.version >= SHARE_VERSION
    if finds_share_state and not call.access.may_cluster(Operation.CLUSTER_ACTION):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if call.version >= BATCH_VERSION:
        entries = [FindCoordinatorResponse.Coordinator(key=key) for key in request.coordinator_keys]
        for entry in entries:
            find(call, entry, request.key_type, entry.key)
        return FindCoordinatorResponse(coordinators=entries)
    check_access(call, request.key_type, request.key)
    response = FindCoordinatorResponse()
    find(call, response, request.key_type, request.key)
    response.error_message = response.error_message or "NONE"  # as Kafka words success here
    return response


def check_access(call: Call, key_type: int, key: str) -> None:
    """Raises ApiError unless the client may describe the group or the transactional id."""
    if key_type == GROUP_KEY_TYPE and not call.access.may_group(Operation.DESCRIBE, key):
        raise ApiError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if key_type == TRANSACTION_KEY_TYPE and not call.access.may_transactional_id(Operation.DESCRIBE, key):
        raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def find(
    call: Call, found: FindCoordinatorResponse | FindCoordinatorResponse.Coordinator, key_type: int, key: str
) -> None:
    """Set the address of a key's coordinator, or an error."""
    found.node_id, found.host, found.port = NO_NODE, "", -1
    with reported(found):
        check_access(call, key_type, key)
        name = TOPIC_OF_KEY_TYPE.get(key_type)
        if name is None:
            known = ", ".join(map(str, sorted(TOPIC_OF_KEY_TYPE)))
            raise ApiError(ErrorCode.INVALID_REQUEST, f"expected a key type of {known}, got {key_type}")
        topic = COORDINATOR_TOPICS[name]
        if call.version < topic.since_version:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        broker = call.cluster.internal_topics.coordinator(load(topic.read_key)(key) if topic.read_key else key, name)
        if not call.view.is_alive(broker.id):
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"broker {call.broker.id} does not know of {broker.id}")
        listener = broker.listener(call.session.listener)
        found.node_id, found.host, found.port = broker.id, listener.host, listener.port
    found.error_message = found.error_message or ""


def coordinates(call: Call, key: str, topic: str = OFFSETS_TOPIC) -> bool:
    """True if the broker coordinates a group, or the key of another topic of coordinators.

    Only FindCoordinator creates the topic; until then no broker coordinates anything.
    """
    try:
        return topic in call.cluster.topics and call.cluster.internal_topics.coordinator(key, topic) is call.broker
    except ApiError:
        return False


def check_coordinator(call: Call, key: str, topic: str = OFFSETS_TOPIC, *, in_words: bool = False) -> None:
    """Raises ApiError: NOT_COORDINATOR, unless the broker coordinates a group, or the key of another topic.

    With ``in_words`` the error has a message, as in APIs of share groups.
    """
    if not coordinates(call, key, topic):
        raise ApiError(ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR.meaning if in_words else None)


def check_group(call: Call, group_id: str, *, in_words: bool = False) -> None:
    """Raises ApiError: INVALID_GROUP_ID for the empty id; NOT_COORDINATOR, unless the broker coordinates the group."""
    check_group_id(group_id)
    check_coordinator(call, group_id, in_words=in_words)


def sender_of(call: Call) -> Sender:
    """The sender of a group member's request."""
    session = call.session
    may_see = partial(call.access.may_topic, Operation.DESCRIBE)
    return Sender(call.version, session.client_id or "", f"/{session.address}", may_see)
