"""A data directory: its lock, its cluster id, and the logs to sync.

Source of the lock: LogManager.lockLogDirs, Apache Kafka 4.4.
"""

from __future__ import annotations

import fcntl
import logging
import os
from pathlib import Path

from mockbroker.data_directories.files import Files, StorageError, open_file, sync_directory
from mockbroker.data_directories.log_file import LogFile

log = logging.getLogger("mockbroker.storage")

LOCK, CLUSTER_ID, METADATA = ".lock", "cluster-id", "__cluster_metadata-0"
MOST_ID_BYTES = 1024
KAFKAS = "meta.properties"


class DataDirectoryError(OSError):
    """A data directory that cannot be used."""


class DataDirectoryInUseError(DataDirectoryError):
    """Another cluster has the data directory open."""


class DataDirectory:
    """A data directory, locked until ``close``; created if necessary. ``is_new``: no cluster has written to it before.

    ``unsynced`` are the logs that must be synced before the next response: with ``always``, those that were written to.

    Raises: DataDirectoryInUseError: another process, or another cluster of this process, has locked it.
        DataDirectoryError: it cannot be created or written to, or it has the data of a broker of Apache Kafka.
    """

    def __init__(self, path: Path | str, *, files: Files | None = None, always: bool = False) -> None:
        self.path = Path(path).resolve()
        self.files = Files() if files is None else files
        self.always = always
        self.unsynced: dict[LogFile, None] = {}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if (self.path / KAFKAS).exists():
                raise DataDirectoryError(
                    f"{self.path} is the data directory of a broker of Apache Kafka; expected a new one, or one of ours"
                )
            self._lock: int | None = open_file(self.path / LOCK, os.O_CREAT)
            try:
                take_lock(self._lock, self.path)
            except BaseException:
                os.close(self._lock)
                raise
            self.is_new = not (self.path / CLUSTER_ID).exists()
        except DataDirectoryError:
            raise
        except OSError as error:
            raise DataDirectoryError(f"cannot use the data directory {self.path}: {error.strerror or error}") from None

    def cluster_id(self, drawn: str) -> str:
        """The id of its cluster, ``drawn`` if it is new. Raises OSError."""
        path = self.path / CLUSTER_ID
        if self.is_new:
            self.files.replace(path, [drawn.encode()])
            sync_directory(self.path)
        return self.files.read(path, 0, MOST_ID_BYTES).decode(errors="replace")

    def written(self, file: LogFile) -> None:
        """A batch was written to a log."""
        if self.always:
            self.unsynced[file] = None

    def sync(self) -> None:
        """Sync the ``unsynced`` logs. Raises StorageError: a log could not be synced; it remains among them."""
        for file in list(self.unsynced):
            file.sync()
            del self.unsynced[file]

    def close(self) -> None:
        """Sync and unlock the directory."""
        try:
            self.sync()
        except StorageError as error:
            log.error("%s", error.message)  # noqa: TRY400 - a line says it all
        finally:
            self.unlock()

    def unlock(self) -> None:
        """Unlock the directory without a sync."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def take_lock(lock: int, path: Path) -> None:
    """Lock the open file and write this process's id into it. Raises DataDirectoryInUseError, OSError."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(lock, 32, 0).decode(errors="replace").strip()
        who = f"process {owner}" if owner.isdigit() else "another process"
        if owner == str(os.getpid()):
            who = "another cluster of this process"
        raise DataDirectoryInUseError(f"the data directory {path} is in use by {who}") from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
