"""Encodes and decodes coordinators' records in the logs of their topics, in the versions of Kafka 4.4.

Source: CoordinatorRecordSerde, GroupCoordinatorRecordHelpers, ShareCoordinatorRecordHelpers, TransactionLog,
CoordinatorLoaderImpl, GroupCoordinatorShard.replay, TransactionStateManager.loadTransactionMetadata, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import structs

from mockbroker.state.coordinator_shard import NEVER, CoordinatorRecord, CoordinatorShard
from mockbroker.state.features import feature_level
from mockbroker.state.releases import is_since
from mockbroker.state.topics.coordinator_keys import COORDINATOR_TOPICS
from protocol.codec import codec
from protocol.embedded.group_log import OffsetCommitValue
from protocol.embedded.transaction_log import TransactionLogValue
from protocol.embedded.versioned import read_versioned, write_versioned
from protocol.records import ControlType, Record, control_type, iter_records

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.logs.log import StoredBatch

KEY_VERSION = 0
EXPIRING_OFFSET_VERSION = 1  # of OffsetCommitValue: the one with an expiry time


def value_versions(cluster: Cluster) -> dict[str, int]:
    """The versions in which a cluster's coordinators write values, by name; others are written in version 0.

    Since 4.4 offsets have topic ids, and from ``transaction.version`` 1 on transactional ids have their previous and
    next producer ids.
    """
    return {
        "OffsetCommitValue": 4 if is_since(cluster.release, "4.4") else 3,
        "GroupMetadataValue": 3,
        "TransactionLogValue": min(1, feature_level(cluster, "transaction.version")),
    }


def log_record(record: CoordinatorRecord, timestamp_ms: int, versions: Mapping[str, int]) -> Record:
    """A coordinator's record as a record of the log; one without a value is a tombstone.

    >>> from protocol.embedded.group_log import OffsetCommitKey
    >>> commit = CoordinatorRecord(OffsetCommitKey("readers", "orders", 0), OffsetCommitValue(7))
    >>> log_record(commit, 0, {"OffsetCommitValue": 4}).key.hex(" ", -4)
    '00010007 72656164 65727300 066f7264 65727300 000000'
    """
    key: Any = record.key
    kind = type(key)
    value = record.value
    return Record(
        timestamp=timestamp_ms,
        key=kind.api_key.to_bytes(2, signed=True) + codec(kind, KEY_VERSION).encode(key),
        value=None if value is None else value_bytes(value, versions),
    )


def value_bytes(value: Any, versions: Mapping[str, int]) -> bytes:
    """A version and the encoded value; fields that version 0 of a transactional id lacks are dropped, as in Kafka."""
    version = versions.get(type(value).__name__, 0)
    if isinstance(value, OffsetCommitValue) and value.expire_timestamp != NEVER:
        version = EXPIRING_OFFSET_VERSION
    if isinstance(value, TransactionLogValue) and version == 0:
        message: Any = value
        value = structs.replace(
            message, previous_producer_id=-1, next_producer_id=-1, next_producer_epoch=-1, client_transaction_version=0
        )
    return write_versioned(value, version)


TYPE_BYTES = 2  # in front of a key


def load_shard(topic: str, batches: Iterable[StoredBatch]) -> CoordinatorShard:
    """Replay the log of a partition of a coordinators' topic; records of unknown types are skipped.

    Raises DecodeError, UnsupportedVersionError: a record has a known type, but cannot be read.
    """
    shard = CoordinatorShard()
    for batch in batches:
        for one in iter_records(batch.data):
            if not one.is_control:
                shard.replay(record_of(topic, one))
            elif one.batch is not None and (kind := control_type(one)) in (ControlType.COMMIT, ControlType.ABORT):
                committed = kind is ControlType.COMMIT
                shard.end_transaction(one.batch.producer_id, one.batch.producer_epoch, committed=committed)
    return shard


def record_of(topic: str, record: Record) -> list[CoordinatorRecord]:
    """A decoded record of a topic of coordinators; empty for one of an unknown type.

    Raises DecodeError, UnsupportedVersionError.
    """
    if record.key is None:
        return []
    messages = message_types(topic).get(int.from_bytes(record.key[:TYPE_BYTES], signed=True))
    if messages is None:
        return []
    key_type, value_type = messages
    key, _ = codec(key_type, KEY_VERSION).decode(record.key, TYPE_BYTES)
    value = None if record.value is None else read_versioned(value_type, record.value)
    batch = record.batch
    producer = (batch.producer_id, batch.producer_epoch) if batch is not None and batch.is_transactional else ()
    return [CoordinatorRecord(key, value, *producer)]


@cache
def message_types(topic: str) -> dict[int, tuple[Any, Any]]:
    """The classes of key and value, by the type before a key."""
    found = {}
    for module in COORDINATOR_TOPICS[topic].records:
        declared = vars(import_module(f"protocol.embedded.{module}"))
        for name, key in list(declared.items()):
            if isinstance(key, type) and name.endswith("Key") and not name.startswith("Legacy"):  # of Kafka 0.8
                key_type: Any = key
                found[key_type.api_key] = (key_type, declared[name.removesuffix("Key") + "Value"])
    return found
