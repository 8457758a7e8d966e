"""Rules for the APIs that need several operations on one kind of resource, or other checks: one function per API.

Source: KafkaApis, ControllerApis and ConfigHelper, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from mockbroker.access_control.access_checks import (
    CLUSTER_FAILED,
    GROUP_FAILED,
    ID_FAILED,
    TOPIC_FAILED,
    amend,
    check_cluster,
    check_topics,
    check_transactional_id,
    denied_topics,
    refuse_all,
    refuse_part,
    response_class,
    split,
)
from mockbroker.access_control.access_rules_of_groups import RULES_OF_GROUPS
from mockbroker.access_control.authorizer import PrincipalAccess
from mockbroker.call import Call, Verdict, Wait
from mockbroker.core.faults.errors import hand_over, with_field
from mockbroker.core.faults.matching import Hit
from mockbroker.handlers.error_responses import error_response
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER_ACTION,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    IDEMPOTENT_WRITE,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    TWO_PHASE_COMMIT,
    WRITE,
)
from mockbroker.state.topics.topic import INTERNAL_TOPICS
from mockbroker.subjects import subjects_of, topic_name
from protocol.error_codes import ErrorCode
from protocol.uuids import ZERO_UUID

Rule = Callable[[Call, PrincipalAccess], "Verdict | Wait | None"]

NO_REPLICA = -1
REPLICA_STATE_VERSION = 15  # of Fetch
NULL_NAMES_VERSION = 12  # of Metadata
ID_VERSION = 6  # of DeleteTopics
VERIFYING_VERSION = 4  # of AddPartitionsToTxn
SHOWS_CONFIGS_VERSION = 5  # of CreateTopics
TOPIC_RESOURCE, BROKER_RESOURCE, LOGGER_RESOURCE, METRICS_RESOURCE, GROUP_RESOURCE = RESOURCES = 2, 4, 8, 16, 32
V2_MAGIC, MAGIC_AT, ATTRIBUTES_AT, TRANSACTIONAL_BIT = 2, 16, 22, 0x10
DELETE_CONFIG = 1
UNAUTHORIZED = "Authorization failed."
METADATA_LOG = "__cluster_metadata"


# records


def produce(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    request = call.request
    if any(
        is_transactional(partition.records) for topic in request.topic_data for partition in topic.partition_data
    ) and (request.transactional_id is None or not access.may(WRITE, TRANSACTIONAL_ID, request.transactional_id)):
        return refuse_all(call, ID_FAILED)
    return check_topics(call, access, WRITE)


def is_transactional(records: bytes | None) -> bool:
    """True if the first batch belongs to a transaction."""
    if records is None or len(records) <= ATTRIBUTES_AT or records[MAGIC_AT] != V2_MAGIC:
        return False
    return bool(records[ATTRIBUTES_AT] & TRANSACTIONAL_BIT)


def fetch(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    request = call.request
    replica = request.replica_state.replica_id if call.version >= REPLICA_STATE_VERSION else request.replica_id
    if replica <= NO_REPLICA:
        return check_topics(call, access, READ)
    return None if access.may_cluster(CLUSTER_ACTION) else refuse_part(call, TOPIC_FAILED, Hit())


def describe_producers(call: Call, access: PrincipalAccess) -> None:
    def hide(response: Any) -> None:
        for topic in response.topics:
            if not access.may_topic(READ, topic.name):
                for partition in topic.partitions:
                    if partition.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION:
                        continue  # Kafka checks the name first
                    partition.error_code, partition.error_message = TOPIC_FAILED, TOPIC_FAILED.meaning
                    partition.active_producers = []

    amend(call, hide)


# topics


def list_offsets(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    """All entries of unauthorized topics, repeated ones too, get the error."""
    denied = frozenset(denied_topics(access, DESCRIBE, [one.name for one in call.request.topics]))
    failed = [one for one in call.request.topics if one.name in denied]
    rest = [one for one in call.request.topics if one.name not in denied]
    refused = error_response(with_field(call.request, "topics", failed), call.version, ApiError(TOPIC_FAILED))
    return split(call, "topics", rest, refused.topics, "topics")


def metadata(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    subjects = subjects_of(call)
    if subjects.all_topics:
        amend(call, lambda response: keep_topics(response, access))
        return None
    if any(one.topic_id != ZERO_UUID for one in call.request.topics):
        metadata_by_id(call, access)
        return None
    denied = denied_topics(access, DESCRIBE, subjects.topics)
    not_made: list[str] = []
    if call.request.allow_auto_topic_creation and call.cluster.settings["auto.create.topics.enable"]:
        missing = [one for one in subjects.topics if one not in denied and call.view.topic(one) is None]
        if missing and not access.may_cluster(CREATE):
            not_made = denied_topics(access, CREATE, missing)
    if not denied and not not_made:
        return None
    failed: dict[Any, Any] = {}
    rest: list[Any] = []
    entry = response_class(call).Topic
    for topic in call.request.topics:
        if topic.name in denied or topic.name in not_made:
            is_internal = topic.name in not_made and topic.name in INTERNAL_TOPICS
            failed[topic.name] = entry(name=topic.name, error_code=TOPIC_FAILED, is_internal=is_internal)
        else:
            rest.append(topic)
    hide_topics(call, failed, rest)
    return None


def metadata_by_id(call: Call, access: PrincipalAccess) -> None:
    """If any topic has an id, topics without one are ignored; the entry of an unauthorized topic has no name."""
    if call.version < NULL_NAMES_VERSION:
        return  # the handler reports it
    entry = response_class(call).Topic
    failed: dict[Any, Any] = {}
    rest: list[Any] = []
    for topic in call.request.topics:
        known = call.cluster.topic_by_id.get(topic.topic_id)
        if known is not None and not access.may_topic(DESCRIBE, known.name):
            failed[topic.topic_id] = entry(name=None, topic_id=topic.topic_id, error_code=TOPIC_FAILED)
        elif topic.topic_id != ZERO_UUID:
            rest.append(topic)
    if failed:
        hide_topics(call, failed, rest)


def hide_topics(call: Call, failed: Mapping[Any, Any], rest: list[Any]) -> None:
    """Answer these topics with only the error, once each; the answer always lists the brokers."""
    if rest or call.version:  # in v0 an empty list means all topics
        hand_over(call, "topics", rest)

    def put(response: Any) -> None:
        response.topics = [*(response.topics if rest else ()), *failed.values()]

    amend(call, put)


def keep_topics(response: Any, access: PrincipalAccess) -> None:
    """Remove the topics that the client may not describe from an answer with all topics."""
    response.topics = [one for one in response.topics if access.may_topic(DESCRIBE, one.name)]


def shown_by_its_handler(_call: Call, _access: PrincipalAccess) -> None:
    """DescribeTopicPartitions: its handler omits unauthorized topics before it counts partitions."""


def create_topics(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    if call.version >= SHOWS_CONFIGS_VERSION:
        amend(call, lambda response: hide_configs(response, access))
    if access.may_cluster(CREATE):
        return None
    denied = frozenset(denied_topics(access, CREATE, [one.name for one in call.request.topics]))
    counts = Counter(topic.name for topic in call.request.topics)
    failed: list[Any] = []
    rest: list[Any] = []
    for topic in call.request.topics:
        is_looked_at_first = counts[topic.name] > 1 or topic.name == METADATA_LOG
        (failed if topic.name in denied and not is_looked_at_first else rest).append(topic)
    entry = response_class(call).Topic
    entries = [entry(name=one.name, error_code=TOPIC_FAILED, error_message=UNAUTHORIZED) for one in failed]
    return split(call, "topics", rest, entries, "topics")


def create_partitions(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    denied = frozenset(denied_topics(access, ALTER, [one.name for one in call.request.topics]))
    counts = Counter(topic.name for topic in call.request.topics)
    failed: list[Any] = []
    rest: list[Any] = []
    for topic in call.request.topics:
        (failed if topic.name in denied and counts[topic.name] == 1 else rest).append(topic)
    if has_no_time(call) and any(counts[topic.name] == 1 for topic in rest):
        return None  # the request to the controller times out for all of them
    entry = response_class(call).Topic
    entries = [entry(name=one.name, error_code=TOPIC_FAILED) for one in failed]
    return split(call, "topics", rest, entries, "results")


def has_no_time(call: Call) -> bool:
    """True if the request to the controller times out at once; the handler reports it."""
    return bool(call.request.timeout_ms <= 0 and call.cluster.support.is_kraft)


def hide_configs(response: Any, access: PrincipalAccess) -> None:
    for topic in response.topics:
        if not topic.error_code and not access.may_topic(DESCRIBE_CONFIGS, topic.name):
            topic.topic_config_error_code = TOPIC_FAILED
            topic.num_partitions = topic.replication_factor = -1
            topic.configs = []


def delete_topics(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    """Without Describe on a topic the error hides whether it exists; with Describe a missing topic is unknown."""
    if has_no_time(call) or access.may_cluster(DELETE):
        return None
    entry = response_class(call).Topic
    words = {"error_code": TOPIC_FAILED, "error_message": TOPIC_FAILED.meaning}
    field = "topics" if call.version >= ID_VERSION else "topic_names"
    named = getattr(call.request, field)
    counts = Counter(one if isinstance(one, str) else (one.name, one.topic_id) for one in named)
    failed: list[Any] = []
    rest: list[Any] = []
    for one in named:
        key = one if isinstance(one, str) else (one.name, one.topic_id)
        name = one if isinstance(one, str) else topic_name(call, one)
        contradicts = not isinstance(one, str) and one.name is not None and one.topic_id != ZERO_UUID
        if counts[key] > 1 or contradicts or name is None:
            rest.append(one)
            continue
        sees, may = access.may_topic(DESCRIBE, name), access.may_topic(DELETE, name)
        if isinstance(one, str) or one.name is not None:
            if sees and (may or name not in call.cluster.topics):
                rest.append(one)
            else:
                failed.append(entry(name=name, **words))
        elif may:
            rest.append(one)
        else:
            failed.append(entry(name=name if sees else None, topic_id=one.topic_id, **words))
    return split(call, field, rest, failed, "responses")


# configs


def configs(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    """DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: each topic and group, all else on the cluster."""
    reads = call.api_key == DESCRIBE_CONFIGS_KEY
    operation = DESCRIBE_CONFIGS if reads else ALTER_CONFIGS
    rest: list[Any] = []
    failed: list[Any] = []
    entry = response_class(call).Result if reads else response_class(call).Resource
    named = Counter((one.resource_type, one.resource_name) for one in call.request.resources)
    if reads and any(kind not in RESOURCES for kind, _ in named):
        return None  # the handler reports it
    for one in call.request.resources:
        code = refused_config(access, operation, one)
        is_doubled = named[one.resource_type, one.resource_name] > 1
        if code is None or (not reads and (is_doubled or is_unreadable(call, one))):
            rest.append(one)
            continue
        wordless = not reads and one.resource_type in (BROKER_RESOURCE, LOGGER_RESOURCE)
        failed.append(
            entry(
                error_code=code,
                error_message=None if wordless else code.meaning,
                resource_type=one.resource_type,
                resource_name=one.resource_name,
            )
        )
    return split(call, "resources", rest, failed, "results" if reads else "responses")


def is_unreadable(call: Call, resource: Any) -> bool:
    """True if a broker refuses a change before the authorization: a config twice, or without a value."""
    names = [config.name for config in resource.configs]
    takes_value = call.api_key == ALTER_CONFIGS_KEY
    lacks_value = any(
        config.value is None and (takes_value or config.config_operation != DELETE_CONFIG)
        for config in resource.configs
    )
    return lacks_value or len(set(names)) < len(names)


def refused_config(access: PrincipalAccess, operation: int, resource: Any) -> ErrorCode | None:
    kind, name = resource.resource_type, resource.resource_name
    if kind == TOPIC_RESOURCE:
        return None if access.may_topic(operation, name) else TOPIC_FAILED
    if kind == GROUP_RESOURCE:
        return None if access.may(operation, GROUP, name) else GROUP_FAILED
    if kind in (BROKER_RESOURCE, LOGGER_RESOURCE, METRICS_RESOURCE):
        return None if access.may_cluster(operation) else CLUSTER_FAILED
    return None  # the handler reports it


# transactions


def init_producer_id(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    name = call.request.transactional_id
    if name is None:
        if access.may_cluster(IDEMPOTENT_WRITE) or access.may_any(WRITE, TOPIC):
            return None
        return refuse_all(call, CLUSTER_FAILED)
    verdict = check_transactional_id(call, access, name)
    if verdict is None and getattr(call.request, "enable2_pc", False):
        verdict = check_transactional_id(call, access, name, TWO_PHASE_COMMIT)
    return verdict


def add_partitions(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    """If a partition is unauthorized or unknown, all others get OPERATION_NOT_ATTEMPTED."""
    request = call.request
    if call.version >= VERIFYING_VERSION:
        return check_cluster(call, access, CLUSTER_ACTION)
    verdict = check_transactional_id(call, access, request.v3_and_below_transactional_id)
    if verdict is not None:
        return verdict
    topics = request.v3_and_below_topics
    denied = frozenset(denied_topics(access, WRITE, [one.name for one in topics]))
    if not denied:
        return None
    refused = refuse_all(call, ErrorCode.OPERATION_NOT_ATTEMPTED)
    assert isinstance(refused, Verdict)
    for topic in refused.response.results_by_topic_v3_and_below:
        known = call.cluster.topics.get(topic.name)
        for one in topic.results_by_partition:
            if topic.name in denied:
                one.partition_error_code = TOPIC_FAILED
            elif known is None or not 0 <= one.partition_index < len(known.partitions):
                one.partition_error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return refused


def write_markers(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    return check_cluster(call, access, ALTER, CLUSTER_ACTION)


def describe_transactions(call: Call, access: PrincipalAccess) -> None:
    def hide(response: Any) -> None:
        for place, one in enumerate(response.transaction_states):
            name = one.transactional_id
            if not access.may(DESCRIBE, TRANSACTIONAL_ID, name):
                response.transaction_states[place] = response.Transaction(transactional_id=name, error_code=ID_FAILED)
            else:
                one.topics = [topic for topic in one.topics if access.may_topic(DESCRIBE, topic.topic)]

    amend(call, hide)


DESCRIBE_CONFIGS_KEY, ALTER_CONFIGS_KEY = 32, 33
RULES: dict[int, Rule] = {
    **RULES_OF_GROUPS,
    0: produce,
    1: fetch,
    2: list_offsets,
    3: metadata,
    19: create_topics,
    20: delete_topics,
    22: init_producer_id,
    24: add_partitions,
    27: write_markers,
    DESCRIBE_CONFIGS_KEY: configs,
    ALTER_CONFIGS_KEY: configs,
    37: create_partitions,
    44: configs,
    61: describe_producers,
    65: describe_transactions,
    75: shown_by_its_handler,
}
"""By API key; the other APIs need only the operations in their handler's module."""
