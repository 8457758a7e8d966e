"""The authorization stage of a call's path: refuses unauthorized requests as Kafka does, and hides what clients must
not see.

It runs only if brokers have an authorizer. ``authorizer.py`` decides on each operation; the operations that an API
needs are beside its handler.
Source: KIP-11, KIP-140, KIP-430; KafkaApis, AuthHelper, AclApis, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import Any

from mockbroker.access_control.access_checks import (
    TOPIC_FAILED,
    amend,
    check_cluster,
    check_groups,
    check_topics,
    check_transactional_id,
)
from mockbroker.access_control.access_rules import RULES
from mockbroker.access_control.authorizer import PrincipalAccess, access_of
from mockbroker.api import OPERATIONS, api_of
from mockbroker.call import Call, Verdict, Wait
from mockbroker.state.security.operations import (
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
)

SYNC_GROUP, DESCRIBE_TOPIC_PARTITIONS = 14, 75
NOT_ASKED_FOR = -(2**31)
PROTOCOL_VERSION = 5  # of SyncGroup
TOPIC_OPERATIONS = (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
GROUP_OPERATIONS = (READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
CLUSTER_OPERATIONS = (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE)


def check_access(call: Call) -> Verdict | Wait | None:
    """Refuse the unauthorized part of a call, or all of it."""
    access = access_of(call.cluster, call.session.principal, call.session.address)
    if access is None or access.is_super:
        return None
    rule = RULES.get(call.api_key)
    verdict = check_needs(call, access) if rule is None else rule(call, access)
    if verdict is None and asks_for_operations(call.request):
        amend(call, lambda response: tell_operations(response, access))
    return verdict


def check_needs(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    """Refuse a client that lacks an operation that the API needs, in Kafka's order."""
    api = api_of(call.api_key)
    assert api is not None, call.api_key
    needs = api.access
    verdict = None
    if needs.cluster:
        verdict = check_cluster(call, access, OPERATIONS[needs.cluster])
    if verdict is None and needs.transactional_id:
        operation = OPERATIONS[needs.transactional_id]
        verdict = check_transactional_id(call, access, call.request.transactional_id, operation)
    if verdict is None and needs.group and not lacks_protocol(call):
        verdict = check_groups(call, access, OPERATIONS[needs.group])
    if verdict is not None or not needs.topic:
        return verdict
    if needs.every_topic and access.may_cluster(OPERATIONS[needs.every_topic]):
        return None
    return check_topics(call, access, OPERATIONS[needs.topic])


def lacks_protocol(call: Call) -> bool:
    """True if a SyncGroup names no protocol, which Kafka checks first."""
    if call.api_key != SYNC_GROUP or call.version < PROTOCOL_VERSION:
        return False
    return call.request.protocol_type is None or call.request.protocol_name is None


def asks_for_operations(request: Any) -> bool:
    """True if the request wants its authorized operations in the answer; DescribeTopicPartitions always has them."""
    names = ("topic_authorized_operations", "cluster_authorized_operations", "authorized_operations")
    return type(request).api_key == DESCRIBE_TOPIC_PARTITIONS or any(
        getattr(request, f"include_{name}", False) for name in names
    )


def tell_operations(response: Any, access: PrincipalAccess) -> None:
    """Replace the operations of the answer, which are all that exist, by those that the client may do."""
    if getattr(response, "cluster_authorized_operations", NOT_ASKED_FOR) != NOT_ASKED_FOR:
        told = access.operations(CLUSTER_OPERATIONS, CLUSTER, CLUSTER_NAME) if access.may_cluster(DESCRIBE) else 0
        response.cluster_authorized_operations = told
    for topic in getattr(response, "topics", ()):
        if topic.topic_authorized_operations != NOT_ASKED_FOR and topic.error_code != TOPIC_FAILED:
            topic.topic_authorized_operations = access.operations(TOPIC_OPERATIONS, TOPIC, topic.name or "")
    for group in getattr(response, "groups", ()):
        if group.authorized_operations != NOT_ASKED_FOR:
            group.authorized_operations = access.operations(GROUP_OPERATIONS, GROUP, group.group_id)
