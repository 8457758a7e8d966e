"""A data directory: who may use it, and where the directories of brokers' logs are.

``DIR/broker-<id>/<n>/`` is the n-th log directory of a broker, as Kafka's ``log.dirs`` has them; below it are those of
partitions. ``DIR/.lock`` keeps a second process out, as long as the first one lives, and the ``.lock`` of each log
directory and of the controller's keeps a broker of Kafka out.

Source: LogManager.lockLogDirs and CleanShutdownFileHandler, Apache Kafka 4.4.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from mockbroker.adapters.storage.checkpoint_files import (
    CLEAN_SHUTDOWN,
    META_PROPERTIES,
    clean_shutdown_text,
    read_properties,
    uuid_text,
    write_properties,
)
from mockbroker.adapters.storage.files import Files

LOCK = ".lock"
BROKER = "broker-"
DISKLESS = "diskless"
CONTROLLER = "controller"
_OURS: set[Path] = set()  # what this process has: closing a file gives up the process's other locks on it


class DataDirectoryError(OSError):
    """A data directory that cannot be used."""


class DataDirectoryInUseError(DataDirectoryError):
    """Another cluster writes there."""


class DataDirectory:
    """A data directory that is ours until ``close``.

    ``is_new``: there is nothing in it. ``is_clean``: its last owner, if it had one, closed it in order.
    """

    def __init__(self, path: Path, files: Files, lock: int, *, is_new: bool, is_clean: bool) -> None:
        self.path, self.files, self.is_new, self.is_clean = path, files, is_new, is_clean
        self._lock: int | None = lock
        self._locks: dict[Path, int] = {}  # of directories that a broker of Kafka could be started on

    @classmethod
    def open(cls, path: Path | str, *, files: Files | None = None) -> DataDirectory:
        """Make it if need be, and lock it.

        Raises: DataDirectoryInUseError: another process, or another cluster of this one, has it.
            DataDirectoryError: it cannot be made, or not be written to.
        """
        path = Path(path).resolve()
        if path in _OURS:
            raise DataDirectoryInUseError(f"the data directory {path} is in use by another cluster of this process")
        try:
            path.mkdir(parents=True, exist_ok=True)
            refuse_brokers_own(path)
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except DataDirectoryError:
            raise
        except OSError as error:
            raise DataDirectoryError(f"cannot use the data directory {path}: {error.strerror or error}") from None
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as Java locks files
        except OSError:
            owner = os.pread(lock, 32, 0).decode(errors="replace").strip()
            os.close(lock)
            who = f"process {owner}" if owner.isdigit() else "another process"
            raise DataDirectoryInUseError(f"the data directory {path} is in use by {who}") from None
        try:
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            is_new = not any(path.glob(f"{BROKER}*")) and not (path / CONTROLLER).exists()
            is_clean = is_new or (path / CLEAN_SHUTDOWN).exists()
            made = cls(path, Files() if files is None else files, lock, is_new=is_new, is_clean=is_clean)
            made._lock_against_kafka([path / CONTROLLER, *made.log_directories()])
            for directory in (path, *made.log_directories()):
                (directory / CLEAN_SHUTDOWN).unlink(missing_ok=True)
        except DataDirectoryInUseError:
            os.close(lock)
            raise
        except OSError as error:
            os.close(lock)
            raise DataDirectoryError(f"cannot use the data directory {path}: {error.strerror or error}") from None
        _OURS.add(path)
        return made

    def log_directory(self, broker_id: int, number: int = 0) -> Path:
        """The n-th log directory of a broker."""
        return self.path / f"{BROKER}{broker_id}" / str(number)

    @property
    def diskless_directory(self) -> Path:
        """Where the logs of diskless topics are, which no broker has."""
        return self.path / DISKLESS

    def log_directories(self) -> Iterator[Path]:
        """All that are there, by broker and number."""
        brokers = (one for one in self.path.glob(f"{BROKER}*") if one.name.removeprefix(BROKER).isdecimal())
        for broker in sorted(brokers, key=lambda one: int(one.name.removeprefix(BROKER))):
            numbered = (one for one in broker.iterdir() if one.is_dir() and one.name.isdecimal())
            yield from sorted(numbered, key=lambda one: int(one.name))
        if self.diskless_directory.is_dir():
            yield self.diskless_directory

    def write_meta(self, directory: Path, cluster_id: str, node_id: int, directory_id: bytes) -> None:
        """Have a log directory name its cluster, unless it does. Raises StorageError, DataDirectoryError, OSError."""
        path = directory / META_PROPERTIES
        values = read_properties(path)
        if values.get("cluster.id", cluster_id) != cluster_id or values.get("node.id", str(node_id)) != str(node_id):
            raise DataDirectoryError(
                f"{path}: expected cluster {cluster_id} and node {node_id}, "
                f"got cluster {values.get('cluster.id')} and node {values.get('node.id')}"
            )
        if not values:
            directory.mkdir(parents=True, exist_ok=True)
            write_properties(
                self.files,
                path,
                {
                    "version": 1,
                    "cluster.id": cluster_id,
                    "node.id": node_id,
                    "directory.id": uuid_text(directory_id),
                },
            )
        self._lock_against_kafka([directory])

    def _lock_against_kafka(self, directories: Iterable[Path]) -> None:
        """Take the locks that a broker takes. Raises DataDirectoryInUseError: one has them. OSError."""
        for directory in directories:
            if directory in self._locks or not directory.is_dir():
                continue
            lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                self._unlock()
                raise DataDirectoryInUseError(f"{directory} is in use by a broker of Apache Kafka") from None
            self._locks[directory] = lock

    def _unlock(self) -> None:
        for lock in self._locks.values():
            os.close(lock)
        self._locks.clear()

    def close(self, *, clean: bool) -> None:
        """Give it back; ``clean`` says that all in it is as it is to be. Raises StorageError."""
        if self._lock is None:
            return
        try:
            if clean:
                for directory in (*self.log_directories(), self.path):
                    self.files.replace(directory / CLEAN_SHUTDOWN, clean_shutdown_text(-1), sync=True)
        finally:
            self.files.close()
            self._unlock()
            os.close(self._lock)
            self._lock = None
            _OURS.discard(self.path)


def refuse_brokers_own(path: Path) -> None:
    """Raises DataDirectoryError: a broker of Apache Kafka has its data there."""
    own = [path / META_PROPERTIES, *(one / META_PROPERTIES for one in path.iterdir() if one.name != CONTROLLER)]
    if any(one.is_file() for one in own):
        raise DataDirectoryError(
            f"{path} is the data directory of a broker of Apache Kafka, which can only be read (--read-only); "
            "expected a new one, or one of ours"
        )
