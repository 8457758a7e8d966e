"""Settings of topics and other resources, levels of features, client quotas, blocks of producer ids.

Source: MetadataImage.write, ConfigurationsDelta, FeaturesDelta, ClientQuotasDelta and ProducerIdsDelta, Apache Kafka
4.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mockbroker.state.image.image import FIRST_PRODUCER_ID
from protocol.embedded.metadata_settings import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
)

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image, QuotaEntity

METADATA_VERSION = "metadata.version"
NO_BROKER = -1


def put(values_of: dict[Any, dict[str, Any]], key: object, name: str, value: object) -> None:
    """Set a value by key and name, or remove it by None; a key without values is removed."""
    values = values_of.setdefault(key, {})
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value
    if not values:
        del values_of[key]


def set_config(image: Image, record: ConfigRecord) -> None:
    put(image.configs, (record.resource_type, record.resource_name), record.name, record.value)


def set_feature(image: Image, record: FeatureLevelRecord) -> None:
    if record.feature_level:
        image.features[record.name] = record.feature_level
    else:
        image.features.pop(record.name, None)


def set_quota(image: Image, record: ClientQuotaRecord) -> None:
    entity = tuple(sorted(((one.entity_type, one.entity_name) for one in record.entity), key=str))
    put(image.client_quotas, entity, record.key, None if record.remove else record.value)


def allocate_producer_ids(image: Image, record: ProducerIdsRecord) -> None:
    image.next_producer_id = record.next_producer_id


def feature_records(levels: dict[str, int]) -> Iterator[FeatureLevelRecord]:
    """The records of feature levels, the metadata version first: it determines how to read the rest."""
    for name in sorted(levels, key=lambda name: (name != METADATA_VERSION, name)):
        yield FeatureLevelRecord(name=name, feature_level=levels[name])


def config_records(configs: dict[tuple[int, str], dict[str, str]]) -> Iterator[ConfigRecord]:
    for (resource_type, resource_name), values in configs.items():
        for name, value in values.items():
            yield ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)


def quota_records(quotas: dict[QuotaEntity, dict[str, float]]) -> Iterator[ClientQuotaRecord]:
    for entity, limits in quotas.items():
        parts = [ClientQuotaRecord.Entity(entity_type=kind, entity_name=name) for kind, name in entity]
        for key, limit in limits.items():
            yield ClientQuotaRecord(entity=parts, key=key, value=limit, remove=False)


def producer_id_records(next_producer_id: int) -> Iterator[ProducerIdsRecord]:
    if next_producer_id != FIRST_PRODUCER_ID:
        yield ProducerIdsRecord(broker_id=NO_BROKER, broker_epoch=-1, next_producer_id=next_producer_id)


def nothing(image: Image, record: NoOpRecord) -> None:
    """Ignore a NoOpRecord."""


APPLY: dict[type, Apply] = {
    ConfigRecord: set_config,
    FeatureLevelRecord: set_feature,
    ClientQuotaRecord: set_quota,
    ProducerIdsRecord: allocate_producer_ids,
    NoOpRecord: nothing,
}
