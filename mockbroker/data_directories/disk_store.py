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
from mockbroker.data_directories.disk_log import DiskLog, SegmentRules
from mockbroker.data_directories.log_file import LogFile
from mockbroker.state.image import TOPIC_RESOURCE
from mockbroker.state.logs.log import UNBOUNDED
from mockbroker.state.logs.store import LogStore
from protocol.uuids import uuid_from_text, uuid_to_text

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

log = logging.getLogger("mockbroker.storage")

STRAY = ".stray"


class DiskLogStore(LogStore):
    """Stores logs in a data directory."""

    def __init__(self, data: DataDirectory) -> None:
        super().__init__()
        self.data = data
        self._cluster: Cluster | None = None

    def attach(self, cluster: Cluster) -> None:
        """Read all logs of the directory; those of unknown topics are renamed.

        Raises: DamagedLogError: a log is damaged before its end. OSError.
        """
        self._cluster = cluster
        topics = cluster.image.topics
        for topic_id, index, directory in list(partitions_in(self.data.path)):
            if topic_id not in topics or index >= len(topics[topic_id].partitions):
                log.warning("%s belongs to no topic; it is renamed to %s%s", directory, directory.name, STRAY)
                directory.rename(directory.with_name(directory.name + STRAY))
                continue
            file, found = LogFile.open(directory, self.data.files)
            opened = DiskLog(file, self.data.written)
            self._logs.setdefault(topic_id, {})[index] = opened
            modified_ms = max((path.stat().st_mtime_ns for path in directory.iterdir()), default=0) // 1_000_000
            opened.take(found, self._segment_rules(topic_id), modified_ms)

    def new_log(self, topic_id: bytes, partition: int) -> DiskLog:
        directory = self.data.path / f"{uuid_to_text(topic_id)}-{partition}"
        return DiskLog(LogFile(directory, self.data.files), self.data.written)

    def delete(self, topic_id: bytes) -> None:
        for one in self._logs.pop(topic_id, {}).values():
            assert isinstance(one, DiskLog)
            self.data.unsynced.pop(one.file, None)
            one.file.close()
            rmtree(one.file.directory, ignore_errors=True)  # the next start renames the rest

    def _segment_rules(self, topic_id: bytes) -> SegmentRules:
        """When the segments of a log are full, by the topic's configs in the image."""
        assert self._cluster is not None
        memory = self._cluster.log_cleanup.memory
        max_bytes = UNBOUNDED if memory is None else memory.segment_bytes
        return SegmentRules(
            min(max_bytes, self._config(topic_id, "segment.bytes")), self._config(topic_id, "segment.ms")
        )

    def _config(self, topic_id: bytes, name: str) -> int:
        """A config of a topic, which may not be loaded yet."""
        assert self._cluster is not None
        topic = self._cluster.topic_by_id.get(topic_id)
        if topic is not None:
            return int(topic.config(name))
        image = self._cluster.image
        own = image.configs.get((TOPIC_RESOURCE, image.topics[topic_id].name), {}) if topic_id in image.topics else {}
        return int(own[name] if name in own else self._cluster.configs.topic_default(name))


def partitions_in(path: Path) -> Iterator[tuple[bytes, int, Path]]:
    """Topic id, partition and directory of each log in a data directory, in a fixed order."""
    for directory in sorted(path.iterdir()):
        topic_id, _, index = directory.name.rpartition("-")
        if directory.name != METADATA and index.isdecimal() and len(index) < 11 and len(topic_id) == 22:
            yield uuid_from_text(topic_id), int(index), directory
