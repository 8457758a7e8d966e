"""The authorization stage of a call's path: refuses unauthorized requests as Kafka does, and hides what clients must
not see.

It runs only if brokers have an authorizer. ``authorizer.py`` decides on each operation. The operations that most APIs
need are beside their handlers; the odd ones have a function here, which says what is odd.
Source: KIP-11, KIP-140, KIP-430; KafkaApis, ControllerApis, AuthHelper, AclApis and ConfigHelper, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from mockbroker.access_control.access import (
    CLUSTER_FAILED,
    GROUP_FAILED,
    ID_FAILED,
    TOPIC_FAILED,
    Refusal,
    check_cluster,
    check_groups,
    check_needs,
    check_topics,
    check_transactional_id,
    denied_topics,
    refuse_all,
    refuse_part,
    split,
    unless,
)
from mockbroker.access_control.authorizer import PrincipalAccess, access_of
from mockbroker.call import Call, Verdict
from mockbroker.core.faults.matching import Hit
from mockbroker.handlers.metadata import NOT_REQUESTED
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import CLUSTER_NAME, Operation, ResourceType
from mockbroker.subjects import topic_name
from protocol.error_codes import ErrorCode
from protocol.uuids import ZERO_UUID

Rule = Callable[[Call, PrincipalAccess], Refusal]

VERIFYING_VERSION = 4  # of AddPartitionsToTxn
PROTOCOL_VERSION = 5  # of SyncGroup
COORDINATORS_VERSION, SHARE_KEY_VERSION = 4, 6  # of FindCoordinator
GROUP_KEY, TRANSACTION_KEY, SHARE_KEY = 0, 1, 2
V2_MAGIC, MAGIC_AT, ATTRIBUTES_AT, TRANSACTIONAL_BIT = 2, 16, 22, 0x10
HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."
DESCRIBE_TOPIC_PARTITIONS = 75


def by_handler(_call: Call, _access: PrincipalAccess) -> None:
    """The handler authorizes each topic or other resource."""


def check_access(call: Call) -> Refusal:
    """Refuse the unauthorized part of a call, or all of it."""
    access = access_of(call.cluster, call.session.principal, call.session.address)
    if access is None or access.is_super:
        return None
    verdict = RULES.get(call.api_key, check_needs)(call, access)
    if verdict is None and requests_operations(call):
        call.amend(partial(show_operations, access))
    return verdict


def requests_operations(call: Call) -> bool:
    """True if the answer has authorized operations, as that of DescribeTopicPartitions always has."""
    names = ("topic_authorized_operations", "cluster_authorized_operations", "authorized_operations")
    return call.api_key == DESCRIBE_TOPIC_PARTITIONS or any(
        getattr(call.request, f"include_{name}", False) for name in names
    )


def show_operations(access: PrincipalAccess, response: Any) -> None:
    """Replace the operations of the answer, which are all that exist, by those that the client may do."""
    existing = getattr(response, "cluster_authorized_operations", NOT_REQUESTED)
    if existing != NOT_REQUESTED:
        may_see = access.may_cluster(Operation.DESCRIBE)
        permitted = access.permitted(existing, ResourceType.CLUSTER, CLUSTER_NAME) if may_see else 0
        response.cluster_authorized_operations = permitted
    for topic in getattr(response, "topics", ()):
        existing = topic.topic_authorized_operations
        if existing != NOT_REQUESTED and topic.error_code != TOPIC_FAILED:
            topic.topic_authorized_operations = access.permitted(existing, ResourceType.TOPIC, topic.name or "")
    for group in getattr(response, "groups", ()):
        if group.authorized_operations != NOT_REQUESTED:
            existing = group.authorized_operations
            group.authorized_operations = access.permitted(existing, ResourceType.GROUP, group.group_id)


# records


def produce(call: Call, access: PrincipalAccess) -> Refusal:
    """Records of a transaction need Write on the transactional id too."""
    name = call.request.transactional_id
    batches = (partition.records for topic in call.request.topic_data for partition in topic.partition_data)
    if any(map(is_transactional, batches)) and (name is None or not access.may_transactional_id(Operation.WRITE, name)):
        return refuse_all(call, ID_FAILED)
    return check_topics(call, access, Operation.WRITE)


def is_transactional(records: bytes | None) -> bool:
    """True if the first batch belongs to a transaction."""
    if records is None or len(records) <= ATTRIBUTES_AT or records[MAGIC_AT] != V2_MAGIC:
        return False
    return bool(records[ATTRIBUTES_AT] & TRANSACTIONAL_BIT)


def fetch(call: Call, access: PrincipalAccess) -> Refusal:
    """A follower needs ClusterAction instead of Read."""
    if max(call.request.replica_id, call.request.replica_state.replica_id) < 0:  # the version lacks one of them
        return check_topics(call, access, Operation.READ)
    return None if access.may_cluster(Operation.CLUSTER_ACTION) else refuse_part(call, TOPIC_FAILED, Hit())


def describe_producers(call: Call, access: PrincipalAccess) -> None:
    """Kafka checks the topic's name first."""

    def hide(response: Any) -> None:
        for topic in response.topics:
            for partition in () if access.may_topic(Operation.READ, topic.name) else topic.partitions:
                if partition.error_code != ErrorCode.INVALID_TOPIC_EXCEPTION:
                    partition.error_code, partition.error_message = TOPIC_FAILED, TOPIC_FAILED.meaning
                    partition.active_producers = []

    call.amend(hide)


# topics


def list_offsets(call: Call, access: PrincipalAccess) -> Refusal:
    """Each entry of an unauthorized topic gets the error, even if its partitions are named twice."""
    return split(call, "topics", lambda one: unless(access.may_topic(Operation.DESCRIBE, one.name), TOPIC_FAILED))


def keep(field: str, is_shown: Callable[[Any], bool], response: Any) -> None:
    """Remove the other entries from a list of the answer."""
    setattr(response, field, list(filter(is_shown, getattr(response, field))))


# transactions


def init_producer_id(call: Call, access: PrincipalAccess) -> Refusal:
    """An idempotent producer needs IdempotentWrite, or Write on any topic; two-phase commits need one more."""
    name = call.request.transactional_id
    if name is None:
        may = access.may_cluster(Operation.IDEMPOTENT_WRITE) or access.may_any(Operation.WRITE, ResourceType.TOPIC)
        return None if may else refuse_all(call, CLUSTER_FAILED)
    verdict = check_transactional_id(call, access, name)
    if verdict is None and getattr(call.request, "enable2_pc", False):
        verdict = check_transactional_id(call, access, name, Operation.TWO_PHASE_COMMIT)
    return verdict


def add_partitions(call: Call, access: PrincipalAccess) -> Refusal:
    """If a partition is unauthorized or unknown, all others get OPERATION_NOT_ATTEMPTED; since v4 for brokers."""
    if call.version >= VERIFYING_VERSION:
        return check_cluster(call, access, Operation.CLUSTER_ACTION)
    verdict = check_transactional_id(call, access, call.request.v3_and_below_transactional_id)
    denied = denied_topics(access, Operation.WRITE, [one.name for one in call.request.v3_and_below_topics])
    if verdict is not None or not denied:
        return verdict
    refused = refuse_all(call, ErrorCode.OPERATION_NOT_ATTEMPTED)
    for topic in refused.response.results_by_topic_v3_and_below:
        known = call.cluster.topics.get(topic.name)
        for one in topic.results_by_partition:
            if topic.name in denied:
                one.partition_error_code = TOPIC_FAILED
            elif known is None or not 0 <= one.partition_index < len(known.partitions):
                one.partition_error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return refused


def describe_transactions(call: Call, access: PrincipalAccess) -> None:
    """The topics of a transaction are shown with Describe."""

    def hide(response: Any) -> None:
        for place, one in enumerate(response.transaction_states):
            name = one.transactional_id
            if access.may_transactional_id(Operation.DESCRIBE, name):
                one.topics = [topic for topic in one.topics if access.may_topic(Operation.DESCRIBE, topic.topic)]
            else:
                response.transaction_states[place] = response.Transaction(transactional_id=name, error_code=ID_FAILED)

    call.amend(hide)


# groups


def sync_group(call: Call, access: PrincipalAccess) -> Refusal:
    """Kafka checks first that the request names a protocol."""
    lacks_protocol = None in (call.request.protocol_type, call.request.protocol_name)
    return None if lacks_protocol and call.version >= PROTOCOL_VERSION else check_needs(call, access)


def offset_fetch(call: Call, access: PrincipalAccess) -> Refusal:
    """A request for all topics returns those with Describe."""
    verdict = check_needs(call, access)
    groups = call.request.groups or (call.request,)
    whole = {group.group_id for group in groups if group.topics is None}

    def hide(response: Any) -> None:
        for group in response.groups or (response,):
            if not response.groups or group.group_id in whole:
                group.topics = [
                    one for one in group.topics if access.may_topic(Operation.DESCRIBE, topic_name(call, one))
                ]

    if whole and verdict is None:
        call.amend(hide)
    return verdict


def find_coordinator(call: Call, access: PrincipalAccess) -> Refusal:
    """The operation depends on the type of the key."""
    key_type = call.request.key_type
    if key_type == SHARE_KEY:
        return check_cluster(call, access, Operation.CLUSTER_ACTION) if call.version >= SHARE_KEY_VERSION else None
    if key_type not in (GROUP_KEY, TRANSACTION_KEY):
        return None
    kind, code = (
        (ResourceType.GROUP, GROUP_FAILED) if key_type == GROUP_KEY else (ResourceType.TRANSACTIONAL_ID, ID_FAILED)
    )
    if call.version < COORDINATORS_VERSION:
        return None if access.may(Operation.DESCRIBE, kind, call.request.key) else refuse_all(call, code)
    return split(
        call,
        "coordinator_keys",
        lambda key: unless(access.may(Operation.DESCRIBE, kind, key), code),
        complete=lambda _key, entry: setattr(entry, "error_message", ""),
    )


def list_groups(call: Call, access: PrincipalAccess) -> None:
    """Describe on the cluster shows all groups."""
    if not access.may_cluster(Operation.DESCRIBE):
        call.amend(partial(keep, "groups", lambda one: access.may_group(Operation.DESCRIBE, one.group_id)))


def heartbeat(call: Call, access: PrincipalAccess) -> Refusal:
    """ConsumerGroupHeartbeat, ShareGroupHeartbeat, StreamsGroupHeartbeat: the handlers authorize the topics."""
    return check_groups(call, access, Operation.READ)


def described_groups(call: Call, access: PrincipalAccess) -> Refusal:
    """ConsumerGroupDescribe, ShareGroupDescribe, StreamsGroupDescribe: the client must see all of a group's topics."""

    def hide(response: Any) -> None:
        for place, one in enumerate(response.groups):
            if denied_topics(access, Operation.DESCRIBE, set(topics_of(one))):
                response.groups[place] = response.Group(
                    group_id=one.group_id, error_code=TOPIC_FAILED, error_message=HIDDEN_TOPICS
                )

    call.amend(hide)
    return check_groups(call, access, Operation.DESCRIBE)


def topics_of(group: Any) -> Iterator[str]:
    """The topics of a described group: those of its topology, or of its members' assignments."""
    if hasattr(group, "topology"):
        for one in group.topology.subtopologies if group.topology is not None else ():
            yield from (*one.source_topics, *one.repartition_sink_topics)
            yield from (topic.name for topic in (*one.state_changelog_topics, *one.repartition_source_topics))
        return
    for member in group.members:
        for assignment in (member.assignment, getattr(member, "target_assignment", None)):
            yield from (topic.topic_name for topic in (assignment.topic_partitions if assignment is not None else ()))


def described_share_offsets(call: Call, access: PrincipalAccess) -> None:
    """Unauthorized topics get an error if the request names them, and are omitted if it requests all topics."""
    requested = {group.group_id: group.topics for group in call.request.groups}

    def hide(response: Any) -> None:
        for place, group in enumerate(response.groups):
            if not access.may_group(Operation.DESCRIBE, group.group_id):
                response.groups[place] = response.Group(group_id=group.group_id, error_code=GROUP_FAILED)
            elif not group.error_code:
                whole = requested.get(group.group_id) is None
                shown = [one for one in group.topics if access.may_topic(Operation.DESCRIBE, one.topic_name)]
                hidden = [one for one in group.topics if not whole and one not in shown]
                group.topics = [*shown, *map(hidden_offsets, hidden)]

    call.amend(hide)


def hidden_offsets(topic: Any) -> Any:
    """The entry of a topic whose offsets the client may not see."""
    for one in topic.partitions:
        one.start_offset, one.leader_epoch = 0, 0
        one.error_code, one.error_message = TOPIC_FAILED, TOPIC_FAILED.meaning
        if hasattr(one, "lag"):
            one.lag = -1
    topic.topic_id = ZERO_UUID
    return topic


def changed_offsets(of_group: int, call: Call, access: PrincipalAccess) -> Refusal:
    """OffsetDelete, AlterShareGroupOffsets, DeleteShareGroupOffsets: an error of the group replaces those of topics."""

    def error_of(topic: Any) -> ApiError | None:
        return unless(access.may_topic(Operation.READ, topic_name(call, topic, name_field)), TOPIC_FAILED)

    name_field = "name" if call.api_key == OFFSET_DELETE else "topic_name"
    verdict = check_groups(call, access, of_group)
    return split(call, "topics", error_of, after_checks=True) if verdict is None else verdict


def share_state(call: Call, access: PrincipalAccess) -> Refusal:
    """The requests of brokers to share coordinators: the error of each partition has a message."""
    verdict = check_needs(call, access)
    if isinstance(verdict, Verdict):
        for topic in verdict.response.results:
            for one in topic.partitions:
                one.error_message = CLUSTER_FAILED.meaning
    return verdict


OFFSET_DELETE = 47
RULES: dict[int, Rule] = {
    0: produce,
    1: fetch,
    2: list_offsets,
    9: offset_fetch,
    10: find_coordinator,
    14: sync_group,
    16: list_groups,
    22: init_producer_id,
    24: add_partitions,
    OFFSET_DELETE: partial(changed_offsets, Operation.DELETE),
    61: describe_producers,
    65: describe_transactions,
    **dict.fromkeys((68, 76, 88), heartbeat),
    **dict.fromkeys((69, 77, 89), described_groups),
    **dict.fromkeys((3, 19, 20, 32, 33, 37, 44, DESCRIBE_TOPIC_PARTITIONS), by_handler),
    **dict.fromkeys((83, 84, 85, 86, 87), share_state),
    90: described_share_offsets,
    91: partial(changed_offsets, Operation.READ),
    92: partial(changed_offsets, Operation.DELETE),
}
"""By API key; the other APIs need only the operations in their handler's module."""
