"""The image's metadata as records, and records as the batches of the metadata log.

What coordinators keep is not among them: it is in the logs of their topics.

Source: MetadataImage.write and its parts, BatchAccumulator, Apache Kafka 4.4.

>>> from protocol.embedded.metadata_settings import FeatureLevelRecord
>>> data = commit_batch([FeatureLevelRecord(name="kraft.version", feature_level=1)], 7, 2, timestamp_ms=0)
>>> [record.name for record in records_in(data)]
['kraft.version']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mockbroker.state.image.image import FIRST_PRODUCER_ID, Image
from protocol.embedded.metadata_frame import read_frame, write_frame
from protocol.records import Record, build_batch, iter_records

METADATA_VERSION = "metadata.version"
NO_BROKER = -1


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


def records_in(batch: bytes) -> list[Any]:
    """The records of a batch of the metadata log.

    Raises: RecordError, DecodeError: the bytes are no such batch. UnknownMetadataRecordError.
    """
    return [read_frame(one.value or b"") for one in iter_records(batch)]


def metadata_records(image: Image) -> Iterator[Any]:
    """Records that make an image with the same metadata of an empty one; those of a topic follow each other."""
    yield from feature_records(image)
    yield from broker_records(image)
    yield from topic_records(image)
    yield from setting_records(image)
    for one in (image.acls, image.scram_credentials):
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
