"""CreateTopics (key 19), DeleteTopics (20), CreatePartitions (37). A topic has its leaders before the answer goes out.

Write cluster.topics. Any broker answers, as since KIP-590 a broker forwards to the controller; in ZooKeeper mode the
controller alone, once it was told of the change itself.
Errors, per topic: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR,
INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID,
NOT_CONTROLLER, REQUEST_TIMED_OUT.
Source: KIP-4, KIP-195, KIP-464, KIP-516, KIP-525; ReplicationControlManager, Apache Kafka.
"""

from __future__ import annotations

from collections import Counter

from mockbroker.call import Call, Wait, handles
from mockbroker.handlers.configs import TOPIC_OVERRIDE, topic_config_source
from mockbroker.handlers.controlled import check_controller, when_known
from mockbroker.handlers.error_responses import error_response
from mockbroker.state.errors import ApiError
from mockbroker.state.metadata.view import MetadataView
from mockbroker.state.settings import as_text
from mockbroker.state.topics.placing import MISSING_RACKS
from mockbroker.state.topics.topic import TOPIC_SETTINGS, Topic
from protocol import ZERO_UUID
from protocol.apis.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from protocol.error_codes import ErrorCode

NO_NUMBER = -1
UNKNOWN = int(ErrorCode.UNKNOWN_SERVER_ERROR)
DETAILS_VERSION = 5
# KIP-660 adds its error in new versions; it never got numbers for them, so the newest that there are know it.
PLACEMENT_ERROR_VERSION = 7
PARTITIONS_PLACEMENT_ERROR_VERSION = 3


@handles(CreateTopicsRequest)
def create_topics(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse | Wait:
    """Create each topic by itself; a name that comes twice is refused."""
    times = Counter(topic.name for topic in request.topics)
    refused: set[str] = set()
    response = CreateTopicsResponse()
    for wanted in request.topics:
        if wanted.name in refused:
            continue
        if times[wanted.name] > 1:
            refused.add(wanted.name)
            message = f"topic {wanted.name} comes {times[wanted.name]} times"
            response.topics.append(
                CreateTopicsResponse.Topic(
                    name=wanted.name, error_code=ErrorCode.INVALID_REQUEST, error_message=message
                )
            )
            continue
        response.topics.append(created(call, wanted, validate_only=request.validate_only))
    made = {} if request.validate_only else {topic.name: topic for topic in response.topics if not topic.error_code}

    def late(_: CreateTopicsResponse) -> None:
        for topic in made.values():
            topic.error_code = ErrorCode.REQUEST_TIMED_OUT

    return when_known(call, response, request.timeout_ms, lambda view: all(view.topic(name) for name in made), late)


def created(call: Call, wanted: CreateTopicsRequest.Topic, validate_only: bool) -> CreateTopicsResponse.Topic:
    try:
        check_controller(call)
        topic = call.cluster.create_topic(
            wanted.name,
            wanted.num_partitions,
            wanted.replication_factor,
            assignment=wanted_assignment(wanted),
            configs={config.name: config.value for config in wanted.configs},
            validate_only=validate_only,
            requesting_broker_id=call.broker.id,
            all_have_racks=True,
        )
    except ApiError as error:
        code = known_code(call, error, PLACEMENT_ERROR_VERSION)
        return CreateTopicsResponse.Topic(name=wanted.name, error_code=code, error_message=error.message)
    entry = CreateTopicsResponse.Topic(
        name=topic.name,
        topic_id=ZERO_UUID if validate_only else topic.id,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=topic.replication_factor or 1,
    )
    if call.version >= DETAILS_VERSION:
        entry.configs = [config_entry(topic, name) for name in sorted(TOPIC_SETTINGS)]
    return entry


def known_code(call: Call, error: ApiError, version: int) -> int:
    """The error's code; the placer's is UNKNOWN_SERVER_ERROR to clients below ``version``."""
    if error.code != ErrorCode.REPLICA_PLACEMENT_FAILED:
        return error.code
    return int(call.cluster.settings["replica.placement.failed.code"]) if call.version >= version else UNKNOWN


def wanted_assignment(wanted: CreateTopicsRequest.Topic) -> list[list[int]] | None:
    """The replicas given by hand, by partition; None where the cluster places them."""
    if not wanted.assignments:
        return None
    if wanted.num_partitions != NO_NUMBER or wanted.replication_factor != NO_NUMBER:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, "replicas are given by hand, so partitions and replication factor have to be -1"
        )
    by_index = {assignment.partition_index: list(assignment.broker_ids) for assignment in wanted.assignments}
    if sorted(by_index) != list(range(len(wanted.assignments))):
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partitions {sorted(by_index)}: 0 and up are wanted, each once"
        )
    return [by_index[index] for index in sorted(by_index)]


def config_entry(topic: Topic, name: str) -> CreateTopicsResponse.Topic.Config:
    return CreateTopicsResponse.Topic.Config(
        name=name,
        value=as_text(topic.config(name)),
        read_only=False,
        config_source=TOPIC_OVERRIDE if name in topic.configs else topic_config_source(topic, name),
        is_sensitive=False,
    )


@handles(DeleteTopicsRequest)
def delete_topics(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse | Wait:
    """Delete each topic, by name or since v6 by id."""
    by_name: list[tuple[str | None, bytes]] = [(name, ZERO_UUID) for name in request.topic_names]
    by_either = [(topic.name, topic.topic_id) for topic in request.topics]
    response = DeleteTopicsResponse(
        responses=[deleted(call, name, topic_id) for name, topic_id in (by_either if call.version >= 6 else by_name)]
    )
    gone = {topic.name: topic for topic in response.responses if not topic.error_code}

    def late(_: DeleteTopicsResponse) -> None:
        for topic in gone.values():
            topic.error_code = ErrorCode.REQUEST_TIMED_OUT

    return when_known(
        call, response, request.timeout_ms, lambda view: not any(view.topic(name or "") for name in gone), late
    )


def deleted(call: Call, name: str | None, topic_id: bytes) -> DeleteTopicsResponse.Topic:
    try:
        check_controller(call)
        topic = call.cluster.find_topic(name, topic_id)
    except ApiError as error:
        return DeleteTopicsResponse.Topic(
            name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
        )
    call.cluster.delete_topic(topic)
    return DeleteTopicsResponse.Topic(name=topic.name, topic_id=topic.id)


@handles(CreatePartitionsRequest)
def create_partitions(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse | Wait:
    """Widen each topic; in ZooKeeper mode none while only some brokers have a rack, whatever is asked for.

    ZkAdminManager.createPartitions looks at all brokers before it looks at a topic, Kafka 1.0 to 3.9.
    """
    if call.cluster.support.missing_racks(call.broker.id):
        refusal: CreatePartitionsResponse = error_response(request, call.version, ApiError(UNKNOWN, MISSING_RACKS))
        return refusal
    response = CreatePartitionsResponse()
    for wanted in request.topics:
        entry = CreatePartitionsResponse.Topic(name=wanted.name)
        assignment = None if wanted.assignments is None else [list(row.broker_ids) for row in wanted.assignments]
        try:
            check_controller(call)
            call.cluster.add_partitions(
                wanted.name, wanted.count, assignment=assignment, validate_only=request.validate_only
            )
        except ApiError as error:
            entry.error_code = known_code(call, error, PARTITIONS_PLACEMENT_ERROR_VERSION)
            entry.error_message = error.message
        response.results.append(entry)
    counts = {wanted.name: wanted.count for wanted in request.topics}
    wider = {} if request.validate_only else {entry.name: entry for entry in response.results if not entry.error_code}

    def late(_: CreatePartitionsResponse) -> None:
        for entry in wider.values():
            entry.error_code = ErrorCode.REQUEST_TIMED_OUT

    return when_known(
        call,
        response,
        request.timeout_ms,
        lambda view: all(partitions_known(view, name) >= counts[name] for name in wider),
        late,
    )


def partitions_known(view: MetadataView, name: str) -> int:
    """How many partitions of a topic a broker knows."""
    topic = view.topic(name)
    return 0 if topic is None else len(topic.partitions)
