"""What each record does to the image; what only newer features write is tried here, the rest by whole clusters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

import pytest

from mockbroker.state.image import TOPIC_RESOURCE, Image
from protocol.apis.metadata import MetadataRequest
from protocol.embedded.metadata_brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from protocol.embedded.metadata_security import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from protocol.embedded.metadata_settings import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    ZkMigrationStateRecord,
)
from protocol.embedded.metadata_topics import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

TOPIC_ID = bytes(15) + b"t"
Quota = ClientQuotaRecord
TOPIC = [
    TopicRecord(name="orders", topic_id=TOPIC_ID),
    PartitionRecord(
        partition_id=0, topic_id=TOPIC_ID, replicas=[1, 2], isr=[1, 2], leader=1, leader_epoch=0, partition_epoch=0
    ),
]


def image_of(*records: object) -> Image:
    image = Image()
    for record in records:
        image.apply(record)
    return image


def registered(**fields: object) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(broker_id=1, broker_epoch=7, rack="a", **fields)


def quota(value: float, *, remove: bool = False, entities: Iterable[tuple[str, str | None]]) -> ClientQuotaRecord:
    entity = [Quota.Entity(entity_type=kind, entity_name=name) for kind, name in entities]
    return Quota(entity=entity, key="producer_byte_rate", value=value, remove=remove)


@pytest.mark.parametrize(
    ("added", "removed"),
    [
        (FeatureLevelRecord(name="f", feature_level=2), FeatureLevelRecord(name="f", feature_level=0)),
        (
            ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name="t", name="retention.ms", value="1"),
            ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name="t", name="retention.ms", value=None),
        ),
        (quota(5, entities=[("user", "ann")]), quota(0, remove=True, entities=[("user", "ann")])),
        (
            UserScramCredentialRecord(name="ann", mechanism=1, iterations=4096),
            RemoveUserScramCredentialRecord(name="ann", mechanism=1),
        ),
        (registered(), UnregisterBrokerRecord(broker_id=1, broker_epoch=7)),
        (TOPIC[0], RemoveTopicRecord(topic_id=TOPIC_ID)),
    ],
    ids=lambda record: type(record).__name__,
)
def test_what_a_record_brings_another_takes_away(added, removed):
    assert image_of(added) != Image()
    assert image_of(added, removed) == Image()


def test_a_removal_of_what_is_not_there_changes_nothing():
    assert (
        image_of(
            RemoveUserScramCredentialRecord(name="ann", mechanism=1),
            FeatureLevelRecord(name="f", feature_level=0),
            quota(0, remove=True, entities=[("user", "ann")]),
        )
        == Image()
    )


def test_images_differ_by_what_is_in_them():
    assert image_of(*TOPIC) == image_of(*TOPIC)
    assert image_of(*TOPIC) != image_of(*TOPIC, PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1]))


def test_a_quota_is_of_its_entities_in_whatever_order_they_are_named():
    ann_with_any_client = [("user", "ann"), ("client-id", None)]
    image = image_of(quota(5, entities=ann_with_any_client), quota(6, entities=reversed(ann_with_any_client)))
    assert image.client_quotas == {(("client-id", None), ("user", "ann")): {"producer_byte_rate": 6}}


def test_a_broker_serves_once_it_is_unfenced():
    fenced = [
        image_of(*records).brokers[1].fenced
        for records in (
            [registered()],
            [registered(), BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=-1)],
            [registered(fenced=False), BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=1)],
        )
    ]
    assert fenced == [True, False, True]


def test_a_leader_that_is_named_begins_an_epoch_even_if_it_stays():
    change = PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=1)
    partition = image_of(*TOPIC, change).topics[TOPIC_ID].partitions[0]
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (1, 1, 1)


def test_a_change_of_the_isr_begins_no_leader_epoch():
    change = PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1])
    partition = image_of(*TOPIC, change).topics[TOPIC_ID].partitions[0]
    assert (partition.isr, partition.leader_epoch, partition.partition_epoch) == ((1,), 0, 1)


def test_a_topic_takes_its_settings_with_it():
    config = ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name="orders", name="retention.ms", value="1")
    assert image_of(*TOPIC, config, RemoveTopicRecord(topic_id=TOPIC_ID)) == Image()


@pytest.mark.parametrize("record", [ZkMigrationStateRecord(zk_migration_state=0), MetadataRequest(), "a text"])
def test_what_no_subject_applies_is_refused(record):
    with pytest.raises(TypeError, match="expected a record of the image, got"):
        Image().apply(record)


def config(value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name="t", name="retention.ms", value=value)


# By field of the image: records that write it, and one that changes what they wrote.
WRITES = {
    "features": ([FeatureLevelRecord(name="f", feature_level=2)], FeatureLevelRecord(name="f", feature_level=3)),
    "brokers": ([registered()], BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=-1)),
    "topics": (TOPIC, PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1])),
    "configs": ([config("1")], config("2")),
    "next_producer_id": ([ProducerIdsRecord(next_producer_id=2000)], ProducerIdsRecord(next_producer_id=3000)),
    "scram_credentials": (
        [UserScramCredentialRecord(name="ann", mechanism=1, iterations=4096)],
        UserScramCredentialRecord(name="ann", mechanism=1, iterations=8192),
    ),
    "client_quotas": ([quota(5, entities=[("user", "ann")])], quota(6, entities=[("user", "ann")])),
}


def test_each_field_of_the_image_is_written_here_but_that_of_optional_parts():
    assert {one.name for one in fields(Image)} - {"extensions"} == set(WRITES)


@pytest.mark.parametrize("name", WRITES)
def test_a_field_is_found_again_in_a_snapshot_of_the_metadata(name):
    records, _ = WRITES[name]
    image = image_of(*records)
    assert getattr(image, name) != getattr(Image(), name)
    assert image_of(*image.metadata_records()) == image


@pytest.mark.parametrize("name", WRITES)
def test_a_copy_does_not_change_with_the_image(name):
    records, change = WRITES[name]
    image = image_of(*records)
    copy = image.copy()
    assert copy == image
    image.apply(change)
    assert copy != image
    assert copy == image_of(*records)
