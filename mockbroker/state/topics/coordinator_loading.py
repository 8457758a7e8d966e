"""What coordinators kept, read from the logs of their topics into the image, as after a restart.

A partition counts by itself: the marker of a producer ends what was pending in the groups of its partition.

Source: CoordinatorLoaderImpl, GroupCoordinatorShard.replay and TransactionStateManager.loadTransactionMetadata, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mockbroker.state.image.coordinator_records import CoordinatorRecord
from mockbroker.state.image.image import Image
from mockbroker.state.topics.coordinator_keys import COORDINATOR_TOPICS
from protocol.codec import codec
from protocol.embedded.control_records import ControlRecordTypeSchema, EndTxnMarker
from protocol.embedded.versioned import read_versioned
from protocol.records import ControlType, Record, control_type, iter_records

if TYPE_CHECKING:
    from mockbroker.state.logs.log import StoredBatch
    from mockbroker.state.logs.store import LogStore

KEY_VERSION = 0
TYPE_BYTES = 2  # in front of a key


def load_coordinators(image: Image, log_store: LogStore) -> int:
    """Bring what the logs of coordinators' topics say into an image that has nothing of it; gives how many records.

    Raises DecodeError, UnsupportedVersionError: a record is of a known type, but cannot be read.
    """
    count = 0
    for topic_id, index in list(log_store.filled()):
        topic = image.topics.get(topic_id)
        if topic is not None and topic.name in COORDINATOR_TOPICS:
            log = log_store.open(topic_id, index)
            count += load_partition(image, topic.name, log.batches(log.start_offset))
    return count


def load_partition(image: Image, topic: str, batches: Iterable[StoredBatch]) -> int:
    """Bring one partition of a coordinators' topic into the image; gives how many records it has."""
    found = Image()
    count = 0
    for record in records_of(topic, batches):
        found.apply(record)
        count += 1
    image.merge(found)
    return count


def records_of(topic: str, batches: Iterable[StoredBatch]) -> Iterator[CoordinatorRecord]:
    """The records of a partition in order, with the markers that end transactions; those of no known type left out."""
    for batch in batches:
        for one in iter_records(batch.data):
            record = marker_of(one) if one.is_control else record_of(topic, one)
            if record is not None:
                yield record


def marker_of(record: Record) -> CoordinatorRecord | None:
    """The marker that ends a producer's transaction, None for another control record."""
    kind = control_type(record)
    if kind not in (ControlType.COMMIT, ControlType.ABORT) or record.batch is None:
        return None
    return CoordinatorRecord(ControlRecordTypeSchema(type=kind), EndTxnMarker(), record.batch.producer_id)


def record_of(topic: str, record: Record) -> CoordinatorRecord | None:
    """A record of a topic of coordinators by what its bytes say, None where that is of no known type.

    Raises DecodeError, UnsupportedVersionError.
    """
    if record.key is None:
        return None
    messages = message_types(topic).get(int.from_bytes(record.key[:TYPE_BYTES], signed=True))
    if messages is None:
        return None
    key_type, value_type = messages
    key, _ = codec(key_type, KEY_VERSION).decode(record.key, TYPE_BYTES)
    value = None if record.value is None else read_versioned(value_type, record.value)
    if key_type.__name__.startswith("Legacy"):
        key, value = in_present_form(key, value)
    batch = record.batch
    if batch is None or not batch.is_transactional:
        return CoordinatorRecord(key, value)
    return CoordinatorRecord(key, value, batch.producer_id, batch.producer_epoch)


@cache
def message_types(topic: str) -> dict[int, tuple[Any, Any]]:
    """The classes of key and value by the type in front of a key."""
    found = {}
    for module in COORDINATOR_TOPICS[topic].records:
        declared = vars(import_module(f"protocol.embedded.{module}"))
        for name, key in list(declared.items()):
            if name.endswith("Key") and isinstance(key, type):
                key_type: Any = key
                found[key_type.api_key] = (key_type, declared[name.removesuffix("Key") + "Value"])
    return found


def in_present_form(key: Any, value: Any | None) -> tuple[Any, Any | None]:
    """An offset in the form of Kafka 0.8 as today's. Source: GroupCoordinatorShard.convertLegacyOffsetCommitKey."""
    from protocol.embedded.group_log import OffsetCommitKey, OffsetCommitValue

    return (
        OffsetCommitKey(group=key.group, topic=key.topic, partition=key.partition),
        None
        if value is None
        else OffsetCommitValue(
            offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp, expire_timestamp=-1
        ),
    )
