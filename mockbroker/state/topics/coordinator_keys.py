"""The topics of coordinators, and which partition of one a key is in: its leader is the key's coordinator.

Source: GroupCoordinatorService.partitionFor and groupMetadataTopicConfigs, TransactionStateManager.partitionFor,
TransactionCoordinator.transactionStateTopicConfigs and Utils.abs, Apache Kafka 4.4.
"""

from __future__ import annotations

from functools import lru_cache

from mockbroker.parts import CoordinatorTopic, merged

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
COORDINATOR_TOPICS: dict[str, CoordinatorTopic] = {
    OFFSETS_TOPIC: CoordinatorTopic(
        "offsets.topic.",
        {"cleanup.policy": "compact", "compression.type": "producer"},
        ("group_log", "consumer_group_log", "share_group_log", "streams_group_log"),
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
"""By name; in a log of ``__consumer_offsets`` groups of every kind are read, those of absent parts too."""
MIN_INT = -(2**31)
LONG_KEY = 512
"""Keys that are longer are hashed each time: strangers choose them, and thousands would be kept."""


def partition_of_key(key: str, partitions: int) -> int:
    """The partition that a group, a transactional id or a share partition's key is in, of so many.

    >>> partition_of_key("readers", 50), partition_of_key("payments", 50)
    (28, 13)
    """
    code = java_hash(key) if len(key) > LONG_KEY else known_hash(key)
    return 0 if code == MIN_INT else abs(code) % partitions  # as Utils.abs has it


@lru_cache(maxsize=4096)
def known_hash(key: str) -> int:
    """The same for keys that are asked for again and again."""
    return java_hash(key)


def java_hash(text: str) -> int:
    """Java's ``String.hashCode``.

    >>> java_hash("polygenelubricants")
    -2147483648
    """
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        code = (31 * code + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return code - 2**32 if code >= 2**31 else code
