"""Files that are written at their end and read anywhere: what is half written is taken back.

All that touches the operating system goes through ``Files``, so that a test can have a disk that is full.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from pathlib import Path

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

log = logging.getLogger("mockbroker.storage")

MAX_OPEN = 256
"""Files that are open at a time: those that were used last."""


class StorageError(ApiError):
    """The disk did not take or give bytes; nothing is half written. Clients are told KAFKA_STORAGE_ERROR."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, message)
        self.args = (message,)  # as they come, so that it pickles


class Files:
    """Reads and writes files by path, keeping the descriptors of those that were used last."""

    def __init__(self, max_open: int = MAX_OPEN) -> None:
        self._open: OrderedDict[Path, int] = OrderedDict()
        self._max_open = max_open
        self._torn: dict[Path, int] = {}  # files that end in what could not be taken back, and where they are to end

    # what a test may have fail

    def write(self, descriptor: int, data: bytes, position: int) -> int:
        """Write as much as there is room for; gives how much that was. Raises OSError."""
        return os.pwrite(descriptor, data, position)

    def sync(self, path: Path) -> None:
        """Have a file or a directory reach the disk; what is gone meanwhile is passed over. Raises OSError.

        It has a descriptor of its own, since this runs in other threads.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    # reading and writing

    def append(self, path: Path, data: bytes, size: int) -> None:
        """Write behind the first ``size`` bytes of a file, all or nothing. Raises StorageError."""
        try:
            descriptor = self._descriptor(path)
            if path in self._torn:
                os.ftruncate(descriptor, self._torn[path])
                del self._torn[path]
            done = 0
            try:
                while done < len(data):
                    done += self.write(descriptor, data[done:] if done else data, size + done)
            except OSError:
                self._torn[path] = size
                os.ftruncate(descriptor, size)
                del self._torn[path]
                raise
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror or error}") from error

    def read(self, path: Path, position: int, size: int) -> bytes:
        """Bytes of a file, fewer where it ends before. Raises StorageError."""
        try:
            return os.pread(self._descriptor(path), size, position)
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror or error}") from error

    def create(self, path: Path) -> None:
        """Make an empty file, or empty the one that is there. Raises OSError."""
        self.release(path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644))

    def replace(self, path: Path, data: bytes, *, sync: bool = False) -> None:
        """Have a file hold these bytes, or what it held before. Raises StorageError."""
        temporary = path.with_name(path.name + ".tmp")
        try:
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
            try:
                done = 0
                while done < len(data):
                    done += self.write(descriptor, data[done:], done)
                if sync:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self.release(path)
            temporary.replace(path)
            if sync:
                self.sync(path.parent)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StorageError(f"cannot write {path}: {error.strerror or error}") from error

    def truncate(self, path: Path, size: int) -> None:
        """Have a file end after so many bytes. Raises OSError."""
        os.ftruncate(self._descriptor(path), size)
        self._torn.pop(path, None)

    def rename(self, path: Path, to: Path) -> None:
        """Raises OSError."""
        self.release(path)
        self.release(to)
        path.replace(to)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there. Raises OSError."""
        self.release(path)
        path.unlink(missing_ok=True)

    def release(self, path: Path) -> None:
        """Close a file, if it is open."""
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)
        self._torn.pop(path, None)

    def close(self) -> None:
        """Close all."""
        for path in list(self._open):
            self.release(path)

    def _descriptor(self, path: Path) -> int:
        descriptor = self._open.get(path)
        if descriptor is None:
            if len(self._open) >= self._max_open:
                oldest = next((one for one in self._open if one not in self._torn), None)
                if oldest is not None:
                    os.close(self._open.pop(oldest))
            descriptor = self._open[path] = os.open(path, os.O_RDWR)
        else:
            self._open.move_to_end(path)
        return descriptor
