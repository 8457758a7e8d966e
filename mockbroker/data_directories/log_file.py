"""A log in one file of batches in Kafka's format, which ``kafka-dump-log`` reads.

The file's name is the log's start offset in 20 digits, as a Kafka segment's; moving the start renames the file. Bytes
before the start remain until the file is rewritten: a new file is written, synced and renamed. A process may therefore
end at any moment: all it has written remains, up to a torn batch at the end, which ``open`` cuts off.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from mmap import ACCESS_READ, mmap
from pathlib import Path

from mockbroker.data_directories.batch_scan import Damage, scan
from mockbroker.data_directories.files import Files, StorageError, open_file, sync_directory
from mockbroker.state.logs.log import StoredBatch, size_of

log = logging.getLogger("mockbroker.storage")

NAME = re.compile(r"\d{20}\.log")
COPY_BYTES = 1 << 20


class DamagedLogError(OSError):
    """A log that is damaged before its end; the text names the file and the byte."""


class LogFile:
    """A log's file. ``start`` is the log's start offset, ``size`` the number of bytes.

    The file is created by the first batch or the first move of the start.
    """

    def __init__(self, directory: Path, files: Files) -> None:
        self.directory, self.files = directory, files
        self.start = self.size = 0
        self._path: Path | None = None
        self._has_new_name = False  # the directory is not synced yet

    @classmethod
    def open(cls, directory: Path, files: Files) -> tuple[LogFile, list[StoredBatch]]:
        """The file of a directory, which need not exist, and its batches. A torn end is cut off.

        Raises: DamagedLogError: bytes are damaged, and sound batches follow. OSError.
        """
        made = cls(directory, files)
        paths = sorted(directory.iterdir()) if directory.is_dir() else []
        names = [path for path in paths if NAME.fullmatch(path.name)]
        if not names:
            return made, []
        path = made._path = names[-1]
        made.start = int(path.stem)
        found, damage = read_batches(path, made.start)
        made.size = size_of(found)
        if damage is not None:
            position, reason, sound_at = damage
            cut = path.stat().st_size - position
            if sound_at is not None:
                raise DamagedLogError(
                    f"{path}, byte {position}: {reason}; there is a sound batch at byte {sound_at}, so this is not a "
                    f"torn end. To give up all from there on: truncate -s {position} {path}"
                )
            files.truncate(path, position)
            files.sync(path)
            log.warning("%s: %d bytes cut off %s (byte %d: %s)", directory.name, cut, path, position, reason)
        for old in paths:
            if old != path and (old in names or old.suffix == ".tmp"):
                old.unlink()  # the rest of an interrupted rewrite, complete or not
        return made, found

    def append(self, data: bytes) -> int:
        """Write a batch at the end, all or nothing; returns its position. Raises StorageError."""
        position = self.size
        with storage_errors("write", self._path or self.directory):
            path = self._made()
            try:
                self.files.write_at(path, data, position)
            except OSError:
                with suppress(OSError):  # the next batch overwrites the rest
                    self.files.truncate(path, position)
                raise
        self.size += len(data)
        return position

    def read(self, position: int, size: int) -> bytes:
        """Bytes of the file. Raises StorageError."""
        assert self._path is not None
        with storage_errors("read", self._path):
            data = self.files.read(self._path, position, size)
        if len(data) < size:
            raise StorageError(f"cannot read {self._path}", f"it ends at byte {position + len(data)}")
        return data

    def truncate(self, size: int) -> None:
        """Cut off the file after this number of bytes. Raises StorageError."""
        if self._path is None:
            return
        with storage_errors("write", self._path):
            self.files.truncate(self._path, size)
        self.size = size

    def move_start(self, offset: int) -> None:
        """Move the log's start to a later offset. A rename that fails is logged; the next ``sync`` tries it again."""
        self.start = offset
        try:
            self._rename()
        except OSError as error:
            log.warning("%s: cannot note that the log starts at %d: %s", self._path, offset, error)

    def rewrite(self, pieces: Iterable[bytes], rest_at: int) -> None:
        """Rewrite the file: these bytes, then its own from a position on. Raises StorageError: nothing has changed."""
        target = self._target()
        with storage_errors("write", target):
            path = self._made()
            self.size = self.files.replace(target, chain(pieces, self._copied(path, rest_at)))
        self._path, self._has_new_name = target, True
        if path != target:
            with suppress(OSError):  # the next open removes it
                self.files.remove(path)

    def sync(self) -> None:
        """Sync the file and its name. Raises StorageError."""
        if self._path is None:
            return
        with storage_errors("sync", self._path):
            self._rename()
            self.files.sync(self._path)
            if self._has_new_name:
                for directory in (self.directory, self.directory.parent):
                    sync_directory(directory)
                self._has_new_name = False

    def _target(self) -> Path:
        return self.directory / f"{self.start:020d}.log"

    def _made(self) -> Path:
        if self._path is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            target = self._target()
            self.files.create(target)
            self._path, self._has_new_name = target, True
        return self._path

    def _rename(self) -> None:
        """Rename the file after the log's start offset. Raises OSError."""
        path, target = self._made(), self._target()
        if path != target:
            self.files.rename(path, target)
            self._path, self._has_new_name = target, True

    def _copied(self, path: Path, position: int) -> Iterator[bytes]:
        while position < self.size:
            data = self.files.read(path, position, min(COPY_BYTES, self.size - position))
            if not data:
                raise OSError(f"it ends at byte {position}")
            yield data
            position += len(data)


@contextmanager
def storage_errors(what: str, path: Path) -> Iterator[None]:
    """Raise StorageError for an OSError of the block."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot {what} {path}", error) from error


def read_batches(path: Path, start: int) -> tuple[list[StoredBatch], Damage | None]:
    """The batches of a file, and the damage after them. Raises OSError."""
    with os.fdopen(open_file(path), "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return [], None
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return scan(data, start)
