"""Files that are written at their end and read anywhere.

Every call to the operating system that can fail for lack of space goes through ``Files``, so that a test can simulate
a full disk.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # opening a pipe must not block


class StorageError(ApiError):
    """A read or write failed; no bytes were written in part. Clients get KAFKA_STORAGE_ERROR."""

    def __init__(self, what: str, error: OSError | str) -> None:
        reason = error.strerror or error if isinstance(error, OSError) else error
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, f"{what}: {reason}")


class Files:
    """Reads and writes files by path. All methods raise OSError."""

    # operations that a test may let fail

    def write(self, descriptor: int, data: bytes, position: int) -> int:
        """Write as much as fits; returns the number of bytes written."""
        return os.pwrite(descriptor, data, position)

    def sync(self, path: Path) -> None:
        """Write the bytes of a file through to the disk."""
        with opened(path) as descriptor:
            os.fsync(descriptor)

    def rename(self, path: Path, to: Path) -> None:
        path.replace(to)

    def remove(self, path: Path) -> None:
        """Remove a file if it exists."""
        path.unlink(missing_ok=True)

    # operations for logs

    def write_at(self, path: Path, data: bytes, position: int) -> None:
        """Write all bytes into an existing file."""
        with opened(path) as descriptor:
            done = 0
            while done < len(data):
                done += self.write(descriptor, data[done:] if done else data, position + done)

    def read(self, path: Path, position: int, size: int) -> bytes:
        """Bytes of a file, fewer if it ends earlier."""
        with opened(path) as descriptor:
            return os.pread(descriptor, size, position)

    def truncate(self, path: Path, size: int) -> None:
        with opened(path) as descriptor:
            os.ftruncate(descriptor, size)

    def create(self, path: Path) -> None:
        """Create an empty file, or empty an existing one."""
        with opened(path, os.O_CREAT | os.O_TRUNC):
            pass

    def replace(self, path: Path, pieces: Iterable[bytes]) -> int:
        """Replace a file's content atomically and sync it; returns the number of bytes."""
        temporary = path.with_name(path.name + ".tmp")
        try:
            self.create(temporary)
            size = 0
            for piece in pieces:
                self.write_at(temporary, piece, size)
                size += len(piece)
            self.sync(temporary)
            self.rename(temporary, path)
        except OSError:
            self.remove(temporary)
            raise
        return size


@contextmanager
def opened(path: Path, flags: int = 0) -> Iterator[int]:
    """The descriptor of a regular file, until the block ends. Raises OSError."""
    descriptor = open_file(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_file(path: Path, flags: int = 0) -> int:
    """The descriptor of a regular file, without following a symlink. Raises OSError."""
    descriptor = os.open(path, FLAGS | flags, 0o644)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "expected a regular file", str(path))
    return descriptor


def sync_directory(path: Path) -> None:
    """Write the names in a directory through to the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
