"""The image's metadata as records, and records as the batches of the metadata log.

What coordinators keep is not among them: it is in the logs of their topics.

Source: MetadataImage.write and its parts, BatchAccumulator, Apache Kafka 4.4.

>>> from protocol.embedded.metadata_settings import FeatureLevelRecord
>>> data = commit_batch([FeatureLevelRecord(name="kraft.version", feature_level=1)], 7, 2, timestamp_ms=0)
>>> [record.name for record in records_in(data)]
['kraft.version']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockbroker.state.image.acl_entries import AclEntries
from mockbroker.state.image.coordinator_records import CoordinatorRecord
from mockbroker.state.image.image import FIRST_PRODUCER_ID, Image
from protocol.embedded.metadata_frame import UnknownMetadataRecordError, read_frame, write_frame
from protocol.records import Record, build_batch, iter_records

METADATA_VERSION = "metadata.version"
NO_BROKER = -1
PASSED_OVER = frozenset({"RegisterControllerRecord", "UnregisterControllerRecord", "ZkMigrationStateRecord"})
"""Records about controllers, of which there is one here."""


@dataclass(slots=True, eq=False)
class MetadataBatches:
    """Keeps metadata records as the batches of their log, one a commit; those of coordinators go elsewhere.

    Args:
        write: is given each batch, and its last offset. What it raises ends the commit.
        now_ms: by the wall clock.
        leader_epoch: the controller's.
        end_offset: where the log goes on.

    >>> from protocol.embedded.metadata_settings import FeatureLevelRecord
    >>> written = []
    >>> batches = MetadataBatches(lambda data, last_offset: written.append(data), lambda: 0)
    >>> batches.append([FeatureLevelRecord(name="kraft.version", feature_level=1)])
    >>> batches.end_offset, image_of(written).features
    (1, {'kraft.version': 1})
    """

    write: Callable[[bytes, int], object]
    now_ms: Callable[[], int]
    leader_epoch: int = 1
    end_offset: int = 0

    def append(self, records: Sequence[object], /) -> None:
        """Write what is committed together, as far as it is metadata."""
        metadata = [record for record in records if not isinstance(record, CoordinatorRecord)]
        if metadata:
            data = commit_batch(metadata, self.end_offset, self.leader_epoch, timestamp_ms=self.now_ms())
            end_offset = self.end_offset + len(metadata)
            self.write(data, end_offset - 1)
            self.end_offset = end_offset


@dataclass(slots=True, eq=False)
class MetadataReplay:
    """Brings the records of a metadata log into an image; what a transaction there has (KIP-868) once that ends.

    ``count`` is how many records came. Those that say nothing about brokers and their clients are passed over.
    """

    image: Image = field(default_factory=Image)
    count: int = 0
    _pending: list[Any] | None = None

    def take(self, record: Any) -> None:
        """Raises TypeError: the image has no subject for the record."""
        self.count += 1
        kind = type(record).__name__
        if kind == "BeginTransactionRecord":
            self._pending = []
        elif kind in ("EndTransactionRecord", "AbortTransactionRecord"):
            pending, self._pending = self._pending or [], None
            for one in pending if kind == "EndTransactionRecord" else ():
                self.image.apply(one)
        elif kind in PASSED_OVER:
            pass
        elif self._pending is not None:
            self._pending.append(record)
        else:
            self.image.apply(record)


def image_of(batches: Iterable[bytes]) -> Image:
    """The image that the batches of a metadata log give. Raises: see ``records_in``."""
    replay = MetadataReplay()
    for batch in batches:
        for record in records_in(batch):
            replay.take(record)
    return replay.image


def copy_of_metadata(image: Image) -> Image:
    """An image with the metadata of this one, which changes by itself."""
    return Image(
        features=dict(image.features),
        brokers={broker_id: broker.copy() for broker_id, broker in image.brokers.items()},
        topics={topic_id: topic.copy() for topic_id, topic in image.topics.items()},
        configs={resource: dict(values) for resource, values in image.configs.items()},
        next_producer_id=image.next_producer_id,
        scram_credentials=dict(image.scram_credentials),
        acls=AclEntries(image.acls),
        delegation_tokens=dict(image.delegation_tokens),
        client_quotas={entity: dict(limits) for entity, limits in image.client_quotas.items()},
    )


def commit_batch(records: Iterable[Any], base_offset: int, leader_epoch: int, *, timestamp_ms: int) -> bytes:
    """What is committed together, at least one record, as the one batch that has all of it.

    Args:
        leader_epoch: the controller's.
    """
    return build_batch(
        [Record(timestamp=timestamp_ms, value=write_frame(record)) for record in records],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
    )


def records_in(batch: bytes, *, skip_unknown: bool = False) -> list[Any]:
    """The records of a batch of the metadata log, none for a control batch.

    Args:
        skip_unknown: leave out those of a newer Kafka, in place of UnknownMetadataRecordError.

    Raises: RecordError, DecodeError: the bytes are no such batch. UnknownMetadataRecordError.
    """
    found = []
    for one in iter_records(batch):
        if one.is_control or one.value is None:
            continue
        try:
            found.append(read_frame(one.value))
        except UnknownMetadataRecordError:
            if not skip_unknown:
                raise
    return found


def metadata_records(image: Image) -> Iterator[Any]:
    """Records that make an image with the same metadata of an empty one; those of a topic follow each other."""
    yield from feature_records(image)
    yield from broker_records(image)
    yield from topic_records(image)
    yield from setting_records(image)
    for one in (image.acls, image.scram_credentials, image.delegation_tokens):
        yield from one.values()


def feature_records(image: Image) -> Iterator[Any]:
    """The levels of features, the metadata version first: it says how the rest is to be read."""
    from protocol.embedded.metadata_settings import FeatureLevelRecord

    for name in sorted(image.features, key=lambda name: (name != METADATA_VERSION, name)):
        yield FeatureLevelRecord(name=name, feature_level=image.features[name])


def broker_records(image: Image) -> Iterator[Any]:
    from protocol.embedded.metadata_brokers import RegisterBrokerRecord

    for broker in image.brokers.values():
        yield RegisterBrokerRecord(
            broker_id=broker.id,
            incarnation_id=broker.incarnation_id,
            broker_epoch=broker.epoch,
            end_points=[
                RegisterBrokerRecord.Endpoint(name=name, host=host, port=port, security_protocol=protocol)
                for name, host, port, protocol in broker.end_points
            ],
            features=[
                RegisterBrokerRecord.Feature(name=name, min_supported_version=lowest, max_supported_version=highest)
                for name, (lowest, highest) in broker.features.items()
            ],
            rack=broker.rack,
            fenced=broker.fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown,
        )


def topic_records(image: Image) -> Iterator[Any]:
    from protocol.embedded.metadata_topics import PartitionRecord, TopicRecord

    for topic in image.topics.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for index, partition in enumerate(topic.partitions):
            yield PartitionRecord(
                partition_id=index,
                topic_id=topic.id,
                replicas=list(partition.replicas),
                isr=list(partition.isr),
                removing_replicas=list(partition.removing),
                adding_replicas=list(partition.adding),
                leader=partition.leader,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                directories=list(partition.directories),
                eligible_leader_replicas=list(partition.elr) or None,
                last_known_elr=list(partition.last_known_elr) or None,
            )


def setting_records(image: Image) -> Iterator[Any]:
    """Configs, quotas of clients, and which producer ids were given out."""
    from protocol.embedded.metadata_settings import ClientQuotaRecord, ConfigRecord, ProducerIdsRecord

    for (resource_type, resource_name), values in image.configs.items():
        for name, value in values.items():
            yield ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)
    for entity, limits in image.client_quotas.items():
        parts = [ClientQuotaRecord.Entity(entity_type=kind, entity_name=name) for kind, name in entity]
        for key, limit in limits.items():
            yield ClientQuotaRecord(entity=parts, key=key, value=limit, remove=False)
    if image.next_producer_id != FIRST_PRODUCER_ID:
        yield ProducerIdsRecord(broker_id=NO_BROKER, broker_epoch=-1, next_producer_id=image.next_producer_id)
