"""The operations that a client must be allowed for each served API.

``access_control/`` refuses by this table, docs/compatibility.md shows it, and a test checks that no API is missing.
Source: KafkaApis, ControllerApis and AclApis, Apache Kafka 4.4; of brokers in ZooKeeper mode KafkaApis 3.9.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mockbroker.state.security.operations import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER_ACTION,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    IDEMPOTENT_WRITE,
    READ,
    WRITE,
)


class Needs(NamedTuple):
    """Operations on the cluster, and on each group, topic and transactional id that the request names.

    ``every_topic`` is an operation on the cluster that replaces the one on topics. ``note`` is for the docs.
    """

    cluster: int | None = None
    group: int | None = None
    topic: int | None = None
    transactional_id: int | None = None
    every_topic: int | None = None
    note: str = ""


OPERATION_NAMES: Final = {
    READ: "Read",
    WRITE: "Write",
    CREATE: "Create",
    DELETE: "Delete",
    ALTER: "Alter",
    DESCRIBE: "Describe",
    CLUSTER_ACTION: "ClusterAction",
    DESCRIBE_CONFIGS: "DescribeConfigs",
    ALTER_CONFIGS: "AlterConfigs",
    IDEMPOTENT_WRITE: "IdempotentWrite",
}
LOGIN: Final = "Nothing: it comes before the login"
HIDES: Final = "without Describe on a topic of the group: TOPIC_AUTHORIZATION_FAILED"
ON_BROKERS: Final = "brokers, their loggers and client metrics: {} on the cluster; groups: {} on the group"
TOKENS: Final = "Nothing: tokens belong to who asks"

NEEDS: Final[dict[int, Needs]] = {
    0: Needs(topic=WRITE, note="records of a transaction: Write on the transactional id too"),
    1: Needs(topic=READ, note="as a follower: ClusterAction on the cluster alone"),
    2: Needs(topic=DESCRIBE),
    3: Needs(topic=DESCRIBE, note="what it creates: Create on the topic or the cluster; others' topics are not listed"),
    6: Needs(cluster=CLUSTER_ACTION),
    8: Needs(group=READ, topic=READ),
    9: Needs(group=DESCRIBE, topic=DESCRIBE, note="a request for all topics returns those with Describe"),
    10: Needs(group=DESCRIBE, transactional_id=DESCRIBE, note="of the share coordinator: ClusterAction on the cluster"),
    11: Needs(group=READ),
    12: Needs(group=READ),
    13: Needs(group=READ),
    14: Needs(group=READ),
    15: Needs(group=DESCRIBE),
    16: Needs(note="Describe on the cluster shows all groups, without it those with Describe on the group"),
    17: Needs(note=LOGIN),
    18: Needs(note=LOGIN),
    19: Needs(topic=CREATE, every_topic=CREATE, note="configs are shown with DescribeConfigs on the topic"),
    20: Needs(topic=DELETE, every_topic=DELETE, note="without Describe, a missing topic has the same error"),
    21: Needs(topic=DELETE),
    22: Needs(
        transactional_id=WRITE,
        note="an idempotent producer: IdempotentWrite on the cluster, or Write on any topic; "
        "two-phase commit: TwoPhaseCommit on the transactional id too",
    ),
    23: Needs(topic=DESCRIBE, every_topic=CLUSTER_ACTION),
    24: Needs(topic=WRITE, transactional_id=WRITE, note="since version 4: ClusterAction on the cluster alone"),
    25: Needs(group=READ, transactional_id=WRITE),
    26: Needs(transactional_id=WRITE),
    27: Needs(cluster=ALTER, note="or ClusterAction"),
    28: Needs(group=READ, topic=READ, transactional_id=WRITE),
    29: Needs(cluster=DESCRIBE),
    30: Needs(cluster=ALTER),
    31: Needs(cluster=ALTER),
    32: Needs(topic=DESCRIBE_CONFIGS, note=ON_BROKERS.format("DescribeConfigs", "DescribeConfigs")),
    33: Needs(topic=ALTER_CONFIGS, note=ON_BROKERS.format("AlterConfigs", "AlterConfigs")),
    34: Needs(cluster=ALTER),
    35: Needs(cluster=DESCRIBE),
    36: Needs(note=LOGIN),
    37: Needs(topic=ALTER),
    38: Needs(note="for another: CreateTokens on the user"),
    39: Needs(note=TOKENS),
    40: Needs(note=TOKENS),
    41: Needs(note="others' tokens: Describe on the token, or DescribeTokens on the user"),
    42: Needs(group=DELETE),
    43: Needs(cluster=ALTER),
    44: Needs(topic=ALTER_CONFIGS, note=ON_BROKERS.format("AlterConfigs", "AlterConfigs")),
    45: Needs(cluster=ALTER),
    46: Needs(cluster=DESCRIBE),
    47: Needs(group=DELETE, topic=READ),
    48: Needs(cluster=DESCRIBE_CONFIGS),
    49: Needs(cluster=ALTER_CONFIGS),
    50: Needs(cluster=DESCRIBE),
    51: Needs(cluster=ALTER),
    55: Needs(cluster=DESCRIBE),
    57: Needs(cluster=ALTER),
    60: Needs(note="authorized operations: Describe on the cluster"),
    61: Needs(topic=READ),
    64: Needs(cluster=ALTER),
    65: Needs(transactional_id=DESCRIBE, note="topics are shown with Describe on the topic"),
    66: Needs(note="those with Describe on the transactional id are listed"),
    68: Needs(group=READ, topic=DESCRIBE, note="expressions match topics with Describe on the topic"),
    69: Needs(group=DESCRIBE, topic=DESCRIBE, note=HIDES),
    71: Needs(note="Nothing"),
    72: Needs(note="Nothing"),
    74: Needs(cluster=DESCRIBE_CONFIGS),
    75: Needs(topic=DESCRIBE, note="a request for all topics returns those with Describe"),
    76: Needs(group=READ, topic=DESCRIBE),
    77: Needs(group=DESCRIBE, topic=DESCRIBE, note=HIDES),
    78: Needs(group=READ, topic=READ),
    79: Needs(group=READ, topic=READ),
    80: Needs(cluster=ALTER),
    81: Needs(cluster=ALTER),
    83: Needs(cluster=CLUSTER_ACTION),
    84: Needs(cluster=CLUSTER_ACTION),
    85: Needs(cluster=CLUSTER_ACTION),
    86: Needs(cluster=CLUSTER_ACTION),
    87: Needs(cluster=CLUSTER_ACTION),
    88: Needs(
        group=READ, topic=DESCRIBE, note="internal topics are made with Create on the cluster, or on all of the topics"
    ),
    89: Needs(group=DESCRIBE, topic=DESCRIBE, note=HIDES),
    90: Needs(group=DESCRIBE, topic=DESCRIBE, note="a request for all topics returns those with Describe"),
    91: Needs(group=READ, topic=READ),
    92: Needs(group=DELETE, topic=READ),
    93: Needs(group=READ),
    94: Needs(cluster=ALTER),
}
"""By the API's number."""


def operation_name(operation: int | None) -> str:
    """Kafka's name of an operation; empty for none."""
    return "" if operation is None else OPERATION_NAMES[operation]
