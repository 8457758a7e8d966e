"""Records of coordinators as their topics have them: bytes of keys and values, in the versions that Kafka 4.4 writes.

Source: CoordinatorRecordSerde, GroupCoordinatorRecordHelpers, ShareCoordinatorRecordHelpers and TransactionLog, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import structs

from mockbroker.state.features import feature_level
from mockbroker.state.groups.offsets import NEVER
from protocol.codec import codec
from protocol.embedded.group_log import OffsetCommitValue
from protocol.embedded.transaction_log import TransactionLogValue
from protocol.embedded.versioned import write_versioned
from protocol.records import Record

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.image.coordinator_records import CoordinatorRecord

KEY_VERSION = 0
EXPIRING_OFFSET_VERSION = 1  # of OffsetCommitValue: the one that says when the offset goes
LATEST_RELEASE = "4.4"


def value_versions(cluster: Cluster) -> dict[str, int]:
    """The versions that a cluster's coordinators write values in, by name; all others are written in version 0.

    Topics' ids are kept with offsets by 4.4, and transactional ids' former and next producer ids from
    ``transaction.version`` 1 on.
    """
    return {
        "OffsetCommitValue": 4 if cluster.release in (None, LATEST_RELEASE) else 3,
        "GroupMetadataValue": 3,
        "TransactionLogValue": min(1, feature_level(cluster, "transaction.version")),
    }


def log_record(record: CoordinatorRecord, timestamp_ms: int, versions: Mapping[str, int]) -> Record:
    """A record as it stands in the log; one without a value deletes.

    >>> from mockbroker.state.groups.offsets import Committed, commits
    >>> (commit,) = commits("readers", {("orders", 0): Committed(7)}, now_ms=0)
    >>> log_record(commit, 0, {"OffsetCommitValue": 4}).key.hex(" ", -4)
    '00010007 72656164 65727300 066f7264 65727300 000000'
    """
    key: Any = record.key
    kind = type(key)
    value = record.value
    return Record(
        timestamp=timestamp_ms,
        key=kind.api_key.to_bytes(2, signed=True) + codec(kind, KEY_VERSION).encode(key),
        value=None if value is None else value_bytes(value, version_of(value, versions)),
    )


def value_bytes(value: Any, version: int) -> bytes:
    """A value behind its version; what a transactional id's first version has no field for is not kept, as in Kafka."""
    if isinstance(value, TransactionLogValue) and version == 0:
        message: Any = value
        value = structs.replace(
            message, previous_producer_id=-1, next_producer_id=-1, next_producer_epoch=-1, client_transaction_version=0
        )
    return write_versioned(value, version)


def version_of(value: Any, versions: Mapping[str, int]) -> int:
    """The version that a value is written in."""
    if isinstance(value, OffsetCommitValue) and value.expire_timestamp != NEVER:
        return EXPIRING_OFFSET_VERSION
    return versions.get(type(value).__name__, 0)
