"""CreateTopics (key 19), DeleteTopics (20), CreatePartitions (37). A topic has its leaders before the answer is sent.

They write cluster.topics. Any broker answers, since brokers forward to the controller (KIP-590); in ZooKeeper mode
only the controller answers, once its own metadata have the change.
Errors, per topic: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR,
INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID,
NOT_CONTROLLER, REQUEST_TIMED_OUT, TOPIC_AUTHORIZATION_FAILED.
Source: KIP-4, KIP-195, KIP-464, KIP-516, KIP-525; ReplicationControlManager, Apache Kafka.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call, Wait
from mockbroker.handlers.controlled import check_controller, check_deadline, when_known
from mockbroker.handlers.error_responses import reported
from mockbroker.state.errors import ApiError
from mockbroker.state.metadata import MetadataView
from mockbroker.state.security.operations import Operation
from mockbroker.state.topics.placing import MISSING_RACKS
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

if TYPE_CHECKING:
    from mockbroker.state.topics.topic import Topic

NO_NUMBER = -1
UNKNOWN = int(ErrorCode.UNKNOWN_SERVER_ERROR)
UNAUTHORIZED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
DETAILS_VERSION = 5
METADATA_LOG = "__cluster_metadata"
MAX_PARTITIONS_OF_REQUEST = 10_000
# KIP-660 adds its error in new versions, which never got numbers, so the newest existing versions have it.
PLACEMENT_ERROR_VERSION = 7
PARTITIONS_PLACEMENT_ERROR_VERSION = 3


@handles(
    CreateTopicsRequest,
    access=Needs(
        topic="Create", every_topic="Create", note="configs are shown with DescribeConfigs on the topic", handler="all"
    ),
    errors=Errors(injected="request"),
)
def create_topics(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse | Wait:
    """Create each topic; a repeated name is an error."""
    times = Counter(topic.name for topic in request.topics)
    single = [topic for topic in request.topics if times[topic.name] == 1 and topic.name != METADATA_LOG]
    new = [topic for topic in single if may_create(call, topic.name)]
    if new:
        check_deadline(call, request.timeout_ms)
    check_total(sum(partitions_wanted(call, topic) for topic in new))
    entries = {name: CreateTopicsResponse.Topic(name=name, error_message=None) for name in times}
    for name, entry in entries.items():
        with reported(entry):
            check_name(call, name, times[name])
    for wanted in new:
        entry = entries[wanted.name]
        if not entry.error_code:
            with reported(entry):
                create(call, wanted, entry, validate_only=request.validate_only)
            entry.error_code = known_code(call, entry.error_code, PLACEMENT_ERROR_VERSION)
    response = CreateTopicsResponse(topics=list(entries.values()))
    made = () if request.validate_only else response.topics
    return when_known(call, response, request.timeout_ms, made, lambda view, topic: view.topic(topic.name) is not None)


def partitions_wanted(call: Call, topic: CreateTopicsRequest.Topic) -> int:
    """The number of partitions that a topic of a request would have."""
    default: int = call.cluster.settings["num.partitions"]
    return len(topic.assignments) or (default if topic.num_partitions == NO_NUMBER else max(0, topic.num_partitions))


def check_total(total: int) -> None:
    """Raises ApiError: POLICY_VIOLATION, if a request has too many partitions."""
    if total > MAX_PARTITIONS_OF_REQUEST:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION,
            f"expected {MAX_PARTITIONS_OF_REQUEST} partitions a request at most, got {total}",
        )


def may_create(call: Call, name: str) -> bool:
    access = call.access
    return access.may_cluster(Operation.CREATE) or access.may_topic(Operation.CREATE, name)


def check_name(call: Call, name: str, times: int) -> None:
    """Check a new topic's name, before any topic of the request is created. Raises ApiError."""
    if times > 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"expected each topic once, got {name} {times} times")
    if name == METADATA_LOG:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{name} is the controller's own")
    if not may_create(call, name):
        raise ApiError(UNAUTHORIZED, "Authorization failed.")
    check_controller(call)
    call.cluster.replication_control.check_new_name(name)


def create(
    call: Call, wanted: CreateTopicsRequest.Topic, entry: CreateTopicsResponse.Topic, *, validate_only: bool
) -> None:
    """Create a topic, and describe it in its entry of the answer. Raises ApiError."""
    configs = {config.name: config.value for config in wanted.configs}
    nulls = {config.name: None for config in wanted.configs if config.value is None}
    topic = call.cluster.replication_control.create(
        wanted.name,
        wanted.num_partitions,
        wanted.replication_factor,
        by_hand=[(row.partition_index, row.broker_ids) for row in wanted.assignments],
        configs=configs | nulls,
        validate_only=validate_only,
        requesting_broker_id=call.broker.id,
        all_have_racks=True,
        is_name_checked=True,
    )
    entry.topic_id = topic.id
    if call.version >= DETAILS_VERSION and not call.access.may_topic(Operation.DESCRIBE_CONFIGS, topic.name):
        entry.topic_config_error_code = UNAUTHORIZED
        return
    entry.num_partitions, entry.replication_factor = len(topic.partitions), topic.replication_factor or 1
    if call.version >= DETAILS_VERSION:
        from mockbroker.state.configs.effective import effective_topic_configs

        entry.configs = [
            CreateTopicsResponse.Topic.Config(
                name=one.name,
                value=one.value,
                read_only=False,
                config_source=one.source,
                is_sensitive=one.is_sensitive,
            )
            for one in effective_topic_configs(call.cluster.configs, configs)
        ]


def known_code(call: Call, code: int, version: int) -> int:
    """The code of an error; below ``version`` the placer's error is UNKNOWN_SERVER_ERROR."""
    if code != ErrorCode.REPLICA_PLACEMENT_FAILED:
        return code
    return int(call.cluster.settings["replica.placement.failed.code"]) if call.version >= version else UNKNOWN


@handles(
    DeleteTopicsRequest,
    access=Needs(
        topic="Delete", every_topic="Delete", note="without Describe, a missing topic has the same error", handler="all"
    ),
    errors=Errors(injected="request", words="nothing"),
)
def delete_topics(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse | Wait:
    """Delete each topic, by name or since v6 by id; a topic that is named twice is not deleted."""
    wanted: list[tuple[str | None, bytes]] = [(name, ZERO_UUID) for name in request.topic_names]  # before version 6
    wanted += [(topic.name, topic.topic_id) for topic in request.topics]
    times = Counter(wanted)
    if any(count == 1 and names_one(*one) for one, count in times.items()):
        check_deadline(call, request.timeout_ms)
    topics = call.cluster.topics
    named = {topics[name].id for name, topic_id in wanted if topic_id == ZERO_UUID and name in topics}
    response = DeleteTopicsResponse()
    for name, topic_id in wanted:
        count = times[name, topic_id]
        if names_one(name, topic_id):
            times[name, topic_id] = 0  # duplicates have one answer; entries that name no topic have one each
        if not count:
            continue
        entry = DeleteTopicsResponse.Topic(name=name, topic_id=topic_id)
        if name is None and topic_id in named and count == 1:
            continue  # the entry with the name answers
        with reported(entry):
            topic = topic_to_delete(call, entry, count)
            if name is not None and (None, topic.id) in times:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"expected {name} once, got it by its id too")
            call.cluster.replication_control.delete(topic)
        response.responses.append(entry)
    return when_known(
        call, response, request.timeout_ms, response.responses, lambda view, topic: view.topic(topic.name) is None
    )


def names_one(name: str | None, topic_id: bytes) -> bool:
    """True if an entry of DeleteTopics has either a name or an id."""
    return (name is None) is (topic_id != ZERO_UUID)


def topic_to_delete(call: Call, entry: DeleteTopicsResponse.Topic, times: int) -> Topic:
    """The topic whose name or id is in an entry of the answer, which gets both.

    Without Describe on the topic the error hides whether it exists.

    Raises ApiError: INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, TOPIC_AUTHORIZATION_FAILED, and
        those of ``check_controller``.
    """
    name, topic_id, access = entry.name, entry.topic_id, call.access
    check_controller(call)
    if not names_one(name, topic_id):
        given = "neither" if name is None else f"both for {name}"
        raise ApiError(ErrorCode.INVALID_REQUEST, f"expected a topic's name or its id, got {given}")
    if times > 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"expected each topic once, got {name or 'an id'} {times} times")
    may_all = access.may_cluster(Operation.DELETE)
    if name is not None and not (may_all or access.may_topic(Operation.DESCRIBE, name)):
        raise ApiError(UNAUTHORIZED, UNAUTHORIZED.meaning)
    topic = call.cluster.find_topic(None, topic_id) if name is None else call.cluster.find_topic(name or "''")
    if not (may_all or access.may_topic(Operation.DELETE, topic.name)):
        if access.may_topic(Operation.DESCRIBE, topic.name):
            entry.name = topic.name
        raise ApiError(UNAUTHORIZED, UNAUTHORIZED.meaning)
    entry.name, entry.topic_id = topic.name, topic.id
    return topic


@handles(CreatePartitionsRequest, access=Needs(topic="Alter", handler="all"), errors=Errors(injected="request"))
def create_partitions(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse | Wait:
    """Add partitions to each topic; in ZooKeeper mode all fail while only some brokers have a rack.

    ZkAdminManager.createPartitions checks all brokers before it checks a topic, Kafka 1.0 to 3.9.
    """
    if call.cluster.support.missing_racks(call.broker.id):
        raise ApiError(UNKNOWN, MISSING_RACKS)
    topics = call.cluster.topics
    times = Counter(wanted.name for wanted in request.topics)
    may = {name: call.access.may_topic(Operation.ALTER, name) for name in times}
    single = [wanted for wanted in request.topics if times[wanted.name] == 1 and may[wanted.name]]
    if single:
        check_deadline(call, request.timeout_ms)
    growing = [wanted for wanted in single if wanted.name in topics]
    check_total(sum(max(0, wanted.count - len(topics[wanted.name].partitions)) for wanted in growing))
    response = CreatePartitionsResponse()
    for wanted in request.topics:
        if wanted.name not in times:
            continue
        entry = CreatePartitionsResponse.Topic(name=wanted.name)
        assignment = None if wanted.assignments is None else [list(row.broker_ids) for row in wanted.assignments]
        with reported(entry):
            if times.pop(wanted.name) > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"expected each topic once, got {wanted.name} again")
            if not may[wanted.name]:
                raise ApiError(UNAUTHORIZED)
            check_controller(call)
            if wanted.name not in topics:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            call.cluster.replication_control.widen(
                wanted.name, wanted.count, assignment=assignment, validate_only=request.validate_only
            )
        entry.error_code = known_code(call, entry.error_code, PARTITIONS_PLACEMENT_ERROR_VERSION)
        response.results.append(entry)
    counts = {wanted.name: wanted.count for wanted in request.topics}

    def is_wider(view: MetadataView, entry: CreatePartitionsResponse.Topic) -> bool:
        topic = view.topic(entry.name)
        return topic is not None and len(topic.partitions) >= counts[entry.name]

    widened = () if request.validate_only else response.results
    return when_known(call, response, request.timeout_ms, widened, is_wider)
