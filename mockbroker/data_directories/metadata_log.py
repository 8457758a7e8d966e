"""The metadata log: records that change a cluster's image, except those of coordinators; one batch per commit.

A process that ends during a commit leaves all of it or nothing. When a log with many more records than the image needs
is opened, it is rewritten from the image, so that it does not grow from start to start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mockbroker.data_directories.batch_scan import position_of
from mockbroker.data_directories.directory import METADATA, DataDirectory, DataDirectoryError
from mockbroker.data_directories.log_file import LogFile
from mockbroker.state.image import Image
from protocol import ProtocolError
from protocol.embedded.metadata_frame import read_frame, write_frame
from protocol.records import Record, build_batch, iter_records

if TYPE_CHECKING:
    from mockbroker.state.logs.log import StoredBatch

SPARE_RECORDS = 10_000
"""A log with this many more records than the image needs is rewritten."""


class MetadataLog:
    """The metadata log of a data directory: a ``RecordLog``.

    ``image`` is its content when it was opened, None for a new log, and ``count`` the number of records read. Each
    opening begins a leader epoch, as a starting controller does.

    Args:
        now_ms: in wall-clock time.

    Raises: DamagedLogError, DataDirectoryError: damage before its end. StorageError, OSError.
    """

    def __init__(self, data: DataDirectory, now_ms: Callable[[], int] = lambda: int(time.time() * 1000)) -> None:
        self._data, self._now_ms = data, now_ms
        self._file, found = LogFile.open(data.path / METADATA, data.files)
        self.image: Image | None = Image() if found else None
        self.count = 0
        self.end_offset = self._file.start
        self.leader_epoch = 1
        for batch in found:
            self._replay(batch)
        if self.image is not None:
            kept = list(self.image.metadata_records())
            if self.count > 2 * len(kept) + SPARE_RECORDS:  # one batch of them at the next offset is enough
                self._file.start = self.end_offset
                self._file.rewrite([self._batch(kept)], self._file.size)
                self.end_offset += len(kept)

    def append(self, records: Sequence[object], /) -> None:
        """Write what is committed together. Raises StorageError: nothing is written."""
        self._file.append(self._batch(records))
        self.end_offset += len(records)
        self._data.written(self._file)

    def _batch(self, records: Sequence[Any]) -> bytes:
        """A commit of at least one record as one batch. Source: BatchAccumulator, Apache Kafka 4.4."""
        framed = [Record(timestamp=self._now_ms(), value=write_frame(record)) for record in records]
        return build_batch(framed, base_offset=self.end_offset, leader_epoch=self.leader_epoch)

    def _replay(self, batch: StoredBatch) -> None:
        """Apply the records of a batch of the file."""
        assert self.image is not None
        position = position_of(batch)
        if batch.base_offset != self.end_offset:
            raise DataDirectoryError(
                f"{self._file.directory}, byte {position}: offset {batch.base_offset}, but {self.end_offset} is next"
            )
        try:
            data = self._file.read(position, len(batch.data))
            records = [read_frame(one.value or b"") for one in iter_records(data)]
        except ProtocolError as error:
            raise DataDirectoryError(f"{self._file.directory}, byte {position}: {error}") from None
        for record in records:
            self.image.apply(record)
        self.count += len(records)
        self.end_offset = batch.last_offset + 1
        self.leader_epoch = max(self.leader_epoch, batch.leader_epoch + 1)
