"""Kafka's small text files: checkpoints, ``partition.metadata``, ``meta.properties``, ``.kafka_cleanshutdown``.

Source: CheckpointFile, OffsetCheckpointFile, LeaderEpochCheckpointFile, PartitionMetadata, PropertiesUtils and
CleanShutdownFileHandler, Apache Kafka 4.4.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from mockbroker.adapters.storage.files import Files

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
VERSION = "0"
TOPIC_ID_BYTES = 16


class CheckpointError(ValueError):
    """A file that is not what it claims to be."""


def checkpoint_text(rows: Iterable[Iterable[object]]) -> bytes:
    """A checkpoint: its version, how many rows it has, and these.

    >>> checkpoint_text([("orders", 0, 7)])
    b'0\\n1\\norders 0 7\\n'
    """
    lines = [" ".join(map(str, row)) for row in rows]
    return "".join(f"{line}\n" for line in (VERSION, str(len(lines)), *lines)).encode()


def parse_checkpoint(data: bytes, columns: int) -> list[list[str]]:
    """The rows of a checkpoint; an empty file has none. Raises CheckpointError.

    >>> parse_checkpoint(b"0\\n1\\norders 0 7\\n", columns=3)
    [['orders', '0', '7']]
    """
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise CheckpointError(f"expected text: {error}") from None
    if not lines:
        return []
    if lines[0] != VERSION:
        raise CheckpointError(f"expected version {VERSION}, got {lines[0]!r}")
    if len(lines) < 2 or not lines[1].isascii() or not lines[1].isdigit():
        raise CheckpointError("expected the number of rows in the second line")
    rows = [line.split() for line in lines[2:]]
    if len(rows) != int(lines[1]):
        raise CheckpointError(f"expected {lines[1]} rows, got {len(rows)}")
    for row in rows:
        if len(row) != columns:
            raise CheckpointError(f"expected {columns} words, got {' '.join(row)!r}")
    return rows


def read_checkpoint(path: Path, columns: int) -> list[list[str]]:
    """The rows of a checkpoint, none where there is no file. Raises CheckpointError, OSError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    try:
        return parse_checkpoint(data, columns)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from None


def write_checkpoint(files: Files, path: Path, rows: Iterable[Iterable[object]], *, sync: bool = False) -> None:
    """Raises StorageError."""
    files.replace(path, checkpoint_text(rows), sync=sync)


def read_offsets(path: Path) -> dict[tuple[str, int], int]:
    """Offsets by topic and partition. Raises CheckpointError, OSError."""
    try:
        return {(topic, int(partition)): int(offset) for topic, partition, offset in read_checkpoint(path, 3)}
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from None


def write_offsets(files: Files, path: Path, offsets: Mapping[tuple[str, int], int], *, sync: bool = False) -> None:
    """Raises StorageError."""
    write_checkpoint(files, path, ((*place, offsets[place]) for place in sorted(offsets)), sync=sync)


def partition_metadata_text(topic_id: bytes) -> bytes:
    """What ``partition.metadata`` says.

    >>> partition_metadata_text(bytes(16))
    b'version: 0\\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA'
    """
    return f"version: {VERSION}\ntopic_id: {uuid_text(topic_id)}".encode()


def read_topic_id(directory: Path) -> bytes | None:
    """The topic id of a partition's directory; None without ``partition.metadata``. Raises CheckpointError, OSError."""
    path = directory / PARTITION_METADATA
    try:
        lines = path.read_bytes().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return None
    values = dict(line.split(": ", 1) for line in lines if ": " in line)
    try:
        topic_id = base64.urlsafe_b64decode(values["topic_id"] + "==")
    except (KeyError, ValueError):
        topic_id = b""
    if values.get("version") != VERSION or len(topic_id) != TOPIC_ID_BYTES:
        raise CheckpointError(f"{path}: expected version {VERSION} and a topic_id, got {lines!r}")
    return topic_id


def uuid_text(value: bytes) -> str:
    """A UUID as Kafka writes it.

    >>> uuid_text(bytes(range(16)))
    'AAECAwQFBgcICQoLDA0ODw'
    """
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def read_properties(path: Path) -> dict[str, str]:
    """A properties file, without escapes; empty where there is none. Raises OSError."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.lstrip().startswith("#"))
    return {name.strip(): value.strip() for name, value in pairs}


def write_properties(files: Files, path: Path, values: Mapping[str, object]) -> None:
    """Raises StorageError."""
    files.replace(path, "".join(f"{name}={values[name]}\n" for name in values).encode(), sync=True)


def clean_shutdown_text(broker_epoch: int) -> bytes:
    """What ``.kafka_cleanshutdown`` says of a broker that ended in order.

    >>> clean_shutdown_text(5)
    b'{"version":0,"brokerEpoch":5}'
    """
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()
