"""The logs of a cluster in a data directory, one directory per partition: ``<topic id>-<partition>``.

One log serves all replicas of a partition. The id distinguishes a topic from a deleted one of the same name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from mockbroker.data_directories.directory import METADATA, DataDirectory
from mockbroker.data_directories.disk_log import DiskLog
from mockbroker.data_directories.log_file import LogFile
from mockbroker.state.configs.definitions import TOPIC
from mockbroker.state.logs.store import LogStore
from protocol.uuids import uuid_from_text, uuid_to_text

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

log = logging.getLogger("mockbroker.storage")

STRAY = ".stray"
SEGMENT_CONFIGS = ("segment.bytes", "segment.ms")


class DiskLogStore(LogStore):
    """Stores logs in a data directory."""

    def __init__(self, data: DataDirectory) -> None:
        super().__init__()
        self.data = data

    def attach(self, cluster: Cluster) -> None:
        """Read all logs of the directory; those of unknown topics are renamed.

        Raises: DamagedLogError: a log is damaged before its end. OSError.
        """
        topics, max_bytes = cluster.image.topics, cluster.log_cleanup.memory.segment_bytes
        for topic_id, index, directory in list(partitions_in(self.data.path)):
            if topic_id not in topics or index >= len(topics[topic_id].partitions):
                log.warning("%s belongs to no topic; it is renamed to %s%s", directory, directory.name, STRAY)
                directory.rename(directory.with_name(directory.name + STRAY))
                continue
            file, found = LogFile.open(directory, self.data.files)
            opened = DiskLog(file, self.data.written)
            self._logs.setdefault(topic_id, {})[index] = opened
            modified_ms = max((path.stat().st_mtime_ns for path in directory.iterdir()), default=0) // 1_000_000
            name = topics[topic_id].name
            segment_bytes, segment_ms = (cluster.configs.value(TOPIC, name, one) for one in SEGMENT_CONFIGS)
            opened.take(found, modified_ms, min(max_bytes, segment_bytes), segment_ms)

    def new_log(self, topic_id: bytes, partition: int) -> DiskLog:
        directory = self.data.path / f"{uuid_to_text(topic_id)}-{partition}"
        return DiskLog(LogFile(directory, self.data.files), self.data.written)

    def delete(self, topic_id: bytes) -> None:
        for one in self._logs.pop(topic_id, {}).values():
            assert isinstance(one, DiskLog)
            self.data.unsynced.pop(one.file, None)
            rmtree(one.file.directory, ignore_errors=True)  # the next start renames the rest


def partitions_in(path: Path) -> Iterator[tuple[bytes, int, Path]]:
    """Topic id, partition and directory of each log in a data directory, in a fixed order."""
    for directory in sorted(path.iterdir()):
        topic_id, _, index = directory.name.rpartition("-")
        if directory.name != METADATA and index.isdecimal() and len(index) < 11 and len(topic_id) == 22:
            yield uuid_from_text(topic_id), int(index), directory
