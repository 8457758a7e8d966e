"""The metadata of a cluster: all its durable state except the records in its partitions' logs.

Only Kafka's own records, as ``protocol.embedded`` declares them, change the image. They are first written to a log,
then applied. Replaying the records of a run into an empty image makes an equal one. State that a restart loses (fetch
sessions, timers, followers' lag) is elsewhere, and so are logs, including those of coordinators
(``coordinator_shard``).

Where a record replaces another as a whole, the image stores the record; where records change parts of an object, the
object has its own class here.

Source: MetadataImage, MetadataDelta and the images and deltas of its subjects, PartitionRegistration.merge and
BrokerRegistration.cloneWith, Apache Kafka 4.4.

>>> from protocol.embedded.metadata_settings import FeatureLevelRecord
>>> image = Image()
>>> image.apply(FeatureLevelRecord(name="metadata.version", feature_level=29))
>>> image.features
{'metadata.version': 29}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from importlib import import_module
from itertools import chain
from typing import Any, Protocol

from mockbroker.parts import merged
from protocol.embedded.metadata_brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from protocol.embedded.metadata_security import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from protocol.embedded.metadata_settings import ClientQuotaRecord, ConfigRecord, FeatureLevelRecord, ProducerIdsRecord
from protocol.embedded.metadata_topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4  # ConfigResource.Type
CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 16, 32
FIRST_PRODUCER_ID = 1000  # Kafka starts at 0, which some clients send for "none"
METADATA_VERSION = "metadata.version"
FENCED, UNFENCED = 1, -1  # BrokerRegistrationChangeRecord.Fenced
NO_BROKER = -1
NO_LEADER_CHANGE = -2  # PartitionChangeRecord.Leader
NO_DIRECTORY = bytes(15) + b"\1"  # DirectoryId.UNASSIGNED
LISTS = (
    *("replicas", "isr", "directories", "removing_replicas", "adding_replicas"),
    *("eligible_leader_replicas", "last_known_elr"),
)
NUMBERS = ("leader", "leader_epoch", "partition_epoch")
"""The lists and numbers of a partition, with equal names in its records."""

TopicPartition = tuple[str, int]
QuotaEntity = tuple[tuple[str, str | None], ...]  # (type, name) each; None: the default entity


@dataclass(slots=True)
class PartitionRegistration:
    """A partition's replicas, ISR and leader; the leader is -1 while there is none.

    ``leader_epoch`` counts the changes that make replicas check their logs again, ``partition_epoch`` all changes.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[bytes, ...] = ()  # of the replicas, in their order; empty: none chosen
    removing_replicas: tuple[int, ...] = ()  # the replicas that a reassignment in progress removes
    adding_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()  # eligible leaders outside the ISR (KIP-966)
    last_known_elr: tuple[int, ...] = ()  # the last leader, while there is none

    def directory_of(self, broker_id: int) -> bytes | None:
        """The id of the directory chosen for a broker's replica, None if none was."""
        return dict(zip(self.replicas, self.directories, strict=False)).get(broker_id)


@dataclass(slots=True)
class TopicImage:
    """A topic: its name, its id (16 bytes), its partitions in order."""

    name: str
    id: bytes
    partitions: list[PartitionRegistration] = field(default_factory=list)

    def copy(self) -> TopicImage:
        return TopicImage(self.name, self.id, [copy(partition) for partition in self.partitions])


def copied(value: Any) -> Any:
    """An equal value that changes independently."""
    if type(value) is dict:
        return {key: copied(one) for key, one in value.items()}
    return value.copy() if hasattr(value, "copy") else copy(value)


@dataclass(slots=True, repr=False)
class Image:
    """The metadata that survives a restart. Any code may read it; only ``apply`` writes.

    Attributes:
        features: level by name.
        topics: by topic id.
        configs: by resource type and name.
        next_producer_id: the id after the last allocated block.
        scram_credentials: by user and mechanism.
        extensions: the records of optional parts, by part.
        client_quotas: limit by key.
    """

    features: dict[str, int] = field(default_factory=dict)
    brokers: dict[int, RegisterBrokerRecord] = field(default_factory=dict)
    topics: dict[bytes, TopicImage] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    next_producer_id: int = FIRST_PRODUCER_ID
    scram_credentials: dict[tuple[str, int], UserScramCredentialRecord] = field(default_factory=dict)
    extensions: dict[str, dict[Any, Any]] = field(default_factory=dict)
    client_quotas: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)

    def copy(self) -> Image:
        """An equal image that changes independently."""
        return Image(**{one.name: copied(getattr(self, one.name)) for one in fields(self)})

    def metadata_records(self) -> Iterator[Any]:
        """Records that turn an empty image into an equal one; those of a topic are consecutive.

        The metadata version is first: it determines how to read the rest.
        """
        yield from feature_records(self.features)
        yield from map(copy, self.brokers.values())
        for topic in self.topics.values():
            yield TopicRecord(name=topic.name, topic_id=topic.id)
            for index, partition in enumerate(topic.partitions):
                yield partition_record(topic.id, index, partition)
        for (kind, resource), values in self.configs.items():
            for name, value in values.items():
                yield ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)
        if self.next_producer_id != FIRST_PRODUCER_ID:
            yield ProducerIdsRecord(broker_id=NO_BROKER, broker_epoch=-1, next_producer_id=self.next_producer_id)
        yield from self.scram_credentials.values()
        yield from chain.from_iterable(records.values() for records in self.extensions.values())
        for entity, limits in self.client_quotas.items():
            parts = [ClientQuotaRecord.Entity(entity_type=kind, entity_name=name) for kind, name in entity]
            for key, limit in limits.items():
                yield ClientQuotaRecord(entity=parts, key=key, value=limit, remove=False)

    def apply(self, record: object) -> None:
        """Apply a record. It is stored or ignored, never changed, and must not change afterwards.

        Raises TypeError: neither the image nor an optional part has records of this class.
        """
        kind = type(record)
        if kind not in APPLY:
            module = merged("records").get(kind.__module__)
            if module is None:
                raise TypeError(f"expected a record of the image, got {kind.__name__}")
            APPLY.update(import_module(module).APPLY)
        APPLY[kind](self, record)


def feature_records(levels: Mapping[str, int]) -> list[FeatureLevelRecord]:
    """The records of features, that of the metadata version first."""
    names = sorted(levels, key=lambda name: (name != METADATA_VERSION, name))
    return [FeatureLevelRecord(name=name, feature_level=levels[name]) for name in names]


def partition_record(topic_id: bytes, index: int, partition: PartitionRegistration) -> PartitionRecord:
    lists: dict[str, Any] = {name: list(values) for name in LISTS if (values := getattr(partition, name))}
    numbers = {name: getattr(partition, name) for name in NUMBERS}
    return PartitionRecord(partition_id=index, topic_id=topic_id, **lists, **numbers)


def set_feature(image: Image, record: FeatureLevelRecord) -> None:
    if record.feature_level:
        image.features[record.name] = record.feature_level
    else:
        image.features.pop(record.name, None)


def register_broker(image: Image, record: RegisterBrokerRecord) -> None:
    """Store a registration, which is renewed at each start; the broker serves once it is unfenced."""
    image.brokers[record.broker_id] = copy(record)


def unregister_broker(image: Image, record: UnregisterBrokerRecord) -> None:
    del image.brokers[record.broker_id]


def change_broker(image: Image, record: BrokerRegistrationChangeRecord) -> None:
    broker = image.brokers[record.broker_id]
    assert broker.broker_epoch == record.broker_epoch, (broker.broker_epoch, record.broker_epoch)
    if record.fenced:
        broker.fenced = record.fenced == FENCED


def create_topic(image: Image, record: TopicRecord) -> None:
    image.topics[record.topic_id] = TopicImage(record.name, record.topic_id)


def remove_topic(image: Image, record: RemoveTopicRecord) -> None:
    topic = image.topics.pop(record.topic_id)
    image.configs.pop((TOPIC_RESOURCE, topic.name), None)


def add_partition(image: Image, record: PartitionRecord) -> None:
    partitions = image.topics[record.topic_id].partitions
    assert record.partition_id == len(partitions), (record.partition_id, len(partitions))
    lists: dict[str, Any] = {name: tuple(getattr(record, name) or ()) for name in LISTS}
    partitions.append(PartitionRegistration(**lists, **{name: getattr(record, name) for name in NUMBERS}))


def change_partition(image: Image, record: PartitionChangeRecord) -> None:
    """Change a partition; a record that names a leader begins an epoch, even if the leader is unchanged."""
    partition = image.topics[record.topic_id].partitions[record.partition_id]
    if record.replicas is not None and record.directories is None and partition.directories:
        held = dict(zip(partition.replicas, partition.directories, strict=True))
        partition.directories = tuple(held.get(replica, NO_DIRECTORY) for replica in record.replicas)
    for name in LISTS:
        values = getattr(record, name)
        if values is not None:
            setattr(partition, name, tuple(values))
    if record.leader != NO_LEADER_CHANGE:
        partition.leader = record.leader
        partition.leader_epoch += 1
    partition.partition_epoch += 1


def clear_elr(image: Image, record: ClearElrRecord) -> None:
    """Clear the eligible leaders outside ISRs, of one topic or of all."""
    for topic in image.topics.values():
        if record.topic_name in ("", topic.name):
            for partition in topic.partitions:
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    partition.eligible_leader_replicas = partition.last_known_elr = ()
                    partition.partition_epoch += 1


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


def set_quota(image: Image, record: ClientQuotaRecord) -> None:
    entity = tuple(sorted(((one.entity_type, one.entity_name) for one in record.entity), key=str))
    put(image.client_quotas, entity, record.key, None if record.remove else record.value)


def allocate_producer_ids(image: Image, record: ProducerIdsRecord) -> None:
    image.next_producer_id = record.next_producer_id


def set_credential(image: Image, record: UserScramCredentialRecord) -> None:
    image.scram_credentials[record.name, record.mechanism] = record


def remove_credential(image: Image, record: RemoveUserScramCredentialRecord) -> None:
    image.scram_credentials.pop((record.name, record.mechanism), None)


Apply = Callable[[Image, Any], None]
APPLY: dict[type, Apply] = {
    FeatureLevelRecord: set_feature,
    RegisterBrokerRecord: register_broker,
    UnregisterBrokerRecord: unregister_broker,
    BrokerRegistrationChangeRecord: change_broker,
    TopicRecord: create_topic,
    RemoveTopicRecord: remove_topic,
    PartitionRecord: add_partition,
    PartitionChangeRecord: change_partition,
    ClearElrRecord: clear_elr,
    ConfigRecord: set_config,
    ClientQuotaRecord: set_quota,
    ProducerIdsRecord: allocate_producer_ids,
    UserScramCredentialRecord: set_credential,
    RemoveUserScramCredentialRecord: remove_credential,
}
"""By record; those of optional parts are added with their first record."""


class RecordLog(Protocol):
    """The log of records, for example a list."""

    def append(self, records: Sequence[object], /) -> object:
        """Store records that will be applied together, in this order; they do not change afterwards."""


@dataclass(slots=True, eq=False)
class ImageWriter:
    """An image, and the log of its records; without a log they are not stored.

    >>> from protocol.embedded.metadata_settings import FeatureLevelRecord
    >>> log = []
    >>> writer = ImageWriter(record_log=log)
    >>> writer.commit([FeatureLevelRecord(name="kraft.version", feature_level=1)])
    >>> writer.image.features, len(log)
    ({'kraft.version': 1}, 1)
    """

    image: Image = field(default_factory=Image)
    record_log: RecordLog | None = None
    version: int = 0
    """The number of commits, and of changes that Metadata shows without records."""

    def commit(self, records: Iterable[object]) -> None:
        """Store records, then apply them; the caller has checked them.

        Raises ApiError: KAFKA_STORAGE_ERROR, records cannot be stored. Nothing is applied then.
        """
        if self.record_log is not None:
            records = list(records)
            if records:
                self.record_log.append(records)
        for record in records:
            self.image.apply(record)
        self.version += 1
