"""The controller's part of a data directory: which cluster it is of, its metadata log, and what a start finds there."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Any

from kafka_rack.plurals import counted
from mockbroker.adapters.storage.checkpoint_files import META_PROPERTIES, read_properties, uuid_text
from mockbroker.adapters.storage.data_directory import CONTROLLER, DataDirectory, DataDirectoryError
from mockbroker.adapters.storage.metadata_log import MetadataLog, MetadataRules
from mockbroker.state.settings import KafkaSettings
from mockbroker.state.topics.topic import random_uuid

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.image.image import Image

log = logging.getLogger("mockbroker.storage")


class KeptMetadata:
    """The metadata in a data directory, which a cluster of these brokers goes on from.

    Args:
        seed: what a new cluster's id is drawn from.
        sync: have each commit reach the disk before it counts.

    Raises: DataDirectoryError: what is there cannot be gone on from. StorageError, OSError.
    """

    def __init__(
        self,
        data: DataDirectory,
        brokers: Sequence[Broker],
        settings: Mapping[str, Any] | None,
        seed: int,
        *,
        sync: bool = False,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._data, self._seconds, self._began = data, seconds, seconds()
        controller = data.path / CONTROLLER
        named = read_properties(controller / META_PROPERTIES)
        has_logs = not data.is_new and any(data.log_directories())
        self.cluster_id = named.get("cluster.id") or uuid_text(random_uuid(Random(seed)))
        node_id = named.get("node.id", "")
        lowest = min(broker.id for broker in brokers)
        self._node_id = int(node_id) if node_id.isdecimal() else lowest
        directory_id = sha256(f"{self.cluster_id} controller".encode()).digest()[:16]
        rules = MetadataRules.of(settings if isinstance(settings, KafkaSettings) else KafkaSettings(settings))
        data.write_meta(controller, self.cluster_id, self._node_id, directory_id)
        self.record_log, self.found = MetadataLog.open(
            controller, self._node_id, rules=rules, files=data.files, sync=sync
        )
        if self.found.image is None and has_logs:
            raise DataDirectoryError(f"{data.path} has the logs of brokers, but {controller} has no metadata of them")
        for repair in self.found.repairs:
            log.warning("%s: %s", self.record_log.directory, repair)
        for difference in () if self.found.image is None else differences(self.found.image, brokers):
            log.warning("%s", difference)

    def durable(self) -> dict[str, Any]:
        """What ``Cluster.create`` is given to go on from here."""
        return {
            "image": self.found.image,
            "record_log": self.record_log,
            "cluster_id": self.cluster_id,
            "is_durable": True,
            "now_ms": int(time.time() * 1000),
        }

    def watch(self, cluster: Cluster) -> str:
        """Keep the cluster's metadata small from now on; gives a line that says what it began with."""
        self.record_log.watch(cluster.image)
        path, image = self._data.path, cluster.image
        if self.found.image is None:
            return f"data directory {path}: new"
        partitions = sum(len(topic.partitions) for topic in image.topics.values())
        groups = len(image.groups.keys() | image.modern_groups.keys() | image.offsets.keys())
        parts = [
            counted(len(image.topics), "topic"),
            counted(partitions, "partition"),
            counted(groups, "group"),
            counted(len(image.transactions), "transactional id"),
        ]
        line = f"data directory {path}: {', '.join(parts)}; {counted(self.found.records, 'metadata record')} read"
        line += f"; {self._seconds() - self._began:.2f} s"
        if not self._data.is_clean:
            line += "; it was not closed in order, so logs are checked where they were not flushed"
        return line

    def close(self) -> None:
        """Have all of it reach the disk. Raises StorageError."""
        self.record_log.close()


def differences(image: Image, brokers: Sequence[Broker]) -> list[str]:
    """What a cluster's brokers are that were others before, a sentence each."""
    found = []
    present = {broker.id: broker for broker in brokers}
    for broker_id, before in sorted(image.brokers.items()):
        broker = present.get(broker_id)
        if broker is None:
            held = sum(broker_id in one.replicas for topic in image.topics.values() for one in topic.partitions)
            found.append(
                f"the data directory has a broker {broker_id}, and no broker of that id starts: "
                f"its replicas of {counted(held, 'partition')} are offline"
            )
        elif (broker.rack or None) != (before.rack or None):
            found.append(
                f"broker {broker_id} was in rack {before.rack or 'none'} and is in {broker.rack or 'none'} now: "
                "its replicas stay where they are"
            )
    found += [
        f"broker {broker_id} is new to the data directory: it has no replicas until some are moved there"
        for broker_id in sorted(present)
        if broker_id not in image.brokers and image.brokers
    ]
    return found
