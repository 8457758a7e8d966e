"""The numbers of resource types and operations in access control.

Source: ResourceType, AclOperation and Resource, Apache Kafka 4.4.
"""

from __future__ import annotations

from enum import IntEnum

ResourceType = IntEnum("ResourceType", "TOPIC GROUP CLUSTER TRANSACTIONAL_ID DELEGATION_TOKEN USER", start=2)
Operation = IntEnum(
    "Operation",
    "ALL READ WRITE CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE "
    "CREATE_TOKENS DESCRIBE_TOKENS TWO_PHASE_COMMIT",
    start=2,
)
CLUSTER_NAME = "kafka-cluster"
