"""A cluster of one broker out of the data directory of a Kafka, which stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mockbroker.adapters.storage.kafka_directory import KafkaDirectory, KafkaDirectoryError
from mockbroker.adapters.storage.kafka_metadata import UnreadableMetadataError, read_metadata
from mockbroker.adapters.storage.read_only_store import ReadOnlyLogStore
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.features import METADATA_VERSION, supported_levels
from mockbroker.state.image.image import Image
from mockbroker.state.topics.coordinator_loading import load_coordinators
from protocol.errors import ProtocolError

NOTHING_IS_MADE = {"auto.create.topics.enable": "false"}


def open_read_only(
    path: Path | str, brokers: Sequence[Broker], settings: Mapping[str, Any] | None = None, *, seed: int = 0
) -> tuple[Cluster, ReadOnlyLogStore]:
    """The cluster as a broker finds it that starts on the directory, and its logs, which are to be closed.

    Args:
        brokers: one, whose listeners count; its id and rack are the directory's.

    Raises: KafkaDirectoryError: the directory is in use, of several brokers, or cannot be read. OSError.
    """
    path = Path(path)
    directory = KafkaDirectory.open(path)
    store = ReadOnlyLogStore(directory)
    try:
        if len(brokers) != 1:
            raise KafkaDirectoryError(f"{path}: it is one broker's, so expected 1 broker, got {len(brokers)}")
        if directory.metadata_log is None:
            raise KafkaDirectoryError(f"{path}: expected __cluster_metadata-0 in one of the log directories")
        image = read_metadata(directory.metadata_log)
        check_image(path, image, directory.node_id)
        load_coordinators(image, store)
        broker = replace(brokers[0], id=directory.node_id, rack=image.brokers[directory.node_id].rack)
        cluster = Cluster.create(
            [broker],
            settings={**NOTHING_IS_MADE, **(settings or {})},
            seed=seed,
            image=image,
            log_store=store,
            cluster_id=directory.cluster_id,
            is_read_only=True,
        )
    except (UnreadableMetadataError, ProtocolError) as error:
        store.close()
        raise KafkaDirectoryError(f"{path}: {error}") from error
    except BaseException:
        store.close()
        raise
    return cluster, store


def check_image(path: Path, image: Image, node_id: int) -> None:
    """Refuse what this Kafka would not open, and what was not the only broker. Raises KafkaDirectoryError."""
    level = image.features.get(METADATA_VERSION)
    lowest, highest = supported_levels(None)[METADATA_VERSION]
    if level is None or not lowest <= level <= highest:
        raise KafkaDirectoryError(
            f"{path}: expected metadata.version {lowest} to {highest}, which Kafka 4.4 opens, got {level}"
        )
    if set(image.brokers) != {node_id}:
        raise KafkaDirectoryError(
            f"{path}: expected a cluster of broker {node_id} alone, but "
            f"{', '.join(map(str, sorted(image.brokers))) or 'no broker'} registered"
        )
