"""The data directory of one Kafka broker, looked at without changing anything: whose it is, and where its logs are.

Source: MetaPropertiesEnsemble, LogManager and LogDirFailureChannel, Apache Kafka 4.4; KIP-858 for directory ids.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from mockbroker.adapters.storage.checkpoint_files import (
    CLEAN_SHUTDOWN,
    META_PROPERTIES,
    RECOVERY_POINTS,
    START_OFFSETS,
    CheckpointError,
    read_offsets,
    read_properties,
    read_topic_id,
)

LOCK = ".lock"
METADATA_LOG = "__cluster_metadata-0"
PROPERTIES_VERSION = "1"
GONE = ("-delete", "-stray", "-future")
"""How the directories of partitions end that are about to go, or are not whole yet, behind a point and an id."""


class KafkaDirectoryError(ValueError):
    """A directory that is not one broker's, is in use, or is of a version that cannot be read."""


@dataclass(slots=True)
class KafkaDirectory:
    """A broker's log directories, which ``open`` finds and locks against that broker's own start.

    ``partitions`` has the directory of each partition by topic id and number, ``start_offsets`` where its log begins
    and ``recovery_points`` how far it was on the disk for sure, both by topic and number and only where that was kept.
    """

    node_id: int
    cluster_id: str
    log_dirs: list[Path]
    is_clean: bool
    partitions: dict[tuple[bytes, int], Path] = field(default_factory=dict)
    start_offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    recovery_points: dict[tuple[str, int], int] = field(default_factory=dict)
    metadata_log: Path | None = None
    _locks: list[int] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path) -> Self:
        """The directory that a broker's ``log.dirs`` names, or one with all of them inside.

        Raises KafkaDirectoryError, OSError.
        """
        log_dirs = list(log_dirs_in(path))
        if not log_dirs:
            raise KafkaDirectoryError(
                f"{path}: expected a Kafka broker's log directory, but there is no meta.properties"
            )
        properties = [checked_properties(one) for one in log_dirs]
        for name in ("cluster.id", "node.id"):
            values = sorted({one[name] for one in properties})
            if len(values) > 1:
                raise KafkaDirectoryError(
                    f"{path}: expected one broker's directories, but {name} is {' and '.join(values)}"
                )
        found = cls(
            int(properties[0]["node.id"]),
            properties[0]["cluster.id"],
            log_dirs,
            all((one / CLEAN_SHUTDOWN).exists() for one in log_dirs),
        )
        try:
            for one in log_dirs:
                found._lock(one)
                found._look_into(one)
        except BaseException:
            found.close()
            raise
        return found

    def close(self) -> None:
        """Give the locks back."""
        for descriptor in self._locks:
            os.close(descriptor)
        self._locks.clear()

    def _lock(self, log_dir: Path) -> None:
        """Share the lock that a broker has for itself. Raises KafkaDirectoryError: one has it."""
        try:
            descriptor = os.open(log_dir / LOCK, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise KafkaDirectoryError(f"{log_dir}: a broker is running on it: {error.strerror or error}") from None
        self._locks.append(descriptor)

    def _look_into(self, log_dir: Path) -> None:
        try:
            self.start_offsets.update(read_offsets(log_dir / START_OFFSETS))
            self.recovery_points.update(read_offsets(log_dir / RECOVERY_POINTS))
            for one in sorted(log_dir.iterdir()):
                topic, _, number = one.name.rpartition("-")
                if one.name == METADATA_LOG:
                    self.metadata_log = one
                elif topic and number.isascii() and number.isdigit() and not one.name.endswith(GONE) and one.is_dir():
                    topic_id = read_topic_id(one)
                    if topic_id is not None:
                        self.partitions[topic_id, int(number)] = one
        except CheckpointError as error:
            raise KafkaDirectoryError(str(error)) from None


def log_dirs_in(path: Path) -> Iterator[Path]:
    """The directory itself if it is a log directory, else those directly below it that are. Raises OSError."""
    if (path / META_PROPERTIES).is_file():
        yield path
        return
    for one in sorted(path.iterdir()):
        with suppress(PermissionError):
            if (one / META_PROPERTIES).is_file():
                yield one


def checked_properties(log_dir: Path) -> dict[str, str]:
    """What ``meta.properties`` says. Raises KafkaDirectoryError: not what KRaft brokers write."""
    path = log_dir / META_PROPERTIES
    properties = read_properties(path)
    version = properties.get("version")
    if version != PROPERTIES_VERSION:
        raise KafkaDirectoryError(
            f"{path}: expected version {PROPERTIES_VERSION}, which brokers in KRaft mode write, got {version}"
        )
    for name in ("cluster.id", "node.id"):
        if not properties.get(name):
            raise KafkaDirectoryError(f"{path}: expected {name}, but it is missing")
    if not properties["node.id"].isascii() or not properties["node.id"].isdigit():
        raise KafkaDirectoryError(f"{path}: expected a number for node.id, got {properties['node.id']!r}")
    return properties
