"""Records in the batches of the metadata log.

Source: BatchAccumulator, Apache Kafka 4.4.

>>> from protocol.embedded.metadata_settings import FeatureLevelRecord
>>> data = commit_batch([FeatureLevelRecord(name="kraft.version", feature_level=1)], 7, 2, timestamp_ms=0)
>>> [record.name for record in records_in(data)]
['kraft.version']
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from protocol.embedded.metadata_frame import read_frame, write_frame
from protocol.records import Record, build_batch, iter_records


def commit_batch(records: Iterable[Any], base_offset: int, leader_epoch: int, *, timestamp_ms: int) -> bytes:
    """A commit of at least one record as one batch.

    Args:
        leader_epoch: of the controller.
    """
    return build_batch(
        [Record(timestamp=timestamp_ms, value=write_frame(record)) for record in records],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
    )


def records_in(batch: bytes) -> list[Any]:
    """The records of a batch of the metadata log.

    Raises: RecordError, DecodeError: the bytes are not a batch of records. UnknownMetadataRecordError.
    """
    return [read_frame(one.value or b"") for one in iter_records(batch)]
