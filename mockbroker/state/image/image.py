"""What a restart finds again: everything durable about a cluster but the records in its logs.

The image is changed by applying records, and by nothing else: Kafka's own, as ``protocol.embedded`` declares them,
those of coordinators' topics as ``CoordinatorRecord``. Replaying the records of a run into an empty image gives an
equal one. What a restart forgets (fetch sessions, timers, who waits in a group, how far followers are behind) stands
elsewhere, and logs behind ``mockbroker.state.logs.store``.

Where a record replaces another whole, the image keeps the record; where records change parts of a thing, the thing has
a class of its own here.

Source: MetadataImage and MetadataDelta, GroupMetadataManager.replay, OffsetMetadataManager.replay, Apache Kafka 4.4.

>>> from protocol.embedded.metadata_settings import FeatureLevelRecord
>>> image = Image()
>>> image.apply(FeatureLevelRecord(name="metadata.version", feature_level=29))
>>> image.features
{'metadata.version': 29}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from importlib import import_module
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from mockbroker.parts import merged

if TYPE_CHECKING:
    from mockbroker.state.image.brokers import BrokerRegistration
    from mockbroker.state.image.coordinator_records import CoordinatorRecord
    from mockbroker.state.image.topics import TopicImage
    from protocol.embedded.group_log import GroupMetadataValue, OffsetCommitValue
    from protocol.embedded.metadata_security import UserScramCredentialRecord
    from protocol.embedded.transaction_log import TransactionLogValue


TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4  # ConfigResource.Type
CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 16, 32
FIRST_PRODUCER_ID = 1000  # Kafka begins with 0, which some clients send for none

TopicPartition = tuple[str, int]
GroupRecords = dict[tuple[type, str], "CoordinatorRecord"]  # by the key's class, and its member or expression or empty
QuotaEntity = tuple[tuple[str, str | None], ...]  # (type, name) each; None: the default entity
Apply = Callable[["Image", Any], None]
Copy = Callable[[Any], Any]


def of_metadata(copy: Copy, records: str) -> dict[str, Any]:
    """A field whose content is in the metadata log.

    Args:
        copy: returns an equal value that changes by itself.
        records: ``module.function`` of this package, which makes the records of a value; a snapshot of the log has
            them, in the order of the fields.
    """
    return {"copy": copy, "records": records}


def of_coordinators(copy: Copy, merge: Callable[[Any, Any], None]) -> dict[str, Any]:
    """A field whose content is in the logs of coordinators' topics.

    Args:
        copy: as in ``of_metadata``.
        merge: brings what one partition's log says into the value of all.
    """
    return {"copy": copy, "merge": merge}


def each(copy: Copy) -> Copy:
    """A copy of a dict whose values are copied too."""
    return lambda values: {key: copy(value) for key, value in values.items()}


def update_each(values: dict[Any, dict[Any, Any]], others: dict[Any, dict[Any, Any]]) -> None:
    for key, some in others.items():
        values.setdefault(key, {}).update(some)


copied = methodcaller("copy")


@dataclass(slots=True)
class CommitNumbers:
    """In which order offsets were committed while any were pending: of a partition's commits the latest counts.

    ``pending`` has the number of what an open transaction is to commit, by producer id, group and partition;
    ``committed`` that of what was committed meanwhile, by group and partition.
    """

    last: int = 0
    pending: dict[tuple[int, str, TopicPartition], int] = field(default_factory=dict)
    committed: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)

    def copy(self) -> CommitNumbers:
        return CommitNumbers(self.last, dict(self.pending), dict(self.committed))

    def update(self, others: CommitNumbers) -> None:
        """Take in those of another partition: numbers say what came later in one, different ones never meet."""
        self.last = max(self.last, others.last)
        self.pending.update(others.pending)
        self.committed.update(others.committed)

    def clear(self) -> None:
        """Nothing is pending any more."""
        self.last = 0
        self.pending.clear()
        self.committed.clear()


@dataclass(slots=True, repr=False)
class Image:
    """The state that survives a restart, by subject. Anyone may read it; only ``apply`` writes.

    Each field says how it is copied and where it is found after a restart: in records of the metadata log, or in the
    logs of coordinators' topics.
    """

    # the cluster
    features: dict[str, int] = field(
        default_factory=dict, metadata=of_metadata(dict, "settings.feature_records")
    )  # level by name
    brokers: dict[int, BrokerRegistration] = field(
        default_factory=dict, metadata=of_metadata(each(copied), "brokers.records")
    )
    topics: dict[bytes, TopicImage] = field(
        default_factory=dict, metadata=of_metadata(each(copied), "topics.records")
    )  # by topic id
    configs: dict[tuple[int, str], dict[str, str]] = field(
        default_factory=dict, metadata=of_metadata(each(dict), "settings.config_records")
    )  # by resource type and name

    # groups
    groups: dict[str, GroupMetadataValue] = field(default_factory=dict, metadata=of_coordinators(dict, dict.update))
    """Classic groups: the last stable generation."""
    modern_groups: dict[str, GroupRecords] = field(
        default_factory=dict, metadata=of_coordinators(each(dict), dict.update)
    )
    """Groups of the other kinds."""
    offsets: dict[str, dict[TopicPartition, OffsetCommitValue]] = field(
        default_factory=dict, metadata=of_coordinators(each(dict), dict.update)
    )  # by group
    pending_offsets: dict[int, dict[str, dict[TopicPartition, OffsetCommitValue]]] = field(
        default_factory=dict, metadata=of_coordinators(each(each(dict)), update_each)
    )
    """What open transactions are to commit, by producer id and group."""
    commit_numbers: CommitNumbers = field(
        default_factory=CommitNumbers, metadata=of_coordinators(copied, CommitNumbers.update)
    )
    extensions: dict[str, dict[Any, Any]] = field(
        default_factory=dict, metadata=of_coordinators(each(dict), update_each)
    )
    """The state that optional parts keep, by their extension."""

    # producers
    next_producer_id: int = field(default=FIRST_PRODUCER_ID, metadata=of_metadata(int, "settings.producer_id_records"))
    """The one after the last block that a broker has."""
    transactions: dict[str, TransactionLogValue] = field(
        default_factory=dict, metadata=of_coordinators(dict, dict.update)
    )
    """By transactional id."""

    # security
    scram_credentials: dict[tuple[str, int], UserScramCredentialRecord] = field(
        default_factory=dict, metadata=of_metadata(dict, "security.own_records")
    )  # by user and mechanism
    metadata_extensions: dict[str, dict[Any, Any]] = field(
        default_factory=dict, metadata=of_metadata(each(copied), "security.extension_records")
    )
    """The records of the metadata log that optional parts keep, by part."""
    client_quotas: dict[QuotaEntity, dict[str, float]] = field(
        default_factory=dict, metadata=of_metadata(each(dict), "settings.quota_records")
    )  # limit by key

    def copy(self) -> Image:
        """An equal image, which changes by itself. The records in it are shared: they stay as they are."""
        return Image(**{one.name: one.metadata["copy"](getattr(self, one.name)) for one in fields(self)})

    def merge(self, partition: Image) -> None:
        """Bring what the log of one partition of a coordinators' topic says into this image."""
        for one in fields(self):
            if "merge" in one.metadata:
                one.metadata["merge"](getattr(self, one.name), getattr(partition, one.name))

    def metadata_records(self) -> Iterator[Any]:
        """Records that make an image with the same metadata of an empty one; those of a topic follow each other."""
        for one in fields(self):
            if "records" in one.metadata:
                module, _, function = one.metadata["records"].partition(".")
                records_of = getattr(import_module(f"mockbroker.state.image.{module}"), function)
                yield from records_of(getattr(self, one.name))

    def apply(self, record: object) -> None:
        """Take a record in. The record is kept or left alone, never changed, and has to stay as it is.

        Raises TypeError: no subject here has records of this class.
        """
        self.apply_as(type(record), record)

    def apply_as(self, kind: type, record: object) -> None:
        """Take a record in as one of this class, which of a coordinator's record is that of its key."""
        apply = APPLY.get(kind)
        if apply is None:
            apply = APPLY[kind] = find_apply(kind)
        apply(self, record)


# The module here that applies the records which a module of protocol.embedded declares; each is loaded with the first
# record of its kind.
SUBJECTS = {
    "mockbroker.state.image.coordinator_records": "coordinator_records",
    "protocol.embedded.consumer_group_log": "modern_groups",
    "protocol.embedded.control_records": "groups",
    "protocol.embedded.group_log": "groups",
    "protocol.embedded.metadata_brokers": "brokers",
    "protocol.embedded.metadata_security": "security",
    "protocol.embedded.metadata_settings": "settings",
    "protocol.embedded.metadata_topics": "topics",
    "protocol.embedded.share_group_log": "modern_groups",
    "protocol.embedded.streams_group_log": "modern_groups",
    "protocol.embedded.transaction_log": "groups",
}
APPLY: dict[type, Apply] = {}  # what was looked up so far
assert all(one.metadata for one in fields(Image)), "each field of Image says how it survives a restart"


def find_apply(kind: type) -> Apply:
    """What applies records of a class, for coordinator records the class of the key. Raises TypeError."""
    subject = SUBJECTS.get(kind.__module__)
    module = f"mockbroker.state.image.{subject}" if subject else merged("records").get(kind.__module__)
    table: dict[type, Apply] = import_module(module).APPLY if module else {}
    if kind not in table:
        raise TypeError(f"expected a record that the image has a subject for, got {kind.__name__}")
    return table[kind]
