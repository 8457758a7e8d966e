"""Snapshots of the metadata: a file each, with all that the log says up to an offset.

``<offset>-<epoch>.checkpoint`` has a header, the records in batches, and a footer; the offset is that of the first
record of the log that is not in it. Offsets within the file start at 0.

Source: Snapshots, RecordsSnapshotWriter, RaftSnapshotWriter and RecordsSnapshotReader, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from mockbroker.adapters.storage.files import Files
from mockbroker.state.image.metadata_records import commit_batch, records_in
from protocol import ProtocolError
from protocol.codec import codec
from protocol.embedded.control_records import SnapshotFooterRecord, SnapshotHeaderRecord
from protocol.records import (
    ControlType,
    CorruptRecordError,
    RecordError,
    build_control_batch,
    control_type,
    iter_batches,
    iter_records,
)

SUFFIX = ".checkpoint"
OFFSET_DIGITS, EPOCH_DIGITS = 20, 10
BATCH_RECORDS = 1024  # MetadataNode's snapshots: RaftSnapshotWriter is given batches of this size


class SnapshotId(NamedTuple):
    """Which snapshot: the offset behind what it has, and the epoch of the record before that.

    >>> SnapshotId(58, 1).name
    '00000000000000000058-0000000001.checkpoint'
    """

    offset: int
    epoch: int

    @property
    def name(self) -> str:
        return f"{self.offset:0{OFFSET_DIGITS}d}-{self.epoch:0{EPOCH_DIGITS}d}{SUFFIX}"


def snapshots_in(directory: Path) -> list[SnapshotId]:
    """The snapshots of a directory, the oldest first."""
    found = []
    for one in directory.iterdir() if directory.is_dir() else ():
        offset, dash, epoch = one.name.removesuffix(SUFFIX).partition("-")
        if one.name.endswith(SUFFIX) and dash and offset.isdecimal() and epoch.isdecimal():
            snapshot = SnapshotId(int(offset), int(epoch))
            if snapshot.name == one.name:
                found.append(snapshot)
    return sorted(found)


def snapshot_bytes(records: Iterable[Any], epoch: int, last_timestamp_ms: int) -> bytes:
    """A snapshot with these records.

    Args:
        last_timestamp_ms: of the last record of the log that it stands for.
    """
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_timestamp_ms)
    parts = [control_bytes(ControlType.SNAPSHOT_HEADER, header, 0, epoch, last_timestamp_ms)]
    offset = 1
    rest = iter(records)
    while some := list(islice(rest, BATCH_RECORDS)):
        parts.append(commit_batch(some, offset, epoch, timestamp_ms=last_timestamp_ms))
        offset += len(some)
    footer = SnapshotFooterRecord(version=0)
    parts.append(control_bytes(ControlType.SNAPSHOT_FOOTER, footer, offset, epoch, last_timestamp_ms))
    return b"".join(parts)


def control_bytes(kind: ControlType, message: Any, offset: int, epoch: int, timestamp_ms: int) -> bytes:
    """The control batch of a message, in its first version."""
    value = codec(type(message), 0).encode(message)
    return build_control_batch(kind, value, base_offset=offset, timestamp=timestamp_ms, leader_epoch=epoch)


def write_snapshot(
    files: Files, directory: Path, snapshot: SnapshotId, records: Iterable[Any], last_timestamp_ms: int
) -> None:
    """Write a snapshot, all of it or nothing. Raises StorageError."""
    files.replace(directory / snapshot.name, snapshot_bytes(records, snapshot.epoch, last_timestamp_ms), sync=True)


def read_snapshot(data: bytes) -> Iterator[Any]:
    """The records of a snapshot.

    Raises: RecordError: it is damaged, or not whole. ProtocolError: it has what is not known here.
    """
    kinds: list[ControlType | None] = []
    for header in iter_batches(data):
        if header.partial:
            break
        batch = data[header.position : header.position + header.size]
        first = next(iter(iter_records(batch)), None)
        kinds.append(control_type(first) if first is not None and first.is_control else None)
        yield from records_in(batch)
    if not kinds or kinds[0] is not ControlType.SNAPSHOT_HEADER or kinds[-1] is not ControlType.SNAPSHOT_FOOTER:
        raise CorruptRecordError("expected a header at the beginning of a snapshot and a footer at its end", len(data))


UNREADABLE = (RecordError, ProtocolError)
"""What reading of a damaged snapshot, or of one of a newer Kafka, raises."""
