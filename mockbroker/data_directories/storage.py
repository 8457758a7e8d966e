"""The storage of a running cluster: opened before the cluster is built, synced while it runs."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from kafka_rack.plurals import counted
from mockbroker.data_directories.directory import METADATA, DataDirectory, DataDirectoryError
from mockbroker.data_directories.disk_store import DiskLogStore, partitions_in
from mockbroker.data_directories.files import Files
from mockbroker.data_directories.metadata_log import MetadataLog
from mockbroker.state.topics.topic import random_uuid
from protocol.uuids import uuid_to_text

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster


class Storage(DataDirectory):
    """A data directory, and the logs in it.

    ``summary`` is one line about the data that the cluster began with.

    Raises: DataDirectoryError, OSError.
    """

    def __init__(self, path: Path | str, *, always: bool = False, files: Files | None = None) -> None:
        self._began = time.monotonic()
        super().__init__(path, always=always, files=files)
        self.store = DiskLogStore(self)
        self.summary = ""

    def durable(self, seed: int) -> dict[str, Any]:
        """The arguments of ``Cluster.create`` that continue from this directory.

        Args:
            seed: the id of a new cluster is drawn from it.

        Raises: DamagedLogError, DataDirectoryError: the data cannot be used. StorageError, OSError.
        """
        cluster_id = self.cluster_id(uuid_to_text(random_uuid(Random(seed))))
        metadata = MetadataLog(self)
        if metadata.image is None and any(partitions_in(self.path)):
            raise DataDirectoryError(f"{self.path} has logs of partitions, but {METADATA} has no metadata of them")
        self.summary = "new" if metadata.image is None else counted(metadata.count, "metadata record") + " read"
        return {
            "image": metadata.image,
            "record_log": metadata,
            "log_store": self.store,
            "cluster_id": cluster_id,
            "is_durable": True,
            "now_ms": int(time.time() * 1000),
        }

    def summarize(self, cluster: Cluster) -> None:
        """Set ``summary``, once the cluster has been built."""
        topics, found = cluster.image.topics.values(), self.summary
        if found != "new":
            partitions = counted(sum(len(topic.partitions) for topic in topics), "partition")
            seconds = time.monotonic() - self._began
            found = f"{counted(len(topics), 'topic')}, {partitions}; {found}; {seconds:.2f} s"
        self.summary = f"data directory {self.path}: {found}"
