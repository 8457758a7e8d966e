"""The topics of coordinators, and the partition of each key: its leader is the key's coordinator.

Source: GroupCoordinatorService.partitionFor and groupMetadataTopicConfigs, TransactionStateManager.partitionFor,
TransactionCoordinator.transactionStateTopicConfigs and Utils.abs, Apache Kafka 4.4.
"""

from __future__ import annotations

from functools import lru_cache

from kafka_rack.java import string_hash, to_int32
from mockbroker.parts import CoordinatorTopic, merged

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
COORDINATOR_TOPICS: dict[str, CoordinatorTopic] = {
    OFFSETS_TOPIC: CoordinatorTopic(
        "offsets.topic.",
        {"cleanup.policy": "compact", "compression.type": "producer"},
        ("group_log", "consumer_group_log", *merged("group_classes")),
        key_type=0,
        has_min_isr=False,
    ),
    TRANSACTIONS_TOPIC: CoordinatorTopic(
        "transaction.state.log.",
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "unclean.leader.election.enable": "false",
        },
        ("transaction_log",),
        key_type=1,
    ),
} | merged("coordinator_topics")
"""By name; the log of ``__consumer_offsets`` has groups of every kind, but those of missing parts are not read."""
MIN_INT = -(2**31)


@lru_cache(maxsize=4096)
def partition_of_key(key: str, partitions: int) -> int:
    """The partition of a group, a transactional id or a share partition's key, among ``partitions``.

    >>> partition_of_key("readers", 50), partition_of_key("payments", 50)
    (28, 13)
    """
    code = to_int32(string_hash(key))
    return 0 if code == MIN_INT else abs(code) % partitions  # as in Utils.abs
