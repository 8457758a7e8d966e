"""Settings of topics and other resources, levels of features, client quotas, blocks of producer ids.

Source: ConfigurationsDelta, FeaturesDelta, ClientQuotasDelta and ProducerIdsDelta, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.embedded.metadata_settings import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
)

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image


def set_config(image: Image, record: ConfigRecord) -> None:
    resource = (record.resource_type, record.resource_name)
    values = image.configs.setdefault(resource, {})
    if record.value is None:
        values.pop(record.name, None)
    else:
        values[record.name] = record.value
    if not values:
        del image.configs[resource]


def set_feature(image: Image, record: FeatureLevelRecord) -> None:
    if record.feature_level:
        image.features[record.name] = record.feature_level
    else:
        image.features.pop(record.name, None)


def set_quota(image: Image, record: ClientQuotaRecord) -> None:
    entity = tuple(sorted(((one.entity_type, one.entity_name) for one in record.entity), key=str))
    limits = image.client_quotas.setdefault(entity, {})
    if record.remove:
        limits.pop(record.key, None)
    else:
        limits[record.key] = record.value
    if not limits:
        del image.client_quotas[entity]


def give_producer_ids(image: Image, record: ProducerIdsRecord) -> None:
    image.next_producer_id = record.next_producer_id


def nothing(image: Image, record: NoOpRecord) -> None:
    """NoOpRecord changes nothing."""


APPLY: dict[type, Apply] = {
    ConfigRecord: set_config,
    FeatureLevelRecord: set_feature,
    ClientQuotaRecord: set_quota,
    ProducerIdsRecord: give_producer_ids,
    NoOpRecord: nothing,
}
