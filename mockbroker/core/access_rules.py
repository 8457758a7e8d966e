"""The APIs that ask for more than one operation on what they name: a rule each.

Source: KafkaApis, ControllerApis and ConfigHelper, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from mockbroker.call import Call
from mockbroker.core.access_checks import (
    CLUSTER_FAILED,
    GROUP_FAILED,
    ID_FAILED,
    TOPIC_FAILED,
    amend,
    check_cluster,
    check_groups,
    check_topics,
    check_transactional_id,
    denied_topics,
    refuse_all,
    refuse_part,
    response_class,
    split,
)
from mockbroker.core.faults.errors import hand_over
from mockbroker.core.faults.matching import Hit
from mockbroker.core.path import Respond, Verdict
from mockbroker.core.subjects import subjects_of, topic_name
from mockbroker.state.security.acls import (
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
from mockbroker.state.security.authorizer import Access
from mockbroker.state.topics.topic import INTERNAL_TOPICS
from protocol.error_codes import ErrorCode
from protocol.uuids import ZERO_UUID

Rule = Callable[[Call, Access], "Verdict | None"]

NO_REPLICA = -1
REPLICA_STATE_VERSION = 15  # of Fetch
ID_VERSION = 6  # of DeleteTopics
COORDINATORS_VERSION = 4  # of FindCoordinator
VERIFYING_VERSION = 4  # of AddPartitionsToTxn
SHOWS_CONFIGS_VERSION = 5  # of CreateTopics
GROUP_KEY, TRANSACTION_KEY, SHARE_KEY = 0, 1, 2
TOPIC_RESOURCE, BROKER_RESOURCE, LOGGER_RESOURCE, METRICS_RESOURCE, GROUP_RESOURCE = 2, 4, 8, 16, 32
V2_MAGIC, MAGIC_AT, ATTRIBUTES_AT, TRANSACTIONAL_BIT = 2, 16, 22, 0x10
HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."
UNAUTHORIZED = "Authorization failed."


# records


def produce(call: Call, access: Access) -> Verdict | None:
    request = call.request
    if any(
        is_transactional(partition.records) for topic in request.topic_data for partition in topic.partition_data
    ) and (request.transactional_id is None or not access.may(WRITE, TRANSACTIONAL_ID, request.transactional_id)):
        return refuse_all(call, ID_FAILED)
    return check_topics(call, access, WRITE)


def is_transactional(records: bytes | None) -> bool:
    """Whether the first batch is one of a transaction."""
    if records is None or len(records) <= ATTRIBUTES_AT or records[MAGIC_AT] != V2_MAGIC:
        return False
    return bool(records[ATTRIBUTES_AT] & TRANSACTIONAL_BIT)


def fetch(call: Call, access: Access) -> Verdict | None:
    request = call.request
    replica = request.replica_state.replica_id if call.version >= REPLICA_STATE_VERSION else request.replica_id
    if replica <= NO_REPLICA:
        return check_topics(call, access, READ)
    return None if access.may_cluster(CLUSTER_ACTION) else refuse_part(call, TOPIC_FAILED, Hit())


def describe_producers(call: Call, access: Access) -> None:
    def hide(response: Any) -> None:
        for topic in response.topics:
            if not access.may_topic(READ, topic.name):
                for partition in topic.partitions:
                    partition.error_code, partition.error_message = TOPIC_FAILED, TOPIC_FAILED.meaning
                    partition.active_producers = []

    amend(call, hide)


# topics


def metadata(call: Call, access: Access) -> Verdict | None:
    subjects = subjects_of(call)
    if subjects.all_topics:
        keep_topics(call, access)
        return None
    denied = denied_topics(access, DESCRIBE, subjects.topics)
    not_made: list[str] = []
    if call.request.allow_auto_topic_creation and call.cluster.settings["auto.create.topics.enable"]:
        missing = [one for one in subjects.topics if one not in denied and call.view.topic(one) is None]
        if missing and not access.may_cluster(CREATE):
            not_made = denied_topics(access, CREATE, missing)
    return hide_topics(call, frozenset(denied), frozenset(not_made))


def describe_topic_partitions(call: Call, access: Access) -> Verdict | None:
    subjects = subjects_of(call)
    if subjects.all_topics:
        keep_topics(call, access)
        return None
    return hide_topics(call, frozenset(denied_topics(access, DESCRIBE, subjects.topics)))


def keep_topics(call: Call, access: Access) -> None:
    """Leave out of an answer with all topics those that one may not see."""

    def keep(response: Any) -> None:
        response.topics = [one for one in response.topics if access.may_topic(DESCRIBE, one.name)]

    amend(call, keep)


def hide_topics(call: Call, denied: frozenset[str], not_made: frozenset[str] = frozenset()) -> Verdict | None:
    """Nothing but the error is told of topics, and the name of one only to whom asked by it."""
    if not denied and not not_made:
        return None
    entry = response_class(call).Topic
    failed: list[Any] = []
    rest: list[Any] = []
    for topic in call.request.topics:
        name = topic_name(call, topic)
        if name not in denied and name not in not_made:
            rest.append(topic)
            continue
        topic_id = getattr(topic, "topic_id", ZERO_UUID)
        by_id = topic_id != ZERO_UUID
        failed.append(
            entry(
                name=None if by_id else topic.name,
                topic_id=topic_id,
                error_code=TOPIC_FAILED,
                is_internal=name in not_made and name in INTERNAL_TOPICS,
            )
        )
    if not rest and hasattr(call.request, "cursor"):
        return Respond(response_class(call)(topics=failed))
    if rest or call.version:  # an empty list asks for all topics in v0
        hand_over(call, "topics", rest)

    def put(response: Any) -> None:
        response.topics = [*(response.topics if rest else ()), *failed]

    amend(call, put)
    return None


def create_topics(call: Call, access: Access) -> Verdict | None:
    if call.version >= SHOWS_CONFIGS_VERSION:
        amend(call, lambda response: hide_configs(response, access))
    if access.may_cluster(CREATE):
        return None
    denied = frozenset(denied_topics(access, CREATE, subjects_of(call).topics))
    counts = Counter(topic.name for topic in call.request.topics)
    failed: list[Any] = []
    rest: list[Any] = []
    for topic in call.request.topics:
        (failed if topic.name in denied and counts[topic.name] == 1 else rest).append(topic)
    entry = response_class(call).Topic
    entries = [entry(name=one.name, error_code=TOPIC_FAILED, error_message=UNAUTHORIZED) for one in failed]
    return split(call, "topics", rest, entries, "topics")


def hide_configs(response: Any, access: Access) -> None:
    for topic in response.topics:
        if not topic.error_code and not access.may_topic(DESCRIBE_CONFIGS, topic.name):
            topic.topic_config_error_code = TOPIC_FAILED
            topic.num_partitions = topic.replication_factor = -1
            topic.configs = []


def delete_topics(call: Call, access: Access) -> Verdict | None:
    """Who may not even see a topic learns nothing of it; who may see one that is not there learns that."""
    if access.may_cluster(DELETE):
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


def configs(call: Call, access: Access) -> Verdict | None:
    """DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: topics and groups each, all else by the cluster."""
    reads = call.api_key == DESCRIBE_CONFIGS_KEY
    operation = DESCRIBE_CONFIGS if reads else ALTER_CONFIGS
    rest: list[Any] = []
    failed: list[Any] = []
    entry = response_class(call).Result if reads else response_class(call).Resource
    for one in call.request.resources:
        code = refused_config(access, operation, one)
        if code is None:
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


def refused_config(access: Access, operation: int, resource: Any) -> ErrorCode | None:
    kind, name = resource.resource_type, resource.resource_name
    if kind == TOPIC_RESOURCE:
        return None if access.may_topic(operation, name) else TOPIC_FAILED
    if kind == GROUP_RESOURCE:
        return None if access.may(operation, GROUP, name) else GROUP_FAILED
    if kind in (BROKER_RESOURCE, LOGGER_RESOURCE, METRICS_RESOURCE):
        return None if access.may_cluster(operation) else CLUSTER_FAILED
    return None  # as its handler will say


# groups


def offset_fetch(call: Call, access: Access) -> Verdict | None:
    verdict = check_groups(call, access, DESCRIBE)
    if verdict is None:
        verdict = check_topics(call, access, DESCRIBE)
    groups = call.request.groups or (call.request,)
    whole = {group.group_id for group in groups if group.topics is None}
    if whole and verdict is None:

        def keep(response: Any) -> None:
            for group in response.groups or (response,):
                if not response.groups or group.group_id in whole:
                    group.topics = [one for one in group.topics if access.may_topic(DESCRIBE, topic_name(call, one))]

        amend(call, keep)
    return verdict


def find_coordinator(call: Call, access: Access) -> Verdict | None:
    request = call.request
    if request.key_type == SHARE_KEY:
        return check_cluster(call, access, CLUSTER_ACTION) if call.version >= ID_VERSION else None
    if request.key_type == GROUP_KEY:
        kind, code = GROUP, GROUP_FAILED
    elif request.key_type == TRANSACTION_KEY:
        kind, code = TRANSACTIONAL_ID, ID_FAILED
    else:
        return None
    if call.version < COORDINATORS_VERSION:
        return None if access.may(DESCRIBE, kind, request.key) else refuse_all(call, code)
    keys = request.coordinator_keys
    rest = [key for key in keys if access.may(DESCRIBE, kind, key)]
    entry = response_class(call).Coordinator
    failed = [
        entry(key=key, node_id=-1, host="", port=-1, error_code=code, error_message="")
        for key in keys
        if key not in rest
    ]
    return split(call, "coordinator_keys", rest, failed, "coordinators")


def list_groups(call: Call, access: Access) -> None:
    def keep(response: Any) -> None:
        response.groups = [one for one in response.groups if access.may(DESCRIBE, GROUP, one.group_id)]

    if not access.may_cluster(DESCRIBE):
        amend(call, keep)


def heartbeat(call: Call, access: Access) -> Verdict | None:
    """ConsumerGroupHeartbeat, ShareGroupHeartbeat: who subscribes to a topic that is hidden does not get in."""
    verdict = check_groups(call, access, READ)
    names = call.request.subscribed_topic_names or ()
    if verdict is None and denied_topics(access, DESCRIBE, names):
        return refuse_all(call, TOPIC_FAILED)
    return verdict


def described_groups(call: Call, access: Access) -> Verdict | None:
    """ConsumerGroupDescribe, ShareGroupDescribe, StreamsGroupDescribe: a group is shown with all of its topics."""

    def hide(response: Any) -> None:
        entry = response.Group
        response.groups = [
            entry(group_id=one.group_id, error_code=TOPIC_FAILED, error_message=HIDDEN_TOPICS)
            if denied_topics(access, DESCRIBE, set(topics_of(one)))
            else one
            for one in response.groups
        ]

    amend(call, hide)
    return check_groups(call, access, DESCRIBE)


def topics_of(group: Any) -> Iterator[str]:
    """The topics that a described group tells of: those of its topology, or of its members' assignments."""
    topology = getattr(group, "topology", None)
    for one in topology.subtopologies if topology is not None else ():
        yield from (*one.source_topics, *one.repartition_sink_topics)
        yield from (topic.name for topic in (*one.state_changelog_topics, *one.repartition_source_topics))
    if hasattr(group, "topology"):
        return
    for member in group.members:
        for held in (member.assignment, getattr(member, "target_assignment", None)):
            yield from (topic.topic_name for topic in (held.topic_partitions if held is not None else ()))


def described_share_offsets(call: Call, access: Access) -> Verdict | None:
    """Of a group whose topics are named those that are hidden say so; of all topics they are left out."""
    entry = response_class(call).Group
    asked = {group.group_id: group.topics for group in call.request.groups}

    def hide(response: Any) -> None:
        for place, group in enumerate(response.groups):
            if not access.may(DESCRIBE, GROUP, group.group_id):
                response.groups[place] = entry(group_id=group.group_id, error_code=GROUP_FAILED)
            elif not group.error_code:
                whole = asked.get(group.group_id) is None
                shown = [one for one in group.topics if access.may_topic(DESCRIBE, one.topic_name)]
                hidden = [one for one in group.topics if not whole and one not in shown]
                group.topics = [*shown, *map(hidden_offsets, hidden)]

    amend(call, hide)
    return None


def hidden_offsets(topic: Any) -> Any:
    """The entry of a topic whose offsets somebody may not see."""
    for one in topic.partitions:
        one.start_offset, one.leader_epoch = 0, 0
        one.error_code, one.error_message = TOPIC_FAILED, TOPIC_FAILED.meaning
        if hasattr(one, "lag"):
            one.lag = -1
    topic.topic_id = ZERO_UUID
    return topic


def altered_share_offsets(call: Call, access: Access) -> Verdict | None:
    verdict = check_groups(call, access, READ)
    if verdict is not None:
        return verdict
    entry = response_class(call).Topic
    words = {"error_code": TOPIC_FAILED, "error_message": TOPIC_FAILED.meaning}
    rest: list[Any] = []
    failed: list[Any] = []
    for topic in call.request.topics:
        if access.may_topic(READ, topic.topic_name):
            rest.append(topic)
            continue
        partitions = [entry.Partition(partition_index=one.partition_index, **words) for one in topic.partitions]
        failed.append(entry(topic_name=topic.topic_name, partitions=partitions))
    return merged(call, rest, failed, "responses")


def deleted_share_offsets(call: Call, access: Access) -> Verdict | None:
    verdict = check_groups(call, access, DELETE)
    if verdict is not None:
        return verdict
    entry = response_class(call).Topic
    words = {"error_code": TOPIC_FAILED, "error_message": TOPIC_FAILED.meaning}
    rest: list[Any] = []
    failed: list[Any] = []
    for topic in call.request.topics:
        if access.may_topic(READ, topic.topic_name):
            rest.append(topic)
        else:
            failed.append(entry(topic_name=topic.topic_name, **words))
    return merged(call, rest, failed, "responses")


def offset_delete(call: Call, access: Access) -> Verdict | None:
    verdict = check_groups(call, access, DELETE)
    if verdict is not None:
        return verdict
    entry = response_class(call).Topic
    rest: list[Any] = []
    failed: list[Any] = []
    for topic in call.request.topics:
        if access.may_topic(READ, topic.name):
            rest.append(topic)
            continue
        partitions = [
            entry.Partition(partition_index=one.partition_index, error_code=TOPIC_FAILED) for one in topic.partitions
        ]
        failed.append(entry(name=topic.name, partitions=partitions))
    return merged(call, rest, failed, "topics")


def merged(call: Call, rest: list[Any], failed: list[Any], answers: str) -> Verdict | None:
    """Have the handler answer for the rest of the topics, even for none; an error of all stands before the failed."""
    if not failed:
        return None

    def put(response: Any) -> None:
        if not response.error_code:
            getattr(response, answers).extend(failed)

    hand_over(call, "topics", rest)
    amend(call, put)
    return None


def share_state(call: Call, access: Access) -> Verdict | None:
    """What brokers ask of share coordinators."""
    if access.may_cluster(CLUSTER_ACTION):
        return None
    verdict = refuse_all(call, CLUSTER_FAILED)
    assert isinstance(verdict, Respond)
    for topic in verdict.response.results:
        for one in topic.partitions:
            one.error_message = CLUSTER_FAILED.meaning
    return verdict


def streams_heartbeat(call: Call, access: Access) -> Verdict | None:
    verdict = check_groups(call, access, READ)
    names = subjects_of(call).topics
    if verdict is None and not any(name in INTERNAL_TOPICS for name in names):
        verdict = check_topics(call, access, DESCRIBE)
    return verdict


# transactions


def init_producer_id(call: Call, access: Access) -> Verdict | None:
    name = call.request.transactional_id
    if name is None:
        if access.may_cluster(IDEMPOTENT_WRITE) or access.may_any(WRITE, TOPIC):
            return None
        return refuse_all(call, CLUSTER_FAILED)
    verdict = check_transactional_id(call, access, name)
    if verdict is None and getattr(call.request, "enable2_pc", False):
        verdict = check_transactional_id(call, access, name, TWO_PHASE_COMMIT)
    return verdict


def add_partitions(call: Call, access: Access) -> Verdict | None:
    """Of partitions that are refused or not there, all others are not attempted."""
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
    assert isinstance(refused, Respond)
    for topic in refused.response.results_by_topic_v3_and_below:
        known = call.cluster.topics.get(topic.name)
        for one in topic.results_by_partition:
            if topic.name in denied:
                one.partition_error_code = TOPIC_FAILED
            elif known is None or not 0 <= one.partition_index < len(known.partitions):
                one.partition_error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return refused


def write_markers(call: Call, access: Access) -> Verdict | None:
    return check_cluster(call, access, ALTER, CLUSTER_ACTION)


def describe_transactions(call: Call, access: Access) -> None:
    def hide(response: Any) -> None:
        for place, one in enumerate(response.transaction_states):
            name = one.transactional_id
            if not access.may(DESCRIBE, TRANSACTIONAL_ID, name):
                response.transaction_states[place] = response.Transaction(transactional_id=name, error_code=ID_FAILED)
            else:
                one.topics = [topic for topic in one.topics if access.may_topic(DESCRIBE, topic.topic)]

    amend(call, hide)


def list_transactions(call: Call, access: Access) -> None:
    def keep(response: Any) -> None:
        response.transaction_states = [
            one for one in response.transaction_states if access.may(DESCRIBE, TRANSACTIONAL_ID, one.transactional_id)
        ]

    amend(call, keep)


DESCRIBE_CONFIGS_KEY = 32
RULES: dict[int, Rule] = {
    0: produce,
    1: fetch,
    3: metadata,
    9: offset_fetch,
    10: find_coordinator,
    16: list_groups,
    19: create_topics,
    20: delete_topics,
    22: init_producer_id,
    24: add_partitions,
    27: write_markers,
    DESCRIBE_CONFIGS_KEY: configs,
    33: configs,
    44: configs,
    47: offset_delete,
    61: describe_producers,
    65: describe_transactions,
    66: list_transactions,
    68: heartbeat,
    69: described_groups,
    75: describe_topic_partitions,
    76: heartbeat,
    77: described_groups,
    83: share_state,
    84: share_state,
    85: share_state,
    86: share_state,
    87: share_state,
    88: streams_heartbeat,
    89: described_groups,
    90: described_share_offsets,
    91: altered_share_offsets,
    92: deleted_share_offsets,
}
"""By the API's number; all others ask for what ``NEEDS`` says, and for nothing else."""
