"""Access control at work: what somebody may not do with topics, groups and the cluster is refused as by Kafka.

A stage of the path of calls, asked only where brokers have an authorizer. Who may do what is decided by
``state/security/acls.py``; the errors get their places as those of faults do. Transactional ids, and the idempotent
producers of those who may not write, are let through.
Source: KIP-11, KIP-140, KIP-430; KafkaApis, AuthHelper, AclApis, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mockbroker.call import Call
from mockbroker.core.faults.errors import hand_over, inject_error, injected_into
from mockbroker.core.faults.matching import Hit
from mockbroker.core.path import Respond, Verdict
from mockbroker.core.subjects import subjects_of, topic_name
from mockbroker.state.cluster import Cluster
from mockbroker.state.security.acls import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CLUSTER_ACTION,
    CLUSTER_NAME,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    IDEMPOTENT_WRITE,
    READ,
    TOPIC,
    WRITE,
    Acl,
    Action,
    is_allowed,
)
from protocol.error_codes import ErrorCode
from protocol.uuids import ZERO_UUID

AUTHORIZER = "authorizer.class.name"
METADATA, SYNC_GROUP, LIST_GROUPS, CREATE_TOPICS, DELETE_TOPICS = 3, 14, 16, 19, 20
OFFSET_DELETE, DESCRIBE_PRODUCERS, DESCRIBE_TOPIC_PARTITIONS = 47, 61, 75
NOT_ASKED_FOR = -(2**31)
PROTOCOL_VERSION = 5  # of SyncGroup
FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
OF_TOPICS = {
    0: WRITE,
    1: READ,
    2: DESCRIBE,
    METADATA: DESCRIBE,
    8: READ,
    9: DESCRIBE,
    CREATE_TOPICS: CREATE,
    DELETE_TOPICS: DELETE,
    21: DELETE,
    23: DESCRIBE,
    28: READ,
    32: DESCRIBE_CONFIGS,
    33: ALTER_CONFIGS,
    37: ALTER,
    44: ALTER_CONFIGS,
    OFFSET_DELETE: READ,
    DESCRIBE_TOPIC_PARTITIONS: DESCRIBE,
    78: READ,
    79: READ,
}
"""What is done with the topics that requests name, by the API's number."""
OF_GROUPS = {
    8: READ,
    9: DESCRIBE,
    10: DESCRIBE,
    11: READ,
    12: READ,
    13: READ,
    14: READ,
    15: DESCRIBE,
    28: READ,
    42: DELETE,
    OFFSET_DELETE: DELETE,
    68: READ,
    69: DESCRIBE,
    76: READ,
    77: DESCRIBE,
    88: READ,
    89: DESCRIBE,
    90: DESCRIBE,
}
OF_THE_CLUSTER = {
    29: DESCRIBE,
    30: ALTER,
    31: ALTER,
    34: ALTER,
    35: DESCRIBE,
    43: ALTER,
    45: ALTER,
    46: DESCRIBE,
    48: DESCRIBE_CONFIGS,
    49: ALTER_CONFIGS,
    50: DESCRIBE,
    51: ALTER,
    55: DESCRIBE,
    57: ALTER,
    64: ALTER,
    74: DESCRIBE_CONFIGS,
    80: ALTER,
    81: ALTER,
}
ALLOWED_BY_CLUSTER = {CREATE_TOPICS: CREATE, DELETE_TOPICS: DELETE, 23: CLUSTER_ACTION}
"""What somebody may do with every topic who may do it with the cluster."""
TOPIC_OPERATIONS = (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
GROUP_OPERATIONS = (READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
CLUSTER_OPERATIONS = (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE)


def has_authorizer(cluster: Cluster) -> bool:
    """Whether anybody may be refused anything."""
    return AUTHORIZER in cluster.settings.given_names and bool(cluster.configs.broker(None, AUTHORIZER))


def check_access(call: Call) -> Verdict | None:
    """Refuse what the client may not do: all of a call, or a part of it."""
    access = Access(call)
    needed = OF_THE_CLUSTER.get(call.api_key)
    if needed is not None and not access.may(needed, CLUSTER, CLUSTER_NAME):
        return refuse(call, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, Hit())
    needed = OF_GROUPS.get(call.api_key)
    if needed is not None and not lacks_protocol(call):
        denied = tuple(name for name in subjects_of(call).groups if not access.may(needed, GROUP, name))
        if denied:
            hit = Hit() if call.api_key == OFFSET_DELETE else Hit(groups=denied)
            verdict = refuse(call, ErrorCode.GROUP_AUTHORIZATION_FAILED, hit)
            if verdict is not None:
                return verdict
    needed = OF_TOPICS.get(call.api_key)
    if needed is not None:
        verdict = check_topics(call, access, needed)
        if verdict is not None:
            return verdict
    if call.api_key == LIST_GROUPS and not access.may(DESCRIBE, CLUSTER, CLUSTER_NAME):
        injected_into(call).amend.append(lambda response: keep_groups(response, access))
    if call.api_key == DESCRIBE_PRODUCERS:
        injected_into(call).amend.append(lambda response: hide_producers(response, access))
    if asks_for_operations(call.request):
        injected_into(call).amend.append(lambda response: tell_operations(response, access))
    return None


class Access:
    """What a call's client may do."""

    __slots__ = ("acls", "address", "default", "principal", "super_users")

    def __init__(self, call: Call) -> None:
        cluster = call.cluster
        self.acls = [acl_of(record) for record in cluster.image.acls.values()]
        self.principal, self.address = call.session.principal, call.session.address
        self.default = bool(cluster.settings["allow.everyone.if.no.acl.found"])
        self.super_users = frozenset(one.strip() for one in cluster.settings["super.users"].split(";"))

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        action = Action(operation, resource_type, name)
        return is_allowed(
            self.acls, self.principal, self.address, action, default=self.default, super_users=self.super_users
        )

    def operations(self, among: Iterable[int], resource_type: int, name: str) -> int:
        """What may be done with a resource, as bits."""
        return sum(1 << one for one in among if self.may(one, resource_type, name))


def acl_of(record: Any) -> Acl:
    return Acl(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )


def refuse(call: Call, code: ErrorCode, hit: Hit) -> Verdict | None:
    """Have what is meant of a call answered with an error."""
    injected = inject_error(call, code, hit)
    return None if injected is None else injected.verdict


def check_topics(call: Call, access: Access, operation: int) -> Verdict | None:
    wide = ALLOWED_BY_CLUSTER.get(call.api_key)
    if wide is not None and access.may(wide, CLUSTER, CLUSTER_NAME):
        return None
    subjects = subjects_of(call)
    if call.api_key in (METADATA, DESCRIBE_TOPIC_PARTITIONS) and subjects.all_topics:
        injected_into(call).amend.append(lambda response: keep_topics(response, access))
        return None
    denied = [name for name in subjects.topics if not access.may(operation, TOPIC, name)]
    if not denied:
        return None
    if call.api_key in (METADATA, DESCRIBE_TOPIC_PARTITIONS):
        return hide_topics(call, frozenset(denied))
    return refuse(call, FAILED, Hit(topics=dict.fromkeys(denied)))


def keep_topics(response: Any, access: Access) -> None:
    response.topics = [one for one in response.topics if access.may(DESCRIBE, TOPIC, one.name)]


def lacks_protocol(call: Call) -> bool:
    """Whether a SyncGroup names no protocol, which is looked at before anything else."""
    if call.api_key != SYNC_GROUP or call.version < PROTOCOL_VERSION:
        return False
    return call.request.protocol_type is None or call.request.protocol_name is None


def hide_producers(response: Any, access: Access) -> None:
    for topic in response.topics:
        if not access.may(READ, TOPIC, topic.name):
            for partition in topic.partitions:
                partition.error_code, partition.error_message, partition.active_producers = FAILED, FAILED.meaning, []


def keep_groups(response: Any, access: Access) -> None:
    response.groups = [one for one in response.groups if access.may(DESCRIBE, GROUP, one.group_id)]


def hide_topics(call: Call, denied: frozenset[str]) -> Verdict | None:
    """Nothing but the error is told of topics, and the name of one only to whom asked by it."""
    from protocol.registry import message_class

    response_class = message_class(call.api_key, "response")
    entry = response_class.Topic
    failed, rest = [], []
    for topic in call.request.topics:
        if topic_name(call, topic) not in denied:
            rest.append(topic)
            continue
        topic_id = getattr(topic, "topic_id", ZERO_UUID)
        by_id = topic_id != ZERO_UUID
        failed.append(entry(name=None if by_id else topic.name, topic_id=topic_id, error_code=FAILED))
    if not rest and call.api_key == DESCRIBE_TOPIC_PARTITIONS:
        return Respond(response_class(topics=failed))
    if rest or call.version:  # an empty list asks for all topics in v0
        hand_over(call, "topics", rest)

    def amend(response: Any) -> None:
        response.topics = [*(response.topics if rest else ()), *failed]

    injected_into(call).amend.append(amend)
    return None


def asks_for_operations(request: Any) -> bool:
    """Whether an answer says what the client may do; DescribeTopicPartitions always does."""
    names = ("topic_authorized_operations", "cluster_authorized_operations", "authorized_operations")
    return type(request).api_key == DESCRIBE_TOPIC_PARTITIONS or any(
        getattr(request, f"include_{name}", False) for name in names
    )


def tell_operations(response: Any, access: Access) -> None:
    """Say what the client may do, where the answer says what anybody may."""
    if getattr(response, "cluster_authorized_operations", NOT_ASKED_FOR) != NOT_ASKED_FOR:
        response.cluster_authorized_operations = access.operations(CLUSTER_OPERATIONS, CLUSTER, CLUSTER_NAME)
    for topic in getattr(response, "topics", ()):
        if topic.topic_authorized_operations != NOT_ASKED_FOR and topic.error_code != FAILED:
            topic.topic_authorized_operations = access.operations(TOPIC_OPERATIONS, TOPIC, topic.name or "")
    for group in getattr(response, "groups", ()):
        if group.authorized_operations != NOT_ASKED_FOR:
            group.authorized_operations = access.operations(GROUP_OPERATIONS, GROUP, group.group_id)
